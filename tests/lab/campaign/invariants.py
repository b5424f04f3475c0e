"""Invariants of every step: pure functions from a trace to sentences about violations. test_invariants.py shows that each can fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.lab.campaign.steps import DEVICES, Call
from tests.lab.campaign.trace import Command, Node, Trace

MANAGED = {"address", "netmask", "gateway", "netdetect", "mtu", "tls_enable", "bitmap", "bw_limit", "roce_port", "xsfp_reset_max_times",
           "xsfp_reset_wait_times"}
LINE = re.compile(rb"([A-Za-z0-9_]+?)_(\d+)=([^\0\r\n]*)")
STATE = {"address": "ip", "netmask": "netmask", "gateway": "gateway", "netdetect": "netdetect", "mtu": "mtu"}
"""Options of device_network, and their names in the simulator."""
WRITTEN_BY = {"address": ("address", "netmask", "gateway"), "netmask": (), "gateway": ("gateway",), "netdetect": ("netdetect",), "mtu": ("mtu",), "id": ()}
PROBE_AGE_S = 3.0
"""A run of tests need not check for jobs before every command, but it must have checked within this time after a job started."""
RECOVERED = {"address", "netmask", "gateway", "netdetect", "mtu", "tls_enable", "xsfp_reset_max_times", "xsfp_reset_wait_times"}

Key = tuple[int, str]


def whole(conf: bytes) -> bytes:
    """Return the file without trailing NULs, which a module that is killed between two writes may leave, and which hccn_conf removes."""
    return conf.rstrip(b"\0")


def managed(conf: bytes) -> dict[Key, str]:
    """Return the settings that the modules and the tool may change. Of a duplicate key, the first counts."""
    found: dict[Key, str] = {}
    for line in whole(conf).split(b"\n"):
        match = LINE.fullmatch(line)
        if match and match.group(1).decode() in MANAGED:
            found.setdefault((int(match.group(2)), match.group(1).decode()), match.group(3).decode("utf-8", "replace"))
    return found


def unrelated(conf: bytes) -> list[bytes]:
    """Return all other lines."""
    return [line for line in whole(conf).split(b"\n") if line and not ((match := LINE.fullmatch(line)) and match.group(1).decode() in MANAGED)]


def _declared(call: Call) -> dict[Key, set[str] | None]:
    """Return the settings that a call may change in hccn.conf, and to which values (None: any)."""
    options = call.options
    if call.check:
        return {}
    if call.module == "device_network":
        return {(entry["id"], key): {str(entry[key])} if key in entry else set() for entry in options["config"] for option in entry
                for key in WRITTEN_BY[option]}
    if call.module == "device_tls" or call.module == "device_info" and "tls" in options["gather"]:
        return {(device, "tls_enable"): {"0", "1"} for device in DEVICES}
    if call.module != "hccn_conf":
        return {}
    found: dict[Key, set[str] | None] = {(device, key): {str(value)} for device in DEVICES for key, value in (options.get("settings") or {}).items()}
    if options.get("recover"):
        found.update({(device, key): None for device in DEVICES for key in RECOVERED})
    return found


def conf_is_whole(trace: Trace) -> Iterator[str]:
    """hccn.conf can be parsed, keeps its inode, and no setting changed that no call declared."""
    for name, after in trace.after.items():
        before = trace.before[name]
        if after.inode != before.inode:
            yield f"{name}: hccn.conf was replaced by another file"
        killed = any((call.kill or {}).get("how") == "kill" for call in trace.calls.values())
        if b"\0" in whole(after.conf) or after.conf.endswith(b"\0") and not before.conf.endswith(b"\0") and not killed:
            yield f"{name}: hccn.conf contains NULs: {after.conf!r}"
        if whole(before.conf).endswith(b"\n") and not whole(after.conf).endswith(b"\n"):
            yield f"{name}: hccn.conf lost its last newline"
        if unrelated(after.conf) != unrelated(before.conf):
            yield f"{name}: undeclared changes of other lines of hccn.conf: {unrelated(before.conf)} became {unrelated(after.conf)}"
        keys = [match.group(0).partition(b"=")[0] for line in whole(after.conf).split(b"\n") if (match := LINE.fullmatch(line))
                and match.group(1).decode() in MANAGED]
        if len(keys) != len(set(keys)):
            yield f"{name}: duplicate keys: {sorted(keys)}"
        yield from _undeclared(name, managed(before.conf), managed(after.conf), [call for call in trace.calls.values() if call.node == name])


def _undeclared(name: str, before: Mapping[Key, str], after: Mapping[Key, str], calls: Iterable[Call]) -> Iterator[str]:
    declared: dict[Key, set[str]] = {}
    free: set[Key] = set()
    for call in calls:
        for key, values in _declared(call).items():
            free |= {key} if values is None else set()
            declared.setdefault(key, set()).update(values or ())
    for key in sorted(set(before) | set(after)):
        had, has = before.get(key), after.get(key)
        if had != has and key not in free and (key not in declared or has is not None and has not in declared[key]):
            yield f"{name}: {key[1]}_{key[0]} was {had} and is {has}, which no call declared"


def busy_is_untouched(trace: Trace) -> Iterator[str]:
    """An NPU with a job is not set, reset or tested, if the call detected the job or could have detected it.

    A job can be detected unless it starts after npu-smi and right before the set, or the reset or test of a device. A run of tests must check again after
    PROBE_AGE_S at the latest.
    """
    for name, call in trace.calls.items():
        if call.options.get("allow_busy"):
            continue
        commands = [command for command in trace.commands if command.call == name]
        for device in DEVICES:
            yield from _touched(call, [one for one in commands if call.module != "rdma_perf" or one.device in (device, -1)], device)


def _touched(call: Call, commands: list[Command], device: int) -> Iterator[str]:
    tested = started = False
    job: list[Command] = []
    for command in commands:
        job = [*job, command] if device in command.busy else []
        if command.device != device or not command.changes:
            continue
        cleanup, going_on = command.test == "reset" and tested, started and not command.test
        why = _why_late(call, job)
        if why and not cleanup and not going_on:
            yield f"{call.module} ran {' '.join(command.arguments)} while a job used NPU {device}: the call {why}"
        tested = command.test == "launch" or tested and command.test != "reset"
        started = True


def _why_late(call: Call, job: list[Command]) -> str:
    """Return why the last command of ``job``, the commands since a job started, should not have run, or an empty text if no job could be detected."""
    if any(command.asks_for_jobs for command in job):
        return "had detected it"
    if call.module == "rdma_perf":
        age = job[-1].at - job[0].at if job else 0.0
        return f"had not checked for {age:.1f} s" if age > PROBE_AGE_S else ""
    return f"had not checked for {len(job) - 1} commands" if len(job) > 1 else ""


def results_are_true(trace: Trace) -> Iterator[str]:
    """``changed`` and ``after`` match the state of the node."""
    if len(trace.calls) != 1:
        return
    (name, call), = trace.calls.items()
    result, before, after = trace.results[name], trace.before[call.node], trace.after[call.node]
    if result is None:
        if call.kill is None or call.kill.get("what") == "tool" or call.kill.get("how") == "full":
            yield f"{call.module} returned nothing"
        return
    if "traceback" in result:
        yield f"{call.module} raised an exception: {result['traceback']}"
        return
    if call.check or call.module == "rdma_perf":
        return
    differs = before.settings != after.settings
    if call.module == "device_info":
        yield from _side_effects(result, before, after)
    elif differs and not result.get("changed"):
        yield f"{call.module} returned changed=false, but {_difference(before, after)}"
    elif result.get("changed") and not differs and not _errors(result):
        yield f"{call.module} returned changed=true, but nothing changed"
    yield from _untrue(call, result, after)
    if trace.quiet and result.get("failed") and call.options.get("fail_on") != "any" and "out of range" not in str(result):
        yield from () if _was_refused(result) else [f"{call.module} failed although no fault was active: {result.get('msg')}"]


def _was_refused(result: Mapping[str, Any]) -> bool:
    """Return True for invalid options, or a gateway outside the network of the configured address: errors of the sequence itself."""
    return "config[" in str(result.get("msg")) or any(error["code"] in ("gateway_outside_network", "gateway_without_address") for error in _errors(result))


def _difference(before: Node, after: Node) -> str:
    if before.conf != after.conf:
        return f"hccn.conf was {before.conf!r} and is {after.conf!r}"
    return f"the devices were {dict(before.devices)} and are {dict(after.devices)}"


def _errors(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [error for key in ("devices", "recovered") for device in result.get(key) or () for error in device.get("errors") or ()]


def _side_effects(result: Mapping[str, Any], before: Node, after: Node) -> Iterator[str]:
    returned = {(effect["device"], effect["key"].rpartition("_")[0]) for effect in result.get("side_effects") or ()}
    had, has = managed(before.conf), managed(after.conf)
    changed = {key for key in set(had) | set(has) if had.get(key) != has.get(key)}
    if changed != returned or before.devices != after.devices:
        yield f"device_info returned the side effects {sorted(returned)}, but {sorted(changed)} changed"


def _untrue(call: Call, result: Mapping[str, Any], after: Node) -> Iterator[str]:
    kept = managed(after.conf)
    for device in result.get("devices") or ():
        number, shown = device["id"], device.get("after") or {}
        if call.module == "device_network":
            for option, value in shown.items():
                if option in STATE and value is not None and str(value) != after.devices[number][STATE[option]]:
                    yield f"device_network reported that {option} of NPU {number} is {value}, but it is {after.devices[number][STATE[option]]}"
            for option, value in (shown.get("persistent") or {}).items():
                if value is not None and kept.get((number, option)) != str(value):
                    yield f"device_network reported that hccn.conf has {option}_{number}={value}, but it has {kept.get((number, option))}"
        if call.module == "device_tls" and not call.options.get("validate_only"):
            enabled = {"1": True, "0": False}[after.devices[number]["tls"]]
            persistent = {"1": True, "0": False, None: None}.get(kept.get((number, "tls_enable")))
            if shown.get("enabled") not in (None, enabled) or shown.get("persistent") != persistent:
                yield f"device_tls reported that NPU {number} is {shown}, but it is {enabled}, in hccn.conf {persistent}"
    if call.module == "hccn_conf" and "diff" in result and result["diff"]["after"].encode("utf-8", "surrogateescape") != after.conf:
        yield f"the diff of hccn_conf does not match the file: {result['diff']['after']!r}"


def check_mode_is_pure(trace: Trace) -> Iterator[str]:
    """Check mode changes nothing and runs no command that could change anything."""
    for name, call in trace.calls.items():
        if not call.check:
            continue
        ran = [" ".join(command.arguments) for command in trace.commands if command.call == name and command.changes]
        if ran:
            yield f"{call.module} ran {ran} in check mode"
        if len(trace.calls) == 1 and trace.before != trace.after:
            yield f"{call.module} changed the node in check mode: {_difference(trace.before[call.node], trace.after[call.node])}"


def nothing_is_left(trace: Trace) -> Iterator[str]:
    """No process of a module and no test of a device outlives its call."""
    for line in trace.left:
        yield f"processes left: {line}"
    for name, node in trace.after.items():
        if node.tests and not trace.before[name].tests:
            yield f"{name}: tests are left on the devices: {', '.join(node.tests)}"


def old_values_are_saved(trace: Trace) -> Iterator[str]:
    """With keep_previous, the previous settings of a device are in the record before it is set, and the record keeps them."""
    for name, call in trace.calls.items():
        before, after = trace.before[call.node], trace.after[call.node]
        had, has = (_saved(node) for node in (before, after))
        for key in sorted(set(had)):
            if has.get(key) != had[key]:
                yield f"{key[1]} of NPU {key[0]} was saved as {had[key]} and is now {has.get(key)} in the record"
        if len(trace.calls) > 1:
            continue
        for device, option in sorted(set(has) - set(had)):
            if before.devices[device][option] != has[device, option]:
                yield f"{option} of NPU {device} was {before.devices[device][option]} and was saved as {has[device, option]}"
        if not call.options.get("keep_previous") or call.module == "hccn_conf":
            continue
        set_ = {command.device for command in trace.commands if command.call == name and command.changes}
        unsaved = sorted((device, option) for device in set_ for option in DEVICE_OPTIONS
                         if before.devices[device][option] != after.devices[device][option] and (device, option) not in has)
        if unsaved:
            yield f"set without being saved before: {unsaved}"


DEVICE_OPTIONS = (*STATE.values(), "tls")


def _saved(node: Node) -> dict[tuple[int, str], str]:
    """Return the record with the simulator's names and values."""
    found: dict[tuple[int, str], str] = {}
    for entry in (node.saved or {}).get("network", ()):
        found.update({(entry["id"], STATE[option]): "" if value is None else str(value) for option, value in entry.items() if option in STATE})
    for entry in (node.saved or {}).get("tls", ()):
        if entry["enabled"] is not None:
            found[entry["id"], "tls"] = str(int(entry["enabled"]))
    return found


OF_A_STEP = (conf_is_whole, busy_is_untouched, results_are_true, check_mode_is_pure, nothing_is_left, old_values_are_saved)


def previous_leads_back(forth: Trace, back: Trace) -> Iterator[str]:
    """After device_network succeeded with ``previous``, every option in it has its old value."""
    (name,), (again,) = forth.calls, back.calls
    result, done = forth.results[name], back.results[again]
    if not result or not done or done.get("failed") or done.get("traceback"):
        return
    before, after = forth.before[forth.calls[name].node], back.after[back.calls[again].node]
    for entry in result["previous"]:
        for option in set(entry) & set(STATE):
            if before.devices[entry["id"]][STATE[option]] != after.devices[entry["id"]][STATE[option]]:
                yield (f"restoring previous set {option} of NPU {entry['id']} to {after.devices[entry['id']][STATE[option]]}, "
                       f"but it was {before.devices[entry['id']][STATE[option]]}")


def converges(traces: Iterable[Trace], wanted: Mapping[int, Mapping[str, str]]) -> Iterator[str]:
    """Without disturbance, the declared calls succeed and reach the declared state. ``wanted``: by device, with the simulator's names."""
    last = None
    for trace in traces:
        last = trace
        for name, call in trace.calls.items():
            if (trace.results[name] or {"failed": True}).get("failed"):
                yield f"without disturbance, {call.module} failed: {(trace.results[name] or {}).get('msg')}"
    assert last is not None
    if b"\0" in last.after["n1"].conf:
        yield f"without disturbance, hccn.conf contains NULs: {last.after['n1'].conf!r}"
    for device, values in wanted.items():
        for option, value in values.items():
            if last.after["n1"].devices[device][option] != value:
                yield f"without disturbance, {option} of NPU {device} is {last.after['n1'].devices[device][option]}, not {value}"


def is_idempotent(traces: Iterable[Trace]) -> Iterator[str]:
    """A second identical call returns changed=false, runs no set and changes nothing."""
    for trace in traces:
        for name, call in trace.calls.items():
            if (trace.results[name] or {}).get("changed") is not False:
                yield f"the second {call.module} returned changed={(trace.results[name] or {}).get('changed')}"
        if any(command.changes for command in trace.commands) or trace.before != trace.after:
            yield f"a second {'+'.join(call.module for call in trace.calls.values())} changed the node"
