from __future__ import annotations

from typing import Any

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.measurement_review import measurement_review

OPTIONS = {"tool": "roce_test", "operation": "write", "measure": "bandwidth", "size": "64K", "iterations": 5000}
LARGE = {"size": 65536, "qps": "8", "iterations": "500000"}
"""-s 65536 -q 8 -n 500000: 262 GB"""


@pytest.mark.parametrize("options, seconds", [
    ({}, 8.0), ({"iterations": None, "duration": "30"}, 38.0), ({"tool": "perftest"}, 1.0), ({"tool": "perftest", **LARGE}, 84.0),
    ({"tool": "perftest", **LARGE, "rdma_port": "2", "rdma_device": "mlx5_0", "mtu": 4096, "gid_index": 0, "bidirectional": True}, 84.0),
    ({"tool": "iperf3", "iterations": None}, 11.0), ({"tool": "iperf3", "iterations": None, "duration": 2, "qps": 4, "bidirectional": True}, 3.0),
])
def test_time_of_a_pair(options: dict[str, Any], seconds: float) -> None:
    assert measurement_review({**OPTIONS, **options}, 4.0) == {"refusals": [], "seconds_per_pair": seconds}


def test_without_a_delay_a_pair_still_takes_time() -> None:
    assert measurement_review(OPTIONS, 0.0)["seconds_per_pair"] == 1.0


OMIT = "(omit it: only perftest uses the RDMA device of a host)"


@pytest.mark.parametrize("options, refusal", [
    (LARGE, "check_fabric_tool is roce_test: iterations is 500000, but roce_test accepts 5 to 20000 (-n)"),
    ({"rdma_port": 2}, f"check_fabric_tool is roce_test: rdma_port does not apply to roce_test {OMIT}"),
    ({"rdma_device": "mlx5_0"}, f"check_fabric_tool is roce_test: rdma_device does not apply to roce_test {OMIT}"),
    ({"tool": "iperf3"}, "check_fabric_tool is iperf3: iterations has no effect with iperf3, which measures TCP"),
    ({"tool": "iperf3", "iterations": None, "rdma_port": 1}, f"check_fabric_tool is iperf3: rdma_port does not apply to iperf3 {OMIT}"),
    ({"tool": "iperf3", "iterations": None, "mtu": 4096, "gid_index": 3},
     "check_fabric_tool is iperf3: mtu and gid_index have no effect with iperf3, which measures TCP"),
    ({"tool": "perftest", "measure": "latency", "qps": 8}, "check_fabric_tool is perftest: latency can only be measured with one queue pair"),
    ({"tool": "perftest", "measure": "latency", "bidirectional": True}, "check_fabric_tool is perftest: latency cannot be measured in both directions at once"),
    ({"tool": "perftest", "qps": "many"}, "check_fabric_tool is perftest: qps is 'many', not a whole number"),
    ({"tool": "perftest", "mtu": 1500}, "check_fabric_tool is perftest: mtu is 1500, but RDMA supports only 256, 512, 1024, 2048, 4096"),
])
def test_options_that_the_tool_does_not_support_are_refused(options: dict[str, Any], refusal: str) -> None:
    assert measurement_review({**OPTIONS, **options})["refusals"] == [refusal]


@pytest.mark.parametrize("wrong", [None, [], "roce_test", {"tool": "roce_test"}, {**OPTIONS, "tool": "ping"}])
def test_other_input_is_refused(wrong: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="measurement_review: the input is not a dictionary with tool"):
        measurement_review(wrong)
