"""Histories for tests: nightly runs over the same few hosts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SCHEMA = "hccn.cluster/measurement/1"
HOSTS = ["n1", "n2", "n3", "n4"]


def row(host: str, value: Any, device: int = 0, **more: Any) -> dict[str, Any]:
    """Return a matrix record of one NPU with the same NPU of the other hosts; ``value`` returns the value of (source, target)."""
    values = [None if other == host else value(host, other) for other in HOSTS]
    return {
        "schema": SCHEMA, "id": f"r/{host}/{device}", "kind": "matrix", "status": "ok", "tool": {"name": "hccn_tool"}, "operation": "write",
        "measure": "bandwidth", "source": {"host": host, "device": device}, "hosts": HOSTS, "context": {"product": "A2"},
        "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": values}], **more,
    }


def pair(source: str, target: str, value: float | None, device: int = 0) -> dict[str, Any]:
    """Return a record of one pair."""
    found: dict[str, Any] = {
        "schema": SCHEMA, "id": f"r/{source}-{target}/{device}", "kind": "rdma", "status": "ok" if value else "failed", "tool": {"name": "hccn_tool"},
        "operation": "write", "measure": "bandwidth", "source": {"host": source, "device": device}, "target": {"host": target, "device": device},
        "context": {"product": "A2"},
    }
    if value is None:
        return {**found, "error": {"code": "timeout", "message": "no answer"}}
    return {**found, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}


def collective(value: float, hosts: int = 4) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "id": "r/collective", "kind": "collective", "status": "ok", "tool": {"name": "all_reduce_test"}, "operation": "all_reduce",
        "measure": "bandwidth", "hosts": HOSTS[:hosts], "ranks": 8 * hosts,
        "samples": [{"size_bytes": size, "busbw_gbyte_s": value * part, "algbw_gbyte_s": 1.0, "time_us": 1.0, "check": "success"}
                    for size, part in ((1024, 0.1), (1048576, 1.0))],
    }


def write(folder: Path, day: int, records: list[dict[str, Any]], complete: bool = True, month: int = 11, playbook: str = "check_fabric.yml") -> Path:
    """Write the run of one night in 2026 and return its file."""
    stamp = f"2026{month:02}{day:02}T021500Z"
    path = folder / f"2026/{month:02}/{day:02}" / f"{stamp}-night-{day}.jsonl{'' if complete else '.part'}"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"schema": "hccn.cluster/history/1", "run_id": f"night-{day}", "started_at": f"2026-{month:02}-{day:02}T02:15:00.000Z", "playbook": playbook}
    end = [{"end": True, "finished_at": f"2026-{month:02}-{day:02}T02:16:00.000Z", "records": len(records), "hosts": {}}] if complete else []
    path.write_text("".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in [header, *records, *end]))
    return path


def night(day: int, level: float = 195.0, spread: float = 0.5, slow: float = 1.0) -> list[dict[str, Any]]:
    """Return matrix records of all hosts and a collective; n3 NPU 1 as sender reaches ``slow`` times the value."""
    noise = random.Random(day)  # noqa: S311
    rows = [row(host, lambda source, _target, device=device: round(noise.gauss(level, spread) * (slow if (source, device) == ("n3", 1) else 1), 2), device)
            for host in HOSTS for device in (0, 1)]
    return [*rows, collective(80 + noise.gauss(0, 0.2))]
