from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import formats, table_merge
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Model, Server, one_group


def server(name, ids, rank=0, **more):
    return Server(name, name, tuple(Device(number, "192.168.%s.%d" % (name[1:], number), rank=rank + place) for place, number in enumerate(ids)), **more)


def source(name, *servers, version="1.0"):
    return table_merge.SourceTable(name, one_group(servers, version))


def test_ranks_are_renumbered_and_servers_merged():
    groups = table_merge.merged([source("b", server("n2", [0, 1], host_ip="172.16.0.2")),
                                 source("a", server("n1", [4, 5]), server("n2", [2], 2))], "hccl", "1.0")
    assert [(one.server_id, one.host_ip, [(device.id, device.rank) for device in one.devices]) for one in groups[0].servers] == [
        ("n2", "172.16.0.2", [(0, None), (1, None), (2, None)]), ("n1", None, [(4, None), (5, None)])]
    table = formats.build("hccl", Model(groups, "1.0"))
    assert [device["rank_id"] for one in table["server_list"] for device in one["device"]] == ["0", "1", "2", "3", "4"]
    assert table["server_count"] == "2"


def test_a_device_in_two_tables_is_refused():
    with pytest.raises(InputError, match="device 1 of server n2 is in both a.json and b.json"):
        table_merge.merged([source("a.json", server("n2", [0, 1])), source("b.json", server("n2", [1]))], "hccl", "1.0")


def test_an_empty_list_of_tables_is_refused():
    with pytest.raises(InputError, match="no tables are given"):
        table_merge.merged([], "hccl", "1.0")


def test_a_super_pod_list_with_version_1_0_becomes_version_1_2():
    found = source("a", server("n1", [0], super_pod_id="0"))
    assert table_merge.version_for("hccl", "auto", [found]) == "1.2"
    assert table_merge.version_for("hccl", "1.0", [found]) == "1.0"
    plain, = table_merge.merged([found], "hccl", "1.0")
    assert plain.servers[0].super_pod_id is None


@pytest.mark.parametrize("name, wanted, versions, message", [
    ("hccl", "auto", ["1.0", "2.0"], "tables of version 2.0 cannot be combined"),
    ("hccl", "2.0", ["1.0"], "tables of version 2.0 cannot be combined"),
    ("global", "auto", ["2.0"], "tables of version 2.0 cannot be combined"),
    ("hccl", "auto", ["1.3"], "a local_comm_res of version 1.3 does not identify NPUs, so it cannot be merged"),
    ("global", "2.0", ["1.0"], "format global has no version 2.0"),
])
def test_incompatible_versions_are_refused(name, wanted, versions, message):
    with pytest.raises(InputError, match=message):
        table_merge.version_for(name, wanted, [source(version, server("n1", [0]), version=version) for version in versions])


def test_tables_of_version_2_0_are_merged():
    sources = [source("a", server("n1", [0, 1]), version="2.0"), source("b", server("n1", [0], 0), version="2.0")]
    assert table_merge.version_for("hccl", "auto", sources) == "2.0"
    table = formats.build("hccl", Model(table_merge.merged(sources, "hccl", "2.0"), "2.0"))
    assert [(rank["rank_id"], rank["device_id"]) for rank in table["rank_list"]] == [(0, 0), (1, 1), (2, 0)]


def test_groups_are_preserved():
    first = table_merge.SourceTable("a", Model((Group("0", (server("n0", []),)), Group("2", (server("n1", [0]),), {"deploy_server": "0"})), "1.0"))
    second = table_merge.SourceTable("b", Model((Group("0", (server("n9", []),)), Group("2", (server("n2", [0]),)), Group("5", (server("n1", [1]),))), "1.0"))
    groups = table_merge.merged([first, second], "global", "1.0")
    assert [(group.name, [one.server_id for one in group.servers], group.more) for group in groups] == [
        ("0", ["n0", "n9"], {}), ("2", ["n1"], {"deploy_server": "0"}), ("3", ["n2"], {}), ("4", ["n1"], {})]
    flat, = table_merge.merged([first, second], "hccl", "1.0")
    assert [(one.server_id, [device.id for device in one.devices]) for one in flat.servers] == [("n0", []), ("n1", [0, 1]), ("n9", []), ("n2", [0])]


def chosen(hosts, words):
    groups = (Group("", (server("n1", [0, 1, 2]), server("n2", [0, 1]))),)
    return table_merge.selected(groups, hosts, lambda host, present: expand(words.get(host, ["all"]), present))


@pytest.mark.parametrize("hosts, words, expected", [
    (None, {}, [("n1", [0, 1, 2]), ("n2", [0, 1])]),
    (["n2", "n1"], {"n1": ["1-2"]}, [("n2", [0, 1]), ("n1", [1, 2])]),
    (["n2"], {}, [("n2", [0, 1])]),
])
def test_servers_and_devices_are_selected(hosts, words, expected):
    group, = chosen(hosts, words)
    assert [(one.host, [device.id for device in one.devices]) for one in group.servers] == expected


@pytest.mark.parametrize("hosts, words, message", [
    (["n3"], {}, "no table has the server n3"), (None, {"n2": ["1-3"]}, "server n2 has no device 2, 3 in the tables")])
def test_a_selected_server_or_device_must_exist(hosts, words, message):
    with pytest.raises(InputError, match=message):
        chosen(hosts, words)
