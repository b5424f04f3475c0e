"""Compare the results of the perftest and RDMA parsers for real runs and published texts with literals, or list a text with the reason why it is not read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import rdma_checks, rdma_sysfs
from ansible_collections.hccn.cluster.plugins.module_utils._perf import perftest, perftest_report, perftest_text
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_options import Options
from ansible_collections.hccn.cluster.plugins.module_utils._perf.perftest_report import RequestedTest
from ansible_collections.hccn.cluster.plugins.module_utils._perf.rdma_device import find_device
from tests.lib.project import shared

# By case: the expected results of the client and the server. Rows are (bytes, iterations, Gbit/s, or typical and average microseconds). Of several rows, the
# first, the last and their number are listed. A string is an error code. None is success without a table, as printed by servers of ib_read_lat. A server of -a
# prints only its last size, which is another reason to take samples from the client.
RUNS: dict[str, dict[str, Any]] = {
    "errors/address-in-use": {"server": "port_in_use"},
    "errors/bad-option": {"client": "bad_option"},
    "errors/client-sigkill-mid-run": {"client": "tool_killed", "server": "peer_ended"},
    "errors/client-wrong-device": {"client": "no_rdma_device"},
    "errors/gid-index-empty-entry": {"client": "gid_mismatch", "server": "gid_mismatch"},
    "errors/gid-index-empty-entry-both": {"client": "connect_failed", "server": "connect_failed"},
    "errors/gid-index-negative": {"client": "bad_option", "server": "tool_killed"},
    "errors/gid-index-out-of-table": {"client": "bad_option", "server": "tool_killed"},
    "errors/gid-link-local-against-ipv4": {"client": "gid_mismatch", "server": "gid_mismatch"},
    "errors/gid-link-local-both": {"client": (65536, 200, 0.079452), "server": (65536, 200, 0.079452)},
    "errors/iterations-differ": {"client": (65536, 100, 0.068715), "server": "options_differ"},
    "errors/memlock-limit": {"client": "connection_refused"},
    "errors/memlock-limit-server-up": {"client": "memory_registration", "server": "peer_ended"},
    "errors/no-rdma-device": {"client": "no_rdma_device"},
    "errors/no-rdma-device-unnamed": {"client": "no_rdma_device"},
    "errors/qps-differ": {"client": "perftest_timeout", "server": "perftest_timeout"},
    "errors/send-iterations-differ": {"client": "peer_ended", "server": "perftest_timeout"},
    "errors/server-host-absent": {"client": "connection_refused"},
    "errors/server-name-unknown": {"client": "unknown_address"},
    "errors/server-no-client": {"server": "perftest_timeout"},
    "errors/server-not-up": {"client": "connection_refused"},
    "errors/server-sigkill-mid-run": {"client": "perftest_timeout", "server": "tool_killed"},
    "errors/server-wrong-device": {"server": "no_rdma_device"},
    "errors/size-differs": {"client": (4096, 200, 0.030757), "server": "options_differ"},
    "errors/status-9-with-8-qps": {"client": "completion_error", "server": "peer_ended"},
    "errors/tool-differs": {"client": "completion_error", "server": "peer_ended"},
    "errors/units-differ": {"client": (65536, 200, 0.105361), "server": "options_differ"},
    "errors/wrong-ib-port": {"client": "no_rdma_port"},
    "ib_read_bw/gbits": {"client": (65536, 1000, 0.087827), "server": (65536, 1000, 0.087827)},
    "ib_read_bw/mib": {"client": (65536, 1000, 0.098398), "server": (65536, 1000, 0.098398)},
    "ib_read_bw/q4": {"client": (65536, 800, 0.093747), "server": (65536, 800, 0.093747)},
    "ib_read_lat/all-sizes": {"client": [(2, 20, 2336.86, 7076.57), (8388608, 20, 392966.03, 481872.72), 23], "server": None},
    "ib_read_lat/basic": {"client": (8, 1000, 1969.7, 3520.17), "server": None},
    "ib_send_bw/gbits": {"client": (65536, 1000, 0.053746), "server": (65536, 1000, 0.054368)},
    "ib_send_bw/mib": {"client": (65536, 1000, 0.031457), "server": (65536, 1000, 0.031625)},
    "ib_send_bw/q4": {"client": (65536, 800, 0.046344), "server": (65536, 800, 0.047345)},
    "ib_send_lat/all-sizes": {
        "client": [(2, 20, 5458.99, 7238.75), (8388608, 20, 793725.88, 796482.57), 23],
        "server": [(2, 20, 6008.27, 6774.66), (8388608, 20, 790372.75, 792975.68), 23]},
    "ib_send_lat/basic": {"client": (8, 1000, 7898.34, 10245.77), "server": (8, 1000, 7855.39, 10219.26)},
    "ib_send_lat/duration": {"client": (8, 275, 5461.73), "server": (8, 275, 5468.56)},
    "ib_write_bw/all-sizes": {"client": [(2, 5, 2e-06), (8388608, 5, 0.11), 23], "server": "options_differ"},
    "ib_write_bw/bidirectional": {"client": (65536, 200, 0.124059), "server": (65536, 200, 0.124059)},
    "ib_write_bw/duration": {"client": (65536, 335, 0.057275), "server": (65536, 335, 0.057275)},
    "ib_write_bw/gbits": {"client": (65536, 1000, 0.071045), "server": (65536, 1000, 0.071045)},
    "ib_write_bw/json": {"client": (65536, 200, 0.19), "server": (65536, 200, 0.19)},
    "ib_write_bw/mib": {"client": (65536, 1000, 0.058217), "server": (65536, 1000, 0.058217)},
    "ib_write_bw/no-gid-index": {"client": (65536, 200, 0.053736), "server": (65536, 200, 0.053736)},
    "ib_write_bw/q2": {"client": (65536, 400, 0.075947), "server": (65536, 400, 0.075947)},
    "ib_write_bw/q4": {"client": (65536, 800, 0.11), "server": (65536, 800, 0.11)},
    "ib_write_lat/all-sizes": {
        "client": [(2, 20, 12312.68, 11906.09), (8388608, 20, 758266.32, 729447.04), 23],
        "server": [(2, 20, 13175.45, 12168.7), (8388608, 20, 721618.23, 719570.81), 23]},
    "ib_write_lat/basic": {"client": (8, 1000, 9048.4, 14121.66), "server": (8, 1000, 9093.1, 14150.27)},
}

# Not read: the kernel's sysfs has the same information without a tool, and with the index of each GID.
TOOLS_NOT_USED = {
    "errors/no-rdma-device-ibstat", "errors/no-rdma-device-ibstatus", "errors/no-rdma-device-ibv_devices", "errors/no-rdma-device-ibv_devinfo",
    "errors/no-rdma-device-rdma-link-show", "info/ibstat", "info/ibstat-wrong", "info/ibstatus", "info/ibv_devices", "info/ibv_devinfo",
    "info/ibv_devinfo-d-wrong", "info/ibv_devinfo-v", "info/rdma-link", "info/rdma-link-json", "info/sysfs-counters",
}
# Read by separate tests below.
OTHERS = {
    "ib_atomic_lat/basic", "info/help-ib_read_bw", "info/help-ib_read_lat", "info/help-ib_send_bw", "info/help-ib_send_lat", "info/help-ib_write_bw",
    "info/help-ib_write_lat", "info/ib_write_bw-version", "info/missing-binary", "info/sysfs", "info/sysfs-list",
}

TEXTS: dict[str, Any] = {
    "ib_read_bw__ib_400g": (65536, 1000, 328.61),
    "ib_read_lat__roce": (2, 1000, 4.83, 4.82),
    "ib_send_lat": (2, 1000, 1.27, 1.27),
    "ib_write_bw__ib_400g": (65536, 5000, 392.34),
    "ib_write_bw__roce_all_sizes": [(2, 5000, 0.11), (8388608, 5000, 92.39), 23],
}
ERRORS = {
    "error__bad_option": "bad_option",
    "error__bw_limit": "below_limit",
    "error__completion_6.28": "retry_exceeded",
    "error__connect": "connection_refused",
    "error__no_device": "no_rdma_device",
    "error__port_in_use": "port_in_use",
    "error__version": "version_mismatch",
}
JSON_NOT_READ = {"bw_json__6.29.json", "bw_json__broken_with_output_bandwidth.json", "bw_json__real.json"}

PROGRAM = re.compile(r"ib_(write|read|send)_(bw|lat)")
FLAGS = {"-s": "size_bytes", "-n": "iterations", "-D": "duration_s", "-q": "qps", "-m": "mtu"}


def request_of(words: list[str]) -> RequestedTest:
    """Return the options of a recorded command line."""
    operation, kind = PROGRAM.fullmatch(words[0]).groups()
    given = {FLAGS[flag]: int(value) for flag, value in zip(words, words[1:]) if flag in FLAGS}
    options = Options(operation, "bandwidth" if kind == "bw" else "latency", all_sizes="-a" in words, bidirectional="-b" in words, **given)
    after = dict(zip(words, words[1:]))
    return RequestedTest(options, after.get("-d", "rxe0"), int(after["-x"]) if "-x" in after else None)


def ran(case: dict[str, Any], side: str) -> tuple[Result, RequestedTest]:
    command = shlex.split(case[side]["command"])
    if command[0] == "bash":  # as another user with a memory limit
        command = shlex.split(command[2][command[2].index("ib_"):])
    status = case[side]["exit_status"]
    result = Result(tuple(command), status, case.get(f"{side}.stdout", ""), case.get(f"{side}.stderr", ""), status == 124, 0.0, 60.0)
    return result, request_of(command)


def measured(result: Result, request: RequestedTest) -> Any:
    """Return the first row, the last row and the number of rows, or the error code. A row is (bytes, iterations, Gbit/s or typical and average
    microseconds)."""
    try:
        rows = [values(row) for row in perftest_report.judged(result, request)]
    except HccnError as error:
        return error.code
    return rows[0] if len(rows) == 1 else [rows[0], rows[-1], len(rows)]


def values(row: perftest_text.PerftestRow) -> tuple[Any, ...]:
    latency = row.latency_us or {}
    figures = (row.bandwidth_gbit_s,) if latency == {} else tuple(latency[name] for name in ("typical", "avg") if name in latency)
    return row.size_bytes, row.iterations, *figures


def served(result: Result, request: RequestedTest) -> Any:
    """Return the result of a server: its error code, None for success without a table, or the rows of its table."""
    error = perftest_report.error_of(result)
    if error is not None:
        return error.code
    return measured(result, request) if perftest_report.parse(result.stdout).rows else None


def both(case: dict[str, Any]) -> dict[str, Any]:
    judge = {"client": measured, "server": served}
    return {side: judge[side](*ran(case, side)) for side in ("client", "server") if side in case}


@pytest.fixture(scope="module")
def cases() -> dict[str, dict[str, Any]]:
    lines = shared("samples/perftest-real.jsonl").read_text().splitlines()
    return {case["case"].removeprefix("perftest/bookworm/"): case for case in map(json.loads, lines)}


def test_every_run_is_judged(cases: dict[str, dict[str, Any]]) -> None:
    assert set(cases) == set(RUNS) | TOOLS_NOT_USED | OTHERS
    assert {name: both(cases[name]) for name in RUNS} == RUNS
    sides = sum(len(judged) for judged in RUNS.values())
    print(f"\nperftest: {len(cases)} recorded cases, {len(RUNS)} judged ({sides} outputs), {len(OTHERS)} read, {len(TOOLS_NOT_USED)} of tools not used")


def test_error_messages(cases: dict[str, dict[str, Any]]) -> None:
    def message(name: str, side: str) -> str:
        with pytest.raises(HccnError) as raised:
            perftest_report.judged(*ran(cases[name], side))
        return raised.value.message

    assert message("errors/status-9-with-8-qps", "client") == "completion error: remote invalid request (status 9, syndrome 0x0)"
    assert message("errors/units-differ", "server") == (
        "perftest did not measure what was requested: 12.56 Gbit/s, but 0.000201 million messages per second of 65536 bytes (0.105 Gbit/s)")
    assert message("errors/size-differs", "server") == "perftest did not measure what was requested: sizes 4096, not 65536"
    assert message("errors/iterations-differ", "server") == "perftest did not measure what was requested: 100 iterations, not 200"


def test_report_settings(cases: dict[str, dict[str, Any]]) -> None:
    report = perftest_report.parse(cases["ib_write_bw/q4"]["client.stdout"])
    assert (report.program, report.bidirectional, report.number("Number of qps"), report.number("GID index")) == ("ib_write_bw", False, 4, 1)
    assert report.settings == {
        "Dual-port": "OFF", "Device": "rxe0", "Number of qps": "4", "Transport type": "IB", "Connection type": "RC", "Using SRQ": "OFF",
        "PCIe relax order": "ON", "ibv_wr* API": "OFF", "TX depth": "128", "CQ Moderation": "1", "Mtu": "4096[B]", "Link type": "Ethernet", "GID index": "1",
        "Max inline data": "0[B]", "rdma_cm QPs": "OFF", "Data ex. method": "Ethernet"}


def test_unused_test_has_the_same_table(cases: dict[str, dict[str, Any]]) -> None:
    (row,) = perftest_text.parse_rows(cases["ib_atomic_lat/basic"]["client.stdout"])
    assert row.as_sample() == {"size_bytes": 8, "iterations": 500,
                               "latency_us": {"min": 655.56, "max": 77191.89, "typical": 2785.43, "avg": 4243.31, "p99": 29822.53}}


def test_used_options_are_in_the_help(cases: dict[str, dict[str, Any]]) -> None:
    flags = ["-d", "-i", "-x", "-F", "-p", "-a", *(limit.flag for limit in perftest.LIMITS)]
    for name in sorted(name for name in OTHERS if "/help-" in name):
        text = cases[name]["client.stdout"]
        wanted = flags + (["-b", "--report_gbits"] if name.endswith("_bw") else [])
        missing = [flag for flag in wanted if not re.search(rf"^\s+{flag}[,= ]", text, re.MULTILINE)]
        assert (name, missing) == (name, ["-q"] if name.endswith("_lat") else [])
        assert "--ipv6-addr" not in text  # not supported by 4.5, which results in bad_option


def test_version_and_missing_program(cases: dict[str, dict[str, Any]]) -> None:
    assert perftest_report.parse_version(cases["info/ib_write_bw-version"]["client.stdout"]) == "6.06"
    assert (cases["info/ib_write_bw-version"]["client"]["exit_status"], cases["info/missing-binary"]["client"]["exit_status"]) == (1, 127)


def test_info_file_has_the_same_texts(cases: dict[str, dict[str, Any]]) -> None:
    info = json.loads(shared("samples/perftest-real-info.json").read_text())
    other = [path for path, text in info.items() if not path.endswith(".json") and cases["info/" + path.split("/")[0]][path.split("/")[1]] != text]
    assert (len(info), other) == (60, [])


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_published_reports(name: str) -> None:
    command, _line, text = shared(f"samples/perftest/{name}.txt").read_text().partition("\n")
    words = command[command.index("ib_"):].split()
    request = request_of(words)
    judged = measured(Result(tuple(words), 0, text, "", False, 0.0, 1.0), RequestedTest(request.options, "mlx5_0"))
    assert judged == TEXTS[name]


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_published_errors(name: str) -> None:
    text = shared(f"samples/perftest/{name}.txt").read_text()
    assert perftest_report.error_of(Result(("ib_write_bw",), 1, "", text, False, 0.0, 1.0)).code == ERRORS[name]


def test_every_published_text_is_read_or_listed(cases: dict[str, dict[str, Any]]) -> None:
    files = {path.name.removesuffix(".txt") for path in shared("samples/perftest").iterdir()}
    assert files == set(TEXTS) | set(ERRORS) | JSON_NOT_READ


def test_json_report_is_unusable(cases: dict[str, dict[str, Any]]) -> None:
    def loads(text: str) -> bool:
        try:
            json.loads(text)
        except ValueError:
            return False
        return True

    texts = {path.name: path.read_text() for path in shared("samples/perftest").glob("bw_json*")}
    old = cases["ib_write_bw/json"]["client.report.json"]
    assert {name: loads(text) for name, text in texts.items()} == {
        "bw_json__6.29.json.txt": True, "bw_json__broken_with_output_bandwidth.json.txt": False, "bw_json__real.json.txt": True}
    assert not loads(old)  # of 4.5
    assert "BW_average: 0.19" in old and not any("Gb" in text or "MiB" in text or "MB" in text for text in [old, *texts.values()])  # no unit


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "sys/class/infiniband" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_sysfs_of_a_real_machine(cases: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    parts = re.split(r"(?m)^== (\S+)\n", cases["info/sysfs"]["client.stdout"])[1:]
    files = {f"rxe0/{name}": text for name, text in zip(parts[::2], parts[1::2]) if text}
    (port,) = rdma_sysfs.read_ports(str(tree(tmp_path, files)))
    assert port == rdma_sysfs.RdmaPort(
        "rxe0", 1, "eth0", "ACTIVE", "LinkUp", "2.5 Gb/sec (1X SDR)", 2.5, "Ethernet",
        (rdma_sysfs.Gid(0, "fe80:0000:0000:0000:5054:00ff:fe07:0002", "RoCE v2", None, "eth0"),
         rdma_sysfs.Gid(1, "0000:0000:0000:0000:0000:ffff:0a63:070c", "RoCE v2", "10.99.7.12", "eth0")),
        None, None, None, None, None)
    assert find_device([port], "10.99.7.12").gid_index == 1

    listed = cases["info/sysfs-list"]["client.stdout"]
    names = {place.rstrip(":"): set(rest.split()) for place, _, rest in (part.partition("\n") for part in listed.split("\n\n"))}
    assert {"state", "phys_state", "rate", "link_layer", "gids", "gid_attrs"} <= names["/sys/class/infiniband/rxe0/ports/1"]
    assert {"fw_ver", "parent", "ports"} <= names["/sys/class/infiniband/rxe0/"]


@pytest.mark.parametrize(("name", "wanted", "device", "index"), [
    ("show_gids__mlx5", "192.168.211.242", "mlx5_0", 3), ("show_gids__no_ip_on_port1", "192.168.100.10", "rocep1s0f0", 3),
])
def test_gid_tables(tmp_path: Path, name: str, wanted: str, device: str, index: int) -> None:
    """Recreate sysfs from the output of ``show_gids``, which prints what it finds there."""
    text = shared(f"samples/rdma/{name}.txt").read_text().replace("xxxx", "0000")
    rows = [line.split() for line in text.splitlines() if re.match(r"\S+\s+1\s+\d", line)]
    files = {}
    for row in rows:
        port = f"{row[0]}/ports/1/"
        files.update({f"{port}link_layer": "Ethernet", f"{port}state": "4: ACTIVE", f"{port}gids/{row[2]}": row[3], f"{port}gid_attrs/ndevs/{row[2]}": row[-1],
                      f"{port}gid_attrs/types/{row[2]}": {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[row[-2]]})
    ports = rdma_sysfs.read_ports(str(tree(tmp_path, files)))
    assert (sum(len(port.gids) for port in ports), f"n_gids_found={len(rows)}" in text) == (len(rows), True)
    end = find_device(ports, wanted)
    assert (end.port.device, end.gid_index) == (device, index)


@pytest.mark.parametrize(("name", "ports"), [
    ("rdma_link", [("rocep1s0f0", "ACTIVE", "LINK_UP", []), ("rocep1s0f1", "DOWN", "DISABLED", ["port_down"]),
                   ("roceP2p1s0f0", "ACTIVE", "LINK_UP", []), ("roceP2p1s0f1", "DOWN", "DISABLED", ["port_down"])]),
    ("rdma_link__mlx5", [("mlx5_6", "ACTIVE", "LINK_UP", []), ("mlx5_7", "ACTIVE", "LINK_UP", []), ("mlx5_8", "ACTIVE", "LINK_UP", [])]),
])
def test_link_states(tmp_path: Path, name: str, ports: list[Any]) -> None:
    """Recreate sysfs from the output of ``rdma link``, which has the kernel's words with underscores."""
    files = {}
    for line in shared(f"samples/rdma/{name}.txt").read_text().splitlines():
        _link, device, _state, state, _physical, physical, _netdev, netdev = line.split()
        files.update({f"{device.replace('/', '/ports/')}/state": f"4: {state}", f"{device.replace('/', '/ports/')}/phys_state": f"5: {physical}",
                      f"{device.split('/')[0]}/parent": netdev})
    found = rdma_sysfs.read_ports(str(tree(tmp_path, files)))
    rules = {port.device: [problem.rule for problem in rdma_checks.port_problems(port) if problem.rule != "verbs_missing"] for port in found}
    assert sorted((port.device, port.state, port.physical_state, rules[port.device]) for port in found) == sorted(ports)


def test_infiniband_port(tmp_path: Path) -> None:
    text = shared("samples/rdma/ibv_devinfo__mlx5.txt").read_text()
    attributes = dict(re.findall(r"(?m)^\s*(\w+):\s+(.+)$", text))
    files = {f"{attributes['hca_id']}/ports/{attributes['port']}/state": "4: " + attributes["state"].split()[0].removeprefix("PORT_"),
             f"{attributes['hca_id']}/ports/{attributes['port']}/link_layer": attributes["link_layer"], f"{attributes['hca_id']}/fw_ver": attributes["fw_ver"]}
    (port,) = rdma_sysfs.read_ports(str(tree(tmp_path, files)))
    assert (port.device, port.state, port.link_layer, port.firmware) == ("mlx5_13", "ACTIVE", "InfiniBand", "28.39.2048")
    end = find_device([port], "10.0.0.1")
    assert (end.gid_index, end.link_type) == (None, "IB")


def test_every_text_of_rdma_is_read() -> None:
    assert sorted(path.stem for path in shared("samples/rdma").iterdir()) == [
        "ibv_devinfo__mlx5", "rdma_link", "rdma_link__mlx5", "show_gids__mlx5", "show_gids__no_ip_on_port1"]
