from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.module_utils._device.device_errors import refuse_templates


def test_names_with_templates_are_removed():
    earlier = {"topic": "link", "code": "timeout", "message": "{{ printed by the tool }}"}
    device = {"id": 3, "address": "10.0.0.1", "lldp": {"system_name": "{{ lookup('pipe', 'id') }}", "port": "1/1"},
              "processes": [{"pid": "1", "name": "{% x %}"}],
              "errors": [earlier]}
    hint = "rename it at its source, which is the switch for lldp"
    assert refuse_templates(device) == {
        "id": 3, "address": "10.0.0.1", "lldp": {"system_name": None, "port": "1/1"},
        "processes": [{"pid": "1", "name": None}],
        "errors": [
            earlier,
            {"topic": "lldp", "code": "template_in_name", "hint": hint,
             "message": "lldp.system_name contains {{, {%, {# or #jinja2:, which Ansible could run as code, so the value is not used"},
            {"topic": "processes", "code": "template_in_name", "hint": hint,
             "message": "processes[0].name contains {{, {%, {# or #jinja2:, which Ansible could run as code, so the value is not used"}]}


def test_other_names_are_kept():
    device = {"id": 3, "lldp": {"system_name": "leaf-1"}, "errors": []}
    assert refuse_templates(device) == device
