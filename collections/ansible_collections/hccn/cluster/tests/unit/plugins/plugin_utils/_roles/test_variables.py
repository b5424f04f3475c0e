"""Names and untemplated values of variables."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import specs, variables
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.job_problem import JobProblem

SPECS = specs.options()
KNOWN = specs.known(SPECS)


def unknown(hosts):
    return variables.unknown(hosts, KNOWN, specs.set_by_tasks)


def test_other_variables_are_ignored():
    raw = {"npu1": {"ansible_host": "192.0.2.1", "check_mode": 1, "bring_up_tls_state": "enabled", "npu_smi_wrapper": "x", 7: 8, "__bring_up_x": 1}}
    assert variables.written(["npu1"], raw.__getitem__) == {"npu1": {"bring_up_tls_state": "enabled"}}


def test_facts_of_hosts_are_ignored():
    raw = {"npu1": {"ansible_facts": {"bring_up_evil": 1}, "bring_up_evil": 1, "tls_state": "enabled"}}
    assert variables.written(["npu1"], raw.__getitem__) == {"npu1": {"tls_state": "enabled"}}


@pytest.mark.parametrize(("values", "strictest"), [
    ([], "slow"), (["failed"], "failed"), (["never", "failed"], "failed"), (["any", "slow"], "any"), (["{{ x }}"], "slow"), ([["any"]], "slow")])
def test_the_strictest_fail_on_of_the_hosts_applies(values, strictest):
    hosts = {f"npu{number}": {"hccn_fail_on": value} for number, value in enumerate(values)}
    assert variables.fail_on({**hosts, "other": {}}) == strictest


def test_a_misspelled_name_is_one_problem_of_all_its_hosts():
    hosts = {"npu1": {"bring_up_tls_sate": "enabled"}, "npu2": {"bring_up_tls_state": "enabled"}, "npu3": {"bring_up_tls_sate": "disabled"}}
    assert unknown(hosts) == [JobProblem(
        "unknown_variable", "bring_up_tls_sate is not a variable of the collection. Did you mean bring_up_tls_state?", ("npu1", "npu3"))]


def test_a_dissimilar_name_has_no_suggestion():
    assert unknown({"npu1": {"hccn_xyzzy": 1}})[0].message == "hccn_xyzzy is not a variable of the collection"


def test_a_hostile_name_is_shown_as_data():
    assert unknown({"npu1": {"tls_\x1b[31m\n": 1}})[0].message == "tls_?[31m? is not a variable of the collection"


@pytest.mark.parametrize("name", ["bring_up_probe", "check_fabric_verdict", "rank_table_rack", "retest_pairs", "hccn_hosts", "hccn_check_fabric",
                                  "hccn_report"])
def test_known_names_are_accepted(name):
    assert unknown({"npu1": {name: 1}}) == []


def test_the_tasks_are_read_only_for_unknown_names():
    assert variables.unknown({"npu1": {"tls_state": "enabled"}}, KNOWN, lambda: pytest.fail("the tasks were read")) == []


@pytest.mark.parametrize("name, value, sentence", [
    ("bring_up_tls_state", "off", "bring_up_tls_state is 'off', but must be one of unchanged, enabled, disabled"),
    ("bring_up_tls_state", False, "bring_up_tls_state is False, but must be one of unchanged, enabled, disabled"),
    ("check_fabric_duration_s", "ten", "check_fabric_duration_s is 'ten', but must be a whole number"),
    ("check_fabric_confirm", "maybe", "check_fabric_confirm is 'maybe', but must be true or false"),
    ("bring_up_network", [{"id": 0}, "x"], "bring_up_network is [{'id': 0}, 'x'], but must be a list, each element a dictionary"),
    ("bring_up_network", 5.5, "bring_up_network is 5.5, but must be a list, each element a dictionary"),
    ("hccn_fail_on", "slowly", "hccn_fail_on is 'slowly', but must be one of never, failed, slow, any"),
    ("bring_up_settings", [1], "bring_up_settings is [1], but must be a dictionary"),
    ("hccn_kubernetes", {"contxt": "lab", "namespace": "train"}, "hccn_kubernetes has unknown keys: contxt. Known keys are context, kubeconfig, namespace"),
    ("hccn_clusterd", {"tls": True}, "hccn_clusterd: missing required arguments: server found in hccn_clusterd"),
])
def test_a_wrong_value_is_reported(name, value, sentence):
    assert variables.wrong_value(name, value, SPECS[name]) == sentence


@pytest.mark.parametrize("name, value", [
    ("bring_up_tls_state", "enabled"), ("check_fabric_duration_s", "10"), ("bring_up_network", []), ("bring_up_backup", "yes"),
    ("bring_up_tls_state", "{{ 'off' }}"), ("check_fabric_duration_s", "{% if true %}ten{% endif %}"), ("bring_up_network", [{"id": "{{ x }}"}, "{{ y }}"]),
    ("check_fabric_duration_s", object()),
])
def test_valid_values_and_templates_are_accepted(name, value):
    assert variables.wrong_value(name, value, SPECS[name]) is None


def test_a_secret_is_not_shown():
    assert variables.wrong_value("x_token", [7], {"type": "int", "no_log": True}) == "x_token has a wrong value: it must be a whole number"


def test_a_long_value_is_truncated():
    found = variables.wrong_value("tls_state", "x" * 5000, SPECS["tls_state"])
    assert found == f"tls_state is '{'x' * 60}..., but must be one of enabled, disabled"


def test_a_value_that_hosts_share_is_checked_once(monkeypatch):
    calls = []
    monkeypatch.setattr(variables, "wrong_value", lambda name, *_more: calls.append(name) or "wrong")
    shared = [{"id": 0}]
    assert variables.invalid({f"npu{number}": {"bring_up_network": shared} for number in range(100)}, SPECS) == [
        JobProblem("invalid_variable", "wrong", tuple(f"npu{number}" for number in range(100)))]
    assert calls == ["bring_up_network"]
