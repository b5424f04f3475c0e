from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.consistency import over_hosts, over_rdma_hosts, tls_differences
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line


def host(place: int, npus: int = 2, product: str = "A2", machine: object = None, **of_npu):
    """Return the result of a host; an option that is a list has a value for each NPU."""
    devices = [{"id": number, "address": f"10.0.{place}.{number}", "link": "up", "serial": f"S{place}{number}",
                **{key: value[number] if isinstance(value, list) else value for key, value in of_npu.items()}} for number in range(npus)]
    return {"devices": devices, "product": product, "machine": machine}


def summaries(**results) -> list:
    return [f"{one.cause} {one.severity} {one.component.name}: {one.message}" for one in over_hosts(results, "bring_up")]


def test_sound_hosts_have_no_findings() -> None:
    assert summaries(n1=host(1), n2=host(2), n3=host(3)) == []


def test_two_npus_with_the_same_address_conflict() -> None:
    results = {"n1": host(1), "n3": host(3, address=["10.0.3.0", "10.0.1.0"])}
    [found] = over_hosts(results, "bring_up")
    assert line(found) == ("failed n1 NPU 0, n3 NPU 1: both have the address 10.0.1.0 -> "
                           "ansible-playbook hccn.cluster.bring_up --check --diff -e hccn_hosts=n1,n3")
    assert (found.cause, found.hosts, found.devices, found.stage) == ("address_conflict", ("n1", "n3"), (("n1", 0), ("n3", 1)), "bring_up")


def test_an_address_of_many_npus_names_all_of_them() -> None:
    [found] = over_hosts({f"n{place}": host(place, address=["10.9.9.9", f"10.0.{place}.1"]) for place in range(1, 13)}, "bring_up")
    assert found.message == "all 12 have the address 10.9.9.9"
    assert (len(found.devices), len(found.evidence), found.evidence[11]) == (12, 12, "n12 NPU 0")


def test_an_address_twice_on_one_host_conflicts() -> None:
    assert summaries(n1=host(1, address="10.0.0.1", serial="S1")) == ["address_conflict failed n1 NPUs 0-1: both have the address 10.0.0.1"]


def test_serial_numbers_must_be_unique_over_hosts() -> None:
    assert summaries(n1=host(1), n2=host(2, serial=["S10", "S21"])) == ["serial_duplicate failed n1 NPU 0, n2 NPU 0: they have the same serial number, S10"]
    assert summaries(n1=host(1, serial="NA"), n2=host(2, serial="na")) == []
    assert summaries(n1=host(1, serial="0000-00"), n2=host(2, serial="0000-00")) == []
    assert summaries(n1=host(1, serial=None), n2=host(2, serial=7)) == []


def test_a_machine_that_is_listed_twice_is_one_finding() -> None:
    results = {"n1": host(1, machine="abc"), "n3": host(1, machine="abc"), "n2": host(2, machine="def")}
    assert summaries(**results) == ["machine_listed_twice failed n1, n3: they are the same machine according to the id of the machine"]
    [found] = over_hosts(results, "bring_up")
    assert (found.hosts, found.next_step) == (("n1", "n3"), "Remove one of n1,n3 from the inventory")


def test_a_machine_without_an_id_is_identified_by_its_npus() -> None:
    assert summaries(n1=host(1), n3=host(1)) == ["machine_listed_twice failed n1, n3: they are the same machine according to the serial numbers of all NPUs"]


def test_cloned_machine_ids_are_not_one_machine() -> None:
    assert summaries(n1=host(1, machine="abc"), n2=host(2, machine="abc")) == []
    assert summaries(n1=host(1, machine="abc"), n2=host(2, machine="abc"), n3=host(2, machine="abc")) == [
        "machine_listed_twice failed n2, n3: they are the same machine according to the id of the machine"]


def test_a_host_beside_a_machine_that_is_listed_twice_is_compared_with_it() -> None:
    results = {"n1": host(1, machine="abc"), "n3": host(1, machine="abc"), "n2": host(2, address=["10.0.1.0", "10.0.2.1"])}
    assert [one.component.name for one in over_hosts(results, "bring_up")] == ["n1, n3", "n1 NPU 0, n2 NPU 0"]


def test_the_minority_differs() -> None:
    on, off = {"enabled": True}, {"enabled": False}
    assert summaries(n1=host(1, tls=off), n2=host(2, tls=on), n3=host(3, tls=off)) == ["tls_differs failed n2: TLS is on, that of 4 other NPUs is off"]
    assert summaries(n1=host(1, mtu=9000), n2=host(2, mtu=[9000, 1500])) == ["mtu_differs degraded n2 NPU 1: the MTU is 1500, that of 3 other NPUs is 9000"]
    assert summaries(n1=host(1, speed=200000), n2=host(2, speed=[200000, 100000])) == [
        "speed_differs degraded n2 NPU 1: the link speed is 100000 Mbit/s, that of 3 other NPUs is 200000 Mbit/s"]
    versions = [{"driver": "24.1", "firmware": "7.3"}, {"driver": "24.1", "firmware": "7.1"}, {"driver": "23.0", "firmware": "7.3"}]
    assert summaries(n1=host(1, versions=versions[0]), n2=host(2, versions=versions[1]), n3=host(3, versions=versions[2])) == [
        "driver_differs degraded n3: the driver is 23.0, that of 4 other NPUs is 24.1",
        "firmware_differs degraded n2: the firmware is 7.1, that of 4 other NPUs is 7.3"]


def test_without_a_majority_one_finding_names_all_hosts() -> None:
    [found] = over_hosts({"n1": host(1, tls={"enabled": True}), "n2": host(2, tls={"enabled": False})}, "tls")
    assert (found.cause, found.component.name, found.message) == ("tls_differs", "n1, n2", "TLS is on for 2 NPUs (n1), off for 2 NPUs (n2)")
    assert (found.hosts, found.devices) == (("n1", "n2"), (("n1", 0), ("n1", 1), ("n2", 0), ("n2", 1)))


def test_hosts_of_different_products_may_differ() -> None:
    assert summaries(n1=host(1, mtu=9000), n2=host(2, mtu=9000), n3=host(3, mtu=1500, product="A3"), n4=host(4, mtu=1500, product="A3")) == []


def test_unknown_values_are_not_compared() -> None:
    assert summaries(n1=host(1, speed=200000), n2=host(2, speed=[None, 100000], link=["up", "down"])) == []
    assert summaries(n1=host(1, tls={"enabled": None}), n2=host(2, tls={"enabled": True}), n3=host(3, tls=None)) == []


@pytest.mark.parametrize("odd", [None, 3, "text", {}, {"failed": True, "devices": []}, {"unreachable": True}, {"devices": [None, {"id": "x"}]},
                                 {"devices": [{"id": 0, "address": 7, "tls": 3, "versions": [], "mtu": True, "serial": {}}], "machine": 9, "product": []}])
def test_a_malformed_answer_does_not_affect_other_hosts(odd: object) -> None:
    assert summaries(n1=host(1), n2=odd, n3=host(3, address=["10.0.1.0", "10.0.3.1"])) == [
        "address_conflict failed n1 NPU 0, n3 NPU 0: both have the address 10.0.1.0"]


def test_a_thousand_hosts_are_compared_quickly() -> None:
    results = {f"n{place}": {"devices": [{"id": number, "address": f"10.{place // 250}.{place % 250}.{number + 1}", "mtu": 9000, "serial": f"{place}-{number}"}
                                         for number in range(8)], "machine": "cloned"} for place in range(1000)}
    assert over_hosts(results, "bring_up") == []


def flags(*enabled: object) -> dict:
    return {"devices": [{"id": number, "tls": {"enabled": flag}} for number, flag in enumerate(enabled)]}


@pytest.mark.parametrize("answers, hosts, enabled", [
    ({"n1": flags(False, False), "n2": flags(False, False)}, [], []),
    ({"n1": flags(True), "n2": flags(True), "n3": flags(None)}, [], ["n1", "n2"]),
    ({"n1": flags(False), "n2": flags(False), "n3": flags(True)}, ["n3"], ["n3"]),
    ({"n1": flags(True), "n2": flags(True), "n3": flags(False)}, ["n3"], ["n1", "n2"]),
    ({"n1": flags(False), "n2": flags(False), "n3": flags(True, False)}, ["n3"], ["n3"]),
    ({"n1": flags(False), "n2": flags(True)}, ["n1", "n2"], ["n2"]),
    ({"n1": flags(True, False)}, ["n1"], ["n1"]),
    ({}, [], []),
])
def test_hosts_whose_tls_flags_differ_from_the_majority(answers: dict, hosts: list, enabled: list) -> None:
    assert tls_differences(answers) == {"hosts": hosts, "enabled": enabled}


@pytest.mark.parametrize("odd", [None, 5, "text", [], {}, {"devices": 5}, {"devices": ["x", {"tls": "y"}, {"tls": {"enabled": "yes"}}, {}]}])
def test_a_malformed_answer_has_no_tls_flags(odd: object) -> None:
    assert tls_differences({"n1": flags(False), "n2": odd, "n3": flags(False)}) == {"hosts": [], "enabled": []}


@pytest.mark.parametrize(("of_n3", "message"), [
    ({"network_version": {"driver": "1.0.3.0", "firmware": "7.1"}},
     "driver_differs degraded n3: the network driver is 1.0.3.0, that of 4 other NPUs is 1.0.4.0"),
    ({"network_version": {"driver": "1.0.4.0", "firmware": "7.0"}}, "firmware_differs degraded n3: the network firmware is 7.0, that of 4 other NPUs is 7.1"),
    ({"pfc": [[0] * 8] * 2}, "qos_differs degraded n3: PFC is off for all priorities, that of 4 other NPUs is on for priority 4"),
    ({"dscp_to_tc": ["0-63: 0", "0-63: 1"]}, "qos_differs degraded n3 NPU 1: the traffic class by DSCP is 0-63: 1, that of 5 other NPUs is 0-63: 0")])
def test_versions_and_qos_of_one_host_differ(of_n3, message) -> None:
    usual = {"network_version": {"driver": "1.0.4.0", "firmware": "7.1"}, "pfc": [[0, 0, 0, 0, 1, 0, 0, 0]] * 2, "dscp_to_tc": "0-63: 0"}
    assert summaries(n1=host(1, **usual), n2=host(2, **usual), n3=host(3, **{**usual, **of_n3})) == [message]


def test_cann_of_one_host_differs() -> None:
    results = {name: {**host(place), "cann": version} for place, (name, version) in enumerate((("n1", "8.2"), ("n2", "8.2"), ("n3", "8.0"), ("n4", None)))}
    [found] = over_hosts(results, "bring_up")
    assert (found.cause, found.component.name, found.message) == ("cann_differs", "n3", "CANN is 8.0, that of 4 other NPUs is 8.2")
    assert found.evidence[0].as_sample() == {
        "code": "differs", "message": "n3: CANN is 8.0, that of 4 others is 8.2", "values": {"setting": "CANN", "value": "8.0", "count": 4, "usual": "8.2"},
        "place": {"host": "n3"}}


@pytest.mark.parametrize(("of_n3", "messages"), [
    ({}, []),
    ({"netdev_mtu": 1500, "active_mtu": 1024}, ["mtu_differs: the MTU of the network device is 1500, that of 2 other RDMA ports is 9000",
                                                "mtu_differs: the active MTU is 1024, that of 2 other RDMA ports is 4096"]),
    ({"rate_gbit_s": 100.0}, ["speed_differs: the rate of the RDMA port is 100.0 Gbit/s, that of 2 other RDMA ports is 200.0 Gbit/s"]),
    ({"gid_type": "IB/RoCE v1"}, ["gid_differs: the type of the GID is IB/RoCE v1, that of 2 other RDMA ports is RoCE v2"]),
    ({"firmware": "28.1"}, ["firmware_differs: the firmware of the card is 28.1, that of 2 other RDMA ports is 28.3"])])
def test_rdma_ports_of_one_host_differ(of_n3, messages) -> None:
    usual = {"device": "mlx5_0", "netdev_mtu": 9000, "active_mtu": 4096, "rate_gbit_s": 200.0, "gid_type": "RoCE v2", "driver": "mlx5_core", "firmware": "28.3"}
    results = {name: {"devices": [{"id": 0, "address": "10.0.0.1", "rdma": {**usual, **more}}]}
               for name, more in (("n1", {}), ("n2", {}), ("n3", of_n3))}
    assert [f"{one.cause}: {one.message}" for one in over_rdma_hosts(results, "check_fabric") if one.hosts == ("n3",)] == messages
    assert over_rdma_hosts({"n1": None, "n2": {"devices": [{"id": 0, "rdma": "x"}]}}, "check_fabric") == []
