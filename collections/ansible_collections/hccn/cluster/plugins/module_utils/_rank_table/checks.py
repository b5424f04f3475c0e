# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Check a rank table by the rules of the programs that read it, and report all problems, not only the first."""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .._core.errors import InputError, ParseError
from .._core.problems import Problem
from . import (
    config_map, formats, global_table_rules, group_list_rules, hccl_rules, local_comm_res_rules, mindie_clusterd_rules, rank_list_rules, server_list,
    vllm_pd_rules,
)
from .document import MAX_TEXT, parse
from .drift import drift
from .host_result import Result
from .rule import Rule, Violation

RULES: Mapping[str, Mapping[str, Tuple[Rule, ...]]] = {
    "hccl": {formats.HCCL: hccl_rules.RULES, formats.HCCL_V2: rank_list_rules.RULES, formats.GROUP_LIST: group_list_rules.RULES},
    "mindie_llm": {formats.HCCL: mindie_clusterd_rules.MINDIE_LLM_RULES},
    "mindie_motor": {formats.GLOBAL: global_table_rules.RULES},
    "clusterd": {formats.HCCL: mindie_clusterd_rules.CLUSTERD_SERVER_LIST_RULES, formats.HCCL_V2: mindie_clusterd_rules.CLUSTERD_RANK_LIST_RULES},
    "vllm": {formats.VLLM_PD: vllm_pd_rules.RULES},
    "hixl": {formats.LOCAL_COMM_RES: local_comm_res_rules.ENDPOINT_RULES, formats.HCCL: local_comm_res_rules.ONE_DEVICE_RULES},
}
"""The rules by reader and format. A document of unknown format is checked as the first format of the reader."""
READERS = tuple(RULES)
TITLES = {"hccl": "HCCL", "mindie_llm": "MindIE-LLM", "mindie_motor": "MindIE-Motor", "clusterd": "ClusterD", "vllm": "the vLLM connector", "hixl": "HIXL"}

VIEWS: Mapping[str, Callable[[Mapping[str, Any], Optional[str]], Any]] = {
    formats.HCCL: server_list.view, formats.HCCL_V2: rank_list_rules.view, formats.GROUP_LIST: group_list_rules.view,
    formats.GLOBAL: global_table_rules.view, formats.VLLM_PD: vllm_pd_rules.view, formats.LOCAL_COMM_RES: local_comm_res_rules.view}

MAX_MODES = {"mindie_llm": mindie_clusterd_rules.MINDIE_MAX_MODE, "mindie_motor": global_table_rules.MAX_MODE}

ERROR_TEXTS: Mapping[str, str] = {
    "EI0001": "device ip family[%s] is not same",
    "EI0004": "Failed to parse the ranktable file %s. Reason: %s",
    "EI0014": "Value %s for ranktable variable %s is invalid. Expected value: %s.",
    "EI0017": "Config %s is missing in the ranktable file.",
}
"""The messages with which HCCL refuses a rank table, by code. HCCL replaces %s with values.

Source: hcomm docs/zh/error_codes; for EI0001, the line of its log. HCCL only logs some refusals; these have the code of the nearest report.
"""

MAX_PER_RULE = 50
"""Problems reported per rule and reader; the others are counted, to keep the result small."""
MAX_PROBLEMS = 300
"""If there are more in total, only FEW per rule and reader are reported, so that the result stays below 256 kB."""
FEW = 5

_YAML = re.compile(r"\s*(?:---|(?:apiVersion|kind|data|metadata):)")
_V2 = re.compile(rb'"version"\s*:\s*"2\.')
_HEAD = 4096


class Verdict(NamedTuple):
    """``document`` is the table, None if it could not be read. ``format`` is empty if unknown. ``job`` is the job name in a ConfigMap."""

    problems: List[Problem]
    document: Optional[Mapping[str, Any]] = None
    format: str = formats.UNKNOWN
    job: Optional[str] = None


def _problem(reader: str, rule: str, code: Optional[str], violation: Violation) -> Problem:
    return Problem(rule, violation.severity, violation.message, device=violation.device, where=violation.where or None, hint=violation.hint, reader=reader,
                   error_code=code if reader == "hccl" else None)


def bounded(problems: Iterable[Problem]) -> List[Problem]:
    """Return the problems grouped by reader and rule; problems beyond the limits are only counted."""
    groups: Dict[Tuple[Optional[str], str], List[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.reader, problem.rule), []).append(problem)
    limit = MAX_PER_RULE if sum(min(len(group), MAX_PER_RULE) for group in groups.values()) <= MAX_PROBLEMS else FEW
    reported: List[Problem] = []
    for (reader, rule), group in groups.items():
        reported += group[:limit]
        more: Dict[str, int] = {}
        for problem in group[limit:]:
            more[problem.severity] = more.get(problem.severity, 0) + 1
        reported += [Problem(rule, severity, "%d more problems of the rule %s" % (number, rule), reader=reader, error_code=group[0].error_code)
                     for severity, number in more.items()]
    return reported


def _unsupported_format(found: formats.Format, reader: str) -> Violation:
    if (reader, found.name) == ("hccl", formats.HETEROGENEOUS):
        return Violation("", "this is %s, for which HCCL has a separate parser: not checked" % found.title, severity="warning")
    return Violation("", "this is %s: %s does not accept it" % (found.title, TITLES[reader]))


def _violations(document: Mapping[str, Any], readers: Sequence[str], product: Optional[str], named: bool) -> Iterable[Problem]:
    found = formats.recognise(document)
    views: Dict[str, Any] = {}
    for reader in readers:
        supported = RULES[reader]
        name = found.name or list(supported)[0]
        if name not in supported:
            yield _problem(reader, "format", None, _unsupported_format(found, reader))
            continue
        if name not in views:
            views[name] = VIEWS[name](document, product)
        for rule in supported[name]:
            for violation in rule.check(views[name]):
                if rule.only_if_named and not named:
                    violation = violation._replace(severity="warning")
                yield _problem(reader, rule.name, rule.code, violation)


def check(document: Mapping[str, Any], readers: Sequence[str] = ("hccl",), product: Optional[str] = None, named: bool = True) -> List[Problem]:
    """Return the problems of a parsed table, by reader and rule.

    ``named`` is False if the readers were not named by the user but follow from the format of the table.
    ``product`` is 910A, A2, A3, 950 or 310P. If it is None, rules of single products are skipped or reported as warnings.
    """
    return bounded(_violations(document, readers, product, named))


def _text_problems(readers: Sequence[str], rule: str, message: str, hint: Optional[str] = None, severity: str = "error") -> List[Problem]:
    return [_problem(reader, rule, "EI0004", Violation("", message, hint=hint, severity=severity)) for reader in readers]


def _no_table(readers: Sequence[str], rule: str, error: ParseError, text: Union[str, bytes] = "") -> List[Problem]:
    is_yaml = isinstance(text, str) and _YAML.match(text)
    hint = "this is YAML: give it as JSON (kubectl get configmap NAME -o json), or the value of its key hccl.json" if is_yaml else error.hint
    return _text_problems(readers, rule, error.message, hint or None)


def _check_size(size: int, document: Mapping[str, Any], readers: Sequence[str]) -> List[Problem]:
    name = formats.recognise(document).name
    problems: List[Problem] = []
    for reader in readers:
        limit = {"hccl": MAX_TEXT, "hixl": local_comm_res_rules.MAX_TEXT}.get(reader, size)
        if size > limit and name != formats.HCCL_V2:
            problems += _text_problems([reader], "size", "the table has %d bytes: %s reads at most %d" % (size, TITLES[reader], limit))
    return problems


def examine_document(document: Mapping[str, Any], readers: Sequence[str], product: Optional[str] = None, size: int = 0) -> Verdict:
    """Check a parsed document: a table, or a ConfigMap that contains one."""
    try:
        packed = config_map.unpack(document)
    except ParseError as error:
        return Verdict(_no_table(readers, "config_map", error))
    if packed is None:
        return Verdict(_check_size(size, document, readers) + check(document, readers, product), document, formats.recognise(document).name)
    if isinstance(packed.table, str):
        verdict = examine_text(packed.table, readers, product)
    else:
        verdict = examine_document(packed.table, readers, product)
    problems = list(verdict.problems)
    if packed.parts > 1:
        problems[:0] = _text_problems(readers, "config_map", "this ConfigMap has one of %d parts of the table: the other ranks are missing" % packed.parts,
                                      severity="warning")
    return verdict._replace(problems=problems, job=packed.job)


def examine_text(content: Union[str, bytes], readers: Sequence[str], product: Optional[str] = None) -> Verdict:
    """Check the text of a table or of a ConfigMap."""
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "surrogatepass"))
    try:
        document = parse(content)
    except ParseError as error:
        return Verdict(_no_table(readers, "json", error, content[:_HEAD].decode("utf-8", "replace") if isinstance(content, bytes) else content))
    return examine_document(document, readers, product, size)


def check_text(content: Union[str, bytes], readers: Sequence[str] = ("hccl",), product: Optional[str] = None) -> List[Problem]:
    """Return the problems of a table as text: size and JSON syntax, then the rules."""
    return examine_text(content, readers, product).problems


def check_name(path: str) -> List[Problem]:
    """Check a path as HCCL does: ``.json`` must be at the end and nowhere else (hcomm CheckFilePath)."""
    if path.find(".json") + len(".json") == len(path):
        return []
    message = "%s does not end in .json" if not path.endswith(".json") else "%s contains .json before its end"
    return [_problem("hccl", "file_name", "EI0004", Violation("", "the path " + message % path + ": HCCL does not read it"))]


def check_mode(mode: int, readers: Sequence[str]) -> List[Problem]:
    """Return the problems of the mode of a file."""
    return [_problem(reader, "file_mode", None, Violation("", "the mode is %04o: %s allows at most %04o" % (mode, TITLES[reader], MAX_MODES[reader])))
            for reader in readers if mode & ~MAX_MODES.get(reader, mode)]


def _too_long(size: int, head: bytes, readers: Sequence[str]) -> List[Problem]:
    """Return the problems of a file larger than MAX_TEXT, which is not read. HCCL reads 1 GB of version 2.0; for the other readers no limit is known."""
    problems: List[Problem] = []
    for reader in readers:
        refused = reader == "hixl" or (reader == "hccl" and not _V2.search(head))
        limit = local_comm_res_rules.MAX_TEXT if reader == "hixl" else MAX_TEXT
        reason = "%s reads at most %d, so it is not checked further" % (TITLES[reader], limit) if refused else "too large to be checked"
        problems += _text_problems([reader], "size", "the table has %d bytes: %s" % (size, reason), severity="error" if refused else "warning")
    return problems


def examine_file(path: str, readers: Sequence[str], product: Optional[str] = None) -> Verdict:
    """Check the name, the mode and the text of a file. Raises InputError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_TEXT + 1)
    except OSError as error:
        raise InputError("cannot read the rank table %s: %s" % (path, error.strerror)) from error
    about_file = check_name(os.path.realpath(path)) if "hccl" in readers else []
    about_file += check_mode(stat.S_IMODE(status.st_mode), readers)
    if len(content) > MAX_TEXT:
        return Verdict(about_file + _too_long(status.st_size, content[:_HEAD], readers))
    verdict = examine_text(content, readers, product)
    return verdict._replace(problems=about_file + verdict.problems)


def against_hosts(verdict: Verdict, results: Mapping[str, Result], server_ids: Optional[Mapping[str, str]] = None) -> Verdict:
    """Add the differences from the hosts. ``results`` are those of device_info by host; ``server_ids`` maps a host to its server_id in the table."""
    if verdict.document is None:
        return verdict
    try:
        found = bounded(drift(formats.read(verdict.document), results, server_ids))
    except ParseError as error:
        found = [Problem("drift", "error", "the table cannot be compared with the hosts: " + error.message)]
    return verdict._replace(problems=verdict.problems + found)


def failure_message(problems: Sequence[Problem]) -> str:
    """Return the first problem, errors before warnings, and the number of the others, as the message of a failure."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    first = ordered[0]
    code = ", " + first.error_code if first.error_code else ""
    text = "%s%s (rule %s%s)" % (first.where + ": " if first.where else "", first.message, first.rule, code)
    more = len(problems) - 1
    return text if not more else "%s, and %d more problem%s" % (text, more, "" if more == 1 else "s")


def error_texts(problems: Iterable[Problem]) -> Dict[str, str]:
    """Return the texts of the error codes of the problems."""
    return {code: ERROR_TEXTS[code] for code in sorted({problem.error_code for problem in problems if problem.error_code})}
