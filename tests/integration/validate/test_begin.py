"""The first play of a job (begin.yml): which jobs go on, which end before a host is contacted, and with which messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.lib.playbook import run_playbook
from tests.lib.project import COLLECTION, ROOT

HOSTS = {"npu1": {}, "npu2": {}, "npu3": {}, "npu4": {}}
WORK = {"name": "Work on the hosts", "hosts": "npu", "gather_facts": False, "connection": "local",
        "tasks": [{"name": "Work", "ansible.builtin.debug": {"msg": "the job went on"}}]}


class Job:
    """A playbook that begins with begin.yml, and an inventory of unreachable hosts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.playbook: list[dict] = [{"name": "Begin", "import_playbook": str(COLLECTION / "playbooks/begin.yml")}, WORK]
        self.hosts: dict[str, dict] = {host: {"ansible_host": f"192.0.2.{number}"} for number, host in enumerate(HOSTS, start=1)}
        self.variables: dict[str, object] = {}

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Return the exit status and the output as one line."""
        inventory, playbook = self._folder / "hosts", self._folder / "job.yml"
        inventory.write_text(yaml.safe_dump({"npu": {"hosts": self.hosts, "vars": self.variables}}))
        playbook.write_text(yaml.safe_dump(self.playbook, sort_keys=False))
        done = run_playbook(playbook, inventory, *arguments, cwd=self._folder, HOME=str(self._folder), COLUMNS="400", **environment)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of a valid job without the callback: registered results of roles, templates, one unknown variable as a warning, and hosts by name."""
    job = Job(tmp_path_factory.mktemp("valid"))
    before = {"name": "Before", "hosts": "npu", "gather_facts": False, "connection": "local", "tasks": [
        {"name": "Set", "ansible.builtin.set_fact": {"bring_up_addresses": {}}},
        {"name": "Register", "ansible.builtin.debug": {"msg": "x"}, "register": "bring_up_probe"}]}
    after = {**WORK, "hosts": "localhost", "tasks": [{"name": "Show", "ansible.builtin.debug": {
        "msg": "{{ hccn_validated.hosts | join(' ') }}; {{ hccn_validated.problems | length }} problems; {{ hccn_validated is changed }}"}}]}
    job.playbook = [before, *job.playbook, after]
    job.variables = {"bring_up_subnets": [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}], "validate_product": "A2",
                     "check_fabric_state_dir": "/var/lib/{{ inventory_hostname }}",
                     "bring_up_tls_state": "{{ lookup('ansible.builtin.fileglob', undefined_name) }}", "check_fabric_duration_s": "{{ 'ten' }}",
                     "tls_ca_of_mine": "/etc/ca.pem", "validate_unknown": "warning"}
    job.hosts["npu2"]["bring_up_network"] = "{{ later.addresses }}"
    status, output = job.run("-e", "hccn_hosts=npu3:npu1:npu4:npu2")
    assert status == 0, output
    assert "the job went on" in output
    return output


def test_missing_callback_is_a_warning(valid: str) -> None:
    assert "There will be no history and no report: enable the callback hccn.cluster.results, with callbacks_enabled" in valid


def test_unknown_variable_can_be_a_warning(valid: str) -> None:
    assert "all 4 hosts: tls_ca_of_mine is not a variable of the collection" in valid


def test_registered_results_of_roles_are_known(valid: str) -> None:
    assert [name for name in ("bring_up_addresses", "bring_up_probe") if f"{name} is not a variable" in valid] == []


def test_templates_are_not_evaluated_during_validation(valid: str) -> None:
    assert "npu2: the declared addresses are not checked, since bring_up_network cannot be evaluated yet" in valid
    assert [name for name in ("bring_up_tls_state", "check_fabric_duration_s") if f"{name} is " in valid] == []


def test_hosts_are_returned_in_the_order_of_the_pattern(valid: str) -> None:
    assert "npu3 npu1 npu4 npu2; 0 problems; False" in valid


def test_valid_job_with_the_callback_prints_no_warning(job: Job) -> None:
    job.playbook[0]["vars"] = {"hccn_job_needs": ["netaddr", "history"]}
    job.variables = {"bring_up_tls_state": "disabled", "bring_up_subnets": [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}], "validate_product": "A2"}
    status, output = job.run(ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")
    assert (status, "the job went on" in output, "no history" in output, "WARNING" in output) == (0, True, False, False)


def test_job_that_needs_the_history_ends_without_the_callback(job: Job) -> None:
    job.playbook[0]["vars"] = {"hccn_job_needs": ["netaddr", "history"]}
    status, output = job.run()
    assert (status, "the job went on" in output) == (2, False)
    assert "There will be no history and no report" in output


def test_unknown_group_ends_the_job(job: Job) -> None:
    status, output = job.run("-e", "hccn_hosts=npus")
    assert (status, "the job went on" in output) == (2, False)
    assert ("The pattern 'npus' matches no host of the inventory. Did you mean npu? The groups are npu (4 hosts). "
            "Give a group or hosts with -e hccn_hosts=NAME") in output


def test_all_problems_are_reported_at_once(job: Job, tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/npu.yml").write_text("check_fabric_palns: quick\n")
    job.variables = {"bring_up_tls_sate": "enabled", "check_fabric_duration_s": "ten"}
    for number in (2, 3):
        job.hosts[f"npu{number}"]["bring_up_network"] = [{"id": 5, "address": "10.78.9.9", "netmask": "255.255.0.0"}]
    status, output = job.run("-e", "tls_state=on")
    assert (status, "the job went on" in output) == (2, False)
    for sentence in ("all 4 hosts: bring_up_tls_sate is not a variable of the collection. Did you mean bring_up_tls_state?",
                     "all 4 hosts: check_fabric_palns is not a variable of the collection. Did you mean check_fabric_plan?",
                     "all 4 hosts: check_fabric_duration_s is 'ten', but must be a whole number",
                     "all 4 hosts: tls_state is 'on', but must be one of enabled, disabled",
                     "npu3 NPU 5: 10.78.9.9 is also the address of npu2 NPU 5"):
        assert sentence in output
    assert "192.0.2" not in output and "unreachable=1" not in output


def test_example_inventory_is_valid(tmp_path: Path) -> None:
    done = run_playbook("hccn.cluster.validate", ROOT / "inventories/example/hosts", cwd=tmp_path, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"),
                        HCCN_RESULTS_PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Inventory: 6 hosts, 64 NPUs, 64 addresses; rank table: 6 servers, 64 ranks" in done.stdout.splitlines()


def test_table_that_cannot_be_assembled_is_a_failure_of_the_run(tmp_path: Path) -> None:
    """No host is blamed for a task that runs once, and none is called good."""
    done = run_playbook("hccn.cluster.validate", ROOT / "inventories/example/hosts", "-e", '{"bring_up_subnets": [], "hccn_hosts": "a2"}', cwd=tmp_path,
                        ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), HCCN_RESULTS_PATH=str(tmp_path))
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    first = lines.index("Result: failed.")
    assert lines[first + 1].startswith("failed run: hccn.cluster.validate : Assemble and check the rank table: 4 of 4 hosts cannot be in the rank table: "
                                       "a2-01, a2-02, a2-03 (device 0 has no address, ")
    assert lines[first + 2].startswith("Report: ")


@pytest.mark.smoke("validate")
def test_validate_playbook_checks_the_demo_inventory(tmp_path: Path) -> None:
    variables = {"bring_up_subnets": [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}], "validate_devices": 8, "bring_up_tls_state": "disabled"}
    done = run_playbook("hccn.cluster.validate", ROOT / "inventories/demo/hosts", "-e", json.dumps(variables), cwd=tmp_path,
                        ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), HCCN_RESULTS_PATH=str(tmp_path))
    assert (done.returncode, "Validated: 4 hosts and the variables of the job." in done.stdout) == (0, True), done.stdout + done.stderr


IMPORTS = """import os, sys
def record(event, arguments):
    if event == "import" and ".cluster.plugins." in arguments[0]:
        with open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.imports"), "a") as stream:
            stream.write(arguments[0] + "\\n")
sys.addaudithook(record)
"""


def test_tasks_on_hosts_import_nothing_that_the_controller_could_share(job: Job, tmp_path: Path) -> None:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook/sitecustomize.py").write_text(IMPORTS)
    del job.hosts["npu3"], job.hosts["npu4"]
    job.playbook.append({**WORK, "tasks": [
        {"name": "Use a filter", "ansible.builtin.debug": {"msg": "{{ 'one line' | hccn.cluster.printable }}"}},
        {"name": "Call a module", "hccn.cluster.device_info": {"hccn_tool": "/nowhere/hccn_tool"}, "ignore_errors": True}]})
    status, output = job.run(PYTHONPATH=str(tmp_path / "hook"))
    assert status == 0, output
    assert "one line" in output and "TASK [Call a module]" in output
    found = {path.name: [name for name in path.read_text().splitlines() if ".plugin_utils." in name or ".filter." in name or ".action.bounded" in name]
             for path in (tmp_path / "hook").glob("*.imports")}
    assert len([name for name, imports in found.items() if imports]) == 1, found
