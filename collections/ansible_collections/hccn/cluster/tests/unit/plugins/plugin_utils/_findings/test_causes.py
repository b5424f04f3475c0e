from __future__ import annotations

import re

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.causes import CAUSES, SEVERITIES, next_step


def test_next_steps_name_hosts_and_npus() -> None:
    assert next_step("link_down", ["npu3"], [5, 6]) == "On npu3: hccn_tool -i 5 -optical -g"
    assert next_step("address_not_set", ["npu1", "npu3"], []) == "ansible-playbook hccn.cluster.bring_up -e hccn_hosts=npu1,npu3"
    assert next_step("address_not_set", [f"n{number}" for number in range(17)], []) == "ansible-playbook hccn.cluster.bring_up -e hccn_hosts=HOSTS"
    assert next_step("link_down", [], []) == "On HOSTS: hccn_tool -i N -optical -g"
    assert next_step("link_down", ["{device}"], [3]) == "On {device}: hccn_tool -i 3 -optical -g"
    assert next_step("collective_skipped", ["n1"], []) == ""
    assert next_step("of_a_newer_release", ["n1"], []) == ""


def test_every_cause_has_a_severity_a_meaning_and_known_placeholders() -> None:
    for name, cause in CAUSES.items():
        assert re.fullmatch(r"[a-z_]{4,30}", name)
        assert cause.severity in SEVERITIES
        assert cause.meaning.endswith(".")
        assert set(re.findall(r"{\w*}", cause.next_step)) <= {"{host}", "{device}", "{devices}"}
        assert "--limit" not in cause.next_step


def test_severities_that_decide_the_exit_status() -> None:
    of = {severity: sorted(name for name, cause in CAUSES.items() if cause.severity == severity) for severity in SEVERITIES}
    assert of["slow"] == ["collective_slow", "regression", "slow_fabric", "slow_host", "slow_npu"]
    assert of["degraded"] == [
        "cable_swapped", "cabling_differs", "cann_differs", "conf_differs", "conf_problem", "driver_differs", "errors_growing", "firmware_differs",
        "gid_differs", "link_flaps", "mtu_differs", "optics_out_of_range", "qos_differs", "speed_differs"]
    assert of["unknown"] == ["answer_not_understood", "busy_host", "busy_npu", "not_measured"]
    assert of["note"] == ["changed_since", "collective_skipped", "no_report", "optics_dim"]
    assert len(of["failed"]) == 26
