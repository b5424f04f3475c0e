# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Who would refuse a rank table, and why: all rules of all readers asked for; none stops at the first problem."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .._core.errors import InputError, ParseError
from .._core.problems import Problem
from . import hccl_rules, other_rules
from .document import MAX_TEXT, parse
from .finding import Finding, Rule
from .view import table_of

RULES: Mapping[str, Tuple[Rule, ...]] = {"hccl": hccl_rules.RULES, "mindie_llm": other_rules.MINDIE_LLM, "clusterd": other_rules.CLUSTERD}
READERS = tuple(RULES)

MAX_FINDINGS = 50
"""Problems told of one rule and reader; the rest is counted, so that a result stays small."""


def _problem(reader: str, name: str, code: Optional[str], finding: Finding) -> Problem:
    return Problem(name, finding.severity, finding.message, device=finding.device, where=finding.where or None, hint=finding.hint, reader=reader,
                   error_code=code if reader == "hccl" else None)


def _apply(reader: str, rule: Rule, findings: Iterator[Finding]) -> Iterator[Problem]:
    for finding in islice(findings, MAX_FINDINGS):
        yield _problem(reader, rule.name, rule.code, finding)
    more: Dict[str, int] = {}
    for finding in findings:
        more[finding.severity] = more.get(finding.severity, 0) + 1
    for severity, number in more.items():
        yield _problem(reader, rule.name, rule.code, Finding("", "%d more problems of the rule %s" % (number, rule.name), severity=severity))


def check(document: Mapping[str, Any], readers: Sequence[str] = ("hccl",), product: Optional[str] = None) -> List[Problem]:
    """The problems of a table that is already parsed, by reader and rule.

    ``product``: 910A, A2, A3, 950, 310P; where it is None, rules of single products are left out or told as warnings.
    """
    table = table_of(document, product)
    problems: List[Problem] = []
    for reader in readers:
        rules = RULES[reader] if hccl_rules.foreign(document) is None else (hccl_rules.FOREIGN,)
        for rule in rules:
            problems.extend(_apply(reader, rule, iter(rule.find(table))))
    return problems


def _about_text(readers: Sequence[str], rule: str, message: str, hint: Optional[str] = None) -> List[Problem]:
    return [_problem(reader, rule, "EI0004", Finding("", message, hint=hint)) for reader in readers]


def check_text(content: Union[str, bytes], readers: Sequence[str] = ("hccl",), product: Optional[str] = None) -> List[Problem]:
    """The problems of a table as text: its size and JSON, then ``check``."""
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "surrogatepass"))
    problems = _about_text(readers, "size", "%d bytes: HCCL reads %d" % (size, MAX_TEXT)) if size > MAX_TEXT else []
    try:
        document = parse(content)
    except ParseError as error:
        return problems + _about_text(readers, "json", error.message, error.hint or None)
    return problems + check(document, readers, product)


def check_name(path: str) -> List[Problem]:
    """HCCL takes a file by its name: ``.json`` must stand at the end, and nowhere before (hcomm CheckFilePath)."""
    if path.find(".json") + len(".json") == len(path):
        return []
    message = "%s does not end in .json" if not path.endswith(".json") else "%s has .json also before its end"
    return [_problem("hccl", "file_name", "EI0004", Finding("", "the path " + message % path + ": HCCL does not read it"))]


def _check_mode(mode: int) -> List[Problem]:
    limit = other_rules.MINDIE_MAX_MODE
    if mode & ~limit == 0:
        return []
    return [_problem("mindie_llm", "file_mode", None, Finding("", "the mode is %04o: MindIE-LLM wants %04o at most" % (mode, limit)))]


def check_file(path: str, readers: Sequence[str] = ("hccl",), product: Optional[str] = None) -> List[Problem]:
    """The problems of a file: its name, its mode, its text. Raises InputError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_TEXT + 1)
    except OSError as error:
        raise InputError("cannot read the rank table %s: %s" % (path, error.strerror)) from error
    problems = check_name(os.path.realpath(path)) if "hccl" in readers else []
    if "mindie_llm" in readers:
        problems += _check_mode(stat.S_IMODE(status.st_mode))
    if len(content) > MAX_TEXT:
        return problems + _about_text(readers, "size", "%d bytes: HCCL reads %d; not checked further" % (status.st_size, MAX_TEXT))
    return problems + check_text(content, readers, product)


def sentence(problems: Sequence[Problem]) -> str:
    """The first problem, and how many there are: for the message of a failure. Errors come first."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    first = ordered[0]
    code = ", " + first.error_code if first.error_code else ""
    told = "%s%s (rule %s%s)" % (first.where + ": " if first.where else "", first.message, first.rule, code)
    more = len(problems) - 1
    return told if not more else "%s, and %d more problem%s" % (told, more, "" if more == 1 else "s")
