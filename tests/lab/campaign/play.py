"""Play a sequence, report violations, and find the shortest sequence with the same violation."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.campaign import forked, invariants
from tests.lab.campaign.steps import CLEARED, DEVICES, NODE, OTHER, Call, Change, Measure, Step, as_json, sequence
from tests.lab.campaign.trace import Trace
from tests.lab.campaign.world import World, adopt_orphans

SHRINK_SECONDS = 60.0
TRIES = 3
"""Attempts of the declared calls at the end: a process of a killed job may disturb the first one."""
DECLARED = [{"id": device, "address": f"10.82.1.1{device}", "netmask": "255.255.0.0", "gateway": "10.82.0.1", "netdetect": "10.82.0.2", "mtu": 4200}
            for device in DEVICES]
WANTED = {entry["id"]: {"ip": entry["address"], "netmask": "255.255.0.0", "gateway": "10.82.0.1", "netdetect": "10.82.0.2", "mtu": "4200", "tls": "0"}
          for entry in DECLARED}
CLOSING = (Call("hccn_conf", {"fail_on": "none"}), Call("device_network", {"config": DECLARED}), Call("device_tls", {"state": "disabled"}))
PERF = {"run_id": "campaign", "key": "00112233445566778899aabbccddeeff", "server_start_delay": 0.2, "meeting_timeout": 8, "size": "64K", "iterations": 200,
        "fail_on": "none"}


@dataclass(frozen=True)
class Outcome:
    """``steps``: the shortest sequence found with the same kind of violation, as JSON."""

    seed: int
    violations: tuple[str, ...]
    steps: tuple[dict[str, Any], ...]
    seconds: float

    def __str__(self) -> str:
        lines = [f"seed {self.seed} (HCCN_SEED={self.seed} HCCN_SEQUENCES=1):", *self.violations, "steps:", *map(json.dumps, self.steps)]
        return "\n".join(lines)


def play(world: World, steps: list[Step]) -> list[str]:
    """Return the violations of the first step that has any, with the step's number."""
    world.reset()
    forth: Trace | None = None
    for number, step in enumerate(steps, 1):
        traces: list[Trace] = []
        found: list[str] = []
        if isinstance(step, Change):
            world.change(step)
        elif isinstance(step, Call):
            traces = [world.run(step)]
        elif isinstance(step, Measure):
            traces = _measure(world, step)
        elif forth is not None:
            traces = [world.run(Call("device_network", {"config": _previous(forth)}))]
            found += invariants.previous_leads_back(forth, traces[-1])
        forth = traces[-1] if isinstance(step, Call) and _previous(traces[-1]) else None
        for trace in traces:
            found += [sentence for invariant in invariants.OF_A_STEP for sentence in invariant(trace)]
        if found:
            return [f"step {number}: {sentence}" for sentence in found]
    return [f"at the end: {sentence}" for sentence in _end(world)]


def _previous(trace: Trace) -> list[dict[str, Any]]:
    (name, *others) = trace.calls
    result = trace.results[name]
    return (result or {}).get("previous") or [] if trace.calls[name].module == "device_network" and not others and not trace.calls[name].check else []


def _end(world: World) -> Iterator[str]:
    """Yield violations if the declared state is not reached without disturbance, or if a further call changes something."""
    world.change(Change(CLEARED))
    for attempt in range(TRIES):
        traces = [world.run(call) for call in CLOSING]
        found = list(invariants.converges(traces, WANTED))
        if not found or attempt == TRIES - 1:
            break
    yield from found
    if not found:
        yield from invariants.is_idempotent([world.run(call) for call in CLOSING])
    for trace in traces:
        yield from (sentence for invariant in invariants.OF_A_STEP for sentence in invariant(trace))


def _measure(world: World, step: Measure) -> list[Trace]:
    call, plan = step.call, world.plan()

    def own(node: str) -> dict[str, Any]:
        return {"state_dir": str(world.roots[node] / "runs")}

    with world.alone():
        calls = [Call("rdma_perf", {**PERF, **own(node), "plan": plan, "host": node}, call.check, node, call.kill if node == NODE else None,
                      call.events if node == NODE else ()) for node in (NODE, OTHER)]
        ended = [Call("rdma_perf", {"run_id": PERF["run_id"], "state": "absent", "purge": True, **own(node)}, node=node) for node in (NODE, OTHER)]
        return [world.run(*calls), *(world.run(one) for one in ended)]


def kind(violation: str) -> str:
    """Return the words of a violation that do not depend on numbers of the sequence."""
    words = violation.partition(": ")[2].split()
    return " ".join(words[:2])


def shrink(world: World, steps: list[Step], violations: list[str], seconds: float) -> tuple[list[Step], list[str]]:
    """Remove the steps after the violation, then single steps while a violation of the same kind remains."""
    kinds, end = {kind(violation) for violation in violations}, time.monotonic() + seconds
    failed = re.match(r"step (\d+): ", violations[0])
    steps, at = steps[:int(failed.group(1))] if failed else steps, 0
    while at < len(steps) and time.monotonic() < end:
        fewer = steps[:at] + steps[at + 1:]
        found = play(world, fewer)
        if kinds & {kind(violation) for violation in found}:
            steps, violations = fewer, found
        else:
            at += 1
    return steps, violations


_world: World | None = None


def start(folder: str) -> None:
    """Prepare a process that plays sequences."""
    global _world
    adopt_orphans()
    forked.load()
    _world = World(Path(tempfile.mkdtemp(dir=folder)), Path(folder) / "lock")


def outcome(seed: int) -> Outcome:
    """Play the sequence of a seed in this process (after ``start``)."""
    assert _world is not None
    began = time.monotonic()
    steps = sequence(seed)
    violations = play(_world, steps)
    seconds = time.monotonic() - began
    if violations:
        steps, violations = shrink(_world, steps, violations, SHRINK_SECONDS)
    return Outcome(seed, tuple(violations), tuple(as_json(steps)), seconds)
