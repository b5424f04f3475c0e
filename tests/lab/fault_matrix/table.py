"""The expected results of each playbook under each fault (expected.yml), and their comparison with a fault case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from tests.lab.fault_matrix.cases import Observed

EXPECTED = Path(__file__).with_name("expected.yml")
LOCALHOST = "localhost"
OPTIONAL = ("elsewhere", "other")
"""Columns that only some rows have."""
JUDGED = ("exit", "recap", "state", "history", *OPTIONAL)
KEYS = {*JUDGED, "says", "warns", "again", "open", "chosen", "absent", "unfilled"}
WARNING = "hccn.cluster.results stores nothing more of this run"
"""The warning of the callback, printed once, if the history cannot be written."""


@dataclass(frozen=True)
class FaultCase:
    """An expected result. ``allowed``: the accepted texts by column of JUDGED, several if the result depends on timing. ``says``: must be in the output.

    ``other``, one of the columns: the result of the other playbook's run. ``warns``: WARNING must be in the output, once.

    ``again``: recap and state after a second run. ``absent``: why the fault does not apply. ``open``: the limitation that the case shows. ``unfilled``: why it
    was never run.
    """

    allowed: Mapping[str, tuple[str, ...]]
    says: str = ""
    again: tuple[str, str] | None = None
    absent: str = ""
    open: str = ""
    unfilled: str = ""
    chosen: bool = False
    warns: bool = False

    @property
    def is_run(self) -> bool:
        return not self.absent and not self.unfilled


Table = dict[str, dict[str, FaultCase]]


def load(path: Path = EXPECTED) -> Table:
    """Return the table by playbook and fault. Raise ValueError for a case with missing or unknown keys."""
    document = yaml.safe_load(path.read_text())
    return {playbook: {fault: _case(f"{playbook} / {fault}", entry, document["reasons"]) for fault, entry in row.items()}
            for playbook, row in document["playbooks"].items()}


def _case(name: str, entry: Mapping[str, Any], reasons: Mapping[str, str]) -> FaultCase:
    if set(entry) - KEYS:
        raise ValueError(f"{name}: unknown keys: {', '.join(sorted(set(entry) - KEYS))}")
    if "absent" in entry or "unfilled" in entry:
        if len(entry) != 1:
            raise ValueError(f"{name}: a case that is not run has no key besides its reason")
        return FaultCase({}, absent=reasons[entry["absent"]] if "absent" in entry else "", unfilled=str(entry.get("unfilled", "")))
    missing = {"exit", "recap", "state", "history", "says"} - set(entry)
    if missing:
        raise ValueError(f"{name}: missing keys: {', '.join(sorted(missing))}")
    again = entry.get("again")
    return FaultCase({word: _texts(entry[word]) for word in JUDGED if word in entry}, str(entry["says"]), (again["recap"], again["state"]) if again else None,
                open=entry.get("open", ""), chosen=entry.get("chosen", False), warns=entry.get("warns", False))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else (str(value),)


def row_of(seen: Observed) -> dict[str, str]:
    """Return the columns of an observed result. A value that is the same for all hosts is given once."""
    found = {"exit": str(seen.exit), "recap": recap(seen.hosts) or "none", "state": joined(seen.state, " / "), "history": seen.history}
    more = {"elsewhere": "; ".join(f"{name}: {value}" for name, value in seen.elsewhere.items()), "other": seen.other}
    return {**found, **{word: text for word, text in more.items() if text}}


def recap(classes: Mapping[str, str]) -> str:
    """Return the classes of the hosts; localhost, which validates and concludes a run, is included if it is not ok."""
    of_localhost = classes.get(LOCALHOST, "ok")
    of_hosts = joined({name: word for name, word in classes.items() if name != LOCALHOST}, " ")
    return of_hosts if of_localhost == "ok" else ", ".join(filter(None, [of_hosts, f"{LOCALHOST} {of_localhost}"]))


def joined(by_host: Mapping[str, str], separator: str) -> str:
    """Return ``failed unreachable failed``, or ``ok`` if all are equal."""
    words = [by_host[name] for name in sorted(by_host)]
    return words[0] if len(words) > 1 and len(set(words)) == 1 else separator.join(words)


def differences(case: FaultCase, seen: Observed) -> list[str]:
    """Return the differences between an observed and the expected result, including violations of rules that apply to all cases."""
    row = row_of(seen)
    found = [f"{word} is {row.get(word, 'none')!r}, not {' or '.join(map(repr, allowed))}"
             for word, allowed in case.allowed.items() if row.get(word, "none") not in allowed]
    found += [f"{word} is {row[word]!r}" for word in OPTIONAL if word in row and word not in case.allowed]
    if case.says not in flat(seen.output):
        found.append(f"not in the output: {case.says!r}")
    warnings = flat(seen.output).count(WARNING)
    if warnings != case.warns:
        found.append(f"the callback warned {warnings} times, not {int(case.warns)}")
    if case.again is not None and case.again != (recap(seen.again[0]), joined(seen.again[1], " / ")):
        found.append(f"after another run: {seen.again}")
    if seen.left:
        found.append(f"processes left: {seen.left}")
    if seen.blamed:
        found.append(f"healthy hosts called failed: {', '.join(seen.blamed)}")
    return found + seen.conf_problems


def flat(output: str) -> str:
    """Return the output without line breaks and JSON escapes."""
    return " ".join(output.replace('\\"', '"').replace("\\n", " ").split())
