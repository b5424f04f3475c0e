"""Make the results of simulated runs: by host, as rdma_perf_info returns them, single records or rows of a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.measurement_table import Npu
from tests.lab.fabric_simulation.clos import Clos
from tests.lab.fabric_simulation.events import Done
from tests.lab.fabric_simulation.world import LATENCY, LINE, OK, SILENT, World

RUN = "sim"
SIZE = 65536
WHAT = {"operation": "write", "measure": "bandwidth"}
MOST_RECORDS = 200
"""A host with more records returns rows."""


def results(world: World | Clos, done: Sequence[Done]) -> dict[str, dict[str, Any] | None]:
    """Return the results by host, None for a host that hangs."""
    silent = world.silent_hosts()
    mine: dict[str, list[Done]] = {host: [] for host in world.hosts}
    for one in done:
        if one.outcome is not None and one.source.host not in silent:
            mine[one.source.host].append(one)
    return {host: None if host in silent else {"run_id": RUN, "state": "finished", "measurements": _measurements(world, found, silent)}
            for host, found in mine.items()}


def joined(first: Mapping[str, Mapping[str, Any] | None], second: Mapping[str, Mapping[str, Any] | None]) -> dict[str, dict[str, Any]]:
    """Return the results of two runs by host, as if they were one."""
    return {host: {**(first[host] or {}), "measurements": [*(first[host] or {}).get("measurements", []), *(more or {}).get("measurements", [])]}
            for host, more in second.items()}


def matrix(world: World) -> dict[str, dict[str, Any]]:
    """Return rows of a full plan without simulating its schedule: each pair of NPUs with the same id in one direction."""
    found: dict[str, dict[str, Any]] = {}
    for place, host in enumerate(world.hosts):
        rows = []
        for device in range(world.devices):
            source = Npu(host, device)
            worths: list[float | None] = [None] * world.count
            for other in range(world.count):
                if other != place and (other > place) == ((place + other) % 2 == 0):
                    outcome = world.outcome(source, Npu(world.hosts[other], device))
                    worths[other] = float(f"{outcome.value:.3g}") if outcome.state == OK else None
            rows.append(_row(world, source, worths))
        found[host] = {"run_id": RUN, "state": "finished", "measurements": rows}
    return found


def _measurements(world: World | Clos, done: Sequence[Done], silent: set[str]) -> list[dict[str, Any]]:
    if len(done) <= MOST_RECORDS or len({one.source.device == one.target.device for one in done}) > 1:
        return [_record(world, one, silent) for one in done]
    return [_record(world, one, silent) for one in done if one.outcome is not None and one.outcome.state != OK] + list(_rows(world, done))


def _record(world: World | Clos, done: Done, silent: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": f"{RUN}/{done.name}/forward/1", "kind": "rdma", "status": "ok", **WHAT, "source": done.source._asdict(), "target": done.target._asdict(),
        **_context(world, done), "samples": [], **_options(world, done)}
    if done.outcome is not None and done.outcome.state == OK:
        claimed = world.claim.factor if world.claim and world.claim.host == done.source.host else 1.0
        if world.latency:
            found.update(measure="latency", samples=[{"size_bytes": 2, "latency_us": {"typical": claimed * LATENCY * LINE / done.outcome.value}}])
        else:
            found["samples"] = [{"size_bytes": SIZE, "bandwidth_gbit_s": claimed * done.outcome.value}]
        return found
    found["status"] = "failed"
    if done.target.host in silent:
        found["error"] = {"code": "peer_unreachable", "message": f"the runner of {done.target.host} does not answer: no answer in time"}
        found["context"] = {"failed_end": "target"}
    else:
        is_silent = done.outcome is not None and done.outcome.state == SILENT
        found["error"] = {"code": "timeout", "message": "no answer in time"} if is_silent else {"code": "retry_exceeded", "message": "no answer"}
    return found


def _rows(world: World | Clos, done: Sequence[Done]) -> Iterable[dict[str, Any]]:
    """Return one row per device, with three significant digits."""
    place = {host: number for number, host in enumerate(world.hosts)}
    rows: dict[int, list[float | None]] = {}
    for one in done:
        if one.outcome is not None and one.outcome.state == OK:
            row = rows.setdefault(one.source.device, [None] * len(place))
            claimed = world.claim.factor if world.claim and world.claim.host == one.source.host else 1.0
            row[place[one.target.host]] = float(f"{(claimed * LATENCY * LINE / one.outcome.value if world.latency else claimed * one.outcome.value):.3g}")
    host = done[0].source.host
    for device, row in sorted(rows.items()):
        yield _row(world, Npu(host, device), row)


def _row(world: World | Clos, source: Npu, worths: Sequence[float | None]) -> dict[str, Any]:
    measured: dict[str, Any] = {"samples": [{"size_bytes": SIZE, "bandwidth_gbit_s": worths}]}
    if world.latency:
        measured = {"measure": "latency", "samples": [{"size_bytes": 2, "latency_us": {"typical": worths}}]}
    return {"id": f"{RUN}/{source.host}/{source.device}/matrix", "kind": "matrix", "status": "ok", **WHAT, "source": source._asdict(),
            "hosts": world.hosts, **_context(world), **_options(world), **measured}


def _options(world: World | Clos, done: Done | None = None) -> dict[str, Any]:
    port = getattr(world, "source_port", None)
    found = {**({"duration_s": 5} if getattr(world, "long", False) else {}), **({} if port is None else {"source_port": port}),
             **((done.options if done else None) or {})}
    return {"options": found} if found else {}


def _context(world: World | Clos, done: Done | None = None) -> dict[str, Any]:
    found = {**({} if world.line_rate is None else {"line_rate_gbit_s": world.line_rate}), **({"routers": done.routers} if done and done.routers else {})}
    return {"context": found} if found else {}
