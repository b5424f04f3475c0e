from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.stages import (
    of_collective,
    of_failed_task,
    of_rank_table,
    of_unreachable,
    of_validation,
)


def summaries(found: list) -> list:
    return [f"{one.cause} {one.severity} {one.component.kind} {one.component.name}: {one.message}" for one in found]


def test_an_unreachable_host_is_a_finding() -> None:
    assert line(of_unreachable("n1", "bring_up", "Failed to connect\nvia ssh.")) == (
        "failed n1: Ansible did not reach it: Failed to connect via ssh -> ansible n1 -m ansible.builtin.ping -vvv")
    assert of_unreachable("n1", "bring_up", "Task failed: no route\r\nto host").message == "Ansible did not reach it: no route to host"
    assert of_unreachable("n1", "bring_up").message == "Ansible did not reach it: no reason given"


@pytest.mark.parametrize("msg", [
    'Data could not be sent to remote host "10.1.1.1". Make sure this host can be reached over ssh: ssh: connect to host 10.1.1.1 port 22: '
    "Connection refused\n",
    "Task failed: Data could not be sent to remote host '10.1.1.1'. Make sure this host can be reached over SSH: ssh: connect to host 10.1.1.1 port 22: "
    "Connection refused",
    "Failed to connect to the host via ssh: ssh: connect to host 10.1.1.1 port 22: Connection refused",
    "Task failed: Failed to connect to the host via ssh: ssh: connect to host 10.1.1.1 port 22: Connection refused",
])
def test_same_failure_of_ssh_has_one_message(msg: str) -> None:
    """Ansible words it by the moment at which ssh ended, so hosts that fail alike would otherwise not share a line."""
    assert of_unreachable("n1", "bring_up", msg).message == "Ansible did not reach it: ssh: connect to host 10.1.1.1 port 22: Connection refused"


def test_prefix_without_a_message_of_ssh_is_kept() -> None:
    assert of_unreachable("n1", "bring_up", "Failed to connect to the host via ssh: ").message == (
        "Ansible did not reach it: Failed to connect to the host via ssh:")
    assert of_unreachable("n1", "bring_up", 'Data could not be sent to remote host "n1". Make sure this host can be reached over ssh: ').message == (
        'Ansible did not reach it: Data could not be sent to remote host "n1". Make sure this host can be reached over ssh:')


def test_a_failed_task_is_a_finding() -> None:
    failure = {"stage": "bring_up", "task": "Set addresses", "msg": "no space left"}
    assert summaries([of_failed_task("n1", failure)]) == ["failed_task failed host n1: Set addresses: no space left"]
    assert summaries([of_failed_task("n1", {**failure, "last_line": "OSError: [Errno 28]"})]) == [
        "failed_task failed host n1: Set addresses: no space left: OSError: [Errno 28]"]
    assert summaries([of_failed_task("n1", {**failure, "whole_run": True})]) == ["failed_task failed run run: Set addresses: no space left"]
    assert summaries([of_failed_task(None, {})]) == ["failed_task failed run run: A task: no reason given"]
    [found] = [of_failed_task("n1", {**failure, "code": "tool_missing"})]
    assert (summaries([found]), found.evidence, found.stage) == (["tool_missing failed host n1: no space left"], ("Task Set addresses",), "bring_up")
    assert of_failed_task("n1", {**failure, "code": "of_a_newer_release"}).cause == "failed_task"


def test_problems_of_the_validation_are_findings() -> None:
    found = of_validation([
        {"cause": "unknown_variable", "message": "bring_up_tls_sate is no variable of the collection", "hosts": [], "host_count": 0},
        {"cause": "pool_too_small", "message": "10.0.0.0/30 has 2 addresses", "hosts": ["n1", "n2"]},
        {"cause": "address_conflict", "message": "10.0.0.1 is also the address of n1 NPU 0", "hosts": ["n2"], "devices": [{"host": "n2", "device": 3}, 7]},
        {}, None])
    assert summaries(found) == ["unknown_variable failed run run: bring_up_tls_sate is no variable of the collection",
                                "invalid_variable failed host n1, n2: 10.0.0.0/30 has 2 addresses",
                                "address_conflict failed npu n2 NPU 3: 10.0.0.1 is also the address of n1 NPU 0"]
    assert [one.next_step for one in found] == [
        "ansible-playbook hccn.cluster.validate", "ansible-playbook hccn.cluster.validate",
        "Correct the addresses or subnets in the inventory, then run: ansible-playbook hccn.cluster.validate"]
    assert of_validation("odd") == []


def test_problems_of_a_rank_table_name_hosts_and_npus() -> None:
    problems = [
        {"rule": "device_ip_unique", "severity": "error", "host": "npu3", "device": 2, "where": "server_list[2].device[2].device_ip", "error_code": "EI0014",
         "message": "the address 10.0.0.1 is also used by npu1 NPU 0"},
        {"rule": "node", "severity": "error", "host": "npu2", "device": 0, "message": "no address: set one"},
        {"rule": "node", "severity": "error", "host": "npu2", "device": 1, "message": "no address: set one"},
        {"rule": "reader_access", "severity": "warning", "host": "npu2", "message": "uid 1000 may not read it", "hint": "give the file to that user"},
        {"rule": "device_ip_unique", "severity": "error", "message": "7 more problems of the rule device_ip_unique"}]
    found = of_rank_table({"failed": True, "msg": "the rank table is not written", "problems": problems})
    assert summaries(found) == ["address_conflict failed npu npu3 NPU 2: the address 10.0.0.1 is also used by npu1 NPU 0",
                                "rank_table_problem failed npu npu2 NPUs 0-1: no address: set one",
                                "rank_table_problem note host npu2: uid 1000 may not read it",
                                "rank_table_problem failed cluster cluster: 7 more problems of the rule device_ip_unique"]
    assert found[0].evidence == ("server_list[2].device[2].device_ip rule device_ip_unique EI0014",)


def test_a_failed_rank_table_without_problems_is_a_finding() -> None:
    assert summaries(of_rank_table({"failed": True, "msg": "hosts names no results", "problems": []})) == [
        "rank_table_problem failed cluster cluster: hosts names no results"]
    assert summaries(of_rank_table({"failed": True, "msg": "no such group", "problems": [{"severity": "warning", "message": "w"}]})) == [
        "rank_table_problem note cluster cluster: w", "rank_table_problem failed cluster cluster: no such group"]
    assert of_rank_table({"changed": True, "problems": []}) == []


SAMPLE = {"component": {"kind": "host", "name": "node5"}, "cause": "collective_slow", "severity": "slow", "hosts": ["node5"], "stage": "check_collective",
          "message": "groups with it are slow, other groups are good", "evidence": ["slow over node1, node5: 61.2 GB/s"]}


def test_a_slow_collective_is_a_finding() -> None:
    records = [{"kind": "collective", "status": "ok", "hosts": ["node1", "node5"]}, {"kind": "finding", "status": "failed", "samples": [SAMPLE]}]
    found = of_collective({"measurements": records, "slow": True, "findings": [{"kind": "group"}]})
    assert [line(one) for one in found] == ["slow node5: groups with it are slow, other groups are good -> "
                                            "ansible-playbook hccn.cluster.check_fabric"]
    assert found == [Finding.of_sample(SAMPLE)]
    assert summaries(of_collective({"measurements": records[:1], "slow": True, "limit_gbyte_s": 120.41})) == [
        "collective_slow slow cluster cluster: the collective over all hosts is slower than the limit of 120.4 GB/s"]
    assert of_collective({"measurements": records[:1]}) == []


def test_a_failed_collective_is_a_finding() -> None:
    error = {"code": "hccl_7", "message": "hccl interface returned 7", "hint": "end processes of an earlier run"}
    result = {"failed": True, "msg": "m", "output": "a\n\nb\nc\nd\ne\n", "measurements": [{"kind": "collective", "hosts": ["n1", "n2"], "error": error}]}
    [found] = of_collective(result)
    assert summaries([found]) == ["collective_failed failed cluster cluster: hccl interface returned 7"]
    assert (found.hosts, found.evidence) == (("n1", "n2"), ("end processes of an earlier run", "b", "c", "d", "e"))
    assert summaries(of_collective({"failed": True, "msg": "mpirun is missing"}, ["n1"])) == ["collective_failed failed cluster cluster: mpirun is missing"]
    busy = {"failed": True, "measurements": [{"error": {"code": "device_busy", "message": "NPU 3: pid 12"}}]}
    assert summaries(of_collective(busy)) == ["busy_npu unknown cluster cluster: NPU 3: pid 12"]


def test_a_skipped_collective_is_a_note() -> None:
    assert summaries(of_collective(None, ["n1"], "the fabric is not clean")) == ["collective_skipped note cluster cluster: the fabric is not clean"]
    assert summaries(of_collective({"skipped": True, "skip_reason": "Conditional result was False"})) == [
        "collective_skipped note cluster cluster: Conditional result was False"]


@pytest.mark.parametrize("odd", [None, 3, "text", [], {"problems": [None, 4], "measurements": {"a": 1}},
                                 {"measurements": [{"kind": "finding", "samples": [3]}]}])
def test_malformed_results_have_no_findings(odd: object) -> None:
    assert (of_rank_table(odd), of_collective(odd), of_validation(odd)) == ([], [], [])
