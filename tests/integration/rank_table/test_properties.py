"""Random clusters get a rank table that its reader accepts and that is read back unchanged."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document, drift, formats, selection
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import HostAddresses, TableOptions, assemble
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Model, one_group
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import sdid_of
from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables
from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table.mutations import MUTATIONS

FEW = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
SERVERS_OF_A_POD = 48
LARGEST = 4096

Nodes = dict[str, dict[str, Any]]


def node(server: int, ids: list[int], product: str) -> dict[str, Any]:
    devices: list[dict[str, Any]] = [{"id": number, "address": f"10.{server // 250}.{server % 250}.{number + 1}", "errors": []} for number in ids]
    for device in devices if product == "A3" else ():
        index = server % SERVERS_OF_A_POD
        device["super_pod"] = {"sdid": sdid_of(index, device["id"]), "super_pod_size": 768, "super_pod_id": server // SERVERS_OF_A_POD, "server_index": index}
    return {"product": product, "devices": devices}


@st.composite
def clusters(draw: st.DrawFn) -> Nodes:
    """Random hosts with random NPUs in random order."""
    product = draw(st.sampled_from(["A2", "A3"]))
    servers = draw(st.lists(st.integers(0, LARGEST - 1), min_size=1, max_size=40, unique=True))
    ids = draw(st.lists(st.lists(st.integers(0, 15), min_size=1, max_size=16, unique=True), min_size=1, max_size=4))
    return {f"n{server}": node(server, ids[place % len(ids)], product) for place, server in enumerate(servers)}


def place(host: str) -> HostAddresses:
    return HostAddresses(f"172.{16 + int(host[1:]) // 250}.0.{int(host[1:]) % 250 + 1}")


def table_of(nodes: Nodes, order: str = "given") -> tuple[dict[str, Any], Model, str | None]:
    assembly = assemble(nodes, place, TableOptions(), expand)
    assert assembly.problems == ()
    model = one_group(selection.ordered(assembly.servers, order, {}.get), assembly.version)
    return formats.build("hccl", model), model, assembly.product


@FEW
@given(clusters(), st.sampled_from(["host", "super_pod"]))
def test_tables_of_random_clusters_are_valid_for_hccl(nodes: Nodes, order: str) -> None:
    product = next(iter(nodes.values()))["product"]
    table, _model, found = table_of(nodes, order if product == "A3" else "host")
    assert (found, table["version"]) == (product, {"A2": "1.0", "A3": "1.2"}[product])
    # Super pods in the order of host names: n0..n47 are the first.
    assert [problem.message for problem in checks.check(table, ["hccl"], product)] == []
    ranks = [int(device["rank_id"]) for server in table["server_list"] for device in server["device"]]
    assert ranks == list(range(sum(len(one["devices"]) for one in nodes.values())))


@FEW
@given(clusters())
def test_written_table_is_read_back(nodes: Nodes) -> None:
    table, model, _product = table_of(nodes)
    text = document.to_text(table)
    again = formats.read(document.parse(text))
    assert document.to_text(formats.build("hccl", again)) == text
    assert [[(device.id, device.address, device.sdid) for device in server.devices] for server in again.servers] == [
        [(device.id, device.address, device.sdid) for device in server.devices] for server in model.servers]
    assert drift.drift(again, nodes) == []


@FEW
@given(clusters(), st.data())
def test_changed_address_is_reported_with_its_device(nodes: Nodes, data: st.DataObject) -> None:
    _table, model, _product = table_of(nodes)
    host = data.draw(st.sampled_from(sorted(nodes)))
    device = data.draw(st.sampled_from(nodes[host]["devices"]))
    device["address"] = "192.0.2.200"
    problem, = drift.drift(model, nodes, {name: place(name).server_id for name in nodes})
    assert (problem.rule, problem.host, problem.device) == (drift.ADDRESS, host, device["id"])


def broken(readers: list[str], table: dict[str, Any], product: str | None = None) -> set[tuple[str | None, str]]:
    return {(problem.reader, problem.rule) for problem in checks.check(table, readers, product) if problem.severity == "error"}


@settings(FEW, max_examples=14)
@example(LARGEST, 16)
@example(97, 16)
@example(33, 16)
@given(st.one_of(st.integers(1, 128), st.integers(1, LARGEST)), st.integers(1, 16))
def test_readers_refuse_shapes_beyond_their_limits(servers: int, devices: int) -> None:
    wanted = {("mindie_llm", "server_count")} if not 2 <= servers <= 60 else set()
    wanted |= {("mindie_llm", "device_values")} if servers * devices > 512 else set()
    assert broken(["hccl", "mindie_llm"], tables.hccl(servers, devices), "A2") == wanted
    if servers <= 128:  # the limit of one super pod
        assert broken(["mindie_motor"], tables.global_table(servers, devices, 1)) == ({("mindie_motor", "server_list")} if servers > 96 else set())


@FEW
@given(st.integers(1, 24), st.integers(1, 8), st.data())
def test_each_mutation_violates_its_rule(servers: int, devices: int, data: st.DataObject) -> None:
    """Sizes are even, as super pods and NPUs with two dies require; a super pod has at least two servers."""
    shapes = {tables.hccl: (servers + 1, devices + 1), tables.super_pods: (4 * servers, 2 * devices), tables.group_list: (servers + 1, max(2, devices)),
              tables.laboratory: (servers + 1,), tables.one_device: (), tables.endpoints: (devices + 1,)}
    for mutation in data.draw(st.lists(st.sampled_from(MUTATIONS), min_size=20, max_size=20, unique_by=id)):
        table = mutation.table(*shapes.get(mutation.table, (2 * servers, 2 * devices)))
        assert mutation.rule in {problem.rule for problem in checks.check(mutation.apply(table), [mutation.reader], mutation.product)}, mutation[:4]


def test_largest_cluster() -> None:
    table, _model, _product = table_of({f"n{server}": node(server, list(range(16)), "A2") for server in range(LARGEST)})
    assert table["server_list"][-1]["device"][-1] == {"device_id": "15", "device_ip": "10.16.95.16", "rank_id": "65535"}
    assert checks.check(table, ["hccl"], "A2") == []
