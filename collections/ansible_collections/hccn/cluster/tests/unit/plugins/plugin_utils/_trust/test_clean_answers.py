from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.clean_answers import MOST_LEVELS, cleaned

EVIL = "{{ lookup('pipe', 'id') }}"


def test_keys_that_ansible_acts_upon_are_removed():
    answer = {"changed": True, "ansible_facts": {"report_path": "/etc/x"}, "ansible_stats": {"data": {"a": 1}}, "add_host": {"host_name": "x"},
              "add_group": "all", "hccn_packed": "eA==", "devices": [{"id": 0, "errors": []}], "_ansible_parsed": True}
    assert cleaned(answer, {}, "n1") == {"changed": True, "devices": [{"id": 0, "errors": []}], "_ansible_parsed": True}


def test_the_discovered_interpreter_is_kept():
    answer = {"changed": False, "ansible_facts": {"discovered_interpreter_python": "/tmp/evil"}}
    assert cleaned(answer, {"discovered_interpreter_python": "/usr/bin/python3"}, "n1") == {
        "changed": False, "ansible_facts": {"discovered_interpreter_python": "/usr/bin/python3"}}


def test_a_name_with_a_template_is_removed_and_reported():
    answer = {"product": EVIL, "devices": [{"id": 1, "lldp": {"system_name": EVIL}, "errors": []}, "odd"],
              "msg": EVIL, "previous": {"text": EVIL}, "warnings": ["w"]}
    assert cleaned(answer, {}, "n1") == {
        "product": None, "msg": EVIL, "previous": {"text": EVIL},
        "devices": [{"id": 1, "lldp": {"system_name": None}, "errors": [
            {"topic": "lldp", "code": "template_in_name", "hint": "rename it at its source, which is the switch for lldp",
             "message": "lldp.system_name contains {{, {%, {# or #jinja2:, which Ansible could run as code, so the value is not used"}]}, "odd"],
        "warnings": ["w", "n1: not used, since Ansible could run it as code: product, devices[0].lldp.system_name"]}


def test_an_ordinary_answer_is_not_changed():
    answer = {"changed": False, "devices": [{"id": 0, "lldp": {"system_name": "leaf-1"}, "errors": []}], "measurements": [{"id": "r/1", "samples": [1.5]}]}
    assert cleaned(answer, {}, "n1") == answer


def nested(levels):
    value = "inside"
    for level in range(levels):
        value = {"x": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize("levels", [300, 900, 5000])
def test_values_nested_too_deeply_are_removed_and_reported(levels):
    """Texts of tools are not exempt, since Ansible fails with any such value."""
    answer = {"devices": [{"id": 0, "odd": nested(levels)}], "previous": nested(levels), "msg": "text"}
    made = cleaned(answer, {}, "n1")
    assert (made["devices"][0]["id"], made["msg"], str(made).count("None"), "inside" in str(made)) == (0, "text", 2, False)
    (warning,) = made["warnings"]
    assert warning.startswith("n1: not used, since it is nested deeper than 40 levels: devices[0].odd.x[0].x[0]")
    assert len(warning) < 400


def test_allowed_levels_are_kept():
    answer = {"devices": nested(MOST_LEVELS - 1)}
    assert cleaned(answer, {}, "n1") == answer
