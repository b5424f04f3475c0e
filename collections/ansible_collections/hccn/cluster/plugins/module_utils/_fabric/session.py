# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What rdma_perf and rdma_perf_info do: start a run on this host (here or detached), look at it, end it."""

from __future__ import annotations

import os
import re
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.detach import detach
from .._core.errors import HccnError, InputError
from .._core.guard import Guard
from .._core.record import record
from .._device import busy, host
from .._device.host import expand
from .._device.npu_smi import NpuSmi
from .._device.hccn_tool import find_program
from .._perf import governor, iperf3, perftest_options, roce_test_tool
from .._core.numbers import parse_size
from . import journal as journals
from . import context, host_lock, repair, reports, results, resume, tools
from .bench import Settings
from .host_lock import HostLock
from .journal import Journal, Snapshot
from .meeting import Meeting
from .outcome import SOURCE, EndError, Outcome, as_fields
from .packed import unpack
from .plan import Pair, Plan, parse_plan
from .runner import About, Runner

_KEY = re.compile(r"[0-9a-fA-F]{32}")
DEFAULT_SIZE = "64K"
DEFAULT_ITERATIONS = 5000
SLOWEST = 125e6
"""Bytes a second that any link in use gets through, 1 Gbit/s."""

Params = Mapping[str, Any]


def perform(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf as a whole. Raises HccnError."""
    if params["state"] == "absent":
        return end_run(params, check_mode)
    result = run_pairs(params, check_mode)
    records = [] if check_mode else journals.read(params["state_dir"], params["run_id"]).records
    return results.judged(result, records, params["fail_on"])


def run_pairs(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf with ``state: present``: this host's part of the plan. Raises HccnError where it could not begin."""
    whole = unpack(params["plan"])
    plan = parse_plan(whole, params["host"], params["run_id"])
    plan = plan.limited(expand(params["devices"], plan.devices))
    tool = tools.make(params, plan)
    for changes in {pair.options for pair in plan.pairs}:
        tool.varied(dict(changes))
    told = context.told(params["context"], plan.devices)
    reporters = _reporters(params, plan)
    settings = _settings(params)
    key = _key(params["key"])
    if check_mode:
        return {"changed": False, "run_id": plan.run_id, "commands": commands(plan, tool), "measurements": []}
    journals.check_folder(params["state_dir"])
    repair.dismiss(params["state_dir"])
    lock = HostLock.take(params["state_dir"], plan.run_id)
    try:
        work = _prepared(params, whole, plan, tool, told, reporters, settings, key)
        if params["wait"]:
            work.runner.run()
        else:
            _detach(work, lock, plan.run_id)
        work.journal.close()
    finally:
        lock.close()
    return {"changed": False, **results.look(params)}


class _Work(NamedTuple):
    """A run that is about to begin."""

    runner: Runner
    meeting: Meeting
    journal: Journal


def _prepared(params: Params, whole: Any, plan: Plan, tool: tools.PairTool, told: Mapping[int, Mapping[str, Any]], reporters: Sequence[str],
              settings: Settings, key: bytes) -> _Work:
    """What dead runs left is put right, the devices are asked for other work, the port is bound, and the journal holds what is settled already.

    Called with the lock of the host. Raises HccnError.
    """
    repair.repair_all(params["state_dir"], params["root"])
    planned = resume.plan_hash(whole, tool.describe(), params)
    earlier = resume.earlier(params["state_dir"], params["resume"], plan.run_id, planned)
    probe = busy_probe(params, plan.devices)
    at_work = refusals(probe, plan.devices)
    journals.prune(params["state_dir"])
    meeting = Meeting(plan.controls[plan.host])
    journal = Journal.create(params["state_dir"], plan.run_id)
    measured = set(resume.measured(earlier, plan.sources))
    settled = earlier + [left_alone(plan.run_id, pair, at_work[pair.source.device]) for pair in plan.sources
                         if pair.source.device in at_work and pair not in measured]
    for entry in settled:
        journal.record(entry)
    refused = {pair.id: at_work[pair.target.device] for pair in plan.pairs if pair.target.host == plan.host and pair.target.device in at_work}
    total = len(plan.sources)
    plan = plan.limited(device for device in plan.devices if device not in at_work)
    prepare, restore = _governor(params)
    about = About(total, refused, settled, tuple(measured), told, _start_fields(params, planned, earlier, probe), prepare, restore, reporters,
                  reports.path_of(params["state_dir"], plan.run_id), probe)
    return _Work(Runner(plan, tool, settings, key, meeting, journal, about), meeting, journal)


def _detach(work: _Work, lock: HostLock, run_id: str) -> None:
    """Lets the run go on in a process of its own, which holds the lock from then on. Raises HccnError ``not_started``."""
    def run(ready: Callable[[], None]) -> None:
        lock.sign(run_id)
        work.runner.run_detached(ready)

    detach(run, (work.meeting.fileno(), work.journal.fileno(), lock.fileno()))
    work.meeting.abandon()


def _start_fields(params: Params, planned: str, earlier: Sequence[Mapping[str, Any]], probe: Optional[busy.BusyProbe]) -> Dict[str, Any]:
    """What the journal's first line holds for those who repair or resume the run."""
    fields: Dict[str, Any] = {"tool": params["tool"], "plan_hash": planned, "resumed": len(earlier)}
    if params["tool"] == tools.ROCE_TEST:
        fields["hccn_tool"] = tools.hccn_tool(params).path
        if probe is not None:
            fields["npu_smi"] = probe.npu_smi
    return fields


def _reporters(params: Params, plan: Plan) -> Sequence[str]:
    unknown = [host for host in params["reporters"] if host not in plan.controls]
    if unknown:
        raise InputError("reporters: %s is not among the hosts of the plan" % unknown[0])
    return tuple(dict.fromkeys(params["reporters"]))


def _governor(params: Params) -> Tuple[Callable[[], object], Callable[[], object]]:
    """What is to be done about the CPU's governor before and after all pairs."""
    saved, root = repair.saved_governor(params["state_dir"], params["run_id"]), params["root"]
    if params["cpu_governor"] != governor.PERFORMANCE:
        return (lambda: None), (lambda: None)
    return (lambda: governor.raise_all(saved, root)), (lambda: governor.restore(saved, root))


def busy_probe(params: Params, devices: Sequence[int]) -> Optional[busy.BusyProbe]:
    """What tells of devices that are at work; None where they may be used too. Raises HccnError where the devices cannot be found."""
    if params["allow_busy"] or params["tool"] != tools.ROCE_TEST or not devices:
        return None
    smi = NpuSmi(params["npu_smi"], find=lambda name, folders: os.path.abspath(find_program(name, folders)))  # as tools.hccn_tool
    with Guard():
        seen = host.probe(smi)
    seen.refuse_950()
    return busy.BusyProbe(tools.hccn_tool(params), smi, seen)


def refusals(probe: Optional[busy.BusyProbe], devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
    """The error of each device that is at work before the run and must be left alone."""
    if probe is None:
        return {}
    with Guard():
        return probe.refusals(devices)


def left_alone(run_id: str, pair: Pair, error: Dict[str, Any]) -> Dict[str, Any]:
    """The record of a pair whose source does other work; nothing was started for it."""
    outcome = Outcome(0, [], EndError(SOURCE, HccnError(error["code"], error["message"], error.get("hint", ""))), (), time.time(), 0.0)
    return record("rdma", "%s/%s/forward/0" % (run_id, pair.id), "not_run", **as_fields(pair, outcome))


def _settings(params: Params) -> Settings:
    settings = Settings(params["server_start_delay"], params["pair_timeout"], params["meeting_timeout"], params["parallel"] == "rails",
                        expected_seconds(params))
    if settings.start_delay < 0 or settings.meeting_timeout < 0:
        raise InputError("server_start_delay and meeting_timeout must not be negative")
    needed = (params["duration"] or 0) + settings.start_delay
    if settings.pair_timeout <= needed:
        raise InputError("pair_timeout is %g s, but a pair takes %g s by duration and server_start_delay alone" % (settings.pair_timeout, needed))
    return settings


def expected_seconds(params: Params) -> float:
    """What one pair takes at the most where all is well: until both servers and resets are through, and the test, at a bandwidth that is far too low."""
    if params["duration"] or params["tool"] == tools.IPERF3:
        test = float(params["duration"] or iperf3.DEFAULT_SECONDS)
    else:
        size = sum(perftest_options.ALL_SIZES) if params["size"] == "all" else parse_size(params["size"] or DEFAULT_SIZE)
        test = size * (params["iterations"] or DEFAULT_ITERATIONS) * (params["qps"] or 1) / SLOWEST
    return 2 * float(params["server_start_delay"]) + test


def _key(text: str) -> bytes:
    if _KEY.fullmatch(text) is None:
        raise InputError("key is not of 32 hexadecimal digits (128 bit)", "make one a run, the same for all its hosts")
    return bytes.fromhex(text)


def commands(plan: Plan, tool: tools.PairTool) -> List[List[str]]:
    """What this host would run for its pairs, in order: servers where it is the target, clients where it is the source."""
    return [
        list(tool.varied(dict(pair.options)).client(pair.source.device, pair.target.address, pair.target.device) if pair.source.host == plan.host
             else tool.varied(dict(pair.options)).server(pair.target.device, pair.target.address))
        for pair in plan.pairs
    ]


def end_run(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf with ``state: absent``: ends the run on this host, also where its runner died. Idempotent. Raises HccnError."""
    journals.check_folder(params["state_dir"])
    snapshot = journals.read(params["state_dir"], params["run_id"])
    unfinished = bool(snapshot.start) and not snapshot.end
    changed = unfinished or (params["purge"] and os.path.exists(journals.path_of(params["state_dir"], params["run_id"])))
    if not check_mode:
        repair.dismiss(params["state_dir"], params["run_id"])
        _end(params, snapshot, unfinished)
        if params["purge"]:
            journals.remove(params["state_dir"], params["run_id"])
    return {"changed": changed, "run_id": params["run_id"], "measurements": []}


def _end(params: Params, snapshot: Snapshot, unfinished: bool) -> None:
    """Kills the runner, lets its guard clean up, does it again in case there is none, and closes the journal; then what other dead runs left is put right.

    The lock of the host is held meanwhile, so that no run begins on NPUs that are being reset. Where another run is at work, it has put all of that right
    when it began, and its NPUs are left alone. Raises HccnError, ``runner_elsewhere`` among others.
    """
    if unfinished and snapshot.here:
        repair.kill([snapshot])
    elif unfinished and snapshot.alive:
        raise HccnError("runner_elsewhere", "run %s is at work in another container of this host, where it cannot be ended from here" % params["run_id"],
                        "end it by a call in that container, or delete its pod")
    if not os.path.isdir(params["state_dir"]):
        return
    lock = host_lock.taken_or_none(params["state_dir"], params["run_id"])
    if lock is None:
        return
    try:
        failed = _cleaned(params, snapshot) if unfinished else {}
        repair.repair_all(params["state_dir"], params["root"])
    finally:
        lock.close()
    if failed:
        raise _left(params["run_id"], failed)


def _cleaned(params: Params, snapshot: Snapshot) -> Dict[int, HccnError]:
    """What the runner left is put right, and its journal is closed. Returns the NPUs that could not be reset."""
    def reset(device: int) -> None:
        if "hccn_tool" in snapshot.start:
            roce_test_tool.RoceTest(tools.hccn_tool(params), roce_test_tool.Options()).reset(device)

    failed = repair.put_right(params["state_dir"], params["run_id"], snapshot, reset, params["root"])
    journals.end_dead(params["state_dir"], params["run_id"], HccnError("run_cancelled", "the run was ended by rdma_perf with state: absent"))
    return failed


def _left(run_id: str, failed: Mapping[int, HccnError]) -> HccnError:
    """The error of a run that was ended, but for these NPUs: the next run resets them, too, before it uses them."""
    first = failed[min(failed)]
    whose = "; ".join("npu %d: %s" % (device, failed[device].message) for device in sorted(failed))
    return HccnError(first.code, "run %s was ended, but not every NPU could be reset: %s" % (run_id, whose), first.hint)
