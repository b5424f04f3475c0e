"""Event source: one event for each degraded link that a run of the history names.

Arguments:
  path: the folder of the history (HCCN_RESULTS_PATH)
  interval: seconds between two looks, 5 by default
  from_start: also the runs that are there already, false by default

An event has ``link`` ("n3/1-n1/1", the same for both directions), ``host`` (to which it is put down), ``class`` (slow or failed), ``message``, ``pair``
(``source`` and ``target``, each with ``host`` and ``device``), ``references`` (pairs of good hosts, to compare it to), ``run_id``, ``playbook``, and
``retested``: the run was itself a second test.
Only measured values and errors of a link make an event: a pair that could not be measured, since a runner did not answer or another run had the host, says
nothing about the link, and a second test that could not measure gives no event.
Runs count when they are over: a file of the history gets its final name then, so no line is half written and none is seen twice.
It imports nothing of the collection, which ansible-rulebook does not put into Python's path.
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
"""The playbook whose runs are second tests; ansible-rulebook runs a copy of it that is called by its full name."""
REFERENCES = 3
"""Pairs of good hosts that a second test measures beside the link."""
_RUNS = "[0-9]*/[0-9]*/[0-9]*/*.jsonl"
_PAIR = re.compile(r"^(?P<source>\S+) npu (?P<source_device>[0-9]{1,9}) to (?P<target>\S+) npu (?P<target_device>[0-9]{1,9}): (?P<code>[a-z0-9_]+:)?")
NO_LINK_CODES = frozenset({
    "address_changed", "busy_unknown", "cannot_start", "device_busy", "host_in_use", "no_record", "pair_broken", "peer_lost", "peer_refused",
    "peer_silent", "peer_suspended", "peer_unreachable", "roce_test_running", "run_ended", "run_timeout", "runner_failed", "tool_busy", "tool_missing",
    "tool_not_executable", "wrong_key", "wrong_run"})
"""Errors of a pair that say nothing about its link; the diagnosis knows them too (plugin_utils/_diagnose/measurement_table.py)."""


def events_of(text: str) -> Iterator[dict[str, Any]]:
    """The events of a run: each link once, in the order of the verdicts. Lines that are none of the history are passed over."""
    entries = list(filter(None, map(_entry, text.splitlines())))
    header = next((entry for entry in entries if str(entry.get("schema", "")).startswith("hccn.cluster/history/")), {})
    verdicts = [entry for entry in entries if entry.get("kind") == "verdict" and _is_sound(entry)]
    good = [_host(entry) for entry in verdicts if _host(entry) and [sample.get("class") for sample in entry["samples"]] == ["good"]]
    seen = set()
    for entry in verdicts:
        for event in _of_verdict(entry, header):
            if event["link"] not in seen:
                seen.add(event["link"])
                yield {**event, "references": references(event["pair"], good)}


def references(pair: dict[str, dict[str, Any]], good: list[str]) -> list[dict[str, dict[str, Any]]]:
    """Pairs of good hosts on the same rail, to which the link is compared when it is tested again: alone it would be its own measure."""
    ends = [pair["source"]["host"], pair["target"]["host"]]
    hosts = [host for host in good if host not in ends] + [host for host in good if host in ends]
    device = pair["source"]["device"]
    return [{"source": {"host": one, "device": device}, "target": {"host": other, "device": device}} for one, other in zip(hosts, hosts[1:REFERENCES + 1])]


def _is_sound(record: dict[str, Any]) -> bool:
    """Has a verdict the shape that is looked into here? One odd line is not to end the source."""
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
    """By second, then by id, whose last number counts runs of one second: -2 is before -10, and after none."""
    started, _dash, run_id = path.name.removesuffix(".jsonl").partition("-")
    return started, [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in re.split("([0-9]+)", run_id) if part]


def new_runs(folder: Path, seen: set[str]) -> list[Path]:
    """The runs that ended since the last call, the oldest first; ``seen`` is brought up to date."""
    found = [path for path in sorted(folder.glob(_RUNS), key=_order) if path.name not in seen]
    seen.update(path.name for path in found)
    return found


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Called by ansible-rulebook; ends when it is cancelled."""
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
                continue  # cleaned away meanwhile
            for event in events_of(text):
                await queue.put(event)
        await asyncio.sleep(interval)


if __name__ == "__main__":
    # python3 history.py FOLDER: the events that the history would have given so far.
    for run in new_runs(Path(sys.argv[1]), set()):
        for found in events_of(run.read_text(encoding="utf-8", errors="replace")):
            print(json.dumps(found))
