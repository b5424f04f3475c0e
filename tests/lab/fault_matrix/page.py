"""Print the table of expected.yml as a page of the documentation. ``make docs`` adds it as explanation/faults.rst."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ansible_collections.hccn.cluster.plugins.module_utils._perf.mpirun import ALONE_SECONDS
from tests.lab.fault_matrix.faults import FAULTS
from tests.lab.fault_matrix.play import LEFT_SECONDS
from tests.lab.fault_matrix.table import Cell, Table, load

HEAD = """\

What a fault does
=================

Every playbook was run under every one of these faults, on three real small hosts (namespaces with an sshd of their own, a simulated ``hccn_tool``), and
watched from outside: through ``/proc``, by files and by the devices themselves. ``make fault-matrix`` runs all of it again, ``make test`` a small choice.

In **every** cell that was run no process is left on the hosts or on the controller {left} s after the end, ``hccn.conf`` has no half or double
line, and no line of the history is torn. Where two runs meet, no verdict of either calls a host ``failed``.
A host that nobody can reach any more cleans up after itself: ranks of ``mpirun`` end {alone} s after the limit of
their run (``check_collective_timeout_s``), a runner of ``check_fabric`` when it has given up its partners (``meeting_timeout_s`` of ``check_fabric_advanced``).
"""
LEGEND = """\
``node2`` is the host that is struck. *Hosts* are node1, node2 and node3 by Ansible's recap, one word where all are the same; ``localhost``, which validates
a run and concludes it, is named where it failed. There is none where the run is killed before the recap. *State* is what becomes of them in the same order:
``10.78 tls 0`` are the addresses and TLS switches that they had, in ``hccn.conf`` and in the devices; ``devices`` stands before what the devices have where
the file has something else. *History* is whether the run is kept ``complete``, or in ``part``: readable up to where it was cut off, or ``none`` where it
could not be written, of which the callback warns once. *Meanwhile* is how the run of the other playbook ended.
Values with *or* between them: two things race.
"""
MARKS = {"run": "yes", "open": "**open**", "absent": "n/a", "unfilled": "not run"}


def page(table: Table) -> str:
    faults = _list_table(["Fault", "What happens"], ((name, fault.what + ".") for name, fault in FAULTS.items()))
    parts = [HEAD.format(left=f"{LEFT_SECONDS:g}", alone=ALONE_SECONDS), *_section("The faults", faults)]
    parts += _section("What was run", _overview(table), _open(table))
    parts += _section("Each cell", LEGEND)
    for playbook, row in table.items():
        parts += _section(playbook, _playbook(row), underline="~")
    return "\n".join(parts)


def _section(title: str, *texts: str, underline: str = "-") -> list[str]:
    return [f"{title}\n{underline * len(title)}\n", *(text for text in texts if text)]


def kind(cell: Cell) -> str:
    return "absent" if cell.absent else "unfilled" if cell.unfilled else "open" if cell.open else "run"


def _overview(table: Table) -> str:
    rows = [[playbook, *(MARKS[kind(row[fault])] for fault in FAULTS)] for playbook, row in table.items()]
    reasons = sorted({cell.absent for row in table.values() for cell in row.values() if cell.absent})
    count = sum(cell.is_run for row in table.values() for cell in row.values())
    but = "".join(f"\n* n/a: {reason[0].lower()}{reason[1:]}." for reason in reasons)
    return f"{count} cells.\n\n{_list_table(['Playbook', *FAULTS], rows)}{but}\n"


def _open(table: Table) -> str:
    found = [f"* {playbook}, {fault}: {cell.open}" for playbook, row in table.items() for fault, cell in row.items() if cell.open]
    return "Open limitations:\n\n" + "\n".join(found) + "\n" if found else "No cell is an open limitation.\n"


def _playbook(row: dict[str, Cell]) -> str:
    return _list_table(["Fault", "Exit", "Hosts", "State", "History", "It says"], ([name, *_words(cell)] for name, cell in row.items()))


def _words(cell: Cell) -> list[str]:
    if cell.absent:
        return ["n/a", "", "", "", f"{cell.absent}."]
    if cell.unfilled:
        return ["not run", "", "", "", f"{cell.unfilled}."]
    state = _or(cell.allowed["state"])
    if "elsewhere" in cell.allowed:
        state += f"; {_or(cell.allowed['elsewhere'])}"
    if "other" in cell.allowed:
        state += f". Meanwhile {_or(cell.allowed['other'])}"
    if cell.again is not None:
        state += f". After another run: {_code(cell.again[1])}"
    return [_or(cell.allowed["exit"]), _or(cell.allowed["recap"]), state, _or(cell.allowed["history"]), _code(cell.says)]


def _or(texts: Iterable[str]) -> str:
    return " or ".join(map(_code, texts))


def _code(text: str) -> str:
    return f"``{text}``" if text else ""


def _list_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"   {'*' if number == 0 else ' '} - {word}".rstrip() for number, word in enumerate(row)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(load()))
