# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find in the output of a launcher who failed: the cause, the hosts and ranks, and the line that says so."""

from __future__ import annotations

import re
from itertools import islice
from typing import Dict, List, Match, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import HccnError
from .._core.words import beginning, some
from .launch_causes import CAUSES, origin_of
from .launch_texts import DECISIVE, HERE, HERE_CODES, LATER, WHERE, Text, compiled

LINE_LIMIT = 300
"""Characters of a line of output that a message contains."""
_MOST = 200
"""Number of occurrences of a text from which hosts are collected."""
_PART = 200000
"""Of larger outputs, only so many characters at the begin and at the end are searched."""
_TAG = re.compile(r"^(?:\[(?:[0-9]+|\S+@[0-9]+),[0-9]+\]<std(?:out|err|diag)>:?|\[[0-9]+\](?= ))[ \t]?", re.MULTILINE)
"""The rank before each line, with the options --tag-output of Open MPI and -prepend-rank of Hydra."""
_DOMAIN = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?=\.)")


class Place(NamedTuple):
    """Where something failed, as the output names it. ``proxy``: place of the host in the host file."""

    host: Optional[str] = None
    rank: Optional[int] = None
    proxy: Optional[int] = None


class LaunchError(HccnError):
    """``places``: where it failed. ``later``: it explains the failure only if no tool names a cause. ``fatal``: only runs that fail print the text.

    ``signal``: the signal that ended a rank.
    """

    def __init__(self, code: str, message: str, hint: str, places: Sequence[Place] = (), later: bool = True, fatal: bool = True,
                 signal: Optional[int] = None) -> None:
        super().__init__(code, message, hint)
        self.places = tuple(places)
        self.later = later
        self.fatal = fatal
        self.signal = signal

    def with_message(self, message: str) -> "LaunchError":
        """Return the same error with another message."""
        return LaunchError(self.code, message, self.hint, self.places, self.later, self.fatal, self.signal)


def of_code(code: str, message: str, places: Sequence[Place] = ()) -> LaunchError:
    """Return the error of a known cause."""
    return LaunchError(code, message, CAUSES[code].hint, places)


def decisive(text: str) -> List[HccnError]:
    """Return the errors that name their cause, the likely one first.

    ``message`` is the line that was printed, after the hosts that it does not contain."""
    return _search(DECISIVE, text, False)


def later(text: str) -> List[HccnError]:
    """Return the consequences, and the errors that are causes only if there is no other."""
    return _search(LATER, text, True)


def _search(table: Sequence[Text], text: str, is_later: bool) -> List[HccnError]:
    plain = _TAG.sub("", text if len(text) <= 2 * _PART else text[:_PART] + "\n" + text[-_PART:])
    found: Dict[str, HccnError] = {}
    for one in table:
        if one.code not in found:
            error = _error_of(one, plain, is_later)
            if error is not None:
                found[one.code] = error
    return list(found.values())


def _error_of(one: Text, text: str, is_later: bool) -> Optional[LaunchError]:
    matches = list(islice(compiled(one.pattern).finditer(text), _MOST))
    if not matches:
        return None
    first = matches[0]
    quote, detail = (first.groupdict().get(name) for name in ("quote", "detail"))
    message = one_line(quote) if quote else line_of(text, *first.span())
    message += " (%s)" % one_line(detail) if detail and one_line(detail) not in message else ""
    places = _unique([place for match in matches for place in _places(match)]) or _elsewhere(one.code, text)
    places = [_located(place, text) for place in places]
    missing = [place.host for place in places if place.host and not _contains(message, place.host)]
    if missing:
        message = "%s: %s" % (some([place.host for place in places if place.host], 5), message)
    status, signal = (_number(first, name) for name in ("status", "signal"))
    if status is not None and not re.search(r"(?<![0-9])%d(?![0-9])" % status, message):
        message += " (status %d)" % status
    return LaunchError(one.code, message, one.hint or CAUSES[one.code].hint, places, is_later, one.fatal, signal)


def _places(match: Match[str]) -> List[Place]:
    groups = match.groupdict()
    hosts = [_name(groups[name]) for name in ("host", "host_2", "host_3") if groups.get(name)]
    rank, proxy = _number(match, "rank"), _number(match, "proxy")
    if not hosts:
        return [] if rank is None else [Place(rank=rank)]
    return [Place(host, rank, proxy) for host in hosts]


def _number(match: Match[str], name: str) -> Optional[int]:
    value = match.groupdict().get(name)
    return int(value[:9]) if value else None


def _name(text: str) -> str:
    return text.strip(".,;:'\"()[]")


def _elsewhere(code: str, text: str) -> List[Place]:
    for pattern in WHERE.get(HERE if code in HERE_CODES else origin_of(code), ()):
        found = _unique([place for match in islice(compiled(pattern).finditer(text), _MOST) for place in _places(match)])
        if found:
            return found
    return []


def _located(place: Place, text: str) -> Place:
    """Return the place with the name or the number of its host in the host file, if Hydra or nccl-tests print it: a host may print another name of itself."""
    if not place.host or place.proxy is not None or place.rank is not None:
        return place
    label = re.escape(place.host)
    pid = re.search(r"\[%s:0*([0-9]{1,9})[ :\]]" % label, text)
    running = re.search(r"PID %s RUNNING AT (\S{1,253})" % pid.group(1), text) if pid else None
    if running:
        return Place(running.group(1))
    proxy = re.search(r"\[(?:proxy|bstrap):(?:[0-9]+:)?([0-9]{1,9})@%s\]" % label, text)
    rank = re.search(r"^# +Rank +([0-9]{1,9}) [^\n]{0,60} on +%s device" % label, text, re.MULTILINE)
    return Place(place.host, int(rank.group(1)) if rank else None, int(proxy.group(1)) if proxy else None)


def _unique(places: Sequence[Place]) -> List[Place]:
    found: Dict[Tuple[Optional[str], Optional[int]], Place] = {}
    for place in places:
        found.setdefault((place.host, None if place.host else place.rank), place)
    return list(found.values())


def _contains(message: str, host: str) -> bool:
    return re.search(r"(?<![\w.-])%s(?![\w-]|\.\w)" % re.escape(host), message) is not None


def hosts_of(places: Sequence[Place], names: Sequence[str], addresses: Sequence[str], per_host: int) -> Tuple[str, ...]:
    """Return the names of hosts, each once. ``names`` and ``addresses`` of the requested hosts are in rank order; a host that is not among them keeps the name
    that the output has."""
    found = (_host_of(place, names, addresses, per_host) for place in places)
    return tuple(dict.fromkeys(host for host in found if host))


def _host_of(place: Place, names: Sequence[str], addresses: Sequence[str], per_host: int) -> Optional[str]:
    if place.host:
        for known in (addresses, names):
            for index, one in enumerate(known):
                if one == place.host or _short(one) == _short(place.host):
                    return names[index]
    place_in_list = place.proxy if place.proxy is not None else place.rank // per_host if place.rank is not None and per_host > 0 else None
    if place_in_list is not None and place_in_list < len(names):
        return names[place_in_list]
    return place.host


def _short(host: str) -> str:
    """Return a name without its domain, an address as it is."""
    match = _DOMAIN.match(host)
    return match.group() if match else host


def line_of(text: str, start: int, end: int) -> str:
    """Return the line (of a frame: the lines) around a match; if it is longer than LINE_LIMIT, the text from the start of the match."""
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    line = " ".join(part.strip("= \t\r") for part in text[first:stop if stop >= 0 else len(text)].splitlines())
    return one_line(line if len(line) <= LINE_LIMIT else text[start:start + LINE_LIMIT])


def one_line(text: str) -> str:
    """Return a text without line breaks and repeated spaces, of at most LINE_LIMIT characters."""
    return " ".join(text[:LINE_LIMIT].split())


# Lines that explain nothing: frames, advice of the launchers, notices of ssh and shells, and consequences inside the launchers.
_NOISE = re.compile(
    r"[-=@*\s]*|#.*|.*NCCL INFO.*|\[(?:mpiexec|proxy|bstrap)[:@][^\]]*\].*|=   .*|\[\S+:[0-9]+\] (?:PMIX ERROR: PMIX_ERR_UNREACH|plm:ssh: Warning|[0-9]+ more "
    r"process|Set MCA parameter|\*\*\*|Signal|Failing at|\[ ?[0-9]+\]).*"
    r"|Warning: Permanently added.*|Authorization required, but no authorization.*|X11 forwarding request failed.*|Warning: setpgid\(.*"
    r"|YOUR APPLICATION TERMINATED.*|This typically refers.*|Please see the FAQ.*|Primary job +terminated normally.*|a non-zero exit code\. .*"
    r"|.*detected that one or more processes exited with.*|An MPI communication peer process has unexpectedly.*"
    r"|Disconnected from .*|Connection (?:closed|reset) by .*|stty: .*|tput: .*|the minbytes is .*|data_size\(Bytes\).*|[0-9 \t]+\|.*|[ \t]*[0-9]+[ "
    r"\t]+[0-9]+[ \t]+.*"
    r"|ORTE was unable to reliably.*|This usually is caused by:|\* .*|[ \t]+one or more nodes.*|I_MPI_JOB_TIMEOUT = .*")


_FRAME = re.compile(r"\s*-{20,}\s*")
_CANDIDATES = 5


_SPOKE = re.compile(r"^(?:\[(?:mpiexec|proxy|bstrap)[:@]|-{50,})", re.MULTILINE)


def is_silent(stdout: str, stderr: str) -> bool:
    """Return True if the launcher prints nothing itself."""
    return not _SPOKE.search(stdout) and not _SPOKE.search(stderr)


def first_words(stdout: str, stderr: str) -> Tuple[str, ...]:
    """Return the first lines that may explain a failure, of a help text in a frame only its first line."""
    found: List[str] = []
    for text in (stderr, stdout):
        inside = quoted = False
        for line in _TAG.sub("", text).splitlines():
            if _FRAME.fullmatch(line):
                inside, quoted = not inside, False
            elif inside and line.strip() and not quoted and _NOISE.fullmatch(line):
                quoted = True
            elif not quoted and not _NOISE.fullmatch(line):
                quoted = inside
                found.append(beginning(" ".join(line.split()), LINE_LIMIT))
                if len(found) == _CANDIDATES:
                    return tuple(found)
    return tuple(found)
