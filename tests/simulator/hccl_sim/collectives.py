"""The collectives, as rings, chains and direct exchanges of real bytes.

Elements are unsigned integers of the data type's width, even for floats: the values are small integers, as in hccl_test, so that sums, products and comparisons
have the same results.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from .mesh import Mesh

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
WIDTHS = {
    "int8": 1, "uint8": 1, "hif8": 1, "fp8e4m3": 1, "fp8e5m2": 1, "fp8e8m0": 1, "int16": 2, "uint16": 2, "fp16": 2, "bfp16": 2,
    "int32": 4, "uint32": 4, "fp32": 4, "int128": 4, "int64": 8, "uint64": 8, "fp64": 8,
}
REDUCTIONS: dict[str, Callable[[int, int], int]] = {"sum": operator.add, "prod": operator.mul, "max": max, "min": min}
PATTERN = bytes([0x5A] * 4 + [0xA5] * 4)
VALUE = 2


def code(data_type: str) -> str:
    return _CODES[WIDTHS[data_type]]


@dataclass
class Buffers:
    """The buffers of one rank for one size: ``send``, after a run ``received``, and its correct value ``expected`` (None: not verified)."""

    send: array
    expected: array | None
    received: array = field(default_factory=lambda: array("B"))


def _filled(kind: str, count: int, value: int) -> array:
    return array(kind, [value]) * count


def reduced(reduction: str, value: int, ranks: int) -> int:
    """Return the result of reducing one value from each rank."""
    return {"sum": value * ranks, "prod": value ** ranks}.get(reduction, value)


def _wrapped(kind: str, value: int) -> int:
    return value % (1 << (8 * array(kind).itemsize))


def _combine(reduction: str, kind: str, left: array, right: array) -> array:
    if reduction == "sum":
        # One long addition adds all elements at once: no verified sum carries into the next element.
        size = len(left) * left.itemsize
        total = int.from_bytes(left.tobytes(), "little") + int.from_bytes(right.tobytes(), "little")
        return array(kind, (total % (1 << 8 * size)).to_bytes(size, "little"))
    function = REDUCTIONS[reduction]
    try:
        return array(kind, map(function, left, right))
    except OverflowError:
        mask = (1 << (8 * left.itemsize)) - 1
        return array(kind, (function(a, b) & mask for a, b in zip(left, right)))


class Collective:
    """One operation over the ranks of ``mesh``. ``count``: elements of the whole buffer, a multiple of the ranks if parts are exchanged."""

    def __init__(self, mesh: Mesh, operation: str, data_type: str, reduction: str, root: int) -> None:
        self.mesh, self.operation, self.reduction, self.root = mesh, operation, reduction, root
        self.kind = code(data_type)
        self._run = {
            "all_reduce": self._all_reduce, "all_gather": self._all_gather, "all_gatherv": self._all_gather, "broadcast": self._broadcast,
            "reduce": self._reduce, "reduce_scatter": self._reduce_scatter, "reduce_scatterv": self._reduce_scatter,
            "scatter": self._scatter, "alltoall": self._all_to_all, "alltoallv": self._all_to_all, "alltoallvc": self._all_to_all,
        }[operation]

    def buffers(self, count: int) -> Buffers:
        kind, ranks, me = self.kind, self.mesh.size, self.mesh.rank
        part = count // ranks
        if self.operation in ("all_reduce", "reduce"):
            whole = _filled(kind, count, _wrapped(kind, reduced(self.reduction, VALUE, ranks)))
            return Buffers(_filled(kind, count, VALUE), whole if self.operation == "all_reduce" or me == self.root else None)
        if self.operation == "broadcast":
            whole = _filled(kind, count, VALUE)
            return Buffers(whole if me == self.root else _filled(kind, count, 0), whole)
        parts = array(kind)
        for rank in range(ranks):
            parts.extend(_filled(kind, part, _wrapped(kind, rank + 1)))
        if self.operation in ("reduce_scatter", "reduce_scatterv"):
            return Buffers(parts, _filled(kind, part, _wrapped(kind, reduced(self.reduction, me + 1, ranks))))
        if self.operation == "scatter":
            return Buffers(parts, _filled(kind, part, _wrapped(kind, me + 1)))
        if self.operation in ("all_gather", "all_gatherv"):
            return Buffers(_filled(kind, part, _wrapped(kind, me + 1)), parts)
        if self.operation == "alltoall":
            size = count * array(kind).itemsize
            pattern = array("B", (PATTERN * (size // len(PATTERN) + 1))[:size])
            slot = size // ranks
            mine = pattern[me * slot:(me + 1) * slot]
            return Buffers(pattern, mine * ranks)
        return Buffers(_filled(kind, count, _wrapped(kind, me + 1)), parts)

    def run(self, buffers: Buffers) -> None:
        buffers.received = self._run(buffers.send)

    def _step(self, to: int, data: array, origin: int, size: int) -> array:
        came = array(data.typecode)
        came.frombytes(self.mesh.exchange({to: memoryview(data)}, {origin: size})[origin])
        return came

    def _chunks(self, data: array) -> list[array]:
        ranks = self.mesh.size
        edges = [len(data) * index // ranks for index in range(ranks + 1)]
        return [data[edges[index]:edges[index + 1]] for index in range(ranks)]

    def _ring_reduce(self, chunks: list[array]) -> None:
        """Afterwards, rank r holds the reduced chunk r."""
        ranks, me = self.mesh.size, self.mesh.rank
        for step in range(ranks - 1):
            out, into = (me - step - 1) % ranks, (me - step - 2) % ranks
            came = self._step((me + 1) % ranks, chunks[out], (me - 1) % ranks, len(chunks[into]) * chunks[into].itemsize)
            chunks[into] = _combine(self.reduction, self.kind, chunks[into], came)

    def _ring_gather(self, chunks: list[array]) -> None:
        """Rank r starts with chunk r; afterwards every rank has all chunks."""
        ranks, me = self.mesh.size, self.mesh.rank
        for step in range(ranks - 1):
            out, into = (me - step) % ranks, (me - step - 1) % ranks
            chunks[into] = self._step((me + 1) % ranks, chunks[out], (me - 1) % ranks, len(chunks[into]) * chunks[into].itemsize)

    def _all_reduce(self, send: array) -> array:
        chunks = self._chunks(send)
        self._ring_reduce(chunks)
        self._ring_gather(chunks)
        return _joined(chunks)

    def _reduce_scatter(self, send: array) -> array:
        chunks = self._chunks(send)
        self._ring_reduce(chunks)
        return chunks[self.mesh.rank]

    def _all_gather(self, send: array) -> array:
        chunks = [send[:] for _ in range(self.mesh.size)]
        self._ring_gather(chunks)
        return _joined(chunks)

    def _chain(self, send: array, toward_root: bool) -> array:
        """Pass data from rank to rank: away from the root, or toward it with a reduction at each rank."""
        ranks, me = self.mesh.size, self.mesh.rank
        place = (me - self.root) % ranks
        before, after = (me - 1) % ranks, (me + 1) % ranks
        has_before, has_after = place > 0, place < ranks - 1
        size = len(send) * send.itemsize
        if toward_root:
            before, after, has_before, has_after = after, before, has_after, has_before
        data = send
        if has_before:
            came = array(send.typecode)
            came.frombytes(self.mesh.exchange({}, {before: size})[before])
            data = _combine(self.reduction, self.kind, send, came) if toward_root else came
        if has_after:
            self.mesh.exchange({after: memoryview(data)}, {})
        return data

    def _broadcast(self, send: array) -> array:
        return self._chain(send, toward_root=False)

    def _reduce(self, send: array) -> array:
        return self._chain(send, toward_root=True)

    def _scatter(self, send: array) -> array:
        chunks = self._chunks(send)
        me = self.mesh.rank
        if me == self.root:
            self.mesh.exchange({rank: memoryview(chunk) for rank, chunk in enumerate(chunks) if rank != me}, {})
            return chunks[me]
        came = array(send.typecode)
        came.frombytes(self.mesh.exchange({}, {self.root: len(chunks[me]) * send.itemsize})[self.root])
        return came

    def _all_to_all(self, send: array) -> array:
        chunks = self._chunks(send)
        me = self.mesh.rank
        others = [rank for rank in range(self.mesh.size) if rank != me]
        came = self.mesh.exchange({rank: memoryview(chunks[rank]) for rank in others}, {rank: len(chunks[me]) * send.itemsize for rank in others})
        whole = array(send.typecode)
        for rank in range(self.mesh.size):
            whole.frombytes(chunks[me].tobytes() if rank == me else came[rank])
        return whole


def _joined(chunks: list[array]) -> array:
    whole = array(chunks[0].typecode)
    for chunk in chunks:
        whole.extend(chunk)
    return whole
