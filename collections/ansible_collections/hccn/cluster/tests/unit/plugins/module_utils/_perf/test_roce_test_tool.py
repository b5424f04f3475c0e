from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device.hccn_tool import HccnTool
from ansible_collections.hccn.cluster.plugins.module_utils._perf import perftest_text, roce_test_tool
from ansible_collections.hccn.cluster.plugins.module_utils._perf.roce_test_tool import Options, Output

RULE = "-" * 116 + "\n"
START = "Dsmi get perftest status end. (status=1)\nDsmi start roce perftest end. (out=1)\n"
DONE = "Dsmi get perftest status end. (status=2)\nDsmi get perftest status end. (status=1)\n"
BROKEN = "Dsmi get perftest status end. (status=2)\nDsmi get perftest status end. (status=3)\n"
OPENING = (
    "roce_report:\n new post send flow is not supported, falling back to ibv_post_send\n" + RULE + RULE
    + "                    RDMA_Write BW Test\n Dual-port       : OFF          Device         : hns_0\n"
    " local address: LID 0000 QPN 0x0033 PSN 0x12ab34\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:07:03\n"
)
HEADING = " #bytes       #iterations        BW peak[MB/sec]            BW average[MB/sec]          MsgRate[Mpps]\n"
ROW = " 1048576      512                11000.50                   10500.25                    0.010500\n"
REPORT = OPENING + RULE + HEADING + ROW + RULE + "\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    "Conflicting CPU frequency values detected: 1200.000000 != 2600.000000. CPU Frequency is not max.\n"
    " 2       1000          41.50          77.25        46.20               46.80            1.10            52.30                   70.01  \n"
)


def finished(stdout="", stderr="", rc=0, timed_out=False):
    return Result(("hccn_tool", "-i", "3", "-roce_test", "ib_write_bw", "-tcp"), rc, stdout, stderr, timed_out, 0.0, 12.0)


def code_of(result):
    with pytest.raises(HccnError) as raised:
        roce_test_tool.rows(result)
    return raised.value.code


def test_bandwidth_is_converted_from_mebibytes():
    (row,) = roce_test_tool.rows(finished(START + DONE + REPORT))
    assert row.as_sample() == {"size_bytes": 1048576, "iterations": 512, "bandwidth_gbit_s": 88.082481}


def test_gigabits_are_not_converted():
    (row,) = roce_test_tool.rows(finished(START + DONE + REPORT.replace("MB/sec", "Gb/sec")))
    assert row.bandwidth_gbit_s == 10500.25


def test_new_heading_of_mebibytes():
    (row,) = roce_test_tool.rows(finished(START + DONE + REPORT.replace("MB/sec", "MiB/sec")))
    assert row.bandwidth_gbit_s == 88.082481


def test_latency():
    (row,) = roce_test_tool.rows(finished(START + DONE + OPENING + LATENCY))
    assert row.as_sample() == {"size_bytes": 2, "iterations": 1000, "latency_us": {"min": 41.5, "max": 77.25, "typical": 46.2, "avg": 46.8, "p99": 52.3}}


def test_latency_by_duration():
    table = " #bytes        #iterations       t_avg[usec]    tps average\n 2             52000            47.11          21226.91\n"
    (row,) = roce_test_tool.rows(finished(START + DONE + OPENING + table))
    assert row.as_sample() == {"size_bytes": 2, "iterations": 52000, "latency_us": {"avg": 47.11}}


def test_all_sizes_return_one_row_each():
    table = HEADING + "".join(" %-12d 1000    1.00   %d.00\t\t   0.5\n" % (2 ** power, power) for power in range(1, 24))
    rows = roce_test_tool.rows(finished(START + DONE + OPENING + table))
    assert len(rows) == 23
    assert (rows[0].size_bytes, rows[0].bandwidth_gbit_s) == (2, 0.008389)
    assert (rows[-1].size_bytes, rows[-1].bandwidth_gbit_s) == (8388608, 0.192938)


def test_rounded_row_of_a_sweep_is_no_failure():
    table = HEADING + " 2            1000    0.00   0.00\t\t   0.000125\n 4            1000    1.00   2.00\t\t   0.5\n"
    assert [row.bandwidth_gbit_s for row in roce_test_tool.rows(finished(START + DONE + OPENING + table))] == [2e-06, 0.016777]


def test_peak_may_be_zero():
    (row,) = roce_test_tool.rows(finished(START + DONE + REPORT.replace("11000.50", "0.00    ")))
    assert row.bandwidth_gbit_s == 88.082481


@pytest.mark.parametrize("result, code", [
    (finished('Please add "-tcp"\n', "Cmd execute failed!\n"), "tcp_missing"),
    (finished("Dsmi get perftest status end. (status=2)\n", "Roce perftest is doing, please try later.\nCmd execute failed!\n", 2), "roce_test_running"),
    (finished("hccn_tool is busy, please try again.\n", "", 11), "tool_busy"),
    (finished("Dsmi get perftest status end. (status=1)\nDsmi start roce perftest end. (out=2)\n", "Cmd execute failed!\n", 2), "start_refused"),
    (finished(START + DONE, "Command execute failed!\n", 1), "no_report"),
    (finished(), "no_report"),
    (finished(START + BROKEN + REPORT, "Cmd execute failed!\n", 255), "roce_test_failed"),
    (finished(START + BROKEN + "roce_report:\n", "Cmd execute failed!\n", 255), "roce_test_failed"),
    (finished(START + BROKEN, "Cmd execute failed!\n", 255), "roce_test_failed"),
    (finished(START + DONE + REPORT, "Cmd execute failed!\n", 255), "tool_failed"),
    (finished(START + DONE + REPORT, "", 9), "tool_exit_9"),
    (finished(START + DONE + "roce_report:\nCouldn't connect to 192.168.7.4:18515\n\n"), "connection_refused"),
    (finished(START + BROKEN + "roce_report:\n Couldn't connect to 192.168.7.4:18515\n", "Cmd execute failed!\n", 255), "connection_refused"),
    (finished(START + BROKEN + OPENING + " Failed status 12: wr_id 0 syndrom 0x81\n", "Cmd execute failed!\n", 255), "retry_exceeded"),
    (finished(START + DONE + OPENING), "no_rows"),
    (finished(START + DONE + OPENING + HEADING), "no_rows"),
    (finished(START + DONE + REPORT.replace("10500.25", "0.00    ")), "no_traffic"),
    (finished(START + DONE, "The cmd line execute timeout!\n", 1), "tool_timeout"),
    (finished(rc=-9, timed_out=True), "roce_test_timeout"),
    (finished(rc=-15), "tool_killed"),
    (finished("", "There isn't enough memory to perform the requested, only -n and -s parameters are allowed here.\nGet invalid parameters!\n", 1),
     "device_memory_low"),
    (finished("", "There is not enough memory to perform the requested, please decrease your parameters.\n", 1), "device_memory_low"),
])
def test_failure_codes(result, code):
    assert code_of(result) == code


def test_timeout_error_mentions_the_lost_output():
    with pytest.raises(HccnError) as raised:
        roce_test_tool.rows(finished(rc=-9, timed_out=True))
    assert raised.value.message == "roce_test did not end within 12 s: hccn_tool -i 3 -roce_test ib_write_bw -tcp"
    assert "the output is lost" in raised.value.hint


@pytest.mark.parametrize("report, words", [
    (REPORT, "the report gives no reason"),
    ("roce_report:\n Something of the device\n", "Something of the device"),
])
def test_device_error_contains_the_reason_of_the_report(report, words):
    with pytest.raises(HccnError) as raised:
        roce_test_tool.rows(finished(START + BROKEN + report, "Cmd execute failed!\n", 255))
    assert raised.value.message == "the device ended the test with an error (status 3): " + words


@pytest.mark.parametrize("table", [
    HEADING.replace("MB/sec", "KB/sec") + ROW,
    HEADING.replace("MsgRate[Mpps]", "Surprise[?]") + ROW,
    HEADING + ROW.replace("10500.25", "10x00.25"),
    " #bytes #iterations MsgRate[Mpps]\n 2 5 1.0\n",
    " #bytes BW peak[MB/sec] BW average[MB/sec]\n 2 5 1.0\n",
])
def test_unknown_table_is_an_error(table):
    with pytest.raises(ParseError):
        roce_test_tool.rows(finished(START + DONE + OPENING + table))


def test_parse_output():
    assert roce_test_tool.parse(START + BROKEN + "roce_report:\n x\n") == Output(1, 3, "\n x\n")
    assert roce_test_tool.parse("Dsmi get perftest status end. (status=3)\n") == Output(None, None, None)
    assert roce_test_tool.parse(START) == Output(1, None, None)


@pytest.mark.parametrize("failure", perftest_text.FAILURES, ids=lambda failure: failure.text)
def test_each_text_of_perftest_has_its_code(failure):
    error = perftest_text.failure_in("\n noise\n  x %s y\n" % failure.text)
    assert (error.code, error.message, error.hint) == (failure.code, "x %s y" % failure.text, failure.hint)


def test_command_lines():
    assert roce_test_tool.arguments(Options(), "192.168.7.4", client=False) == ("-roce_test", "ib_write_bw", "-tcp")
    assert roce_test_tool.arguments(Options("read", "latency", size_bytes=4096, duration_s=5), "192.168.7.4", client=True) == (
        "-roce_test", "ib_read_lat", "-s", "4096", "-D", "5", "address", "192.168.7.4", "-tcp")
    assert roce_test_tool.arguments(Options("send", all_sizes=True, iterations=5, qps=4, mtu=4096, gid_index=3, traffic_class=132), "fd00::4", client=True) == (
        "-roce_test", "-inet6", "ib_send_bw", "-a", "-n", "5", "-q", "4", "-m", "4096", "-x", "3", "-tclass", "132", "address", "fd00::4", "-tcp")


@pytest.mark.parametrize("options", [
    Options(size_bytes=1), Options(size_bytes=874736000), Options(iterations=5), Options(iterations=20000), Options(duration_s=1), Options(duration_s=500),
    Options(qps=1), Options(qps=100), Options(mtu=256), Options(mtu=4096), Options(gid_index=0), Options(traffic_class=255), Options(all_sizes=True),
    Options(measure="latency", qps=1),
])
def test_values_at_the_limits_are_valid(options):
    roce_test_tool.validate(options)


@pytest.mark.parametrize("options", [
    Options(size_bytes=0), Options(size_bytes=874736001), Options(iterations=4), Options(iterations=20001), Options(duration_s=0), Options(duration_s=501),
    Options(qps=0), Options(qps=101), Options(mtu=1500), Options(mtu=8192), Options(gid_index=6), Options(traffic_class=256),
    Options(iterations=5, duration_s=5), Options(all_sizes=True, size_bytes=4), Options(all_sizes=True, duration_s=4),
    Options(measure="latency", qps=2), Options("atomic"), Options(measure="jitter"),
])
def test_values_beyond_the_limits_are_rejected(options):
    with pytest.raises(InputError):
        roce_test_tool.validate(options)


def test_error_contains_the_limit():
    with pytest.raises(InputError) as raised:
        roce_test_tool.validate(Options(iterations=4))
    assert raised.value.message == "iterations is 4, but roce_test accepts 5 to 20000 (-n)"


class Script:
    def __init__(self, *results):
        self.results = list(results)
        self.calls = []

    def __call__(self, argv, timeout):
        self.calls.append(tuple(argv))
        return self.results.pop(0)


def make_tool(options=None, script=None):
    return roce_test_tool.RoceTest(HccnTool("tool", 5.0, run=script or Script(), sleep=lambda _seconds: None), options or Options())


def test_interface_of_the_pair_runner():
    tool = make_tool(Options("read", iterations=10))
    assert tool.describe() == {"tool": {"name": "ib_read_bw"}, "operation": "read", "measure": "bandwidth", "options": {"iterations": 10}}
    assert tool.server(3, "192.168.7.4") == ("tool", "-i", "3", "-roce_test", "ib_read_bw", "-n", "10", "-tcp")
    assert tool.client(0, "192.168.7.4") == ("tool", "-i", "0", "-roce_test", "ib_read_bw", "-n", "10", "address", "192.168.7.4", "-tcp")
    assert tool.cleanup(7) == ("tool", "-i", "7", "-roce_test", "reset")
    assert tool.samples(finished(START + DONE + REPORT)) == [{"size_bytes": 1048576, "iterations": 512, "bandwidth_gbit_s": 88.082481}]


def test_record_contains_all_sizes():
    assert make_tool(Options(all_sizes=True)).describe()["options"] == {"all_sizes": True}


def test_reset_retries_a_busy_tool():
    script = Script(finished("hccn_tool is busy, please try again.\n", "", 11), finished("Cmd executed successfully!\n"))
    make_tool(script=script).reset(2)
    assert script.calls == [("tool", "-i", "2", "-roce_test", "reset")] * 2


def test_reset_without_confirmation_is_an_error():
    with pytest.raises(HccnError) as raised:
        make_tool(script=Script(finished("reset_report:\n"))).reset(2)
    assert raised.value.code == "not_confirmed"


def test_server_may_end_without_a_table():
    tool = make_tool()
    assert tool.failure(finished(START + DONE + OPENING + HEADING)) is None
    assert tool.failure(finished(START + BROKEN + "roce_report:\n Couldn't listen to port 18515\n", "", 255)).code == "port_in_use"


@pytest.mark.parametrize("code, again, one_end", [
    ("connection_refused", True, False), ("tool_busy", True, True), ("retry_exceeded", False, False), ("roce_test_running", False, True),
    ("roce_test_timeout", False, False), ("tool_missing", False, True), ("no_report", False, True),
])
def test_retries_and_side_of_an_error(code, again, one_end):
    error = HccnError(code, "x")
    assert (make_tool().may_retry(error), make_tool().of_one_side(error)) == (again, one_end)
