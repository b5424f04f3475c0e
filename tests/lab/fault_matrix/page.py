"""Print the table of expected.yml as a page of the documentation. ``make docs`` adds it as explanation/faults.rst."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ansible_collections.hccn.cluster.plugins.module_utils._perf.mpirun import ALONE_SECONDS
from tests.lab.fault_matrix.faults import FAULTS
from tests.lab.fault_matrix.play import LEFT_SECONDS
from tests.lab.fault_matrix.table import FaultCase, Table, load

HEAD = """\

Fault matrix
============

This page lists the result of every playbook under every fault. The playbooks ran on three testbed hosts (namespaces with an sshd and a simulated
``hccn_tool``). The results were observed from outside: in ``/proc``, in files and on the simulated devices. ``make fault-matrix`` repeats all fault cases,
``make test-rest`` a few of them.

The following holds in **every** fault case that was run: {left} s after the end, no process is left on the hosts or on the controller. ``hccn.conf`` has no
truncated or duplicate line, and no line of the history is torn. If two runs conflict, no verdict of either run calls a host ``failed``.
An unreachable host cleans up after itself: ranks of ``mpirun`` exit {alone} s after the limit of their run (``check_collective_timeout_s``), and a runner of
``check_fabric`` exits when it has given up its partners (``meeting_timeout_s`` of ``check_fabric_advanced``).
"""
LEGEND = """\
The faults affect ``node2``, unless the table of faults says otherwise. Several values joined with *or* are possible results that depend on timing.

*Exit*
   The exit status of the run.
*Hosts*
   The states of node1, node2 and node3 in Ansible's recap, or one word if all are equal. ``localhost``, which validates and concludes a run, is added if it
   failed. ``none`` means that the run was killed before the recap.
*State*
   The resulting state of the hosts in the same order. ``10.78 tls 0`` means addresses that begin with 10.78 and a TLS flag of 0, both in ``hccn.conf`` and on
   the devices. If they differ, the state of the devices follows after ``devices``. *Meanwhile* introduces the result of the other playbook's run.
*History*
   ``complete``, ``part`` (readable up to the point at which it was cut off), or ``none`` (it could not be written; the callback prints one warning).
*Output*
   A part of the output of the run.
"""
MARKS = {"run": "yes", "open": "**open**", "absent": "n/a", "unfilled": "not run"}


def page(table: Table) -> str:
    faults = _list_table(["Fault", "What happens"], ((name, fault.what + ".") for name, fault in FAULTS.items()))
    parts = [HEAD.format(left=f"{LEFT_SECONDS:g}", alone=ALONE_SECONDS), *_section("Faults", faults)]
    parts += _section("Coverage", _overview(table), _open(table))
    parts += _section("Results", LEGEND)
    for playbook, row in table.items():
        parts += _section(playbook, _playbook(row), underline="~")
    return "\n".join(parts)


def _section(title: str, *texts: str, underline: str = "-") -> list[str]:
    return [f"{title}\n{underline * len(title)}\n", *(text for text in texts if text)]


def kind(case: FaultCase) -> str:
    return "absent" if case.absent else "unfilled" if case.unfilled else "open" if case.open else "run"


def _overview(table: Table) -> str:
    rows = [[playbook, *(MARKS[kind(row[fault])] for fault in FAULTS)] for playbook, row in table.items()]
    reasons = sorted({case.absent for row in table.values() for case in row.values() if case.absent})
    count = sum(case.is_run for row in table.values() for case in row.values())
    but = "".join(f"\n* n/a: {reason[0].lower()}{reason[1:]}." for reason in reasons)
    return f"{count} fault cases were run.\n\n{_list_table(['Playbook', *FAULTS], rows)}{but}\n"


def _open(table: Table) -> str:
    found = [f"* {playbook}, {fault}: {case.open}" for playbook, row in table.items() for fault, case in row.items() if case.open]
    return "Open limitations:\n\n" + "\n".join(found) + "\n" if found else "There are no open limitations.\n"


def _playbook(row: dict[str, FaultCase]) -> str:
    return _list_table(["Fault", "Exit", "Hosts", "State", "History", "Output"], ([name, *_words(case)] for name, case in row.items()))


def _words(case: FaultCase) -> list[str]:
    if case.absent:
        return ["n/a", "", "", "", f"{case.absent}."]
    if case.unfilled:
        return ["not run", "", "", "", f"{case.unfilled}."]
    state = _or(case.allowed["state"])
    if "elsewhere" in case.allowed:
        state += f"; {_or(case.allowed['elsewhere'])}"
    if "other" in case.allowed:
        state += f". Meanwhile {_or(case.allowed['other'])}"
    if case.again is not None:
        state += f". After another run: {_code(case.again[1])}"
    return [_or(case.allowed["exit"]), _or(case.allowed["recap"]), state, _or(case.allowed["history"]), _code(case.says)]


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
