"""Compare the results of the roce_test parser for recorded runs of the real hccn_tool front end, and for published logs, with literals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device.failures import set_failure_of
from ansible_collections.hccn.cluster.plugins.module_utils._perf import roce_test_tool
from tests.lib.project import shared

# A list: (bytes, iterations, Gbit/s) of the first and the last row, and the number of rows. A string: the error code. The device's numbers are made up; the
# front end's texts and exit codes are real.
EXPECTED: dict[str, Any] = {
    "210": [(2097152, 1000, 196.004272), (2097152, 1000, 196.004272), 1],
    "212": [(65536, 1000, 196.0), (65536, 1000, 196.0), 1],
    "214": [(2, 1000, 0.019629), (8388608, 1000, 195.538033), 23],
    "216": [(65536, 1000, 196.004272), (65536, 1000, 196.004272), 1],
    "218": "tcp_missing",
    "220": "roce_test_running",
    "222": "roce_test_failed",
    "224": "connection_refused",
    "226": "start_refused",
    "228": "no_report",
    "230": "device_memory_low",
    "232": "invalid_parameters",
    "234": "invalid_parameters",
    "236": [(65536, 1000, 196.004272), (65536, 1000, 196.004272), 1],
    "238": "invalid_parameters",
    "240": [(65536, 1000, 196.004272), (65536, 1000, 196.004272), 1],
    "242": "unknown_option",
    "244": "invalid_parameters",
    "246": "invalid_address",
    "248": "unknown_option",
    "252": "tool_busy",
    "254": "roce_test_timeout",
    "258": [(65536, 1000, 196.004272), (65536, 1000, 196.004272), 1],
    "260": [(65536, 1000, 196.004272), (65536, 1000, 196.004272), 1],
}
RESETS = {"250": None, "252": "tool_busy", "256": None}

LOGS: dict[str, Any] = {
    "busy": "roce_test_running",
    "failed": "connection_refused",
    "ib_send_bw_client_a3": [(2097152, 1000, 196.004272)],
    "ib_send_bw_server_a3": [(2097152, 1000, 196.247877)],
    "timeout": "tool_timeout",
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Result]:
    found = {}
    for line in shared("oracle/hccn_tool.jsonl").read_text().splitlines():
        run = json.loads(line)
        if run["group"] == "roce_test":
            killed = run["exit"] == "timeout"
            found[run["id"]] = Result(tuple(run["command"].split()), -9 if killed else int(run["exit"]), run["stdout"], run["stderr"], killed, 0.0, 4.0)
    return found


def judged(result: Result) -> Any:
    try:
        rows = [(row.size_bytes, row.iterations, row.bandwidth_gbit_s) for row in roce_test_tool.rows(result)]
    except HccnError as error:
        return error.code
    return [rows[0], rows[-1], len(rows)]


def test_every_run_is_judged(runs: dict[str, Result]) -> None:
    tests = {name: run for name, run in runs.items() if run.argv[-1] != "reset"}
    assert {name: judged(run) for name, run in tests.items()} == {name: value for name, value in EXPECTED.items() if name != "252"}
    assert judged(runs["252"]) == EXPECTED["252"]
    print(f"\nroce_test: {len(tests)} recorded tests and {len(RESETS)} resets judged")


def test_every_reset_is_judged(runs: dict[str, Result]) -> None:
    resets = {name: set_failure_of(run) for name, run in runs.items() if run.argv[-1] == "reset"}
    assert {name: error.code if error else None for name, error in resets.items()} == RESETS


def test_command_line_matches_the_recording(runs: dict[str, Result]) -> None:
    options = roce_test_tool.Options("send", size_bytes=2097152, iterations=1000, traffic_class=132)
    assert ("hccn_tool", "-i", "0", *roce_test_tool.arguments(options, "10.0.0.11", client=True)) == runs["210"].argv
    everything = roce_test_tool.Options("write", all_sizes=True)
    assert ("hccn_tool", "-i", "0", *roce_test_tool.arguments(everything, "10.0.0.11", client=True)) == runs["214"].argv
    six = roce_test_tool.Options("write")
    assert ("hccn_tool", "-i", "0", *roce_test_tool.arguments(six, "fd00::11", client=True)) == runs["258"].argv


@pytest.mark.parametrize("name", sorted(LOGS))
def test_published_logs(name: str) -> None:
    text = shared(f"samples/hccn_tool/roce_test__{name}.txt").read_text()
    result = Result(("hccn_tool",), 0, text, "", False, 0.0, 1.0)
    try:
        found: Any = [(row.size_bytes, row.iterations, row.bandwidth_gbit_s) for row in roce_test_tool.rows(result)]
    except HccnError as error:
        found = error.code
    assert found == LOGS[name]


def test_every_published_log_is_read() -> None:
    assert {path.stem.removeprefix("roce_test__") for path in shared("samples/hccn_tool").glob("roce_test__*")} == set(LOGS)


@pytest.mark.parametrize(("name", "message"), [
    ("busy", "Roce perftest is doing, please try later."), ("failed", "Couldn't connect to "), ("timeout", "The cmd line execute timeout!"),
])
def test_error_messages_of_logs(name: str, message: str) -> None:
    text = shared(f"samples/hccn_tool/roce_test__{name}.txt").read_text()
    with pytest.raises(HccnError) as raised:
        roce_test_tool.rows(Result(("hccn_tool",), 0, text, "", False, 0.0, 1.0))
    assert raised.value.message.startswith(message)
