from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.endpoint_words import in_words_of


@pytest.mark.parametrize(("text", "ports"), [
    ("gpu-01 NPU 0 to gpu-02 NPU 1: failed", "gpu-01 port 0 to gpu-02 port 1: failed"),
    ("An NPU that is 9 % slower; an NPU with one measurement", "A port that is 9 % slower; a port with one measurement"),
    ("NPU 0 is slow", "Port 0 is slow"),
    ("28 pairs of NPUs, NPUs 0-3, 7", "28 pairs of ports, ports 0-3, 7"),
    ("all 8 NPUs are slow (NPU)", "all 8 ports are slow (port)"),
    ("2 个 NPU 与全部对端通信失败，NPU：3", "2 个端口与全部对端通信失败，端口：3"),
    ("rack-NPU-3 and NPU-1 and x.NPU and hccn_npu_ratio", "rack-NPU-3 and NPU-1 and x.NPU and hccn_npu_ratio"),
])
def test_texts_are_about_ports(text, ports):
    assert in_words_of("perftest", text) == in_words_of("iperf3", text) == ports
    assert in_words_of("roce_test", text) == text
