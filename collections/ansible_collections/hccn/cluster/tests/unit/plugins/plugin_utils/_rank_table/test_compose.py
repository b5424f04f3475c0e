from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import Problem
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Group, Model, Server
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.compose import with_hosts


def server(host: str, *ids: int) -> Server:
    return Server(host, host + "-ip", tuple(Device(number) for number in ids))


MODEL = Model((Group("prefill", (server("npu1", 0, 2), server("npu2", 0))), Group("decode", (server("npu3", 4, 5),))), "1.0")


@pytest.mark.parametrize(("where", "message", "host", "named"), [
    ("server_list[1].device[0].device_ip", "the address 10.0.0.1 is also used by server_list[0].device[1]", "npu2",
     "the address 10.0.0.1 is also used by npu1 NPU 2"),
    ("server_list[2].server_id", "it is also used by server_list[0]", "npu3", "it is also used by npu1"),
    ("server_group_list[1].server_list[0]", "as server_group_list[1].server_list[0].device[1] and server_list[0]", "npu3", "as npu3 NPU 5 and npu1"),
    (None, "there is no server_list[9], no server_list[0].device[7], no server_group_list[4].server_list[0]", None,
     "there is no server_list[9], no server_list[0].device[7], no server_group_list[4].server_list[0]"),
])
def test_problems_name_hosts_and_npus(where: object, message: str, host: object, named: str) -> None:
    assert with_hosts([Problem("rule", "error", message, where=where)], MODEL) == [Problem("rule", "error", named, host=host, where=where)]
