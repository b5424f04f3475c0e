"""Check that a host cannot affect the controller or other hosts with keys that Ansible acts upon, names that are templates, or records of other hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.controller_options import NAMES
from tests.contract.security.hostile_host import ANSWERED, Hosts, device, device_info_answer
from tests.lib.project import COLLECTION

pytestmark = pytest.mark.slow

OF_HOSTS = {
    "bring_up_cann_home", "bring_up_config", "bring_up_network", "bring_up_numbers", "bring_up_settings", "bring_up_subnets",
    "check_collective_addresses", "check_collective_environment", "check_collective_hccl_test_dir", "check_collective_mpirun",
    "check_collective_nccl_tests_dir", "check_collective_sizes",
    "check_fabric_addresses", "check_fabric_advanced", "check_fabric_control_address", "check_fabric_devices", "check_fabric_labels", "check_fabric_leaf",
    "check_fabric_node", "check_fabric_node_selector",
    "check_fabric_pairs", "check_fabric_parts", "check_fabric_pod_python", "check_fabric_rack", "check_fabric_rdma_device", "check_fabric_resume",
    "check_fabric_size",
    "check_fabric_state_dir", "check_fabric_super_pod", "check_fabric_traffic_class",
    "check_reachability_devices",
    "compare_after", "compare_before",
    "container_mapping_cdi_dir", "container_mapping_container_path",
    "datadist_ready_calls", "datadist_ready_clusters", "datadist_ready_environment",
    "hccn_conf",
    "nic_switch_job_id", "nic_switch_nics", "nic_switch_node_names", "nic_switch_topology",
    "perf_tools_http_proxy", "perf_tools_https_proxy", "perf_tools_no_proxy", "perf_tools_packages",
    "rank_table_devices", "rank_table_group", "rank_table_groups", "rank_table_host_devices", "rank_table_hosts", "rank_table_levels", "rank_table_mode",
    "rank_table_owner", "rank_table_path",
    "report_run_id", "report_title",
    "switch_upgrade_leaf", "switch_upgrade_node_names", "switch_upgrade_topology"}
"""Options of free text that name nothing on the controller, but something on hosts, in the fabric or in a job."""

WITHOUT_HOSTS = {"awx", "conclude"}
"""Roles whose playbook runs on localhost alone, so that no host can send facts for their options."""

CONDITIONS = {"when", "that", "until", "failed_when", "changed_when"}


def options_of_free_text() -> set[str]:
    found = set()
    for path in COLLECTION.glob("roles/*/meta/argument_specs.yml"):
        if path.parts[-3] in WITHOUT_HOSTS:
            continue
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            found |= {name for name, option in entry.get("options", {}).items()
                      if option.get("type", "str") not in ("bool", "int", "float") and "choices" not in option}
    return found


def test_options_are_classified_as_controller_or_host() -> None:
    assert OF_HOSTS & NAMES == set()
    assert options_of_free_text() - NAMES == OF_HOSTS
    assert {play["hosts"] for role in WITHOUT_HOSTS for play in yaml.safe_load((COLLECTION / f"playbooks/{role}.yml").read_text())} == {"localhost"}


def names_in(content: Any, key: str = "") -> set[str]:
    """Return the variables in the expressions of a YAML file."""
    if isinstance(content, dict):
        return set().union(*(names_in(value, str(name)) for name, value in content.items()))
    if isinstance(content, list):
        return set().union(*(names_in(value, key) for value in content))
    if not isinstance(content, str):
        return set()
    text = f"{{{{ ({content}) }}}}" if key in CONDITIONS else content
    return {node.name for node in jinja2.Environment().parse(text).find_all(jinja2.nodes.Name)}


def test_no_role_reads_an_option_of_the_controller_without_the_lookup() -> None:
    patterns = ("roles/*/tasks/*.yml", "roles/*/vars/*.yml", "roles/*/defaults/*.yml", "playbooks/*.yml")
    files = [path for pattern in patterns for path in COLLECTION.glob(pattern)]
    assert len(files) > 50
    assert {str(path.relative_to(COLLECTION)): names & NAMES for path in files if (names := names_in(yaml.safe_load(path.read_text()))) & NAMES} == {}
    read = "".join(path.read_text() for path in files)
    assert [name for name in sorted(NAMES) if f"lookup('hccn.cluster.controller_option', '{name}'" not in read] == []


def facts_of_host(facts: dict[str, Any], **answers: Any) -> dict[str, Any]:
    """Return the answers of a host that adds facts to the result of every module."""
    return {"nothing": {**ANSWERED, "ansible_facts": facts}, **answers}


def role_on_each(name: str) -> list[dict[str, Any]]:
    """Return plays that run a role on one host after the other, and print with which message it failed."""
    shown = {"ansible.builtin.debug": {"msg": "{{ inventory_hostname }} failed: {{ ansible_failed_result.msg }}"}}
    include = {"ansible.builtin.include_role": {"name": f"hccn.cluster.{name}"}}
    return [{"hosts": "npu", "gather_facts": False, "serial": 1, "tasks": [{"block": [include], "rescue": [shown]}]}]


def test_host_cannot_choose_path_of_report(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("as it was")
    hosts = Hosts(tmp_path / "play", {"n1": facts_of_host({"report_path": str(foreign)}), "n2": {}}, report_path="{{ inventory_dir }}/page.html")
    code, output = hosts.play("report")
    assert code == 2
    assert "n1 sent report_path as facts (ansible_facts), which would override" in output
    assert foreign.read_text() == "as it was"


def test_host_cannot_choose_other_paths_of_report(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("as it was")
    options = {"n1": "report_prometheus_path", "n2": "report_history", "n3": "report_baseline", "n4": "inventory_dir"}
    hosts = Hosts(tmp_path / "play", {host: facts_of_host({option: str(foreign)}) for host, option in options.items()},
                  report_path="{{ inventory_dir }}/page.html")
    _code, output = hosts.play(role_on_each("report"))
    for host in ("n1", "n2", "n3"):
        assert f"{host} sent {options[host]} as facts (ansible_facts), which would override" in output
    assert "report_path of n4 cannot be used: " in output
    assert [f"{host} failed: " in output for host in options] == [True] * 4
    assert foreign.read_text() == "as it was"


def test_host_cannot_choose_command_of_controller(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    hosts = Hosts(tmp_path / "play", {"n1": facts_of_host({"site_tool": "touch"}), "n2": {}}, quarantine_enabled=True, site_tool="true",
                  quarantine_command=["{{ site_tool }}", str(foreign)])
    code, output = hosts.play("quarantine", "-e", "quarantine_host=n1")
    assert code == 2
    assert "quarantine_command of n1 cannot be used: " in output
    assert not foreign.exists()


def test_host_cannot_choose_command_with_any_fact(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"quarantine_enabled": True}, "{host} sent quarantine_enabled as facts"),
        ({"quarantine_command": ["touch", str(foreign)]}, "{host} sent quarantine_command as facts"),
        ({"site_tool": "touch"}, "quarantine_command of {host} cannot be used: "),
        ({"site_tool": "touch", "ansible_site_tool": "x"}, "quarantine_command of {host} cannot be used: ")]
    facts = {f"n{number}": sent for number, (sent, _expected) in enumerate(cases * 2, 1)}
    hosts = Hosts(tmp_path / "play", {host: facts_of_host(sent) for host, sent in facts.items()}, site_tool="true",
                  quarantine_command=["{{ site_tool }}", str(foreign)])
    (tmp_path / "play/site/host_vars").mkdir()
    for number, host in enumerate(facts):
        (tmp_path / f"play/site/host_vars/{host}.yml").write_text(json.dumps({"quarantine_enabled": number >= len(cases)}))
    _code, output = hosts.play(role_on_each("quarantine"))
    for host, (_sent, expected) in zip(facts, cases * 2, strict=True):
        message = output.partition(f"{host} failed: ")[2][:500]
        assert expected.format(host=host) in message, (host, message)
    assert not foreign.exists()


def test_command_of_inventory_runs(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path / "play", {"n1": facts_of_host({"hostname": "evil", "discovered": 1}), "n2": {}}, quarantine_enabled=True, site_tool="touch",
                  quarantine_command=["{{ site_tool }}", f"{tmp_path}/{{{{ inventory_hostname }}}}"])
    code, output = hosts.play("quarantine", "-e", "quarantine_host=n1")
    assert code == 0, output
    assert (tmp_path / "n1").exists()


def test_host_cannot_choose_path_of_host_variables(tmp_path: Path) -> None:
    npus = {host: device_info_answer(device(0, f"10.0.0.{number}", gateway=None, netdetect=None, tls={"enabled": False}))
            for number, host in enumerate(("n1", "n2", "n3"), 1)}
    conf = {**ANSWERED, "settings": [], "problems": []}
    answers = {host: {"device_info-address-gateway-netdetect-tls": answer, "hccn_conf": conf} for host, answer in npus.items()}
    foreign = str(tmp_path / "foreign")
    hosts = Hosts(tmp_path / "play", {"n1": facts_of_host({"adopt_inventory": foreign}, **answers["n1"]), "n2": answers["n2"],
                                      "n3": facts_of_host({"inventory_dir": foreign}, **answers["n3"])})
    code, output = hosts.play("adopt")
    assert code == 2
    assert "n1 sent adopt_inventory as facts" in output
    assert "n3 sent inventory_dir as facts" in output
    assert not (tmp_path / "foreign").exists()
    assert [path.name for path in (tmp_path / "play/site/host_vars").iterdir()] == ["n2.yml"]


def test_module_results_contain_no_ansible_keys(tmp_path: Path) -> None:
    sent = {"ansible_facts": {"report_path": "/x"}, "ansible_stats": {"data": {"forged": "artifact"}, "per_host": False, "aggregate": False},
            "add_host": {"host_name": "forged", "groups": []}}
    hosts = Hosts(tmp_path / "play", {"n1": {"device_info": device_info_answer(device(0, "10.0.0.1"), **sent)}})
    play = [{"hosts": "npu", "gather_facts": False, "tasks": [
        {"hccn.cluster.device_info": {}, "register": "npus"},
        {"ansible.builtin.debug": {"msg": "facts {{ ansible_facts.keys() | list }}, {{ report_path | default('no path') }}, {{ groups['all'] | join(' ') }}, "
                                          "{{ npus.keys() | list | sort | join(' ') }}"}}]}]
    code, output = hosts.play(play, ANSIBLE_SHOW_CUSTOM_STATS="true")
    assert code == 0, output
    assert "facts [], no path, n1, changed devices dialect failed measurements product side_effects" in output
    assert "artifact" not in output and "CUSTOM STATS" not in output


def test_defaults_check_mode_and_diff_reach_modules(tmp_path: Path) -> None:
    """The defaults of the action group, check mode, diff and no_log work as without an action plugin."""
    conf = tmp_path / "hccn.conf"
    conf.write_text("address_0=10.0.0.1\n")
    hosts = Hosts(tmp_path / "play", {"n1": {}})
    play = [{"hosts": "npu", "gather_facts": False, "vars": {"ansible_connection": "local"},
             "module_defaults": {"group/hccn.cluster.devices": {"hccn_conf": str(conf), "hccn_tool": "/none/hccn_tool", "npu_smi": "/none/npu-smi"}},
             "tasks": [{"hccn.cluster.hccn_conf": {"fail_on": "none", "config": [{"id": 0, "settings": {"netmask": "255.255.0.0"}}]}, "check_mode": True,
                        "diff": True, "register": "found", "timeout": 60},
                       {"ansible.builtin.debug": {"msg": "{{ found }}"}},
                       {"hccn.cluster.device_info": {"fail_on": "none"}, "no_log": True, "ignore_errors": True}]}]
    code, output = hosts.play(play)
    assert code == 0, output
    assert "+netmask_0=255.255.0.0" in output
    assert "the output has been hidden" in output
    assert conf.read_text() == "address_0=10.0.0.1\n"


EVIL = "{{ lookup('ansible.builtin.pipe', 'touch %s') }}"


def test_switch_name_is_not_evaluated(tmp_path: Path) -> None:
    evil = EVIL % (tmp_path / "owned")
    neighbour = {"system_name": evil, "chassis": None, "port": "1/1"}
    hosts = Hosts(tmp_path / "play", {
        f"n{number}": {"device_info-address-counters-link-link_changes-lldp-optical-processes-speed": device_info_answer(device(0, f"10.0.{number}.1", lldp=(
            neighbour if number == 1 else {**neighbour, "system_name": f"leaf-{number % 2}"})))} for number in (1, 2, 3, 4)},
        check_fabric_plan="leaves", check_fabric_plan_only=True)
    code, output = hosts.play("check_fabric")
    assert "n1: not used, since Ansible could run it as code: devices[0].lldp.system_name" in output
    assert "pipe" not in output
    assert not (tmp_path / "owned").exists()


def test_plugin_results_are_not_evaluated(tmp_path: Path) -> None:
    """Check results that pass through set_fact, hostvars and debug, on every supported ansible-core."""
    evil = EVIL % (tmp_path / "owned")
    record = {"kind": "rdma", "id": "r/1/forward/0", "status": "failed", "source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 0},
              "error": {"code": "x", "message": evil}, "context": {}}
    hosts = Hosts(tmp_path / "play", {"n1": {"device_info": {**device_info_answer(), "msg": evil}}})
    (tmp_path / "records.json").write_text(json.dumps([record]))
    (tmp_path / "output.json").write_text(json.dumps({"message": evil}))
    read = "lookup('ansible.builtin.file', '%s') | from_json"
    play = [{"hosts": "npu", "gather_facts": False, "tasks": [
        {"hccn.cluster.fabric_verdict": {"nodes": {"n1": {"measurements": f"{{{{ {read % (tmp_path / 'records.json')} }}}}"}, "n2": {"measurements": []}},
                                         "hosts": ["n1", "n2"], "fail_on": "never"}, "register": "judged"},
        {"hccn.cluster.device_info": {}, "register": "npus"},
        {"ansible.builtin.set_fact": {"answer": "{{ npus.msg }}",
                                      "first": f"{{{{ {read % (tmp_path / 'records.json')} | hccn.cluster.diagnose }}}}",
                                      "second": f"{{{{ ({read % (tmp_path / 'output.json')}).message | hccn.cluster.printable }}}}",
                                      "third": "{{ judged.verdicts }}"}},
        {"ansible.builtin.set_fact": {"again": "{{ hostvars['n1'].first }}", "more": "{{ hostvars['n1'].second }}", "last": "{{ third }}",
                                      "answered": "{{ hostvars['n1'].answer }}"}},
        {"ansible.builtin.debug": {"msg": "{{ [again, more, last, answered] }}"}}]}]
    code, output = hosts.play(play)
    assert code == 0, output
    assert output.split("TASK [ansible.builtin.debug]" if "TASK [ansible.builtin.debug]" in output else "TASK [debug]")[-1].count("touch") >= 4
    assert not (tmp_path / "owned").exists()


def rdma(source: str, target: str, rate: float = 190.0, name: str = "", **more: Any) -> dict[str, Any]:
    """Return a record of one pair, as a host returns it."""
    return {"schema": "hccn.cluster/measurement/1", "id": f"r/{name or source + '-' + target}/forward/0", "kind": "rdma", "status": "ok", "operation": "write",
            "measure": "bandwidth", "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0}, "context": {},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": rate}], **more}


def verdict(host: str) -> dict[str, Any]:
    """Return a forged verdict."""
    return {"schema": "hccn.cluster/measurement/1", "id": f"r/verdict/{host}", "kind": "verdict", "status": "failed", "source": {"host": host},
            "samples": [{"class": "failed", "message": "forged", "evidence": [f"{host} NPU 0 to n3 NPU 0: forged"]}]}


def test_host_cannot_affect_verdicts_of_others(tmp_path: Path) -> None:
    """n1 sends records and verdicts of other hosts through check_fabric, and reuses the id of a genuine record."""
    names = ["n1", "n2", "n3", "n4"]
    broken = {"status": "failed", "samples": [], "error": {"code": "link_down", "message": "forged"}}
    honest = {name: [rdma(name, other) for other in names if other != name] for name in names}
    forged = [rdma("n2", other, name=f"x{other}", **broken) for other in ("n1", "n3", "n4")] + [rdma("n1", "n2", name="n3-n4")]
    forged += [verdict("n2"), verdict("all"), {"schema": "hccn.cluster/measurement/1", "kind": "plan", "id": "r/plan"}]
    answers: dict[str, Any] = {}
    for number, name in enumerate(names, 1):
        started = {**ANSWERED, "run_id": "r", "state": "running", "progress": {}, "measurements": []}
        done = {**ANSWERED, "run_id": "r", "state": "finished", "alive": False, "progress": {}, "fabric": None,
                "measurements": honest[name] + (forged if name == "n1" else [])}
        answers[name] = {"device_info-address-counters-link-link_changes-lldp-optical-processes-speed": device_info_answer(device(0, f"10.0.{number}.1")),
                         "rdma_perf": started, "rdma_perf_info": done}
    hosts = Hosts(tmp_path / "play", answers, check_fabric_confirm=False, check_fabric_plan="pairs",
                  check_fabric_pairs=[[one, other] for one in names for other in names if one != other])
    (tmp_path / "play/ansible.cfg").write_text("[defaults]\n")
    code, output = hosts.play("check_fabric", ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HCCN_RESULTS_PATH=str(tmp_path / "history"))
    assert code == 0, output
    assert [f"{name}: good" in output for name in names] == [True] * 4
    assert "n1 returned 6 records in the name of all, n2, the controller" in output or "n1 returned 6 records in the name of n2, the controller" in output
    (path,) = (tmp_path / "history").rglob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["source"]["host"] for line in lines if line.get("kind") == "verdict") == names
    assert {line["samples"][0]["class"] for line in lines if line.get("kind") == "verdict"} == {"good"}
    assert [line["id"] for line in lines if line.get("kind") == "plan" and line["id"] == "r/plan"] == []
    assert "forged" not in path.read_text()
