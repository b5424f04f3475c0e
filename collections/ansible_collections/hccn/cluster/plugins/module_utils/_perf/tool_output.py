# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parts of the output that all collective tools have in common: error texts of MPI launchers and ssh, and the completeness of the result table.

Lines of several ranks may be printed without a line break in between, so every text is searched for inside lines. Sources: runs of real launchers.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Pattern, Sequence

from .._core.errors import HccnError
from .._core.words import ending

LINE_LIMIT = 300
"""Characters of a line of output that a message contains."""

_TIMED_OUT_HINT = "one rank hangs or cannot be reached; check the links and leftover processes on every host, or raise timeout"
PASSWORDLESS_HINT = "the user who runs mpirun must be able to log in by key, without a password"
_MPI_MISSING_HINT = "install the same MPI on every host, in the PATH of non-login shells; leftover test processes can also be the cause"


class Known(NamedTuple):
    """A known error text, with the code and hint of its error."""

    code: str
    text: Pattern[str]
    hint: str


def known(code: str, text: str, hint: str) -> Known:
    return Known(code, re.compile(text), hint)


# Errors of the launcher: no rank was started.
LAUNCH = (
    known("host_unresolvable", r"ssh: Could not resolve hostname \S+?:", "use addresses, or make the name resolvable on the launching host"),
    known("host_unreachable", r"ssh: connect to host \S+ port [0-9]+:", "the host is down, its sshd is not running, or a firewall blocks the connection"),
    known("ssh_host_key", r"Host key verification failed", "add the host key to known_hosts of the user who runs mpirun"),
    known("ssh_refused", r"Permission denied \((?:publickey|password|keyboard|gssapi)|Too many authentication failures",
          PASSWORDLESS_HINT),
    known("ssh_refused", r"(?:kex|ssh)_exchange_identification: ",
          "sshd closed the connection before the login: there are too many connections (MaxStartups in sshd_config), or the host blocks the address"),
    known("root_refused", r"has detected an attempt to run as root", "give --allow-run-as-root"),
    known("hostfile_unreadable", r"unable to open host ?file|error parsing hostfile|unable to open the hostfile",
          "the host file must exist and be readable"),
    known("not_enough_slots", r"not enough slots available", "more ranks were requested than the host file has slots"),
    # The rest of the line is in the language of the host.
    known("mpi_missing", r"hydra_pmi_proxy: No such file|sh: [^\n]{0,300}\b(?:hydra_pmi_proxy|orted|prted) ?[:\uff1a]", _MPI_MISSING_HINT),
    known("program_missing", r"execvp error on file|unable to launch the specified application", "build the program at the same path on every host"),
    known("launcher_argument", r"unrecognized argument \S+|error parsing input array|Error: unknown option \"|unrecognized option was included",
          "this mpirun does not support an argument; set mpirun to the right program"),
    known("library_missing", r"error while loading shared libraries: \S+?:",
          "add the libraries of MPI and of the program to LD_LIBRARY_PATH on every host, with the option environment"),
    known("hostname_unresolved", r"gethostbyname failed, \S+", "add the host's own name with its address to its /etc/hosts"),
)

# Errors of MPI, and consequences of other errors.
END = (
    known("mpi_init_failed", r"Fatal error in (?:internal_Init|P?MPI_Init)|MPI_Init\(.*\) failed",
          "MPI could not connect its ranks: select the network, for example with UCX_NET_DEVICES or HYDRA_IFACE in environment"),
    known("timed_out", r"APPLICATION TIMED OUT[^\n]*|time limit for job execution has been reached", _TIMED_OUT_HINT),
    known("rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES(?:\s+=\s+PID [0-9]+ RUNNING AT \S+\s+=\s+EXIT CODE: [0-9]+)?"
          r"|noticed that process rank [0-9]+ with PID [0-9]+ on node \S+ exited on signal",
          "a rank was killed or crashed: see dmesg and the logs of the program on the host that the line names. If several ranks ended, the first cause may "
          "be on another host, and the EXIT STRING of mpirun describes the end of the whole job"),
    known("launch_failed", r"Launch proxy failed|unable to reliably start one or more daemons|daemon \(pid [0-9]+\) died unexpectedly",
          "a host did not start its ranks: check that this user can log in to every host by ssh without a password"),
)
CONSEQUENCES = ("timed_out", "rank_crashed", "launch_failed")
"""Codes of errors that are consequences of others and do not name a cause."""


def timed_out_error(message: str) -> HccnError:
    """Return the error of a run that was stopped because of its time limit."""
    return HccnError("timed_out", message, _TIMED_OUT_HINT)


def line_of(text: str, start: int, end: int) -> str:
    """Return the line (of a frame: the lines) around a match; if it is longer than LINE_LIMIT, the text from the start of the match."""
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    line = " ".join(part.strip("= \t\r") for part in text[first:stop if stop >= 0 else len(text)].splitlines())
    return line if len(line) <= LINE_LIMIT else text[start:start + LINE_LIMIT].strip()


def search(table: Sequence[Known], text: str) -> List[HccnError]:
    """Return the errors whose text occurs, in the order of ``table``; ``message`` is the line that the tool printed."""
    found = []
    for one in table:
        match = one.text.search(text)
        if match:
            found.append(HccnError(one.code, line_of(text, match.start(), match.end()), one.hint))
    return found


def once(errors: Sequence[HccnError]) -> List[HccnError]:
    """Return the first error of each code."""
    unique: Dict[str, HccnError] = {}
    for error in errors:
        unique.setdefault(error.code, error)
    return list(unique.values())


def incomplete(found: Sequence[int], expected: Sequence[int]) -> Optional[HccnError]:
    """Return None if there is exactly one row for every expected size, else the error. Sizes are in bytes."""
    if found and list(found) == list(expected):
        return None
    if not found:
        return HccnError("no_table", "the output contains no row of the result table", SEE_OUTPUT)
    missing = [size for size in expected if size not in found]
    if missing:
        return HccnError("rows_missing", "%d of %d sizes have no row, the first is %d bytes" % (len(missing), len(expected), missing[0]),
                         "the program stopped early; " + SEE_OUTPUT)
    if not expected:
        return HccnError("rows_missing", "the log has %d row(s), but does not contain the requested sizes" % len(found), "set sizes to those of the run")
    extra = [size for size in found if size not in expected]
    return HccnError("unexpected_rows", "the rows for %s bytes do not belong to the requested sizes" % (extra[0] if extra else list(found)),
                     "the output belongs to another run, or to several runs")


OUTPUT_LIMIT = 65536
"""Characters of the output of a failed run in the result of the module. The last ones are kept. The history keeps them as a file."""
TAIL_LIMIT = 4096
"""Characters of the end of the output in a record."""
SEE_OUTPUT = "see the output for the reason"
"""The end of hints that ``with_last_line`` replaces."""


def tail(stdout: str, stderr: str, limit: int = OUTPUT_LIMIT) -> str:
    """Return the end of both streams, at most ``limit`` characters, cut between two words. A stream may use what the other one leaves."""
    out, err = stdout.strip(), stderr.strip()
    room = limit - 1
    half = room // 2
    parts = [ending(out, max(half, room - len(err))), ending(err, max(room - half, room - len(out)))]
    return "\n".join(part for part in parts if part)


def with_last_line(error: HccnError, output: str) -> HccnError:
    """Return the error with the last line of the output in its hint, if the hint refers to the output."""
    if not error.hint.endswith(SEE_OUTPUT):
        return error
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = "the output ends with: " + lines[-1][:LINE_LIMIT] if lines else "there is no output"
    return HccnError(error.code, error.message, error.hint[:-len(SEE_OUTPUT)] + last)


def rounded(value: float) -> float:
    """Return six significant digits; the time from which the value is computed has fewer."""
    return float("%.6g" % value)
