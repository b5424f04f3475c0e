"""Compare the stand-in hccn_tool with recorded runs of the real front end: exit code, both streams and hccn.conf."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lib import conf_recordings
from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.state import assignments
from tests.simulator.hccn_sim.tool import main
from tests.lib.project import SIMULATOR, shared

DIFFERENCES = SIMULATOR / "differences.yml"
MAX_NAMES = 10
CAPTURED_AT = 1795200000.0
ABSENT = "(file absent)"
LARGE = 1_000_000
FIELDS = ("exit", "stdout", "stderr", "conf_after")


class Killed(Exception):
    """The recording stopped the tool at this moment."""


class FakeClock:
    """A clock whose sleep returns at once. It raises Killed at the second at which the recorded run was stopped."""

    def __init__(self, limit: float) -> None:
        self.elapsed, self.limit = 0.0, limit

    def now(self) -> float:
        return CAPTURED_AT + self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += seconds
        if self.elapsed >= self.limit:
            raise Killed


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    first = [json.loads(line) for line in shared("oracle/hccn_tool.jsonl").read_text(encoding="utf-8").splitlines()]
    return first + [dict(run, **{name: recorded(run[name]) for name in ("conf_before", "conf_after") if name in run}) for run in conf_recordings.records()]


def recorded(conf: Any) -> str:
    return ABSENT if conf == ABSENT else conf_recordings.text(conf)


def arguments(command: str) -> list[str]:
    """Return the arguments of a recorded command line, in which long arguments are abbreviated as ``1111...(300 chars)``."""
    line = re.sub(r"(.)\1*\.\.\.\((\d+) chars\)", lambda match: match.group(1) * int(match.group(2)), command)
    return shlex.split(line)


def prepare(root: Path, run: dict[str, Any]) -> dict[str, Any]:
    """Make the files of a node as the recorded run found them, and return the circumstances that are not files."""
    circumstances = run["circumstances"]
    uid = re.search(r"uid=(\d+)", circumstances)
    stdin = re.search(r"stdin='([^']*)'", circumstances)
    (root / "etc").mkdir(parents=True)
    (root / "sim.json").write_text(json.dumps({"fabric": "fixed", "uid": int(uid.group(1)) if uid else 0}))
    before = run.get("conf_before") or ""
    crlf = "CRLF" in circumstances and "\r" not in before
    if ABSENT not in before:
        (root / "etc/hccn.conf").write_bytes((before.replace("\n", "\r\n") if crlf else before).encode("utf-8", "surrogateescape"))
    return {"stdin": stdin.group(1).replace("\\n", "\n") if stdin else "", "crlf": crlf, "before": before}


def play(root: Path, run: dict[str, Any]) -> dict[str, Any]:
    circumstances = prepare(root, run)
    clock = FakeClock(float(run["seconds"]) if run["exit"] == "timeout" else float("inf"))
    node = Node(str(root), clock=clock)
    items = [item.strip() for item in run["stub_state"].split(";") if item.strip()]
    for device, values in assignments([*items, "*.vm=1"]).items():  # the recording was made in a virtual machine
        node.state.update(device, values)
    out, err = io.StringIO(), io.StringIO()
    try:
        code = str(main(arguments(run["command"]), node, io.StringIO(circumstances["stdin"]), out, err, {}))
    except Killed:
        code = "timeout"
    conf = root / "etc/hccn.conf"
    after = conf.read_bytes().decode("utf-8", "surrogateescape") if conf.exists() else circumstances["before"]
    if circumstances["crlf"]:
        after = after.replace("\r\n", "\n")
    return {"exit": code, "stdout": out.getvalue(), "stderr": err.getvalue(), "conf_after": after, "seconds": clock.elapsed}


def expected(run: dict[str, Any]) -> dict[str, Any]:
    after = run.get("conf_after")
    conf = after if after is not None else run.get("conf_before") or ""
    return {**{name: run[name] or "" for name in FIELDS[:3]}, "conf_after": conf, "seconds": float(run["seconds"])}


def without_help(text: str) -> str:
    """Return the text up to the line that introduces the help of a command, or up to the first command of the whole help."""
    found = re.search(r"^(\[ hccn_tool .* \] needs the following parameters:|hccn_tool -i devid -ip)$", text, re.MULTILINE)
    return text[: found.end()] if found else text


def collapse_spaces(text: str) -> str:
    return re.sub(r"(?<=\S) +", " ", text)


def without_rate(text: str) -> str:
    """Return the text without the last column of a bandwidth table."""
    return re.sub(r"^( \d+ \d+ [\d.]+ [\d.]+) [\d.]+$", r"\1", collapse_spaces(text), flags=re.MULTILINE)


NORMALIZERS = {"help-body": without_help, "report-columns": collapse_spaces, "message-rate-of-gbits": without_rate}


@pytest.fixture(scope="module")
def played(runs: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict, dict]]:
    folder = tmp_path_factory.mktemp("replay")
    return {run["id"]: (expected(run), play(folder / run["id"], run)) for run in runs}


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in yaml.safe_load(DIFFERENCES.read_text())}


def differs(wanted: dict, got: dict) -> list[str]:
    return [field for field in FIELDS if wanted[field] != got[field]]


def test_differences_are_listed(played: dict, listed: dict, capsys: pytest.CaptureFixture[str]) -> None:
    differing = {name for name, (wanted, got) in played.items() if differs(wanted, got)}
    known = {name for entry in listed.values() for name in entry["runs"]}
    with capsys.disabled():
        print(f"\nrecorded runs replayed: {len(played)}, different: {len(differing)} under {len(listed)} names")
    unlisted = {name: differs(*played[name]) for name in differing - known}
    assert (unlisted, known - differing) == ({}, set())


def test_listed_runs_differ_only_as_listed(played: dict, listed: dict) -> None:
    wrong = []
    for name, entry in listed.items():
        for run in entry["runs"]:
            wanted, got = ({**side, "stdout": NORMALIZERS[name](side["stdout"])} for side in played[run])
            if differs(wanted, got):
                wrong.append((name, run))
    assert wrong == []


def test_waiting_times_match(played: dict) -> None:
    """Compare the seconds spent on polls and repeated attempts. The recording includes up to one second of run time of its machine, more for large files."""
    waited = {name: (got["seconds"], wanted["seconds"]) for name, (wanted, got) in played.items() if len(wanted["conf_after"]) < LARGE}
    assert {name: times for name, times in waited.items() if not 0 <= times[1] - times[0] <= 1} == {}


def test_list_of_differences_is_short_and_has_reasons(listed: dict) -> None:
    assert len(listed) <= MAX_NAMES
    assert set(listed) == set(NORMALIZERS)
    assert [name for name, entry in listed.items() if not entry["reason"] or not entry["runs"]] == []
    every = [run for entry in listed.values() for run in entry["runs"]]
    assert len(every) == len(set(every))
