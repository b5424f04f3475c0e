"""One process of one program: the order of steps, the texts and the exit codes of nccl-tests.

It knows the operations of ``hccl_sim``. With ``-g`` above 1 the process stands for its GPUs together. Faults, by environment, on the
processes of SIM_HCCL_RANKS (``1,3``; default all): SIM_HCCL_CORRUPT=1: the result is wrong; SIM_HCCL_HANG=row: stops before this row (from 0).
SIM_NCCL_GPUS: GPUs of the host (8). SIM_NCCL_FAILURE: NCCL fails with this text. SIM_NCCL_ALONE=1: built without MPI.
SIM_NCCL_CHATTY=1: NCCL's own log lines, one of them in the middle of a row.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import time

from hccl_sim.collectives import Collective
from hccl_sim.mesh import Mesh
from hccl_sim.options import parse_size
from hccl_sim.pmi import Pmi
from hccl_sim.program import fault

from . import texts

TYPES = {"int8": "int8", "uint8": "uint8", "int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64", "half": "fp16", "float": "fp32",
         "double": "fp64", "bfloat16": "bfp16"}
WIDTHS = {"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8}
WHOLE = ("all_reduce", "broadcast", "reduce")
NOT_IN_PLACE = ("alltoall", "alltoallv")


def say(text: str, end: str = "\n") -> None:
    os.write(1, (text + end).encode())


def options(argv: list[str]) -> argparse.Namespace | None:
    """Return the options, or None after printing the usage for an unknown option."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for letter, default in (("t", 1), ("g", 1), ("f", 1), ("n", 20), ("w", 1), ("c", 1), ("r", 0)):
        parser.add_argument(f"-{letter}", type=int, default=default)
    for letter, default in (("b", "32M"), ("e", "32M"), ("o", "sum"), ("d", "float"), ("J", "")):
        parser.add_argument(f"-{letter}", default=default)
    known, rest = parser.parse_known_args(argv)
    if rest:
        say(f"invalid option '{rest[0].lstrip('-')[:1]}'\nUSAGE: all_reduce_perf \n\t[-t,--nthreads <num threads>] \n\t[-h,--help]")
        return None
    return known


def main(argv: list[str]) -> int:
    pmi = Pmi() if not os.environ.get("SIM_NCCL_ALONE") else _Alone()
    try:
        args = options(argv[1:])
        return 0 if args is None else Test(os.path.basename(argv[0]), args, pmi).run()
    finally:
        pmi.finalize()


class _Alone(Pmi):
    def __init__(self) -> None:
        super().__init__()
        self.rank, self.size = 0, 1

    def barrier(self) -> None:
        pass


class Test:
    def __init__(self, program: str, args: argparse.Namespace, pmi: Pmi) -> None:
        self.program, self.operation, self.args, self.pmi = program, program.removesuffix("_perf"), args, pmi
        self.begin, self.end = parse_size(args.b), parse_size(args.e)
        self.ranks = pmi.size * args.g
        self.host = os.environ.get("HCCN_SIM_NODE") or os.uname().nodename
        self.results: list[dict] = []

    def run(self) -> int:
        mesh = Mesh(self.pmi)
        main_process = mesh.rank == 0
        if main_process:
            say(texts.banner(self.program, self.args.g, self.begin, self.end, self.args.f, self.args.w, self.args.n, self.args.c))
        if not self._devices(mesh):
            return 5
        failure = os.environ.get("SIM_NCCL_FAILURE")
        if failure and fault("CORRUPT", mesh.rank) == "" and str(mesh.rank) in os.environ.get("SIM_HCCL_RANKS", "0").split(","):
            say(f"{self.host}: Test NCCL failure common.cu:1204 '{failure} / '\n .. {self.host} pid {os.getpid()}: Test failure common.cu:915")
            return 3
        if main_process:
            say(texts.heading(self.operation))
        code = self._table(mesh)
        mesh.barrier()
        self.pmi.barrier()
        mesh.close()
        return code

    def _devices(self, mesh: Mesh) -> bool:
        """Print the list of all devices; return False if this host has too few."""
        local = int(os.environ.get("MPI_LOCALRANKID", "0")) * self.args.g
        have = int(os.environ.get("SIM_NCCL_GPUS", "8"))
        if local + self.args.g > have:
            sys.stderr.write(f"Invalid number of GPUs: {local + self.args.g} requested but only {have} were found.\n")
            return False
        mine = "\n".join(texts.device(mesh.rank * self.args.g + i, os.getpid(), self.host, local + i) for i in range(self.args.g)).encode()
        sizes = self._all(mesh, struct.pack("!Q", len(mine)))
        lines = mesh.exchange({} if mesh.rank == 0 else {0: mine}, {
            peer: struct.unpack("!Q", size)[0] for peer, size in sizes.items() if mesh.rank == 0 and peer != 0})
        if mesh.rank == 0:
            say("\n".join(text.decode() for _, text in sorted({**lines, 0: mine}.items())))
        return True

    @staticmethod
    def _all(mesh: Mesh, mine: bytes) -> dict[int, bytes]:
        """Return eight bytes of every rank."""
        others = [rank for rank in range(mesh.size) if rank != mesh.rank]
        return {**mesh.exchange(dict.fromkeys(others, mine), dict.fromkeys(others, 8)), mesh.rank: mine}

    def _count(self, size: int) -> int:
        """Return the number of elements of the whole buffer."""
        count = size // WIDTHS[self.args.d]
        if self.operation in WHOLE:
            return count
        unit = max(1, 16 // WIDTHS[self.args.d])
        return count // self.ranks // unit * unit * self.ranks

    def _table(self, mesh: Mesh) -> int:
        collective = Collective(mesh, self.operation, TYPES[self.args.d], self.args.o, self.args.r)
        size, number, wrong, bandwidths = self.begin, 0, 0, []
        while size <= self.end:
            if fault("HANG", mesh.rank) == str(number):
                time.sleep(86400)
            count = self._count(size)
            timings = [self._measure(mesh, collective, count, in_place) for in_place in (False, True)]
            self._row(mesh, count, timings)
            wrong += sum(timing.wrong or 0 for timing in timings)
            bandwidths += [timing.busbw for timing in timings]
            size, number = size * self.args.f if self.args.f > 1 else size + (1 << 20), number + 1
        average = sum(bandwidths) / len(bandwidths)
        least = float(os.environ.get("NCCL_TESTS_MIN_BW", "-1"))
        low = least >= 0 and average < least * 0.9
        if mesh.rank == 0:
            say(texts.footer(self.program, wrong, average, "" if least < 0 else "FAILED" if low else "OK"))
            self._json(wrong, average)
        if not wrong and not low:
            return 0
        if texts.release() < (2, 17, 3):
            return 1
        say(f"\n .. {self.host} pid {os.getpid()}: Test failure common.cu:1453")
        return 7

    def _measure(self, mesh: Mesh, collective: Collective, count: int, in_place: bool) -> texts.Timing:
        buffers = collective.buffers(count)
        for _ in range(self.args.w):
            collective.run(buffers)
        mesh.barrier()
        start = time.perf_counter()
        for _ in range(self.args.n):
            collective.run(buffers)
        mesh.barrier()
        seconds = max((time.perf_counter() - start) / self.args.n, 1e-8)
        wrong = None
        if self.args.c and not (in_place and self.operation in NOT_IN_PLACE):
            mine = 0 if buffers.expected is None else sum(got != want for got, want in zip(buffers.received, buffers.expected))
            mine += 1 if fault("CORRUPT", mesh.rank) else 0
            wrong = sum(struct.unpack("!Q", value)[0] for value in self._all(mesh, struct.pack("!Q", mine)).values())
        algbw = count * WIDTHS[self.args.d] / 1e9 / seconds
        share = (self.ranks - 1) / self.ranks
        factor = {"all_reduce": 2 * share, "broadcast": 1, "reduce": 1}.get(self.operation, share)
        return texts.Timing(seconds * 1e6, algbw, algbw * factor, wrong)

    def _row(self, mesh: Mesh, count: int, timings: list[texts.Timing]) -> None:
        if mesh.rank:
            return
        size = count * WIDTHS[self.args.d]
        part = count if self.operation in WHOLE else count // self.ranks
        reduction = self.args.o if "reduce" in self.operation else "none"
        root = self.args.r if self.operation in ("broadcast", "reduce", "scatter") else -1
        line = texts.row(self.operation, size, part, self.args.d, reduction, root, timings)
        if os.environ.get("SIM_NCCL_CHATTY"):
            log = f"{self.host}:{os.getpid()}:{os.getpid()} [0] NCCL INFO"
            say(f"{log} Channel 00/02 : 0 1")
            line = f"{line[:40]}{log} comm 0x1 rank 0\n{line[40:]}"
        say(line)
        self.results.append({"size": size, "count": part, "type": self.args.d, "redop": reduction, "root": f"{root:6d}", **{
            name: {"time": timing.time, "alg_bw": timing.algbw, "bus_bw": timing.busbw, "nwrong": timing.wrong}
            for name, timing in zip(("out_of_place", "in_place"), timings)}})

    def _json(self, wrong: int, average: float) -> None:
        if not self.args.J:
            return
        whole = {
            "version": 3, "start_time": "2026-07-10 12:00:00", "args": sys.argv, "env": [f"{name}={value}" for name, value in os.environ.items()],
            "nccl_version": 22809, "config": {
                "nthreads": 1, "ngpus": self.args.g, "minimum_bytes": self.begin, "maximum_bytes": self.end, "step_factor": self.args.f,
                "warmup_iters": self.args.w, "iterations": self.args.n, "validation": self.args.c, "devices": [
                    {"rank": process * self.args.g, "group": 0, "hostname": self.host} for process in range(self.pmi.size)]},
            "results": self.results, "out_of_bounds": {"count": wrong, "okay": "false" if wrong else "true"},
            "average_bus_bandwidth": {"bandwidth": average, "okay": "unchecked"}, "errors": [""], "end_time": "2026-07-10 12:00:05"}
        with open(self.args.J, "x") as stream:
            json.dump(whole, stream)
        say(f"# Writing JSON output to {self.args.J}")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
