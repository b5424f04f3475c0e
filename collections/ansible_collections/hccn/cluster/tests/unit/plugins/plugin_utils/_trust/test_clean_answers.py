from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.clean_answers import cleaned

EVIL = "{{ lookup('pipe', 'id') }}"


def test_keys_that_ansible_acts_upon_are_removed():
    answer = {"changed": True, "ansible_facts": {"report_path": "/etc/x"}, "ansible_stats": {"data": {"a": 1}}, "add_host": {"host_name": "x"},
              "add_group": "all", "devices": [{"id": 0, "errors": []}], "_ansible_parsed": True}
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
             "message": "lldp.system_name contains {{, {% or {#, which Ansible could run as code, so the value is not used"}]}, "odd"],
        "warnings": ["w", "n1: not used, since Ansible could run it as code: product, devices[0].lldp.system_name"]}


def test_an_ordinary_answer_is_not_changed():
    answer = {"changed": False, "devices": [{"id": 0, "lldp": {"system_name": "leaf-1"}, "errors": []}], "measurements": [{"id": "r/1", "samples": [1.5]}]}
    assert cleaned(answer, {}, "n1") == answer
