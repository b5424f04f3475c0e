# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The summary printed after Ansible's recap: the conclusion of the run, or one derived from Ansible's statistics if the run never concluded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._findings import screen, stages
from .._findings.conclusion import Conclusion, conclude
from .._findings.finding import Finding

LOCALHOST = "localhost"


class FinalSummary:
    """Collect the results and failures for the summary. Later ones replace earlier ones."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._report: str | None = None
        self._validated: Mapping[str, Any] = {}
        self._failures: dict[str, tuple[str, str]] = {}
        self._of_the_run: dict[str, tuple[str, str]] = {}

    def note_result(self, action: str, result: Mapping[str, Any]) -> None:
        """Record the result of an action that the collection runs on the controller."""
        if action == "hccn.cluster.conclude" and isinstance(result.get("lines"), list):
            self._lines = [str(line) for line in result["lines"]]
        elif action == "hccn.cluster.report" and isinstance(result.get("path"), str) and result.get("path", "").endswith((".html", ".md", ".json")):
            self._report = result["path"]
        elif action == "hccn.cluster.validate_job":
            self._validated = result

    def note_failure(self, host: str, task: str, message: str, run_once: bool = False) -> None:
        """Record the last failure of a host. Ansible's statistics decide at the end whether it counts. A task that runs once fails for the whole run, although
        Ansible counts it for the first host."""
        self._failures.pop(host, None)
        self._of_the_run.pop(host, None)
        (self._of_the_run if run_once or host == LOCALHOST else self._failures)[host] = task, message

    @property
    def concluded(self) -> bool:
        """Return True if the run has concluded."""
        return bool(self._lines)

    def lines(self, why_no_report: str = "") -> list[str]:
        """Return the summary of a run that has concluded."""
        return [*self._lines, screen.report_line(self._report, why_no_report)]

    def fallback(self, processed: Iterable[str], failures: Mapping[str, int], unreachable: Mapping[str, int]) -> Conclusion | None:
        """Conclude from Ansible's statistics; None if nothing failed or the playbook is not a job of the collection."""
        if not self._validated:
            return None
        hosts = self._hosts(processed)
        findings: list[Finding] = stages.of_validation(self._validated.get("problems"))
        of_the_run = {host: failure for host, failure in self._of_the_run.items() if failures.get(host)}
        if not findings:
            findings = [stages.of_failed_task(None, {"task": task, "msg": message}) for task, message in of_the_run.values()]
        bad = [host for host in hosts if unreachable.get(host) or failures.get(host) and host not in of_the_run]
        for host in bad:
            task, message = self._failures.get(host, ("", ""))
            findings.append(stages.of_unreachable(host, "", message) if unreachable.get(host) else stages.of_failed_task(host, {"task": task, "msg": message}))
        # If the run failed before it could judge the other hosts, they are not good.
        return conclude(bad if of_the_run else hosts, {}, findings, "failed") if findings else None

    def _hosts(self, processed: Iterable[str]) -> Sequence[str]:
        known = self._validated.get("hosts")
        return [str(host) for host in known] if isinstance(known, list) and known else [host for host in processed if host != LOCALHOST]
