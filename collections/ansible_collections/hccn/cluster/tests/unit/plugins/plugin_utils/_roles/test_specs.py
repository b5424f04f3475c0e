"""Every variable that roles and playbooks of the collection read is known."""

from __future__ import annotations

import re

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import specs
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.sent_options import ROLE_PREFIXES


def test_the_options_of_all_roles_and_entry_points_are_known_and_none_is_required():
    found = specs.options()
    assert {"bring_up_tls_state", "check_fabric_node", "tls_state", "validate_unknown"} <= set(found)
    assert found["tls_state"]["choices"] == ["enabled", "disabled"]
    assert [name for name, option in found.items() if {"required", "description"} & set(option)] == []


def test_variables_set_by_tasks_are_known():
    found = specs.set_by_tasks()
    assert {"bring_up_probe", "bring_up_addresses", "check_fabric_verdict", "report_page", "validate_probe"} <= found
    assert "cacheable" not in found and "bring_up_tls_state" not in found


def test_no_default_of_a_role_is_unknown():
    known = specs.known(specs.options()) | specs.set_by_tasks()
    found = set().union(*(specs._read(path) or {} for path in specs.ROLES.glob("*/defaults/main.yml")))
    assert len(found) > 90
    assert sorted(found - known) == []


def test_no_variable_of_a_playbook_is_unknown():
    known = specs.known(specs.options()) | specs.set_by_tasks()
    texts = [path.read_text() for path in (specs.ROLES.parent / "playbooks").glob("*.yml")]
    words = {word for text in texts for word in re.findall(r"[a-z][a-z0-9_]+", re.sub(r"#.*|hccn\.cluster\.\w+|import_playbook:.*", "", text))}
    found = {word for word in words if word.startswith(ROLE_PREFIXES)}
    assert {"hccn_hosts", "hccn_serial", "retest_pairs", "hccn_validated"} <= found
    assert sorted(found - known) == []


def test_published_variables_are_known():
    texts = [path.read_text() for path in specs.ROLES.glob("*/tasks/*.yml")]
    published = {name for text in texts for block in re.findall(r"set_stats:\n((?: {4,}.*\n)+)", text) for name in re.findall(r" (hccn_\w+):", block)}
    assert {"hccn_check_fabric", "hccn_report"} <= published
    assert published - specs.PUBLISHED == set()
