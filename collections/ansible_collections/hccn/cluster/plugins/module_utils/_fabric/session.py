# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What rdma_perf and rdma_perf_info do: start a run on this host (here or detached), look at it, end it."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError, InputError
from .._core.guard import Guard, end_marked, marked
from .._core.record import record
from .._device import busy, host
from .._device.host import expand
from .._device.smi import NpuSmi
from .._device.tool import DRIVER_TOOLS, HccnTool, find_program
from .._perf import perftest_options, roce_test
from .._perf.sizes import parse_size
from . import journal as journals
from .detach import detach
from .ends import SOURCE, EndError, Outcome, Settings, as_fields
from .journal import Journal, Snapshot
from .meeting import Meeting
from .plan import Pair, Plan, parse_plan
from .runner import Runner

_KEY = re.compile(r"[0-9a-fA-F]{32}")
DEFAULT_SIZE = "64K"
DEFAULT_ITERATIONS = 5000
SLOWEST = 125e6
"""Bytes a second that any link in use gets through, 1 Gbit/s."""

_GUARD_SECONDS = 60.0
_LOOK_SECONDS = 0.2

Params = Mapping[str, Any]


def perform(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf as a whole. Raises HccnError."""
    if params["state"] == "absent":
        return end_run(params, check_mode)
    return judged(run_pairs(params, check_mode), params["fail_on"])


def run_pairs(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf with ``state: present``: this host's part of the plan. Raises HccnError where it could not begin."""
    plan = parse_plan(params["plan"], params["host"], params["run_id"])
    plan = plan.limited(expand(params["devices"], plan.devices))
    tool = _tool(params)
    settings = _settings(params)
    key = _key(params["key"])
    if check_mode:
        return {"changed": False, "run_id": plan.run_id, "commands": commands(plan, tool), "measurements": []}
    at_work = refusals(params, plan.devices)
    journals.prune(params["state_dir"])
    meeting = Meeting(plan.controls[plan.host])
    journal = Journal.create(params["state_dir"], plan.run_id)
    for pair in plan.sources:
        if pair.source.device in at_work:
            journal.record(left_alone(plan.run_id, pair, at_work[pair.source.device]))
    refused = {pair.id: at_work[pair.target.device] for pair in plan.pairs if pair.target.host == plan.host and pair.target.device in at_work}
    plan = plan.limited(device for device in plan.devices if device not in at_work)
    runner = Runner(plan, tool, settings, key, meeting, journal, refused)
    if params["wait"]:
        runner.run()
    else:
        detach(runner.run, (meeting.fileno(), journal.fileno()))
        meeting.abandon()
    journal.close()
    return {"changed": False, **look(params)}


def refusals(params: Params, devices: Sequence[int]) -> Dict[int, Dict[str, Any]]:
    """The error of each device that is at work and must be left alone. Raises HccnError where the devices cannot be found."""
    if params["allow_busy"] or not devices:
        return {}
    smi = NpuSmi(params["npu_smi"])
    with Guard():
        seen = host.look(smi)
        seen.refuse_950()
        return busy.refusals(_hccn_tool(params), smi, seen, devices, False)


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
    if params["duration"]:
        test = float(params["duration"])
    else:
        size = sum(perftest_options.ALL_SIZES) if params["size"] == "all" else parse_size(params["size"] or DEFAULT_SIZE)
        test = size * (params["iterations"] or DEFAULT_ITERATIONS) * (params["qps"] or 1) / SLOWEST
    return 2 * float(params["server_start_delay"]) + test


def _tool(params: Params) -> roce_test.RoceTest:
    all_sizes = params["size"] == "all"
    options = roce_test.Options(
        operation=params["operation"], measure=params["measure"], all_sizes=all_sizes,
        size_bytes=None if all_sizes or params["size"] is None else parse_size(params["size"]),
        iterations=params["iterations"], duration_s=params["duration"], qps=params["qps"], mtu=params["mtu"],
        gid_index=params["gid_index"], traffic_class=params["traffic_class"])
    return roce_test.RoceTest(_hccn_tool(params), options)


def _hccn_tool(params: Params) -> HccnTool:
    """By its whole path, since the runner does not stay in the folder it is started in."""
    return HccnTool(os.path.abspath(find_program(params["hccn_tool"], (DRIVER_TOOLS,))), float(params["timeout"]))


def _key(text: str) -> bytes:
    if _KEY.fullmatch(text) is None:
        raise InputError("key is not of 32 hexadecimal digits (128 bit)", "make one a run, the same for all its hosts")
    return bytes.fromhex(text)


def commands(plan: Plan, tool: roce_test.RoceTest) -> List[List[str]]:
    """What this host would run for its pairs, in order: servers where it is the target, clients where it is the source."""
    return [
        list(tool.client(pair.source.device, pair.target.address) if pair.source.host == plan.host
             else tool.server(pair.target.device, pair.target.address))
        for pair in plan.pairs
    ]


def look(params: Params) -> Dict[str, Any]:
    """The run as it is: ``run_id``, ``state``, ``progress``, ``measurements``, and ``error`` where it failed as a whole."""
    snapshot = journals.read(params["state_dir"], params["run_id"])
    result = {"run_id": params["run_id"], "state": snapshot.state, "progress": snapshot.progress(), "measurements": returned(snapshot.records)}
    error = snapshot.error()
    return {**result, "error": error} if error else result


def look_until_over(params: Params) -> Dict[str, Any]:
    """``look`` as soon as the run is not running any more, at the latest after ``wait`` seconds."""
    end = time.monotonic() + params["wait"]
    while time.monotonic() < end and journals.read(params["state_dir"], params["run_id"]).state == journals.RUNNING:
        time.sleep(_LOOK_SECONDS)
    return look(params)


def returned(records: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The records as a module returns them, in the order of the plan: the one place where large runs are to become matrix rows."""
    return sorted(records, key=lambda record: (record["context"]["round"], len(record["id"]), record["id"]))


def failed_devices(records: Sequence[Mapping[str, Any]]) -> Dict[int, List[str]]:
    """The devices of this host whose pairs were measured, each with what failed."""
    devices: Dict[int, List[str]] = {}
    for entry in records:
        found = devices.setdefault(entry["source"]["device"], [])
        if entry["status"] != "ok":
            found.append("%s npu %d: %s" % (entry["target"]["host"], entry["target"]["device"], entry["error"]["message"]))
    return devices


def judged(result: Dict[str, Any], fail_on: str) -> Dict[str, Any]:
    """The result with ``failed`` and ``msg`` where the run failed as a whole, or its devices did, by ``fail_on: any|all|none``."""
    if "error" in result:
        return {**result, "failed": True, "msg": result["error"]["message"]}
    devices = failed_devices(result["measurements"])
    bad = {device: errors for device, errors in devices.items() if errors}
    if not bad or fail_on == "none" or (fail_on == "all" and len(bad) < len(devices)):
        return result
    first = sorted(bad)[0]
    return {**result, "failed": True, "msg": "pairs of %d of %d devices failed: npu %d with %s%s" % (
        len(bad), len(devices), first, bad[first][0], "" if sum(map(len, bad.values())) == 1 else "; see measurements for the others")}


def end_run(params: Params, check_mode: bool) -> Dict[str, Any]:
    """rdma_perf with ``state: absent``: ends the run on this host, also where its runner died. Idempotent. Raises HccnError."""
    snapshot = journals.read(params["state_dir"], params["run_id"])
    unfinished = bool(snapshot.start) and not snapshot.end
    changed = unfinished or (params["purge"] and os.path.exists(journals.path_of(params["state_dir"], params["run_id"])))
    if not check_mode and unfinished:
        _end(params, snapshot)
    if not check_mode and params["purge"]:
        journals.remove(params["state_dir"], params["run_id"])
    return {"changed": changed, "run_id": params["run_id"], "measurements": []}


def _end(params: Params, snapshot: Snapshot) -> None:
    """Kills the runner, lets its guard clean up, does it again in case there is none, and closes the journal."""
    pid = snapshot.start["pid"]
    guards = _unmarked_children(pid, snapshot.start["mark"]) if snapshot.alive else []
    if snapshot.alive:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + _GUARD_SECONDS
    while time.monotonic() < end and any(journals.identity(guard) == known for guard, known in guards):
        time.sleep(0.05)
    end_marked(snapshot.start["mark"])
    tool = roce_test.RoceTest(_hccn_tool(params), roce_test.Options())
    for device in snapshot.start["devices"]:
        tool.reset(device)
    journal = Journal.append_to(params["state_dir"], params["run_id"])
    journal.end(journals.FAILED, error=HccnError("run_cancelled", "the run was ended by rdma_perf with state: absent").as_dict())
    journal.close()


def _unmarked_children(pid: int, mark: str) -> List[Any]:
    """The guard of a runner, with its identity: a child that does not carry the run's mark."""
    with_mark = set(marked(mark))
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in with_mark and _parent(int(name)) == pid:
            found.append((int(name), journals.identity(int(name))))
    return found


def _parent(pid: int) -> Optional[int]:
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as status:
            return int(status.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
