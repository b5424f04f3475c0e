from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import jobs


@pytest.mark.parametrize(("pages", "sliced"), [(True, True), (True, False), (False, False)])
def test_nodes_of_the_workflow_lead_to_nodes_that_are_there(pages, sliced):
    nodes = {node["identifier"]: node for node in jobs.nodes(pages, sliced)}
    there = {name for name, node in nodes.items() if node.get("state") != "absent"}
    led_to = {next_one for name in there for link in ("success_nodes", "always_nodes") for next_one in nodes[name].get(link, [])}
    assert led_to == there - {"bring_up"}
    assert {node["job"] for node in nodes.values()} <= {job["name"] for job in jobs.JOBS}


def test_questions_are_asked_by_a_job():
    assert {name for job in jobs.JOBS for name in job.get("asks", ())} == set(jobs.QUESTIONS)
