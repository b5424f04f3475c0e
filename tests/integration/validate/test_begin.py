"""The first play of a job, as ansible-playbook runs it: what it lets through, what ends the job before a host is contacted, and what it says."""

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
    """A playbook that begins with begin.yml, and an inventory whose hosts nobody can reach."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.playbook: list[dict] = [{"name": "Begin", "import_playbook": str(COLLECTION / "playbooks/begin.yml")}, WORK]
        self.hosts: dict[str, dict] = {host: {"ansible_host": f"192.0.2.{number}"} for number, host in enumerate(HOSTS, start=1)}
        self.variables: dict[str, object] = {}

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status, and all that was printed as one line."""
        inventory, playbook = self._folder / "hosts", self._folder / "job.yml"
        inventory.write_text(yaml.safe_dump({"npu": {"hosts": self.hosts, "vars": self.variables}}))
        playbook.write_text(yaml.safe_dump(self.playbook, sort_keys=False))
        done = run_playbook(playbook, inventory, *arguments, cwd=self._folder, HOME=str(self._folder), COLUMNS="400", **environment)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_job_that_is_right_goes_on_and_is_warned_of_a_history_that_is_missing(job: Job) -> None:
    job.variables = {"bring_up_tls_state": "disabled", "bring_up_subnets": [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}], "validate_product": "A2",
                     "check_fabric_state_dir": "/var/lib/{{ inventory_hostname }}"}
    status, said = job.run()
    assert status == 0
    assert "the job went on" in said
    assert "There will be no history and no report: enable the callback hccn.cluster.results, with callbacks_enabled" in said


def test_with_the_callback_nothing_is_said(job: Job) -> None:
    status, said = job.run(ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")
    assert (status, "no history" in said, "WARNING" in said) == (0, False, False)


def test_a_job_that_needs_the_history_ends_without_it(job: Job) -> None:
    job.playbook[0]["vars"] = {"hccn_job_needs": ["netaddr", "history"]}
    status, said = job.run()
    assert (status, "the job went on" in said) == (2, False)
    assert "There will be no history and no report" in said
    assert job.run(ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results")[0] == 0


def test_a_wrong_group_ends_the_job(job: Job) -> None:
    status, said = job.run("-e", "hccn_hosts=npus")
    assert (status, "the job went on" in said) == (2, False)
    assert ("The pattern 'npus' matches no host of the inventory. Did you mean npu? The groups are npu (4 hosts). "
            "Give a group or hosts with -e hccn_hosts=NAME") in said


def test_all_that_is_wrong_is_said_at_once(job: Job) -> None:
    job.variables = {"bring_up_tls_sate": "enabled", "check_fabric_duration_s": "ten"}
    for number in (2, 3):
        job.hosts[f"npu{number}"]["bring_up_network"] = [{"id": 5, "address": "10.78.9.9", "netmask": "255.255.0.0"}]
    status, said = job.run("-e", "tls_state=on")
    assert (status, "the job went on" in said) == (2, False)
    for sentence in ("all 4 hosts: bring_up_tls_sate is not a variable of the collection. Did you mean bring_up_tls_state?",
                     "all 4 hosts: check_fabric_duration_s is 'ten', but must be a whole number",
                     "all 4 hosts: tls_state is 'on', but must be one of enabled, disabled",
                     "npu3 NPU 5: 10.78.9.9 is also the address of npu2 NPU 5"):
        assert sentence in said
    assert "192.0.2" not in said and "unreachable=1" not in said


def test_group_vars_are_checked(job: Job, tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/npu.yml").write_text("check_fabric_palns: quick\n")
    status, said = job.run()
    assert status == 2
    assert "all 4 hosts: check_fabric_palns is not a variable of the collection. Did you mean check_fabric_plan?" in said


def test_an_unknown_name_may_be_a_warning(job: Job) -> None:
    job.variables = {"tls_ca_of_mine": "/etc/ca.pem", "validate_unknown": "warning"}
    status, said = job.run()
    assert status == 0
    assert "all 4 hosts: tls_ca_of_mine is not a variable of the collection" in said


def test_what_roles_registered_before_is_known(job: Job) -> None:
    before = {"name": "Before", "hosts": "npu", "gather_facts": False, "connection": "local", "tasks": [
        {"name": "Set", "ansible.builtin.set_fact": {"bring_up_addresses": {}}},
        {"name": "Register", "ansible.builtin.debug": {"msg": "x"}, "register": "bring_up_look"}]}
    job.playbook = [before, *job.playbook]
    status, said = job.run()
    assert (status, "the job went on" in said) == (0, True)


def test_a_template_is_data_of_its_host_and_is_not_evaluated_for_nothing(job: Job) -> None:
    job.variables = {"bring_up_tls_state": "{{ lookup('ansible.builtin.fileglob', undefined_name) }}", "check_fabric_duration_s": "{{ 'ten' }}"}
    job.hosts["npu2"]["bring_up_network"] = "{{ later.addresses }}"
    status, said = job.run()
    assert (status, "the job went on" in said) == (0, True)
    assert "npu2: the declared addresses are not checked, since bring_up_network cannot be evaluated yet" in said


def test_the_hosts_are_returned_in_the_order_of_the_pattern(job: Job) -> None:
    job.playbook[1] = {**WORK, "hosts": "localhost", "tasks": [{"name": "Show", "ansible.builtin.debug": {
        "msg": "{{ hccn_validated.hosts | join(' ') }}; {{ hccn_validated.problems | length }} problems; {{ hccn_validated is changed }}"}}]}
    status, said = job.run("-e", "hccn_hosts=npu3:npu1")
    assert status == 0
    assert "npu3 npu1; 0 problems; False" in said


@pytest.mark.parametrize("inventory", ["demo", "example"])
def test_the_inventories_of_the_project_are_right(inventory: str) -> None:
    done = run_playbook(COLLECTION / "playbooks/begin.yml", ROOT / "inventories" / inventory / "hosts")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.smoke("validate")
def test_the_playbook_that_checks_an_inventory_without_its_hosts(tmp_path: Path) -> None:
    variables = {"bring_up_subnets": [{"cidr": "10.78.0.0/16", "gateway": "10.78.0.1"}], "validate_devices": 8, "bring_up_tls_state": "disabled"}
    done = run_playbook("hccn.cluster.validate", ROOT / "inventories/demo/hosts", "-e", json.dumps(variables), cwd=tmp_path,
                        ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), HCCN_RESULTS_PATH=str(tmp_path))
    assert (done.returncode, "Validated: 4 hosts and the variables of the job." in done.stdout) == (0, True), done.stdout + done.stderr
