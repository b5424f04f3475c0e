# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The output of collective tests, whatever tool wrote it: known error texts, those of MPI launchers and ssh, and the completeness of a table.

Lines of several ranks may be glued together, so every text is searched for inside lines. Sources: runs of real launchers.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Pattern, Sequence
from typing import Optional

from .._core.errors import HccnError


LINE_LIMIT = 300
"""Characters of a tool's line that a message keeps."""

_TIMED_OUT_HINT = "one rank hangs or cannot be reached; look at the links and at leftover processes on every host, or raise timeout"
_MPI_MISSING_HINT = ("install the same MPI on every host and put it into the PATH of shells without login; "
                     "leftover test processes are known as a cause too")


class Known(NamedTuple):
    """One known text: the error's code, what to search, what to do."""

    code: str
    text: Pattern[str]
    hint: str


def known(code: str, text: str, hint: str) -> Known:
    return Known(code, re.compile(text), hint)


# Of the launcher: no rank has run.
LAUNCH = (
    known("host_unresolvable", r"ssh: Could not resolve hostname \S+?:", "write addresses, or make the name resolve on the launching host"),
    known("host_unreachable", r"ssh: connect to host \S+ port [0-9]+:", "the host is down, its sshd is not running, or a firewall is between"),
    known("ssh_host_key", r"Host key verification failed", "add the host's key to known_hosts of the user who runs mpirun"),
    known("ssh_refused", r"Permission denied \((?:publickey|password|keyboard|gssapi)|Too many authentication failures",
          "the user who runs mpirun must log in by key, without a password"),
    known("ssh_refused", r"(?:kex|ssh)_exchange_identification: ",
          "sshd ended the connection before any login: too many at a time (MaxStartups in sshd_config), or the address is blocked on that host"),
    known("root_refused", r"has detected an attempt to run as root", "give --allow-run-as-root"),
    known("hostfile_unreadable", r"unable to open host ?file|error parsing hostfile|unable to open the hostfile",
          "the host file must exist and be readable"),
    known("not_enough_slots", r"not enough slots available", "more ranks were asked for than the host file has slots"),
    # What the shell says behind the name is in the language of that host.
    known("mpi_missing", r"hydra_pmi_proxy: No such file|sh: [^\n]{0,300}\b(?:hydra_pmi_proxy|orted|prted) ?[:\uff1a]", _MPI_MISSING_HINT),
    known("program_missing", r"execvp error on file|unable to launch the specified application", "build the program at the same path on every host"),
    known("launcher_argument", r"unrecognized argument \S+|error parsing input array|Error: unknown option \"|unrecognized option was included",
          "this mpirun does not know an argument; name the right one in mpirun"),
    known("library_missing", r"error while loading shared libraries: \S+?:",
          "put the libraries of MPI and of the program into LD_LIBRARY_PATH on every host, by the option environment"),
    known("hostname_unresolved", r"gethostbyname failed, \S+", "add the host's own name with its address to its /etc/hosts"),
)

# Of MPI itself, and what only says that it ended.
END = (
    known("mpi_init_failed", r"Fatal error in (?:internal_Init|P?MPI_Init)|MPI_Init\(.*\) failed",
          "MPI could not connect its ranks: name the network, e.g. by UCX_NET_DEVICES or HYDRA_IFACE in environment"),
    known("timed_out", r"APPLICATION TIMED OUT[^\n]*|time limit for job execution has been reached", _TIMED_OUT_HINT),
    known("rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES(?:\s+=\s+PID [0-9]+ RUNNING AT \S+\s+=\s+EXIT CODE: [0-9]+)?"
          r"|noticed that process rank [0-9]+ with PID [0-9]+ on node \S+ exited on signal",
          "a rank was killed or crashed: see dmesg and the program's own logs on the host that is named; where several ranks ended, it may be one that "
          "went down with the others, and mpirun's EXIT STRING tells how the job as a whole ended"),
    known("launch_failed", r"Launch proxy failed|unable to reliably start one or more daemons|daemon \(pid [0-9]+\) died unexpectedly",
          "a host did not start its ranks: log in to every host by ssh as the same user, without a password"),
)
CONSEQUENCES = ("timed_out", "rank_crashed", "launch_failed")
"""Codes that say how a run ended, not why."""


def timed_out_error(message: str) -> HccnError:
    """The error of a run that this side stopped."""
    return HccnError("timed_out", message, _TIMED_OUT_HINT)


def line_of(text: str, start: int, end: int) -> str:
    """The line (of a frame: the lines) around a match; where that is long, the match and what follows it."""
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    line = " ".join(part.strip("= \t\r") for part in text[first:stop if stop >= 0 else len(text)].splitlines())
    return line if len(line) <= LINE_LIMIT else text[start:start + LINE_LIMIT].strip()


def search(table: Sequence[Known], text: str) -> List[HccnError]:
    """The errors of ``table`` whose text is there, in the table's order; ``message`` is the tool's own line."""
    found = []
    for one in table:
        match = one.text.search(text)
        if match:
            found.append(HccnError(one.code, line_of(text, match.start(), match.end()), one.hint))
    return found


def once(errors: Sequence[HccnError]) -> List[HccnError]:
    """The first error of each code."""
    unique: Dict[str, HccnError] = {}
    for error in errors:
        unique.setdefault(error.code, error)
    return list(unique.values())


def incomplete(found: Sequence[int], expected: Sequence[int]) -> Optional[HccnError]:
    """None where there is one row for every expected size and no other; sizes in bytes."""
    if found and list(found) == list(expected):
        return None
    if not found:
        return HccnError("no_table", "the output holds no row of the result table", "see the output for the reason")
    missing = [size for size in expected if size not in found]
    if missing:
        return HccnError("rows_missing", "%d of %d sizes have no row, the first is %d bytes" % (len(missing), len(expected), missing[0]),
                         "the program stopped early; see the output for the reason")
    if not expected:
        return HccnError("rows_missing", "%d row(s), but the log does not tell which sizes were asked for" % len(found), "give sizes")
    extra = [size for size in found if size not in expected]
    return HccnError("unexpected_rows", "rows for %s bytes do not fit what was asked for" % (extra[0] if extra else list(found)),
                     "the output is of another run, or of several")


OUTPUT_LIMIT = 8000
"""Characters of a failed run's output that a result carries; the end tells why."""


def tail(stdout: str, stderr: str) -> str:
    """The end of both streams, bounded."""
    half = OUTPUT_LIMIT // 2
    parts = [text.strip()[-half:] for text in (stdout, stderr)]
    return "\n".join(part for part in parts if part)


def rounded(value: float) -> float:
    """Six significant digits; the time that it is computed from has fewer."""
    return float("%.6g" % value)
