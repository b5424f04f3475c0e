"""The texts of nccl-tests by release: SIM_NCCL_VERSION, ``2.11`` to ``2.19.6`` (default)."""

from __future__ import annotations

import os
from dataclasses import dataclass


def release() -> tuple[int, ...]:
    return tuple(int(part) for part in os.environ.get("SIM_NCCL_VERSION", "2.19.6").split("."))


@dataclass(frozen=True)
class Timing:
    """Out of place or in place: microseconds, GB/s; ``wrong`` None: not verified."""

    time: float
    algbw: float
    busbw: float
    wrong: int | None


def banner(program: str, gpus: int, begin: int, end: int, factor: int, warmup: int, iterations: int, check: int) -> str:
    lines = []
    if release() >= (2, 17, 4):
        lines.append(f"# nccl-tests version {'.'.join(map(str, release()))} nccl-headers=22809 nccl-library=22809")
    if release() >= (2, 16, 7):
        lines.append(f"# Collective test starting: {program}")
    more = " agg iters: 1" if release() >= (2, 13) else ""
    tail = " graph: 0" if release() >= (2, 13) else ""
    tail += " unalign: 0" if release() >= (2, 18, 5) else ""
    lines.append(f"# nThread 1 nGpus {gpus} minBytes {begin} maxBytes {end} step: {factor}(factor) warmup iters: {warmup} iters: {iterations}{more}"
                 f" validation: {check}{tail}")
    return "\n".join([*lines, "#", "# Using devices"])


def device(rank: int, pid: int, host: str, number: int) -> str:
    if release() < (2, 13, 5):
        return f"#   Rank {rank:2d} Pid {pid:6d} on {host:>10s} device {number:2d} [0x{number + 15:02x}] NVIDIA H100 80GB HBM3"
    address = f"{0:04x}:{number + 15:02x}:00" if release() >= (2, 14, 1) else f"0x{number + 15:02x}"
    return f"#  Rank {rank:2d} Group {0:2d} Pid {pid:6d} on {host:>10s} device {number:2d} [{address}] NVIDIA H100 80GB HBM3"


def _labels(operation: str) -> list[str]:
    if release() >= (2, 13):
        return ["redop", "root"]
    return {"broadcast": ["root"], "reduce": ["redop", "root"], "all_gather": []}.get(operation, ["redop"])


def heading(operation: str) -> str:
    last = "#wrong" if release() >= (2, 13) else "error"
    labels = "".join(f"  {label:>6s}" for label in _labels(operation))
    columns = f"  {'time':>7s}  {'algbw':>6s}  {'busbw':>6s}  {last:>6s}"
    unit = f"  {'(us)':>7s}  {'(GB/s)':>6s}  {'(GB/s)':>6s}  {'':>6s}"
    blank = "".join(f"  {'':>6s}" for _ in _labels(operation))
    return "\n".join([
        "#", f"# {'':>10s}  {'':>12s}  {'':>8s}{blank}           out-of-place                       in-place          ",
        f"# {'size':>10s}  {'count':>12s}  {'type':>8s}{labels}{columns}{columns} ", f"# {'(B)':>10s}  {'(elements)':>12s}  {'':>8s}{blank}{unit}{unit} "])


def _float(value: float, width: int) -> str:
    """Return as many decimals as fit, two at most."""
    digits = len(str(int(value)))
    decimals = 2 if digits < width - 2 else 1 if digits < width - 1 else 0
    return f"{value:{width}.{decimals}f}"


def row(operation: str, size: int, count: int, data_type: str, reduction: str, root: int, timings: list[Timing]) -> str:
    values = {"redop": reduction, "root": str(root)}
    labels = "".join(f"  {values[label]:>6s}" for label in _labels(operation))
    return f"{size:12d}  {count:12d}  {data_type:>8s}{labels}" + "".join(map(_timing_columns, timings))


def _timing_columns(timing: Timing) -> str:
    if timing.wrong is None:
        last = "N/A"
    elif release() >= (2, 13):
        last = f"{timing.wrong:g}"
    else:
        last = f"{1.0 if timing.wrong else 3e-7:.0e}"
    return f"  {_float(timing.time, 7)}  {_float(timing.algbw, 6)}  {_float(timing.busbw, 6)}  {last:>6s}"


def footer(program: str, wrong: int, average: float, low: str) -> str:
    lines = [f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}", f"# Avg bus bandwidth    : {average:g} {low}", "#"]
    if release() >= (2, 16, 7):
        lines += [f"# Collective test concluded: {program}", "#"]
    return "\n".join(lines)
