from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_sysfs import Gid, RdmaPort
from ansible_collections.hccn.cluster.plugins.module_utils._perf import perftest, perftest_report, route_trace
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest import Perftest
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import ALL_SIZES, Options
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_report import RequestedTest
from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import RdmaDevice

RULE = "-" * 87 + "\n"
# Release 4.5 and 25.01 differ in the lines of the relaxed order and of the verbs.
OLD = " PCIe relax order: ON\n ibv_wr* API     : OFF\n"
NEW = " PCIe relax order: ON\t\tLock-free      : OFF\n ibv_wr* API     : OFF\t\tUsing DDP      : OFF\n"
BW_HEADING = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
BW_ROW = " 65536      1000             91.20              90.50  \t\t   0.172615\n"
LAT_TABLE = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    " 2       1000          1.70           13.20        1.83     \t       1.82        \t0.20   \t\t1.91    \t\t13.20  \n"
)
END = RdmaDevice(RdmaPort("mlx5_2", 1, "ens4f0", "ACTIVE", "LinkUp", None, 200.0, "Ethernet", (Gid(3, "x", "RoCE v2", "10.0.0.11", "ens4f0"),),
                          None, None, None, None, "/dev/infiniband/uverbs0"), 3)
REQUESTED = RequestedTest(Options("write", size_bytes=65536, iterations=1000), "mlx5_2", 3, "Ethernet")
LOST_PEER = "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\n "


def header(title="RDMA_Write BW", lines=OLD, qps=1, mtu=4096, gid=3, device="mlx5_2", link="Ethernet"):
    addresses = "".join(
        " %s address: LID 0000 QPN 0x00%d PSN 0x14dcb8 RKey 0x000274 VAddr 0x007f7c15f4e000\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:11\n"
        % (side, number) for side in ("local", "remote") for number in range(qps))
    return (
        RULE + "                    %s Test\n Dual-port       : OFF\t\tDevice         : %s\n" % (title, device)
        + " Number of qps   : %d\t\tTransport type : IB\n" % qps
        + " Connection type : RC\t\tUsing SRQ      : OFF\n" + lines + " TX depth        : 128\n CQ Moderation   : 1\n"
        " Mtu             : %d[B]\n Link type       : %s\n GID index       : %d\n Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n" % (mtu, link, gid)
        + " Data ex. method : Ethernet\n" + RULE + addresses + RULE
    )


def finished(stdout="", stderr="", rc=0, timed_out=False):
    return Result(("ib_write_bw", "-d", "mlx5_2"), rc, stdout, stderr, timed_out, 0.0, 7.0)


def report(table=BW_HEADING + BW_ROW, **changes):
    return finished(header(**changes) + table + RULE)


def code_of(result, requested=REQUESTED):
    with pytest.raises(HccnError) as raised:
        perftest_report.judged(result, requested)
    return raised.value.code


@pytest.mark.parametrize("lines", [OLD, NEW])
def test_bandwidth_of_both_releases(lines):
    (row,) = perftest_report.judged(report(lines=lines), REQUESTED)
    assert row.as_sample() == {"size_bytes": 65536, "iterations": 1000, "bandwidth_gbit_s": 90.5}


@pytest.mark.parametrize("lines", [OLD, NEW])
def test_latency_of_both_releases(lines):
    requested = RequestedTest(Options("send", "latency", size_bytes=2), "mlx5_2")
    (row,) = perftest_report.judged(report(LAT_TABLE, title="Send Latency", lines=lines), requested)
    assert row.as_sample() == {"size_bytes": 2, "iterations": 1000, "latency_us": {"min": 1.7, "max": 13.2, "typical": 1.83, "avg": 1.82, "p99": 1.91}}


def test_parse_settings():
    found = perftest_report.parse(header(lines=NEW, qps=2) + BW_HEADING + BW_ROW)
    assert (found.program, found.bidirectional) == ("ib_write_bw", False)
    assert [found.number(name) for name in ("Number of qps", "Mtu", "Using DDP", "Nothing")] == [2, 4096, None, None]
    assert found.settings == {
        "Dual-port": "OFF", "Device": "mlx5_2", "Number of qps": "2", "Transport type": "IB", "Connection type": "RC", "Using SRQ": "OFF",
        "PCIe relax order": "ON", "Lock-free": "OFF", "ibv_wr* API": "OFF", "Using DDP": "OFF", "TX depth": "128", "CQ Moderation": "1", "Mtu": "4096[B]",
        "Link type": "Ethernet", "GID index": "3", "Max inline data": "0[B]", "rdma_cm QPs": "OFF", "Data ex. method": "Ethernet"}


@pytest.mark.parametrize("result, requested, difference", [
    (report(title="RDMA_Read BW"), REQUESTED, "test ib_read_bw, not ib_write_bw"),
    (report(title="RDMA_Write Bidirectional BW"), REQUESTED, "bidirectional True, not False"),
    (report(device="mlx5_3"), REQUESTED, "device mlx5_3, not mlx5_2"),
    (report(link="IB"), REQUESTED, "link type IB, not Ethernet"),
    (report(gid=1), REQUESTED, "gid_index 1, not 3"),
    (report(qps=4), REQUESTED, "qps 4, not 1"),
    (report(mtu=1024), RequestedTest(Options(mtu=4096), "mlx5_2"), "mtu 1024, not 4096"),
    (report(BW_HEADING + BW_ROW.replace("65536 ", "32768 ")), REQUESTED, "sizes 32768, not 65536"),
    (report(BW_HEADING + BW_ROW.replace(" 1000 ", " 100  ")), REQUESTED, "100 iterations, not 1000"),
    (report(), RequestedTest(Options(all_sizes=True), "mlx5_2"), "sizes 65536, not 2 to 8388608 (23)"),
    (report(BW_HEADING + BW_ROW.replace("90.50", "10787.97")), REQUESTED,
     "10788 Gbit/s, but 0.172615 million messages per second of 65536 bytes (90.5 Gbit/s)"),
])
def test_differences_from_the_requested_test_are_errors(result, requested, difference):
    with pytest.raises(HccnError) as raised:
        perftest_report.judged(result, requested)
    assert (raised.value.code, raised.value.message) == ("options_differ", "perftest did not measure what was requested: " + difference)


def test_defaults_of_perftest_are_not_compared():
    rows = perftest_report.judged(report(gid=0, mtu=1024, link="IB"), RequestedTest(Options(), "mlx5_2"))
    assert [row.bandwidth_gbit_s for row in rows] == [90.5]


def test_iterations_are_summed_over_queue_pairs():
    (row,) = perftest_report.judged(report(BW_HEADING + BW_ROW.replace(" 1000 ", " 4000 "), qps=4),
                                    RequestedTest(Options(iterations=1000, qps=4), "mlx5_2"))
    assert row.iterations == 4000


def test_all_sizes():
    table = BW_HEADING + "".join(" %-10d 5           0.080342            0.079452            0.000000\n" % 2 ** power for power in range(1, 24))
    rows = perftest_report.judged(report(table), RequestedTest(Options(all_sizes=True, iterations=5), "mlx5_2"))
    assert (len(rows), rows[0].size_bytes, rows[-1].size_bytes) == (23, 2, 8388608)


def test_run_by_duration():
    row = " 65536      335           0.000000            0.057275            0.000109\n"
    text = " WARNING: BW peak won't be measured in this run.\n" + header() + BW_HEADING + row
    (row,) = perftest_report.judged(finished(text), RequestedTest(Options(duration_s=3, size_bytes=65536), "mlx5_2", 3))
    assert row.as_sample() == {"size_bytes": 65536, "iterations": 335, "bandwidth_gbit_s": 0.057275}


def test_harmless_lines_on_standard_error_are_ignored():
    good = report()
    noisy = finished(good.stdout, "Device not recognized to implement inline feature. Disabling it\nConflicting CPU frequency values detected: 1 != 2.\n")
    assert perftest_report.judged(noisy, REQUESTED)[0].bandwidth_gbit_s == 90.5


@pytest.mark.parametrize("result, code", [
    (finished("", "Couldn't connect to 10.0.0.12:18515\nUnable to open file descriptor for socket connection Unable to init the socket connection\n", 1),
     "connection_refused"),
    (finished("* Waiting for client to connect... *\n", "Couldn't listen to port 18515\n", 1), "port_in_use"),
    (finished("", "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n", 1), "no_rdma_device"),
    (finished("", " Did not detect devices \n If device exists, check if driver is up\n", 1), "no_rdma_device"),
    (finished("", " Unable to query port 2 attributes\n Couldn't set the link layer\n", 1), "no_rdma_port"),
    (finished("", " Port number 1 state is Down\n Couldn't set the link layer\n", 1), "port_down"),
    (finished("", " Port number 1 state is Init\n Couldn't set the link layer\n", 1), "port_down"),
    (finished("", " Local lid 0x0 detected. Is SM running? If you wish to use RoCE\n", 1), "port_down"),
    (finished(header(), "\n Found Incompatibility issue with GID types.\n Please Try to use a different IP version.\n\n", 1), "gid_mismatch"),
    (finished(header(), "Failed to modify QP 60 to RTR\n Unable to Connect the HCA's through the link\n", 1), "connect_failed"),
    (finished("", "libibverbs: Warning: RLIMIT_MEMLOCK is 16384 bytes.\n    This will severely limit memory registrations.\nCouldn't allocate MR\n", 1),
     "memory_registration"),
    (finished("", " Gid index should be between 0 and 64\n Parser function exited with Error\n", 1), "bad_option"),
    (finished("Usage:\n", "ib_write_bw: unrecognized option '--ipv6-addr'\n Invalid Command or flag.\n\n Parser function exited with Error\n", 1),
     "bad_option"),
    (finished("", " Address family for hostname not supported for ai_family: a service: n2 port: 18520\nProblem in resolving basic address and port\n", 1),
     "unknown_address"),
    (finished(header() + BW_HEADING, LOST_PEER + "Failed to exchange data between server and clients\n", 1), "peer_ended"),
    (finished(header() + BW_HEADING, "ethernet_read_keys: Couldn't read remote address\n Unable to read from socket/rdma_cm\n"
                                     "Failed to sync between server and client between different msg sizes\n", 1), "peer_ended"),
    (finished("", "ethernet_read_data: Couldn't read reports\nFailed to exchange Page Size data between server and client\n", 1), "peer_ended"),
    (finished(report().stdout, LOST_PEER + "Failed to close connection between server and client\n Trying to close this side resources\n"), "peer_ended"),
    (finished(header(), "Can't produce a report\n", 1), "clock_not_measured"),
    (finished(report().stdout, "Error: BW result is below bw limit\n", 1), "below_limit"),
    (finished(rc=-9, timed_out=True), "perftest_timeout"),
    (finished(rc=-9), "tool_killed"),
    (finished(rc=137), "tool_killed"),
    (finished(header(), "Something new\n", 3), "tool_failed"),
    (finished(header()), "no_rows"),
    (finished(header() + BW_HEADING), "no_rows"),
    (report(BW_HEADING + BW_ROW.replace("90.50", "0.00 ")), "no_traffic"),
    (finished(report(BW_HEADING + BW_ROW.replace("90.50", "0.00 ")).stdout, "Correlation coefficient r^2: 0.643118 < 0.9\n"), "clock_not_measured"),
    (report(BW_HEADING + BW_ROW.replace("90.50", "0.00 ").replace("0.172615", "0.000000")), "no_traffic"),
    (finished("", " Number of iterations must be a multiple of post list size\n Parser function exited with Error\n", 1), "bad_option"),
    (finished(header(), "Unexpected CM event bl blka 8\n Unable to perform rdma_client function\n", 1), "connect_failed"),
])
def test_failure_codes(result, code):
    assert code_of(result) == code


def test_small_bandwidth_that_is_rounded_to_zero():
    """A row of 0.00 in a sweep is the bandwidth of its message rate; the table is judged as a whole."""
    small = {2: ("0.00", 0.000125), 4: ("0.00", 0.0)}
    rows = "".join(" %d  1000  0.01  %s  %f\n" % (size, *small.get(size, ("0.01", 1.25 / size))) for size in ALL_SIZES)
    found = perftest_report.judged(report(BW_HEADING + rows), RequestedTest(Options("write", all_sizes=True), "mlx5_2"))
    assert [(row.size_bytes, row.bandwidth_gbit_s) for row in found[:3]] == [(2, 2e-06), (4, 0.0), (8, 0.01)]


RETRIES = "transport retry counter exceeded (status 12, syndrome 0x81)"


@pytest.mark.parametrize("line, code, message", [
    ("Failed status 12: wr_id 0 syndrom 0x81", "retry_exceeded", RETRIES),
    ("Failed status 12: qp_num 7 wr_id 0 syndrom 0x81", "retry_exceeded", RETRIES),
    ("Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81", "retry_exceeded", RETRIES),
    ("Failed status 13: wr_id 3 syndrom 0x87", "receiver_not_ready", "RNR retry counter exceeded (status 13, syndrome 0x87)"),
    ("Failed status 9: wr_id 5 syndrom 0x0", "completion_error", "remote invalid request (status 9, syndrome 0x0)"),
    ("Failed status 17: wr_id 5 syndrom 0xa", "completion_error", "unknown status (status 17, syndrome 0xa)"),
])
def test_completion_errors_of_all_releases(line, code, message):
    error = perftest_report.error_of(finished(header(), " Completion with error at client\n %s\nscnt=128, ccnt=0\n" % line, 1))
    assert (error.code, error.message) == (code, "completion error: " + message)


def test_unknown_failure_contains_its_first_line():
    error = perftest_report.error_of(finished(header(), " Something new\n", 3))
    assert error.message == "ib_write_bw ended with status 3: Something new"


def test_unknown_heading_is_an_error():
    with pytest.raises(ParseError):
        perftest_report.parse(header() + BW_HEADING.replace("MsgRate[Mpps]", "Surprise"))


@pytest.mark.parametrize("text, version", [("Version: 6.06\n", "6.06"), ("Version: 6.24.1\n", "6.24.1"), ("Usage:\n", "")])
def test_parse_version(text, version):
    assert perftest_report.parse_version(text) == version


def make_tool(options=None, version="", rdma_devices=None):
    return Perftest(options or Options(), rdma_devices or {0: END}, version)


def test_command_lines():
    tool = make_tool(Options("send", size_bytes=4096, iterations=50, qps=4, mtu=1024, traffic_class=132, bidirectional=True))
    words = ("ib_send_bw", "-d", "mlx5_2", "-i", "1", "-x", "3", "-F", "-p", "18515", "-b", "-s", "4096", "-n", "50", "-q", "4", "-m", "1024",
             "--tclass", "132", "--report_gbits")
    assert tool.server(0, "10.0.0.11") == words
    other = words[:9] + ("18518",) + words[10:]
    assert tool.client(0, "10.0.0.12", 3) == other + ("10.0.0.12",)


def test_varied_options_use_another_path():
    tool = make_tool(Options(size_bytes=4096, qps=2), "6.06")
    assert (tool.varied({"qps": 4}).describe()["options"], tool.varied({}).describe()) == ({"size_bytes": 4096, "qps": 4}, tool.describe())
    assert tool.varied({"qps": 4}).client(0, "10.0.0.12", 0)[-4:] == ("-q", "4", "--report_gbits", "10.0.0.12")
    assert make_tool(Options("read", "latency")).varied({"qps": 4}).describe()["options"] == {}, "latency is measured with one queue pair"


def test_source_port_is_the_flow_label_from_which_the_driver_computes_it():
    tool = make_tool(Options(size_bytes=4096, source_port=49152), "6.24").varied({"source_port": 50000})
    words = ("ib_write_bw", "-d", "mlx5_2", "-i", "1", "-x", "3", "-F", "-p", "18515", "-s", "4096", "--flow_label=848", "--report_gbits")
    assert (tool.server(0, "10.0.0.11"), tool.client(0, "10.0.0.12", 0)) == (words, (*words, "10.0.0.12"))
    assert tool.describe()["options"] == {"size_bytes": 4096, "source_port": 50000}


def test_routers_are_those_of_the_source_port(monkeypatch):
    asked = []
    monkeypatch.setattr(route_trace, "routers", lambda *arguments: asked.append(arguments) or ["10.1.0.1"])
    roce = {0: RdmaDevice(replace(END.port, link_layer="Ethernet"), 3), 1: RdmaDevice(replace(END.port, link_layer="InfiniBand"), None)}
    tool = make_tool(Options(source_port=50000), "6.24", rdma_devices=roce)
    assert [tool.routers(device, "10.0.0.1", "10.0.0.2") for device in roce] == [["10.1.0.1"], []], "packets of InfiniBand have no port"
    both_ways = ({"operation": "read"}, {"measure": "latency"}, {"bidirectional": True})
    for options in (Options(), *(Options(source_port=50000, **given) for given in both_ways)):
        assert make_tool(options, rdma_devices=roce).routers(0, "10.0.0.1", "10.0.0.2") == [], "other routers may be on the way back"
    assert asked == [("10.0.0.1", "10.0.0.2", 50000, END.port.netdev)]


def test_context_of_a_device():
    hardware = RdmaDevice(replace(END.port, pci_address="0000:17:00.0", driver="mlx5_core", firmware="28.39.1002"), 3)
    assert make_tool(rdma_devices={0: END, 1: hardware}).about(1) == {"driver": "mlx5_core", "firmware": "28.39.1002", "line_rate_gbit_s": 200.0}
    assert make_tool().about(0) == {}, "the rate of software RoCE is made up"


def test_latency_has_no_unit_of_bandwidth():
    assert make_tool(Options("read", "latency")).server(0, "10.0.0.11") == ("ib_read_lat", "-d", "mlx5_2", "-i", "1", "-x", "3", "-F", "-p", "18515")


def test_all_sizes_by_ipv6():
    assert make_tool(Options(all_sizes=True)).client(0, "fd00::12", 0) == (
        "ib_write_bw", "-d", "mlx5_2", "-i", "1", "-x", "3", "-F", "-p", "18515", "-a", "--report_gbits", "--ipv6-addr", "fd00::12")


def test_infiniband_needs_no_gid():
    assert "-x" not in make_tool(rdma_devices={0: RdmaDevice(END.port, None)}).server(0, "10.0.0.11")


@pytest.mark.parametrize("options, message", [
    (Options(iterations=4), "iterations is 4, but perftest accepts 5 to 100000000 (-n)"),
    (Options(size_bytes=2147483648), "size_bytes is 2147483648, but perftest accepts 1 to 2147483647 (-s)"),
    (Options(qps=16385), "qps is 16385, but perftest accepts 1 to 16384 (-q)"),
    (Options(gid_index=65), "gid_index is 65, but perftest accepts 0 to 64 (-x)"),
    (Options(traffic_class=256), "traffic_class is 256, but perftest accepts 0 to 255 (--tclass)"),
    (Options(source_port=40000), "source_port is 40000, but perftest accepts 49152 to 65535 (--flow_label)"),
    (Options(mtu=1500), "mtu is 1500, but RDMA supports only 256, 512, 1024, 2048, 4096"),
    (Options("read", "latency", bidirectional=True), "latency cannot be measured in both directions at once"),
    (Options("read", "latency", qps=2), "latency can only be measured with one queue pair"),
    (Options(all_sizes=True, duration_s=3), "all sizes cannot be measured if one size or a duration is given"),
    (Options("atomic"), "perftest supports the operations write, read, send and the measures bandwidth, latency"),
])
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(InputError) as raised:
        perftest.validate(options)
    assert raised.value.message == message


def test_interface_of_the_pair_runner():
    tool = make_tool(Options(size_bytes=65536, iterations=1000, bidirectional=False), "6.06")
    assert tool.describe() == {"tool": {"name": "ib_write_bw", "version": "6.06"}, "operation": "write", "measure": "bandwidth",
                               "options": {"size_bytes": 65536, "iterations": 1000}}
    assert make_tool(Options(bidirectional=True)).describe() == {
        "tool": {"name": "ib_write_bw"}, "operation": "write", "measure": "bandwidth", "options": {"bidirectional": True}}
    assert (tool.port(0), tool.port(7), tool.cleanup(0), tool.reset(0)) == (18515, 18522, (), None)
    assert tool.samples(report(), 0) == [{"size_bytes": 65536, "iterations": 1000, "bandwidth_gbit_s": 90.5}]
    assert tool.failure(finished(header() + BW_HEADING)) is None
    assert tool.failure(finished("", "Couldn't listen to port 18515\n", 1)).code == "port_in_use"


@pytest.mark.parametrize("code, again, one_end", [
    ("connection_refused", True, False), ("clock_not_measured", True, True), ("retry_exceeded", False, False), ("port_in_use", False, True),
    ("perftest_timeout", False, False), ("options_differ", False, False), ("tool_missing", False, True), ("memory_registration", False, True),
    ("peer_ended", False, False),
])
def test_retries_and_side_of_an_error(code, again, one_end):
    error = HccnError(code, "x")
    assert (make_tool().may_retry(error), make_tool().of_one_side(error)) == (again, one_end)
