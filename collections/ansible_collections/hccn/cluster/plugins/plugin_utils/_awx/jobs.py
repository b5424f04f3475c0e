# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The jobs of which AWX gets a template, the questions that several of them ask, and the workflow that joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JOBS: Sequence[Mapping[str, Any]] = (
    {"name": "validate", "role": "validate", "asks": ["hccn_hosts"], "text": "Check the inventory without contacting hosts"},
    {"name": "site", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "From bare hosts to a proven fabric, in one job"},
    {"name": "bring_up", "role": "bring_up", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Bring up the NPU network"},
    {"name": "tls", "role": "tls", "text": "Make the TLS flag of all NPUs equal"},
    {"name": "rank_table", "role": "rank_table", "asks": ["hccn_fail_on"], "text": "Write the rank table"},
    {"name": "check_fabric", "role": "check_fabric", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Check the fabric pair by pair"},
    {"name": "check_fabric_pods", "role": "check_fabric", "entry_point": "kubernetes",
     "asks": ["check_fabric_node_selector", "check_fabric_tool", "check_fabric_plan", "hccn_fail_on"],
     "text": "Check the fabric from pods of a Kubernetes cluster"},
    {"name": "check_reachability", "role": "check_reachability", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Ping between all NPUs while they work"},
    {"name": "check_collective", "role": "check_collective", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Measure a collective"},
    {"name": "container_mapping", "role": "container_mapping", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Report and map hccn.conf into containers"},
    {"name": "datadist_ready", "role": "datadist_ready", "text": "Check the requirements of LLM-DataDist"},
    {"name": "nic_switch", "role": "nic_switch", "text": "Move NPUs of a job to their backup link, or back"},
    {"name": "switch_upgrade", "role": "switch_upgrade", "text": "Move all jobs off a leaf switch, or back"},
    {"name": "perf_tools", "role": "perf_tools", "asks": ["hccn_hosts"], "text": "Install measurement tools"},
    {"name": "report", "role": "report", "text": "Write the report of a run"},
    {"name": "compare", "role": "compare", "text": "Compare two runs"},
    {"name": "restore", "role": "restore", "asks": ["hccn_hosts"], "text": "Restore the state before the last change"},
    {"name": "conclude_slices", "asks": ["hccn_hosts", "hccn_fail_on"], "text": "Judge the slices of bring_up as one run"},
    {"name": "adopt", "role": "adopt", "asks": ["hccn_hosts"],
     "text": "Write the settings of configured hosts into a folder that outlives the job (adopt_inventory)"},
    {"name": "retest", "asks": ["hccn_hosts"], "text": "Measure pairs of hosts again: retest_pairs as an extra variable, or the event of a rulebook"},
    {"name": "quarantine", "asks": ["quarantine_host", "quarantine_state", "quarantine_reason"], "text": "Take a host out of service, or return it"},
)
"""``name`` of the template after the prefix, and of the playbook; ``role``: its argument spec becomes the survey; ``asks``: further questions."""

QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "hccn_hosts": {
        "description": "Hosts of the job, as a pattern of Ansible such as npu, npu1,npu2 or npu:!npu3.", "type": "str", "default": "npu", "required": True},
    "check_fabric_node_selector": {
        "description": "Labels of the nodes to check, such as the label of a node pool, in the form of kubectl get nodes -l.", "type": "str", "default": "",
        "required": True},
    "check_fabric_tool": {"description": "Measurement tool.", "type": "str", "choices": ["roce_test", "perftest", "iperf3"], "default": "roce_test"},
    "check_fabric_plan": {"description": "The pairs to measure.", "type": "str", "choices": ["quick", "leaves", "full", "devices"], "default": "quick"},
    "quarantine_host": {"description": "Name of the host in the inventory.", "type": "str", "required": True},
    "quarantine_state": {
        "description": "V(out) takes the host out of service, V(in) returns it. Nothing is done unless the inventory sets O(quarantine_enabled=true).",
        "type": "str", "choices": ["out", "in"], "default": "out"},
    "quarantine_reason": {"description": "Why the host is taken out of service.", "type": "str", "default": "its link is bad"},
    "hccn_fail_on": {
        "description": "V(failed) fails the job when a host or the fabric failed, V(slow) also when something is slow or degraded, V(any) also when a host was "
                       "not measured.",
        "type": "str", "choices": ["never", "failed", "slow", "any"], "default": "slow"},
}
"""In the form of an argument spec. A limit in AWX would exclude localhost, which validates and concludes a job, so the survey asks for the hosts."""

WORKFLOW = "from bare hosts to a proven fabric"
WORKFLOW_TEXT = "bring_up, rank_table, check_fabric, check_collective, report"


def nodes(pages: bool, sliced: bool = False) -> list[dict[str, Any]]:
    """Return the nodes of the workflow: ``identifier``, ``job``, and the next nodes.

    With ``pages``, a node after each check writes its page. After a check with findings it runs and fails, so that the page is written and the workflow is red.
    ``sliced``: bring_up is cut into slices, and the node after it judges them as one run.
    """
    after_fabric = {"always_nodes": ["fabric_page"]} if pages else {"success_nodes": ["check_collective"]}
    after_collective = {"always_nodes": ["report"]} if pages else {}
    state = "present" if pages else "absent"
    after_bring_up = {"always_nodes": ["conclude_bring_up"]} if sliced else {"success_nodes": ["rank_table"]}
    return [
        {"identifier": "bring_up", "job": "bring_up", **after_bring_up},
        {"identifier": "conclude_bring_up", "job": "conclude_slices", "success_nodes": ["rank_table"],
         "state": "present" if sliced else "absent"},
        {"identifier": "rank_table", "job": "rank_table", "success_nodes": ["check_fabric"]},
        {"identifier": "check_fabric", "job": "check_fabric", **after_fabric},
        {"identifier": "fabric_page", "job": "report", "extra_data": {"report_fail_on": "failed", "report_after": "check_fabric"},
         "success_nodes": ["check_collective"], "state": state},
        {"identifier": "check_collective", "job": "check_collective", **after_collective},
        {"identifier": "report", "job": "report", "extra_data": {"report_fail_on": "failed", "report_after": "check_collective"}, "state": state},
    ]


PARTS_WORKFLOW = "fabric in parts"
PARTS_WORKFLOW_TEXT = "check_fabric on each part of the fabric at the same time, then on all hosts, and the verdict over all runs"
ALL_HOSTS = "all hosts"
"""Node after the parts. A group of an inventory has no space in its name."""


def nodes_of_parts(parts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the nodes of the workflow that measures a large fabric in parts. ``parts``: groups of the inventory."""
    return [
        *({"identifier": part, "job": "check_fabric", "extra_data": {"hccn_hosts": part, "check_fabric_plan": "leaves"}, "always_nodes": [ALL_HOSTS]}
          for part in parts),
        {"identifier": ALL_HOSTS, "job": "check_fabric", "extra_data": {"check_fabric_plan": "quick"}, "all_parents_must_converge": True,
         "always_nodes": ["conclude"]},
        {"identifier": "conclude", "job": "conclude_slices", "extra_data": {"conclude_slices_of": "check_fabric"}},
    ]
