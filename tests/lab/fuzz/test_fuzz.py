"""Fuzz each parser with a few hundred inputs; `make soak` uses a million."""

from __future__ import annotations

import random
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from tests.lab.fuzz import mutate, run, targets

INPUTS = 200
SEED = 20260104


@pytest.mark.parametrize("name", run.names())
def test_parser_raises_only_its_own_errors(name: str) -> None:
    tally = run.Tally()
    assert [str(finding) for finding in run.fuzz(name, INPUTS, SEED, tally)] == []
    assert tally.inputs == INPUTS


def test_all_parsers_are_found() -> None:
    """Parsers are found by their names, so a renamed one would no longer be fuzzed."""
    names = set(run.names())
    assert len(names) >= 60
    assert {"_device.parse_tls.parse_tls", "_device.parse_npu_smi.parse_processes", "_perf.hccl_test_tool.parse", "_perf.perftest_report.parse",
            "_perf.roce_test_tool.parse",
            "_rank_table.document.parse", "rank_table_check", "parse_plan", "pair_plan", "diagnose", "collective job"} <= names


def test_mutations_are_partly_accepted() -> None:
    """If parsers refused all mutations, fuzzing would test only their first lines."""
    tally = run.Tally()
    for name in ("_device.parse_tls.parse_tls", "_perf.hccl_test_tool.parse", "_device.parse_npu_smi.parse_chips", "_rank_table.document.parse"):
        assert list(run.fuzz(name, INPUTS, SEED, tally)) == []
    assert 0.1 < tally.refused / tally.inputs < 0.9


def broken(text: str) -> int:
    if len(text) > 40:
        raise ParseError("too long")
    return int(text)


def test_exception_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "text_targets", lambda: {"_a.broken": broken})
    monkeypatch.setattr(targets, "seeds", lambda: {"": ["12:34"], "broken": ["1234"]})
    tally = run.Tally()
    (finding,) = run.fuzz("_a.broken", 200, 1, tally)
    assert finding.problem.startswith("ValueError at test_fuzz.py:")
    assert tally.refused > 0


def test_hung_parser_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "text_targets", lambda: {"_a.slow": lambda _text: time.sleep(30)})
    monkeypatch.setattr(targets, "seeds", lambda: {"": ["1"]})
    monkeypatch.setattr(run, "HANG_SECONDS", 1)
    (finding,) = run.fuzz("_a.slow", 1, 1, run.Tally())
    assert finding.problem == "did not return within 1 s"


def test_mutations_are_deterministic() -> None:
    first, second = ([mutate.text(random.Random(3), ["a: 1\nb: 2\n"]) for _time in range(5)] for _again in range(2))  # noqa: S311
    assert first == second
    assert mutate.document(random.Random(3), targets.TABLE) == mutate.document(random.Random(3), targets.TABLE) != targets.TABLE  # noqa: S311
