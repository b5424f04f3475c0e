# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Summarize for all hosts which containers see hccn.conf, and what was done with the CDI specs. Answers of hosts are not trusted."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._core.words import LONGEST_TEXT, printable, some
from ...module_utils._device import cdi
from ...module_utils._device.mounts import MountPaths

REPORT, PRESENT, ABSENT = "report", "present", "absent"
STATES = (REPORT, PRESENT, ABSENT)
FAILING: Mapping[str, tuple[str, ...]] = {"never": (), "failed": ("error",), "slow": ("error",), "any": ("error", "warning")}
"""Severities of problems by the value of hccn_fail_on."""
MAPPED = "mapped"
MOST_PROBLEMS, SHOWN = 1000, 20
"""Maximum number of problems that are returned, and that are shown."""

_FOUND = {"current": "up to date", "different": "different", "absent": "absent"}
_CHANGED = {(PRESENT, False): "written", (PRESENT, True): "to be written", (ABSENT, False): "removed", (ABSENT, True): "to be removed"}
"""What happens to the CDI spec of a host, by the wanted state and check mode."""

_TEXTS = ("rule", "severity", "where", "message", "hint")


@dataclass(frozen=True)
class Summary:
    """``containers`` and ``mapped``: numbers of containers; ``specs``: hosts by what was found or done; ``unknown``: hosts without an answer."""

    hosts: tuple[str, ...]
    containers: int
    mapped: int
    problems: tuple[Mapping[str, str], ...]
    more_problems: int
    specs: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]

    def failing(self, fail_on: str) -> list[Mapping[str, str]]:
        return [problem for problem in self.problems if problem["severity"] in FAILING[fail_on]]

    def lines(self) -> list[str]:
        """Return the summary as lines of printable characters."""
        found = [f"Containers with NPUs: {self.containers} on {_count(len(self.hosts))}, {self.mapped} of them see the hccn.conf of their host"]
        found += [_problem_line(problem) for problem in self.problems[:SHOWN]]
        left = len(self.problems[SHOWN:]) + self.more_problems
        found += [f"... and {left} more problems"] if left else []
        found += [f"CDI spec {outcome}: {_count(len(hosts))} ({some(hosts)})" for outcome, hosts in self.specs.items()]
        return found + ([f"Not examined: {some(self.unknown)}"] if self.unknown else [])


def summarize(answers: Mapping[str, Any], state: str, check_mode: bool) -> Summary:
    """Return the summary of the results of hccn_conf_mount by host."""
    known = {host: answer for host, answer in answers.items() if isinstance(answer, Mapping) and str(answer.get("cdi_state")) in _FOUND}
    states: Counter[Any] = Counter()
    problems: list[Mapping[str, str]] = []
    specs: dict[str, list[str]] = {}
    for host, answer in known.items():
        states.update(str(container.get("state")) for container in _dictionaries(answer.get("containers")))
        problems += [{"host": host, **{name: printable(problem.get(name), LONGEST_TEXT) for name in _TEXTS}}
                     for problem in _dictionaries(answer.get("problems"))]
        specs.setdefault(_outcome(answer, state, check_mode), []).append(host)
    return Summary(
        hosts=tuple(known), containers=sum(states.values()), mapped=states[MAPPED], problems=tuple(problems[:MOST_PROBLEMS]),
        more_problems=len(problems[MOST_PROBLEMS:]), specs={outcome: tuple(specs[outcome]) for outcome in sorted(specs)},
        unknown=tuple(host for host in answers if host not in known))


def instructions(paths: MountPaths) -> list[str]:
    """Return lines that show how new containers get the file."""
    return [
        "New containers see the file with one of these:",
        f"  docker, podman, nerdctl: {shlex.join(paths.docker_args)}",
        f"  CDI, with the spec:      --device {cdi.NAME}",
        f"  Kubernetes, in the pod:  volumes: {json.dumps(paths.pod_volume['volumes'])}",
        f"  and in its containers:   volumeMounts: {json.dumps(paths.pod_volume['volumeMounts'])}",
    ]


def _outcome(answer: Mapping[str, Any], state: str, check_mode: bool) -> str:
    if state != REPORT and answer.get("changed") is True:
        return _CHANGED[state, check_mode]
    return _FOUND[str(answer["cdi_state"])]


def _problem_line(problem: Mapping[str, str]) -> str:
    return printable(f"{problem['host']}: {problem['where']}: {problem['message']} -> {problem['hint']}", LONGEST_TEXT)


def _dictionaries(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, (list, tuple)) else []


def _count(number: int) -> str:
    return f"{number} {'host' if number == 1 else 'hosts'}"
