from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._perf import iperf3
from ansible_collections.hccn.cluster.plugins.module_utils._perf.iperf3 import Iperf3
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import Options


def document(error=None, received=9.5e9, **sums):
    """Return the relevant parts of the document of iperf3 3.12 and 3.18."""
    found = {
        "start": {"connected": [{"socket": 5}], "version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "duration": 2}},
        "intervals": [],
        "end": {"sum_sent": {"bits_per_second": received + 1e6, "retransmits": 3}, "sum_received": {"bits_per_second": received}, **sums},
    }
    return {"start": {"connected": []}, "intervals": [], "end": {}, "error": error} if error else found


def finished(printed, rc=0, stderr="", timed_out=False):
    text = printed if isinstance(printed, str) else json.dumps(printed)
    return Result(("iperf3", "-c", "10.0.0.12"), rc, text, stderr, timed_out, 0.0, 3.0)


def test_received_bandwidth_is_returned():
    assert Iperf3(Options()).samples(finished(document())) == [{"size_bytes": 131072, "bandwidth_gbit_s": 9.5}]


def test_bandwidth_of_both_directions_is_added():
    both = document(sum_received_bidir_reverse={"bits_per_second": 4.25e9})
    assert Iperf3(Options(bidirectional=True)).samples(finished(both)) == [{"size_bytes": 131072, "bandwidth_gbit_s": 13.75}]


def test_command_lines():
    tool = Iperf3(Options(duration_s=2, qps=4, size_bytes=65536))
    assert tool.server(3, "10.0.0.12") == ("iperf3", "-s", "-1", "-J", "-B", "10.0.0.12", "-p", "5204")
    words = ("iperf3", "-c", "10.0.0.12", "-J", "-p", "5204", "--connect-timeout", "3000")
    assert tool.client(0, "10.0.0.12", 3) == words + ("-t", "2", "-P", "4", "-l", "65536")
    again = tool.varied({"source_port": 50000, "qps": 8})
    assert again.client(0, "10.0.0.12", 3) == words + ("-t", "2", "-P", "8", "-l", "65536", "--cport", "50000")
    assert again.describe()["options"] == {"size_bytes": 65536, "duration_s": 2, "qps": 8, "source_port": 50000}
    assert Iperf3(Options("read")).client(0, "10.0.0.12", 3) == words + ("-t", "10", "-R")
    assert Iperf3(Options("read", bidirectional=True)).client(0, "10.0.0.12", 3) == words + ("-t", "10", "--bidir")


@pytest.mark.parametrize("options, message", [
    (Options(measure="latency"), "iperf3 measures bandwidth only"),
    (Options(all_sizes=True), "iperf3 measures one size at a time"),
    (Options(iterations=5), "iterations has no effect with iperf3, which measures TCP"),
    (Options(mtu=4096, gid_index=3), "mtu and gid_index have no effect with iperf3, which measures TCP"),
    (Options(qps=129), "qps is 129, but iperf3 accepts 1 to 128 (-P)"),
    (Options(size_bytes=1048577), "size_bytes is 1048577, but iperf3 accepts 1 to 1048576 (-l)"),
    (Options(source_port=80), "source_port is 80, but iperf3 accepts 1024 to 65535 (--cport)"),
    (Options(duration_s=0), "duration_s is 0, but iperf3 accepts 1 to 86400 (-t)"),
])
def test_unsupported_options_are_rejected(options, message):
    with pytest.raises(InputError) as raised:
        Iperf3(options)
    assert raised.value.message == message


@pytest.mark.parametrize("result, code, again, one_end", [
    (finished(document("unable to connect to server: Connection refused")), "connection_refused", True, False),
    (finished(document("unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: Connection refused"), 1),
     "connection_refused", True, False),
    (finished(document("the server is busy running a test. try again later")), "server_busy", True, False),
    (finished(document("error - unable to start listener for connections: Address already in use"), 1), "port_in_use", False, True),
    (finished(document("error - unable to start listener for connections: Cannot assign requested address"), 1), "no_such_address", False, True),
    (finished(document("control socket has closed unexpectedly")), "peer_ended", False, False),
    (finished(document("the client has unexpectedly closed the connection")), "peer_ended", False, False),
    (finished(document("the server has terminated"), 1), "peer_ended", False, False),
    (finished(document("interrupt - the client has terminated"), 1), "tool_killed", False, True),
    (finished(document("something new")), "tool_failed", False, False),
    (finished(document(), 1), "tool_failed", False, False),
    (finished("", 1, "iperf3: parameter error - bad\nUsage\n"), "tool_failed", False, False),
    (finished("", -9), "tool_killed", False, True),
    (finished("", -9, "", True), "iperf3_timeout", False, False),
    (finished(document(received=0.0)), "no_traffic", False, False),
    (finished({"start": {}, "end": {}}), "unexpected_output", False, False),
])
def test_failure_codes(result, code, again, one_end):
    tool = Iperf3(Options())
    with pytest.raises(HccnError) as raised:
        tool.samples(result)
    assert (raised.value.code, tool.may_retry(raised.value), tool.of_one_side(raised.value)) == (code, again, one_end)


def test_interface_of_the_pair_runner():
    tool = Iperf3(Options(duration_s=2), "3.12")
    assert tool.describe() == {"tool": {"name": "iperf3", "version": "3.12"}, "operation": "write", "measure": "bandwidth", "options": {"duration_s": 2}}
    assert (tool.port(7), tool.cleanup(0), tool.reset(0), tool.failure(finished(document()))) == (5208, (), None, None)
    assert tool.failure(finished(document("the client has terminated"))).code == "peer_ended"


@pytest.mark.parametrize("text, version", [("iperf 3.12 (cJSON 1.7.15)\nLinux n1\n", "3.12"), ("", ""), ("bash: no\n", "")])
def test_parse_version(text, version):
    assert iperf3.parse_version(text) == version
