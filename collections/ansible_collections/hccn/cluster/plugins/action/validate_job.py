# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validate a job before its first host is contacted."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.controller import ControllerAction
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import address_pools
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import declared_addresses, inventory, job_problem, requirements, specs, survey, variables
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.job_problem import JobProblem
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard

ARGUMENTS = {
    "hosts": {"type": "raw", "default": "npu"},
    "needs": {"type": "list", "elements": "str", "choices": list(requirements.NAMES), "default": []},
    "unknown": {"type": "str", "choices": ["error", "warning"], "default": "error"},
    "wants": {"type": "list", "elements": "str", "choices": list(requirements.NAMES), "default": []},
}


class ActionModule(ControllerAction):
    """Run once for all hosts. The checks are in plugin_utils/_roles."""

    @guard.action
    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(ARGUMENTS)
        known = task_vars or {}
        pattern, limit, groups = _pattern(options["hosts"]), known.get("ansible_limit"), known.get("groups", {})
        hosts = inventory.matched(self._loader, groups, pattern, limit)
        written = variables.written(hosts, HostVars(known.get("hostvars", {})).raw)
        if hosts:
            problems, warnings = _checked(hosts, written, HostVars(known.get("hostvars", {})), options)
            problems += survey.problems(known, specs.options())
        else:
            problems, warnings = [inventory.no_hosts(groups, pattern, limit)], []
        result.update(changed=False, problems=[problem.as_dict() for problem in problems[:job_problem.MOST]],
                      warnings=[problem.sentence(len(hosts)) for problem in warnings[:job_problem.MOST]])
        if problems:
            return {**result, "failed": True, "msg": job_problem.message(problems, len(hosts))}
        # Displayed explicitly, since display_ok_hosts may be off.
        self._display.display(f"Validated: {len(hosts)} {'host' if len(hosts) == 1 else 'hosts'} and the variables of the job.")
        return {**result, "hosts": hosts, "fail_on": variables.fail_on(written)}


def _pattern(hosts: Any) -> str | list[str]:
    if isinstance(hosts, str):
        return str(hosts)
    if isinstance(hosts, list) and all(isinstance(host, str) for host in hosts):
        return list(map(str, hosts))
    raise AnsibleActionFail("validate_job: hosts must be a pattern such as npu, or a list of patterns")


def _checked(hosts: list[str], written: variables.Written, host_vars: HostVars, options: dict[str, Any]) -> tuple[list[JobProblem], list[JobProblem]]:
    """Return the problems and the warnings of the hosts."""
    known = specs.options()
    lenient = {host: own for host, own in written.items() if own.get("validate_unknown", options["unknown"]) == "warning"}
    strict = {host: own for host, own in written.items() if host not in lenient}
    problems, warnings = (variables.unknown(part, specs.known(known), specs.set_by_tasks) for part in (strict, lenient))
    problems += variables.invalid(written, known)
    subnets = declared_addresses.with_subnets(written)
    problems += requirements.missing(options["needs"], subnets)
    warnings += requirements.missing(set(options["wants"]) - set(options["needs"]), subnets)
    wrong, skipped = declared_addresses.problems_of(hosts, host_vars.of, address_pools.can_plan())
    return job_problem.merged(problems + wrong), job_problem.merged(warnings + skipped)
