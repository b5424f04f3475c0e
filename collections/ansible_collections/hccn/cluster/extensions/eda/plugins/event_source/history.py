"""Event source for ansible-rulebook: one event for each degraded link in the verdicts of a run of the history.

Arguments:
  path: folder of the history (HCCN_RESULTS_PATH)
  interval: seconds between two searches for new runs, 5 by default
  from_start: whether existing runs give events too, false by default

An event has ``link`` ("n3/1-n1/1", the same for both directions), ``host`` (the host that the verdict blames), ``class`` (slow or failed), ``message``,
``pair`` (``source`` and ``target``, each with ``host`` and ``device``), ``references`` (pairs of good hosts for comparison), ``run_id``, ``playbook``, and
``retested`` (whether the run was itself a retest).
Only measured values and errors of a link cause an event. A pair that could not be measured, because a runner did not answer or another run used the host,
says nothing about the link, so a retest that could not measure gives no event.
A run is read when it is over. Its file gets its final name then, so that no line is incomplete and none is read twice.
This file must not import the collection, which ansible-rulebook does not add to the Python path.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEGRADED = ("slow", "failed")
RETEST = ("retest.yml", "hccn.cluster.retest")
"""The playbook whose runs are retests. ansible-rulebook runs a copy of it that has the full name."""
REFERENCES = 3
"""Maximum number of pairs of good hosts that a retest measures besides the link."""
_RUNS = "[0-9]*/[0-9]*/[0-9]*/*.jsonl"
_PAIR = re.compile(r"^(?P<source>\S+) NPU (?P<source_device>[0-9]{1,9}) to (?P<target>\S+) NPU (?P<target_device>[0-9]{1,9}): (?P<code>[a-z0-9_]+:)?")
NO_LINK_CODES = frozenset({
    "address_changed", "busy_unknown", "cannot_start", "device_busy", "host_in_use", "no_record", "pair_broken", "peer_lost", "peer_refused",
    "peer_silent", "peer_suspended", "peer_unreachable", "roce_test_running", "run_ended", "run_timeout", "runner_failed", "tool_busy", "tool_missing",
    "tool_not_executable", "wrong_key", "wrong_run"})
"""Error codes of a pair that say nothing about its link. The diagnosis has them too (plugin_utils/_diagnose/measurement_table.py)."""


def events_of(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a run, each link once, in the order of the verdicts. Lines that are not JSON objects are skipped."""
    entries = list(filter(None, map(_entry, text.splitlines())))
    header = next((entry for entry in entries if str(entry.get("schema", "")).startswith("hccn.cluster/history/")), {})
    verdicts = [entry for entry in entries if entry.get("kind") == "verdict" and _is_well_formed(entry)]
    good = [_host(entry) for entry in verdicts if _host(entry) and [sample.get("class") for sample in entry["samples"]] == ["good"]]
    seen = set()
    for entry in verdicts:
        for event in _of_verdict(entry, header):
            if event["link"] not in seen:
                seen.add(event["link"])
                yield {**event, "references": references(event["pair"], good)}


def references(pair: dict[str, dict[str, Any]], good: list[str]) -> list[dict[str, dict[str, Any]]]:
    """Return pairs of good hosts on the same rail. A retest needs them for comparison, since a single link would only be compared with itself."""
    ends = [pair["source"]["host"], pair["target"]["host"]]
    hosts = [host for host in good if host not in ends] + [host for host in good if host in ends]
    device = pair["source"]["device"]
    return [{"source": {"host": one, "device": device}, "target": {"host": other, "device": device}} for one, other in zip(hosts, hosts[1:REFERENCES + 1])]


def _is_well_formed(record: dict[str, Any]) -> bool:
    """Return True if a verdict has the fields that are read here. A malformed line must not end the event source."""
    samples = record.get("samples")
    return (isinstance(record.get("source", {}), dict) and isinstance(samples, list)
            and all(isinstance(sample, dict) and isinstance(sample.get("evidence", []), list) for sample in samples)
            and all(isinstance(item, str) for sample in samples for item in sample.get("evidence", [])))


def _host(record: dict[str, Any]) -> str:
    return str(record.get("source", {}).get("host") or "")


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _of_verdict(record: dict[str, Any], header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for sample in record["samples"]:
        if sample.get("class") not in DEGRADED:
            continue
        for pair in map(_PAIR.match, sample.get("evidence", [])):
            if pair and (pair["code"] or "").rstrip(":") not in NO_LINK_CODES:
                ends = sorted([f"{pair['source']}/{pair['source_device']}", f"{pair['target']}/{pair['target_device']}"])
                yield {
                    "link": "-".join(ends), "host": _host(record), "class": sample["class"], "message": sample.get("message", ""),
                    "pair": {"source": {"host": pair["source"], "device": int(pair["source_device"])},
                             "target": {"host": pair["target"], "device": int(pair["target_device"])}},
                    "run_id": header.get("run_id", ""), "playbook": header.get("playbook", ""), "retested": header.get("playbook") in RETEST}


def _order(path: Path) -> tuple[str, list[tuple[int, str]]]:
    """Return a key that sorts runs by second, then by id in natural order, since runs in the same second have ids that end in -2, -3 and so on."""
    started, _dash, run_id = path.name.removesuffix(".jsonl").partition("-")
    return started, [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in re.split("([0-9]+)", run_id) if part]


def new_runs(folder: Path, seen: set[str]) -> list[Path]:
    """Return the runs that ended since the last call, oldest first, and add them to ``seen``."""
    found = [path for path in sorted(folder.glob(_RUNS), key=_order) if path.name not in seen]
    seen.update(path.name for path in found)
    return found


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Put events into ``queue`` until cancelled. ansible-rulebook calls this function."""
    folder = Path(args["path"]).expanduser()
    interval = float(args.get("interval", 5))
    seen: set[str] = set()
    if not args.get("from_start", False):
        new_runs(folder, seen)
    while True:
        for path in new_runs(folder, seen):
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # deleted in the meantime
            for event in events_of(text):
                await queue.put(event)
        await asyncio.sleep(interval)


if __name__ == "__main__":
    # python3 history.py FOLDER prints the events of all runs so far.
    for run in new_runs(Path(sys.argv[1]), set()):
        for found in events_of(run.read_text(encoding="utf-8", errors="replace")):
            print(json.dumps(found))
