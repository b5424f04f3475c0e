# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Start a run on this host, in this process or detached, end it, or resume an earlier one."""

from __future__ import annotations

import calendar
import hashlib
import json
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.detach import detach
from .._core.errors import HccnError, InputError
from .._core.guard import Guard
from .._core.record import record
from .._device import busy, host
from .._device.npu_smi import NpuSmi
from .._device.rdma_sysfs import read_ports
from .._device.rdma_usage import DeviceProbe, RdmaBusyProbe, ports_with
from .._perf import governor, roce_test_tool
from .._perf.perftest import Perftest
from .._perf.perftest_options import ROCE_TEST
from . import progress, repair, results, run_locks
from . import journal as journals
from .host_state import SOURCE, Outcome, SideError, as_fields
from .journal import Journal, Snapshot
from .plan import Endpoint, Pair, Plan
from .request import EndRequest, PairTool, Params, RunRequest, ToolRequest, find_hccn_tool, find_program_path
from .run_locks import HostLock
from .runner import Runner, RunSetup
from .transport import Listener

LAST = "last"


def perform(params: Params, check_mode: bool) -> Dict[str, Any]:
    """Return the result of rdma_perf. Raises HccnError."""
    if params["state"] == "absent":
        return end_run(EndRequest.parse(params), check_mode)
    request = RunRequest.parse(params)
    result = run_pairs(request, check_mode)
    if request.cpu_governor == governor.PERFORMANCE and not governor.read(request.root):
        result["warnings"] = [*result.get("warnings", ()), governor.UNAVAILABLE]
    records = [] if check_mode else journals.read(request.state_dir, request.run_id).records
    return results.judged(result, records, request.fail_on)


def run_pairs(request: RunRequest, check_mode: bool) -> Dict[str, Any]:
    """Measure this host's part of the plan, in this process or detached. Raises HccnError if it could not start."""
    tool = request.tool.make(request.plan)
    for changes in {pair.options for pair in request.plan.pairs}:
        tool.varied(dict(changes))
    if check_mode:
        return {"changed": False, "run_id": request.run_id, "commands": commands(request.plan, tool), "measurements": []}
    journals.check_folder(request.state_dir)
    repair.dismiss(request.state_dir)
    lock = HostLock.take(request.state_dir, request.run_id)
    try:
        work = _prepared(request, tool)
        if request.wait:
            work.runner.run()
        else:
            _detach(work, lock, request.run_id)
        work.journal.close()
    finally:
        lock.close()
    return {"changed": False, **results.run_result(request.state_dir, request.run_id)}


class _Work(NamedTuple):
    """A run that is about to begin."""

    runner: Runner
    listener: Listener
    journal: Journal


def _prepared(request: RunRequest, tool: PairTool) -> _Work:
    """Repair after dead runs, find busy devices, bind the control port, and write the records of settled pairs.

    Called with the host lock held. Raises HccnError.
    """
    repair.repair_all(request.state_dir, request.root)
    plan = request.plan
    conditions_hash = hash_conditions(tool.describe(), request.conditions)
    earlier = taken_over(earlier_records(request.state_dir, request.resume, plan.run_id, conditions_hash), plan.initiated)
    probe = _busy_probe(request, tool)
    at_work = _refusals(probe, plan.devices)
    journals.prune(request.state_dir)
    listener = Listener(plan.controls[plan.host])
    journal = Journal.create(request.state_dir, plan.run_id)
    settled = list(earlier.values()) + [_left_alone(plan.run_id, pair, at_work[pair.source.device]) for pair in plan.initiated
                                        if pair.source.device in at_work and pair not in earlier]
    for entry in settled:
        journal.record(entry)
    prepare, restore = _governor(request)
    setup = RunSetup(
        total=len(plan.initiated), settled=settled, measured=tuple(earlier), device_context=request.device_context, reporters=request.reporters, busy=probe,
        refused={pair.id: at_work[pair.target.device] for pair in plan.pairs if pair.target.host == plan.host and pair.target.device in at_work},
        start=_start_fields(request.tool, conditions_hash, len(earlier), probe), prepare=prepare, restore=restore,
        progress_path=progress.path_of(request.state_dir, plan.run_id))
    idle = plan.limited(device for device in plan.devices if device not in at_work)
    return _Work(Runner(idle, tool, request.settings, request.key, listener, journal, setup), listener, journal)


def _detach(work: _Work, lock: HostLock, run_id: str) -> None:
    """Continue the run in a detached process, which holds the host lock from then on. Raises HccnError ``not_started``."""
    def run(ready: Callable[[], None]) -> None:
        lock.write_holder(run_id)
        work.runner.run_detached(ready)

    detach(run, (work.listener.fileno(), work.journal.fileno(), lock.fileno()))
    work.listener.abandon()


def _start_fields(tool: ToolRequest, conditions_hash: str, resumed: int, probe: Optional[DeviceProbe]) -> Dict[str, Any]:
    """Return the fields of the journal's first line that later calls need to repair or resume the run."""
    fields: Dict[str, Any] = {"tool": tool.name, "conditions_hash": conditions_hash, "resumed": resumed}
    if tool.name == ROCE_TEST:
        fields["hccn_tool"] = find_hccn_tool(tool.hccn_tool, tool.timeout_s).path
        if isinstance(probe, busy.BusyProbe):
            fields["npu_smi"] = probe.npu_smi
    return fields


def _governor(request: RunRequest) -> Tuple[Callable[[], object], Callable[[], object]]:
    """Return the functions that set the CPU governor before all pairs, and restore it after them."""
    saved, root = repair.saved_governor(request.state_dir, request.run_id), request.root
    if request.cpu_governor != governor.PERFORMANCE:
        return (lambda: None), (lambda: None)
    return (lambda: governor.raise_all(saved, root)), (lambda: governor.restore(saved, root))


def _busy_probe(request: RunRequest, pair_tool: PairTool) -> Optional[DeviceProbe]:
    """Return the probe that finds busy devices, None if busy devices are used, too. Raises HccnError if the devices cannot be found."""
    tool = request.tool
    if request.allow_busy or not request.plan.devices:
        return None
    if tool.name != ROCE_TEST:
        addresses = {pair.endpoint(request.plan.host).device: pair.endpoint(request.plan.host).address for pair in request.plan.pairs}
        ports = pair_tool.ports if isinstance(pair_tool, Perftest) else ports_with(read_ports(request.root), addresses)
        return RdmaBusyProbe(ports, request.root) if ports else None
    smi = NpuSmi(tool.npu_smi, find=find_program_path)
    with Guard():
        seen = host.probe(smi)
    seen.refuse_950()
    return busy.BusyProbe(find_hccn_tool(tool.hccn_tool, tool.timeout_s), smi, seen)


def _refusals(probe: Optional[DeviceProbe], devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
    """Return the errors of the devices that are busy before the run and are not measured."""
    if probe is None:
        return {}
    with Guard():
        return probe.refusals(devices)


def _left_alone(run_id: str, pair: Pair, error: Dict[str, Any]) -> Dict[str, Any]:
    """Return the record of a pair whose device on this host is busy. Nothing was started for it."""
    outcome = Outcome(0, [], SideError(SOURCE, HccnError(error["code"], error["message"], error.get("hint", ""))), (), time.time(), 0.0)
    return record("rdma", "%s/%s/forward/0" % (run_id, pair.id), "not_run", **as_fields(pair, outcome))


def commands(plan: Plan, tool: PairTool) -> List[List[str]]:
    """Return the commands of this host for its pairs, in order: clients for those that it initiates, otherwise servers."""
    return [
        list(tool.varied(dict(pair.options)).client(pair.source.device, pair.target.address, pair.target.device) if pair.source.host == plan.host
             else tool.varied(dict(pair.options)).server(pair.target.device, pair.target.address))
        for pair in plan.pairs
    ]


def end_run(request: EndRequest, check_mode: bool) -> Dict[str, Any]:
    """End the run on this host, even if its runner died. Idempotent. Raises HccnError."""
    journals.check_folder(request.state_dir)
    snapshot = journals.read(request.state_dir, request.run_id)
    unfinished = bool(snapshot.start) and not snapshot.end
    changed = unfinished or (request.purge and os.path.exists(journals.path_of(request.state_dir, request.run_id)))
    if not check_mode:
        repair.dismiss(request.state_dir, request.run_id)
        _end(request, snapshot, unfinished)
        if request.purge:
            journals.remove(request.state_dir, request.run_id)
    return {"changed": changed, "run_id": request.run_id, "measurements": []}


def _end(request: EndRequest, snapshot: Snapshot, unfinished: bool) -> None:
    """Kill the runner, wait for its guard to clean up, clean up in case there is no guard, and close the journal. Then repair after other dead runs.

    The host lock is held meanwhile, so that no run starts on NPUs that are being reset. If another run holds it, that run has cleaned up when it started, and
    nothing is reset. Raises HccnError, ``runner_elsewhere`` among others.
    """
    if unfinished and snapshot.here:
        repair.kill([snapshot])
    elif unfinished and snapshot.alive:
        raise HccnError("runner_elsewhere", "run %s is at work in another container of this host, where it cannot be ended from here" % request.run_id,
                        "end it by a call in that container, or delete its pod")
    if not os.path.isdir(request.state_dir):
        return
    lock = run_locks.taken_or_none(request.state_dir, request.run_id)
    if lock is None:
        return
    try:
        failed = _cleaned(request, snapshot) if unfinished else {}
        repair.repair_all(request.state_dir, request.root)
    finally:
        lock.close()
    if failed:
        raise _left(request.run_id, failed)


def _cleaned(request: EndRequest, snapshot: Snapshot) -> Dict[int, HccnError]:
    """Clean up after the runner, and close its journal. Return the NPUs that could not be reset."""
    def reset(device: int) -> None:
        if "hccn_tool" in snapshot.start:
            roce_test_tool.RoceTest(find_hccn_tool(request.hccn_tool, request.timeout_s), roce_test_tool.Options()).reset(device)

    failed = repair.clean_up(request.state_dir, request.run_id, snapshot, reset, request.root)
    journals.end_dead(request.state_dir, request.run_id, HccnError("run_cancelled", "the run was ended by rdma_perf with state: absent"))
    return failed


def _left(run_id: str, failed: Mapping[int, HccnError]) -> HccnError:
    """Return the error of an ended run of which some NPUs could not be reset. The next run resets them before it uses them."""
    first = failed[min(failed)]
    failures = "; ".join("NPU %d: %s" % (device, failed[device].message) for device in sorted(failed))
    return HccnError(first.code, "run %s was ended, but not every NPU could be reset: %s" % (run_id, failures), first.hint)


# -- resuming a run

REFUSED = "resume_refused"
"""Error code of a run that cannot be resumed."""
_MEASURE_ALL = "omit resume to measure all pairs"


def hash_conditions(tool: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """Return the hash of how pairs are measured. ``tool``: its ``describe()``, of which the release is ignored; ``conditions``: of the RunRequest."""
    how = {**tool, "tool": tool["tool"]["name"], **conditions}
    return hashlib.sha256(json.dumps(how, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def earlier_records(state_dir: str, resume: Optional[str], run_id: str, wanted_hash: str) -> List[Dict[str, Any]]:
    """Return the good records of the run to resume, without those that it took over itself and that are too old by now. Return an empty list if this host has
    no such run: it measures all pairs.

    Raises InputError if that run is this run, HccnError ``resume_refused`` if it has other options, is too old, or is still at work.
    """
    if not resume:
        return []
    if resume == run_id:
        raise InputError("resume names the run itself, %s" % run_id, "use another run_id for the run that resumes it")
    name = _last(state_dir, run_id) if resume == LAST else resume
    snapshot = journals.read(state_dir, name) if name else None
    if snapshot is None or not snapshot.start:
        return []
    if snapshot.state == journals.RUNNING:
        raise _refused(name, "it is still at work on this host", "wait for it, or end it (rdma_perf with state: absent)")
    now, began = time.time(), snapshot.start.get("started_at")
    if began is None:
        raise _refused(name, "its journal does not say when it began")
    age = now - began
    if age > journals.KEPT_SECONDS:
        raise _refused(name, "it is %d days old, and a fabric can change within 7" % (age // 86400))
    if snapshot.start.get("conditions_hash") != wanted_hash:
        raise _refused(name, "its options are not those of this run")
    return [record for record in snapshot.records if record["status"] == "ok" and now - _measured_at(record, began) <= journals.KEPT_SECONDS]


def _refused(run_id: Optional[str], why: str, hint: str = _MEASURE_ALL) -> HccnError:
    return HccnError(REFUSED, "run %s cannot be resumed: %s" % (run_id, why), hint)


def _last(state_dir: str, but: str) -> Optional[str]:
    found = journals.last_started(state_dir, but)
    return found.run_id if found else None


def _measured_at(record: Mapping[str, Any], began: float) -> float:
    """Return the time at which a pair was measured, or the start of its run if the record does not contain it."""
    try:
        return float(calendar.timegm(time.strptime(str(record.get("started_at"))[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return began


def taken_over(records: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> Dict[Pair, Dict[str, Any]]:
    """Return the record of each pair that was measured, by pair. The plan may have changed since then, so a pair is the same if its NPUs and their addresses
    are, and its record gets the id and the round that it has in this plan. A pair with options of its own is measured again."""
    planned = {(pair.source, pair.target): pair for pair in pairs if not pair.options}
    found: Dict[Pair, Dict[str, Any]] = {}
    for entry in records:
        pair = planned.get((_endpoint(entry["source"]), _endpoint(entry["target"])))
        if pair is not None:
            run_id, _earlier_id, *rest = entry["id"].split("/")
            found[pair] = {**entry, "id": "/".join((run_id, pair.id, *rest)), "context": {**entry["context"], "round": pair.round}}
    return found


def _endpoint(side: Mapping[str, Any]) -> Endpoint:
    return Endpoint(side["host"], side["device"], str(side.get("address")))
