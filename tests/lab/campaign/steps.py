"""Steps of a sequence as data: generated from a seed, and converted to and from JSON."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

NODE, OTHER = "n1", "n2"
DEVICES = (0, 1)
NETWORKS = (81, 82, 83)
JOB = "4711:python3:100"
MTUS = (1500, 4200, 9000)

FAULTS = ("link=0", "killed=9", "killed_late=9", "garbage=1", "set_refused=1", "set_refused=tls", "set_ignored=1", "ip_set_ret=-1", "conf_refused=1",
          "busy_for=1", "tls_nocert=1", "fail.mtu=-1", "latency=0.1")
HOST_FAULTS = ("process_table=0", "conf_no_newline=1", "conf_locked=0.4", "npu_smi_missing=1", "conf_unwritable=1")
RARE_FAULTS = ("hang=1", "busy=1", "health_ret=-1", "flood=1")
CLEARED = ("link=", "killed=", "killed_late=", "garbage=", "set_refused=", "set_ignored=", "ip_set_ret=", "conf_refused=", "busy_for=",
           "tls_nocert=", "fail.mtu=", "latency=", "hang=", "busy=", "health_ret=", "flood=", "process=", "qps=", "process_table=", "conf_locked=",
           "npu_smi_missing=", "conf_unwritable=")


@dataclass(frozen=True)
class Call:
    """One module call. ``kill``: ``{what, moment, number}`` (see tool.py) or ``{operation, how}`` (see forked.py). ``events``: changes of state, each after a
    number of tool commands that contain the given words. ``beside``: a concurrent call of a second operator."""

    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    check: bool = False
    node: str = NODE
    kill: Mapping[str, Any] | None = None
    events: tuple[tuple[int, str, str], ...] = ()
    beside: Call | None = None


@dataclass(frozen=True)
class Change:
    """A change of the node's state between two calls."""

    state: tuple[str, ...]


@dataclass(frozen=True)
class Restore:
    """Restore the last ``previous`` of device_network."""


@dataclass(frozen=True)
class Measure:
    """Run rdma_perf on both nodes at once, then with absent on both."""

    call: Call


Step = Call | Change | Restore | Measure


def network(draw: random.Random, device: int) -> dict[str, Any]:
    """Return an entry of device_network's config. The networks differ, so that a gateway can be outside the new one."""
    third = draw.choice(NETWORKS)
    entry: dict[str, Any] = {"id": device}
    if draw.random() < 0.7:
        entry.update(address=f"10.{third}.1.1{device}", netmask="255.255.0.0")
        if draw.random() < 0.7:
            entry["gateway"] = f"10.{third}.0.1"
    if draw.random() < 0.4:
        entry["netdetect"] = f"10.{third}.0.{draw.randint(1, 3)}"
    if draw.random() < 0.4 or len(entry) == 1:
        entry["mtu"] = draw.choice(MTUS)
    if draw.random() < 0.04:
        entry["mtu"] = draw.choice((100, 99999))  # out of range: the module must refuse all settings before it runs a command
    return entry


def _options(draw: random.Random, module: str) -> dict[str, Any]:
    if module == "device_network":
        config = [network(draw, device) for device in draw.choice(((0,), (1,), DEVICES, DEVICES))]
        return {"config": config, "keep_previous": draw.random() < 0.7}
    if module == "device_tls":
        return {"state": draw.choice(("enabled", "disabled")), "validate_only": draw.random() < 0.1, "keep_previous": draw.random() < 0.7}
    if module == "device_ping":
        return {"targets": [{"device": device, "address": f"10.81.2.1{device}"} for device in DEVICES], "fail_on": "none"}
    if module == "device_info":
        return {"gather": draw.choice((["address", "gateway", "netdetect", "tls", "mtu"], ["link", "processes"], ["tls"]))}
    return _conf_options(draw)


def _conf_options(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(("present", "present", "absent", "recover", "nothing"))
    options: dict[str, Any] = {"fail_on": draw.choice(("none", "any")), "backup": False}
    if kind in ("present", "recover"):
        options["settings"] = draw.choice(({"mtu": draw.choice(MTUS)}, {"bitmap": "0,0,0,0,1,0,0,0"}, {"tls_enable": draw.choice((0, 1))}))
        options["keep_previous"] = draw.random() < 0.7
    if kind == "absent":
        options.update(state="absent", settings={draw.choice(("bitmap", "mtu", "netdetect")): ""})
    if kind == "recover":
        options["recover"] = True
    return options


def _kill(draw: random.Random, module: str) -> dict[str, Any] | None:
    chance = draw.random()
    if chance < 0.18:
        return {"what": draw.choice(("module", "tool", "both")), "moment": draw.choice(("before", "after")), "number": draw.randint(1, 24)}
    if chance < 0.30 and module in ("hccn_conf", "device_network", "device_tls"):
        return {"operation": draw.randint(1, 8), "how": draw.choice(("kill", "full"))}
    return None


def job(draw: random.Random) -> str:
    return f"{draw.choice(DEVICES)}.process={JOB}"


def fault(draw: random.Random) -> str:
    chance = draw.random()
    if chance < 0.25:
        return draw.choice(HOST_FAULTS)
    return f"{draw.choice(DEVICES)}.{draw.choice(RARE_FAULTS if chance > 0.98 else FAULTS)}"


def _events(draw: random.Random, options: Mapping[str, Any]) -> tuple[tuple[int, str, str], ...]:
    """Return events: a job that starts between any two commands or right after a set of the previous device, or a fault."""
    chance = draw.random()
    if chance < 0.2:
        words = "-cfg recovery" if options.get("recover") else "-s"
        return ((1 if words != "-s" else draw.randint(1, 4), words, f"{DEVICES[-1]}.process={JOB}"),)
    if chance < 0.35:
        return ((draw.randint(1, 24), "", job(draw)),)
    what = fault(draw)
    # The fault that removes the last newline changes the file, so it happens between calls only.
    return ((draw.randint(1, 24), "", what),) if chance < 0.5 and not what.startswith("conf_no_newline") else ()


def call(draw: random.Random, alone: bool = False) -> Call:
    """Return one call with its concurrent events."""
    module = draw.choice(("device_network",) * 5 + ("device_tls",) * 3 + ("hccn_conf",) * 4 + ("device_info",) * 2 + ("device_ping",))
    options = _options(draw, module)
    kill = None if alone else _kill(draw, module)
    events = () if alone else _events(draw, options)
    check = draw.random() < 0.12
    beside = call(draw, alone=True) if not alone and draw.random() < 0.08 else None
    return Call(module, options, check, NODE, kill, events, beside)


def measure(draw: random.Random) -> Measure:
    events = ((draw.randint(1, 30), "", job(draw)),) if draw.random() < 0.5 else ()
    kill = {"what": draw.choice(("module", "tool", "both")), "moment": "before", "number": draw.randint(4, 12)} if draw.random() < 0.3 else None
    return Measure(Call("rdma_perf", {}, draw.random() < 0.2, NODE, kill, events))


def sequence(seed: int) -> list[Step]:
    """Return the steps of a seed: calls, and changes between them."""
    draw = random.Random(seed)
    steps: list[Step] = []
    for _number in range(draw.randint(4, 7)):
        chance = draw.random()
        if chance < 0.12:
            steps.append(Change((job(draw),)))
        elif chance < 0.26:
            steps.append(Change((fault(draw),)))
        elif chance < 0.34:
            steps.append(Change(CLEARED))
        if chance > 0.97:
            steps.append(measure(draw))
        else:
            made = call(draw)
            steps += [made, Restore()] if made.module == "device_network" and draw.random() < 0.3 else [made]
    return steps


def as_json(steps: list[Step]) -> list[dict[str, Any]]:
    """Return the kind and the non-empty fields of each step."""
    return [{"step": "Clear"} if step == Change(CLEARED) else {"step": type(step).__name__, **_filled(asdict(step))} for step in steps]


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _filled(value) if key in ("beside", "call") else value for key, value in fields.items() if value or key == "options"}


def from_json(entries: list[dict[str, Any]]) -> list[Step]:
    """Return the steps of the JSON that ``as_json`` made, to repeat a printed sequence."""
    return [_step(dict(entry)) for entry in entries]


def _call(fields: Mapping[str, Any]) -> Call:
    beside = fields.get("beside")
    events = tuple((after, words, state) for after, words, state in fields.get("events", ()))
    return Call(**{**fields, "events": events, "beside": _call(beside) if beside else None})


def _step(entry: dict[str, Any]) -> Step:
    kind = entry.pop("step")
    if kind == "Call":
        return _call(entry)
    if kind == "Measure":
        return Measure(_call(entry["call"]))
    if kind == "Clear":
        return Change(CLEARED)
    return Change(tuple(entry["state"])) if kind == "Change" else Restore()
