"""Compare the verdicts on published output of nccl-tests with literals."""

from __future__ import annotations

import json

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions
from tests.lib.project import shared

# file: (error code or None for a good run, rows, hosts, ranks)
VERDICTS = {
    "all_reduce__v2.13_16gpu_h100.txt": (None, 5, ["h100-ord01-03-14", "h100-ord01-03-294"], 16),
    "all_reduce__v2.19.6_ok.txt": (None, 1, ["node-1"], 2),
    "all_reduce__v2.19.6_wrong.txt": ("check_failed", 1, ["node-1"], 2),
    "error__nccl_failure.txt": ("nccl_cuda_error", 0, ["here"], 8),
    "error__nccl_failure_2021.txt": ("nccl_system_error", 0, ["here"], 8),
    "json__v2.19.6.json.txt": (None, 1, ["node-1"], 8),
}


def judged(name: str, **changes: object) -> collective.Outcome:
    request = collective.Request(NcclOptions(), tool=NCCL_TESTS, run_id="t", **changes)
    return collective.judge_log_file(request, str(shared(f"samples/nccl-tests/{name}")), sizes_given=False)


def test_published_logs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: type("Name", (), {"nodename": "here"}))
    found = {}
    for path in shared("samples/nccl-tests").iterdir():
        record = judged(path.name).record
        found[path.name] = (record.get("error", {}).get("code"), len(record.get("samples", [])), record["hosts"], record["ranks"])
    assert found == VERDICTS
    with capsys.disabled():
        print(f"\nnccl-tests: {len(found)} published logs judged, {sum(verdict[0] is None for verdict in found.values())} of them good")


def test_published_figures() -> None:
    last = judged("all_reduce__v2.13_16gpu_h100.txt").record["samples"][-1]
    assert last == {"size_bytes": 17179869184, "check": "success", "time_us": 68359.0, "algbw_gbyte_s": 251.32, "busbw_gbyte_s": 471.22,
                    "in_place": {"check": "success", "time_us": 68427.0, "algbw_gbyte_s": 251.07, "busbw_gbyte_s": 470.75}}
    wanted = {"size_bytes": 1073741824, "iterations": 20, "check": "success", "time_us": 4478.8, "algbw_gbyte_s": 239.74, "busbw_gbyte_s": 449.51,
              "in_place": {"check": "success", "time_us": 4463.7, "algbw_gbyte_s": 240.55, "busbw_gbyte_s": 451.03}}
    assert [judged(name).record["samples"] for name in ("all_reduce__v2.19.6_ok.txt", "json__v2.19.6.json.txt")] == [[wanted], [wanted]]


def test_text_and_json_agree_if_ranks_are_given() -> None:
    text, file = (judged(name, hosts=("n1", "n2")).record for name in ("all_reduce__v2.19.6_ok.txt", "json__v2.19.6.json.txt"))
    assert (text["hosts"], text["ranks"], text["samples"]) == (["n1", "n2"], 16, file["samples"])
    assert (text["tool"], file["tool"]) == ({"name": "all_reduce_perf", "version": "2.19.6"}, {"name": "all_reduce_perf"})


def test_printed_bandwidths_match_size_time_and_factor() -> None:
    record = judged("all_reduce__v2.13_16gpu_h100.txt").record
    for sample in record["samples"]:
        for way in (sample, sample["in_place"]):
            assert way["algbw_gbyte_s"] == pytest.approx(sample["size_bytes"] / way["time_us"] / 1000, rel=1e-4)
            assert way["busbw_gbyte_s"] == pytest.approx(way["algbw_gbyte_s"] * 1.875, rel=1e-4)


def test_environment_is_not_kept() -> None:
    outcome = judged("json__v2.19.6.json.txt")
    assert "SECRET" in shared("samples/nccl-tests/json__v2.19.6.json.txt").read_text()
    assert "SECRET" not in json.dumps(outcome.result())


def test_wrong_values_are_reported() -> None:
    assert judged("all_reduce__v2.19.6_wrong.txt").record["error"]["message"] == "50 value(s) were wrong for 1073741824 bytes, out of place"
