"""Jobs of AWX on simulated hosts, run by ansible-runner: complete jobs and two that are ended early."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import jobs, questions
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.integration.awx.job import Job, Outcome, Unsafe, clone, synchronised
from tests.integration.awx.surveys import survey
from tests.lib.hosts import node, set_state
from tests.lib.processes import processes
from tests.lib.project import ROOT
from tests.lab.testbed import kernel
from tests.contract.test_repository import JOBS, PARTS, awx_playbooks
from tests.lib.waiting import until

HOSTS = {"npu1": 71, "npu2": 72}
# Variables that the inventory sets separately for each host. The surveys do not ask for them.
PER_HOST = {"check_fabric_state_dir"}


class Controller:
    """An AWX controller with the project, its inventory and a mounted folder for the history."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.project = clone(place / "project")
        self.history = place / "mounted/history"
        self.inventory = synchronised(self.project, "inventories/demo/hosts")
        for host, number in HOSTS.items():
            self.inventory["_meta"]["hostvars"][host] |= {
                "demo_number": number, "remote_tower_enabled": "true", "remote_tower_id": number, "check_fabric_relative_floor": 0.2}
            switch = "10.78.0.1"
            node(place / "nodes" / host, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", "--switch-address", switch,
                 "--state", f"*.gateway={switch}", "--state", f"*.netdetect={switch}", "--state", "*.rate_mbit=200", devices=2)

    def job(self, number: int, playbook: str, **more: Any) -> Job:
        environment = {"HCCN_DEMO_FOLDER": str(self.place / "nodes"), "HCCN_RESULTS_PATH": str(self.history)}
        variables = {"hccn_hosts": "npu1,npu2", **more.pop("variables", {})}
        return Job(number, self.place / f"job{number}", f"playbooks/{playbook}.yml", self.inventory, environment=environment, variables=variables, **more)

    def run(self, job: Job, while_running: Callable[[], None] = lambda: None) -> Outcome:
        return job.run(self.project, while_running)

    def kept(self, number: int) -> reader.Run:
        """Read the history of a job, complete or not."""
        return reader.read(reader.find(self.history, f"awx-{number}"))

    def running(self) -> dict[int, str]:
        return processes(str(self.place))


@pytest.fixture(scope="module")
def awx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    made = Controller(tmp_path_factory.mktemp("awx"))
    yield made
    for pid in made.running():
        os.kill(pid, signal.SIGKILL)


def answers(role: str) -> dict[str, Any]:
    """Return the answers of a survey with all defaults."""
    asked = [question for question in survey(role)["spec"] if question["variable"] not in PER_HOST]
    # AWX returns the lines of a question with several choices as a list.
    given = {question["variable"]: question["default"].splitlines() if question["type"] == "multiselect" else question["default"] for question in asked}
    return {**questions.conversions({"spec": asked}),
            **{name: Unsafe(value) if isinstance(value, str) else value for name, value in given.items()}}


@pytest.fixture(scope="module")
def checked(awx: Controller) -> Outcome:
    return awx.run(awx.job(101, "check_fabric", variables=answers("check_fabric")))


def test_project_lists_the_playbooks_of_all_jobs(awx: Controller) -> None:
    nested = "collections/ansible_collections/hccn/cluster/playbooks"
    wanted = ["playbooks/awx.yml", "playbooks/demo.yml"] + [f"{folder}/{job}.yml" for folder in ("playbooks", nested) for job in JOBS]
    wanted += [f"{nested}/{part}.yml" for part in ["awx", *PARTS]]
    assert sorted(awx_playbooks(awx.project)) == sorted(wanted)


def test_ansible_runner_has_the_version_of_the_execution_environment() -> None:
    shipped = yaml.safe_load((ROOT / "execution-environment.yml").read_text())["dependencies"]["ansible_runner"]["package_pip"]
    assert shipped in (ROOT / "requirements-test.txt").read_text().splitlines()


def test_job_with_survey_defaults_succeeds(awx: Controller, checked: Outcome) -> None:
    assert (checked.status, checked.rc, checked.explanation) == ("successful", 0, ""), checked.output
    shown = [result["res"]["msg"] for result in checked.named("runner_on_ok") if result["task"] == "Show the verdicts of all hosts"]
    assert [[line.split(" with ")[0] for line in lines] for lines in shown] == [[f"{host}: good. 2 good pairs" for host in HOSTS]]
    assert checked.named("playbook_on_stats")[0]["failures"] == {}
    assert not awx.running()


def test_good_job_publishes_its_conclusion(awx: Controller, checked: Outcome) -> None:
    report = str(awx.history / "reports/awx-101.html")
    assert checked.artifacts["hccn_conclusion"] == {
        "result": "good", "fails": False, "message": "Result: good. 2 hosts: 2 good.", "counts": {"good": 2}, "hosts": {"good": ["npu1", "npu2"]},
        "findings": [], "report": report}
    assert f"Result: good. 2 hosts: 2 good.\nReport: {report}" in checked.output.replace("\r", "")


def test_job_that_finds_a_missing_link_fails(awx: Controller) -> None:
    set_state(awx.place / "nodes/npu2", "1.link=0")
    try:
        job = awx.run(awx.job(108, "bring_up"))
    finally:
        set_state(awx.place / "nodes/npu2", "1.link=1")
    assert (job.status, job.rc, job.explanation) == ("failed", 2, ""), job.output
    assert job.named("playbook_on_stats")[0]["failures"] == {"localhost": 1}
    published = job.artifacts["hccn_conclusion"]
    assert (published["result"], published["fails"], published["counts"]) == ("failed", True, {"failed": 1, "good": 1})
    assert published["hosts"] == {"failed": ["npu2"], "good": ["npu1"]}
    assert published["findings"] == [{
        "component": {"kind": "npu", "name": "npu2 NPU 1"}, "cause": "link_down", "severity": "failed", "message": "the link is down", "hosts": ["npu2"],
        "devices": [{"host": "npu2", "device": 1}], "next_step": "On npu2: hccn_tool -i 1 -optical -g", "stage": "bring_up",
        "evidence": [{"code": "versions", "message": "NPU 1 of npu2: driver 24.1.rc3, firmware 7.5.0.1.129",
                      "values": {"driver": "24.1.rc3", "firmware": "7.5.0.1.129"}, "place": {"host": "npu2", "device": 1}}]}]
    assert published["report"] == str(awx.history / "reports/awx-108.html")


@pytest.mark.long
def test_lists_of_a_survey_reach_the_role(awx: Controller) -> None:
    given = {**answers("check_fabric"), "survey_check_fabric_devices": Unsafe("1\n"), "check_fabric_plan": Unsafe("pairs"),
             "survey_check_fabric_pairs": Unsafe("- [npu2, npu1]")}
    job = awx.run(awx.job(109, "check_fabric", variables=given))
    assert (job.status, job.rc) == ("successful", 0), job.output
    pairs = [(record["source"], record["target"]) for record in awx.kept(109).records if record["kind"] == "rdma"]
    assert [(source["host"], source["device"], target["host"], target["device"]) for source, target in pairs] == [("npu2", 1, "npu1", 1)]


REQUIRED = {
    "survey_nic_switch_nics": "- {node: node-a, devices: [0, 8]}", "survey_hccn_clusterd": "server: 127.0.0.1:1", "nic_switch_job_id": "j",
    "nic_switch_direction": "failover", "survey_datadist_ready_clusters": "- {host: npu1, id: 1}", "switch_upgrade_leaf": "leaf1",
    "switch_upgrade_direction": "failover", "survey_switch_upgrade_topology": "- {leaf: leaf1, nodes: [node-a]}",
    "tls_state": "disabled"}
"""Answers of required questions without a default."""


def test_answers_of_every_survey_are_accepted(awx: Controller) -> None:
    """One job validates the arguments of all roles with the answers of their surveys, defaults included."""
    asking = [job["role"] for job in jobs.JOBS if "role" in job and "entry_point" not in job]
    given = {name: value for role in asking for name, value in answers(role).items()}
    missing = {question["variable"] for role in asking for question in survey(role)["spec"] if question["required"] and question["default"] == ""}
    assert missing - REQUIRED.keys() == set()
    roles = "playbook_dir ~ '/../collections/ansible_collections/hccn/cluster/roles/'"
    spec = f"{{{{ (lookup('ansible.builtin.file', {roles} ~ item ~ '/meta/argument_specs.yml') | from_yaml).argument_specs.main.options }}}}"
    task = {"name": "Validate the answers", "ansible.builtin.validate_argument_spec": {"argument_spec": spec}, "loop": asking}
    playbook = awx.project / "playbooks/answers.yml"
    playbook.write_text(yaml.safe_dump([{"name": "Validate", "hosts": "npu1", "gather_facts": False, "tasks": [task]}]))
    try:
        job = awx.run(awx.job(110, "answers", variables={**given, **{name: Unsafe(value) for name, value in REQUIRED.items()}}))
    finally:
        playbook.unlink()
    assert (job.status, job.rc) == ("successful", 0), job.output
    assert [event["res"]["ansible_loop_var"] for event in job.named("runner_item_on_ok")] == ["item"] * len(asking)


def test_events_are_smaller_than_the_limit_of_awx(checked: Outcome) -> None:
    results = [entry["res"] for entry in checked.named("runner_on_ok")]
    assert len(results) > 8
    assert max(len(json.dumps(result)) for result in results) < 700_000 // 10


def test_history_is_in_the_mounted_folder(awx: Controller, checked: Outcome) -> None:
    kept = awx.kept(101)
    assert kept.complete
    assert (kept.header["run_id"], kept.header["playbook"]) == ("awx-101", "check_fabric.yml")
    pairs = [(record["source"]["host"], record["target"]["host"], record["status"]) for record in kept.records if record["kind"] == "rdma"]
    assert sorted(pairs) == [("npu1", "npu2", "ok"), ("npu2", "npu1", "ok")]


def test_workflow_receives_the_classes_of_hosts(checked: Outcome) -> None:
    published = checked.artifacts["hccn_check_fabric"]
    assert published["hosts"] == {"good": ["npu1", "npu2"], "slow": [], "failed": [], "busy": [], "unreachable": [], "not_measured": []}
    assert (published["coverage"]["pairs"], published["coverage"]["pairs_good"]) == (2, 2)


def test_report_job_after_a_check_reports_that_check(awx: Controller, checked: Outcome) -> None:
    assert checked.artifacts["hccn_check_fabric_history"] == "awx-101"
    bound = {"report_after": "check_fabric", "report_fail_on": "failed"}
    made = awx.run(awx.job(105, "report", variables={**bound, "hccn_check_fabric_history": "awx-101"}))
    assert (made.status, made.artifacts["hccn_report"]["run_id"]) == ("successful", "awx-101"), made.output
    page = Path(made.artifacts["hccn_report"]["path"])
    assert page.parent == awx.history / "reports", "the page outlives the container"
    assert "npu1" in page.read_text()
    lost = awx.run(awx.job(106, "report", variables=bound))
    assert lost.status == "failed"
    assert "No page was written: the preceding job check_fabric did not publish the id of its run." in " ".join(lost.output.split())
    assert "hccn_report" not in lost.artifacts
    # Run awx-105 only made a report, like a check that recorded nothing.
    empty = awx.run(awx.job(107, "report", variables={**bound, "hccn_check_fabric_history": "awx-105"}))
    assert (empty.status, empty.artifacts["hccn_report"]["run_id"]) == ("failed", "awx-105")
    assert "check_fabric judged no host" in " ".join(empty.output.split())


@pytest.fixture(scope="module")
def idle(awx: Controller) -> Outcome:
    """A job that the idle timeout of AWX ends because a tool hangs on one host."""
    set_state(awx.place / "nodes/npu2", "1.hang=1")
    try:
        return awx.run(awx.job(102, "bring_up", settings={"idle_timeout": 15}))
    finally:
        set_state(awx.place / "nodes/npu2", "1.hang=")


@pytest.fixture(scope="module")
def killed(awx: Controller) -> Outcome:
    """A job whose ansible-playbook is killed while the hosts measure."""

    def kill() -> None:
        until(lambda: [words for words in awx.running().values() if "-roce_test ib_write_bw" in words])
        playbooks = [pid for pid, words in processes(str(awx.place / "job103")).items() if "bin/ansible-playbook " in words]
        os.kill(kernel.oldest_ancestor(playbooks), signal.SIGKILL)  # the others are its workers

    return awx.run(awx.job(103, "check_fabric", variables=answers("check_fabric")), kill)


def test_idle_job_is_ended(awx: Controller, idle: Outcome) -> None:
    assert (idle.status, idle.explanation, idle.rc) == ("failed", "Job terminated due to timeout", 254), idle.output
    assert idle.named("playbook_on_task_start")[-1]["task"] == "Probe the NPUs"
    assert idle.named("playbook_on_stats") == []


@pytest.mark.long
def test_job_whose_ansible_is_killed_fails(killed: Outcome) -> None:
    assert (killed.status, killed.explanation, killed.rc) == ("failed", "", None), killed.output
    assert killed.named("playbook_on_stats") == []


# The tool hangs before bring_up has read an NPU, so that run has no records.
@pytest.mark.parametrize(("job", "number", "kinds"), [("idle", 102, {}), ("killed", 103, {"device": 4, "plan": 1})])
def test_results_of_an_ended_job_are_kept(awx: Controller, job: str, number: int, kinds: dict[str, int], request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(job)
    kept = awx.kept(number)
    assert (kept.complete, kept.file.part, kept.end, kept.bad_lines, kept.unknown_lines) == (False, True, None, 0, 0)
    assert Counter(record["kind"] for record in kept.records) == kinds


def test_no_process_of_the_ended_jobs_is_left(awx: Controller, idle: Outcome, killed: Outcome) -> None:
    """A call that hangs is ended at its deadline of 30 s although no process waits for it."""
    until(lambda: not awx.running())
    assert [path for host in HOSTS for path in (awx.place / "nodes" / host / "state").glob("roce_test_*.json")] == []
