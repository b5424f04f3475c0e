from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Component, Finding, finding, of_host, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.merge import merged


def npu(cause: str, message: str, *devices: tuple, stage: str = "", **other) -> Finding:
    return finding(cause, of_npus(devices), message, devices=devices, stage=stage, **other)


def host(cause: str, message: str, *names: str, stage: str = "", **other) -> Finding:
    return finding(cause, of_host(*names), message, hosts=names, stage=stage, **other)


def named(found: list) -> list:
    return [(one.cause, one.component.name) for one in found]


LINK = npu("link_down", "the link is down", ("npu3", 5), stage="bring_up")


def test_the_same_finding_of_two_stages_is_merged() -> None:
    again = npu("link_down", "its link is down", ("npu3", 5), stage="check_fabric", evidence=["npu3 NPU 5: down"])
    found = merged([LINK, again])
    assert named(found) == [("link_down", "npu3 NPU 5")]
    assert (found[0].message, found[0].stage) == ("the link is down", "bring_up")
    assert found[0].evidence == ("check_fabric: its link is down", "npu3 NPU 5: down")


def test_a_dead_link_is_not_also_not_measured() -> None:
    found = merged([npu("failed_npu", "NPU 5 fails", ("npu3", 5), stage="check_fabric", evidence=["npu3 NPU 5 to npu1 NPU 5"]), LINK,
                    npu("not_measured", "it was left out", ("npu3", 5), stage="check_fabric")])
    assert named(found) == [("link_down", "npu3 NPU 5")]
    assert found[0].evidence == ("check_fabric: NPU 5 fails", "npu3 NPU 5 to npu1 NPU 5", "check_fabric: it was left out")


def test_only_the_npus_that_are_explained_are_left_out_of_a_finding() -> None:
    found = merged([LINK, npu("failed_npu", "they fail", *[("npu3", device) for device in (4, 5, 6)])])
    assert named(found) == [("link_down", "npu3 NPU 5"), ("failed_npu", "npu3 NPUs 4, 6")]
    assert found[1].devices == (("npu3", 4), ("npu3", 6))


def test_another_npu_or_host_is_not_explained() -> None:
    others = [npu("failed_npu", "it fails", ("npu3", 6)), npu("failed_npu", "it fails", ("npu1", 5)), host("failed_task", "Task X: no space left", "npu3")]
    assert named(merged([LINK, *others])) == [("link_down", "npu3 NPU 5"), ("failed_npu", "npu3 NPU 6"), ("failed_npu", "npu1 NPU 5"), ("failed_task", "npu3")]


def test_a_less_severe_finding_explains_nothing() -> None:
    partial = npu("link_down", "some ports are down", ("npu3", 5), severity="degraded")
    assert named(merged([partial, npu("failed_npu", "it fails", ("npu3", 5))])) == [("link_down", "npu3 NPU 5"), ("failed_npu", "npu3 NPU 5")]


def test_a_lost_host_has_one_finding() -> None:
    found = merged([host("failed_task", "Task Read NPUs: timed out", "npu2"), host("not_measured", "there is no result", "npu2", stage="check_fabric"),
                    host("failed_host", "all 8 NPUs fail", "npu2"), npu("failed_npu", "it fails", ("npu2", 0)),
                    host("unreachable_host", "no route to host", "npu2", stage="bring_up"), host("not_measured", "there is no result", "npu1")])
    assert named(found) == [("unreachable_host", "npu2"), ("not_measured", "npu1")]
    assert found[0].evidence == ("Task Read NPUs: timed out", "check_fabric: there is no result", "all 8 NPUs fail", "it fails")


def test_a_failed_pair_with_a_lost_host_is_dropped() -> None:
    def path(*hosts: str) -> Finding:
        return finding("failed_fabric", Component("pair", f"path {hosts[0]} NPU 0 to {hosts[1]} NPU 0"), "it fails", hosts)

    found = merged([path("n1", "n2"), path("n3", "n1"), host("unreachable_host", "timed out", "n2")])
    assert named(found) == [("failed_fabric", "path n3 NPU 0 to n1 NPU 0"), ("unreachable_host", "n2")]
    assert found[1].evidence == ("it fails",)


def test_a_host_lost_in_two_stages_is_one_finding() -> None:
    assert named(merged([host("unreachable_host", "timed out", "n2", stage="bring_up"), host("unreachable_host", "no route", "n2", stage="check_fabric")])) == [
        ("unreachable_host", "n2")]


def test_a_missing_tool_explains_the_failed_task() -> None:
    found = merged([host("tool_missing", "/opt/hccn_tool is not there", "n1"), host("failed_task", "Task Set MTU: failed", "n1"),
                    host("failed_task", "Task Set MTU: failed", "n2")])
    assert named(found) == [("tool_missing", "n1"), ("failed_task", "n2")]


def test_a_tool_missing_for_the_host_and_its_npus_is_one_finding() -> None:
    of_npus = npu("tool_missing", "link: /opt/hccn_tool: no such program", ("n1", 0), ("n1", 1))
    [found] = merged([host("tool_missing", "/opt/hccn_tool: no such program", "n1"), of_npus])
    assert (named([found]), found.devices, found.evidence) == ([("tool_missing", "n1")], (), ("link: /opt/hccn_tool: no such program",))
    assert named(merged([of_npus])) == [("tool_missing", "n1 NPUs 0-1")]


def test_a_failed_task_that_quotes_a_finding_is_merged_into_it() -> None:
    quoted = host("failed_task", "Task Read NPUs: 1 of 8 devices failed: 3 (address: No answer from the device)", "n1")
    assert named(merged([quoted, npu("device_error", "No answer from the device", ("n1", 3))])) == [("device_error", "n1 NPU 3")]


def test_a_host_that_failed_is_not_also_not_measured() -> None:
    found = merged([host("failed_task", "Read the NPUs: no space left", "npu2"), host("not_measured", "there is no result", "npu2", stage="check_fabric")])
    assert named(found) == [("failed_task", "npu2")]
    assert found[0].evidence == ("check_fabric: there is no result",)


def test_a_shorter_version_of_a_message_is_merged() -> None:
    found = merged([npu("device_error", "No answer from the device", ("npu2", 0), stage="check_fabric"),
                    npu("device_error", "address: No answer from the device", ("npu2", 0), ("npu2", 1), stage="check_fabric")])
    assert (named(found), found[0].message) == ([("device_error", "npu2 NPUs 0-1")], "address: No answer from the device")
    assert named(merged([npu("device_error", "No answer from the device", ("npu2", 0)), npu("device_error", "address: no answer", ("npu2", 0))])) == [
        ("device_error", "npu2 NPU 0"), ("device_error", "npu2 NPU 0")]


def test_an_npu_that_does_not_answer_is_not_also_a_problem_of_the_rank_table() -> None:
    found = merged([npu("device_error", "address: it printed something unknown", ("npu2", 0), stage="rank_table"),
                    npu("rank_table_problem", "device 0: it printed something unknown", ("npu2", 0), stage="rank_table"),
                    npu("rank_table_problem", "its SDID is that of npu1 NPU 3", ("npu2", 3), stage="rank_table")])
    assert named(found) == [("device_error", "npu2 NPU 0"), ("rank_table_problem", "npu2 NPU 3")]
    assert found[0].evidence == ("rank_table: device 0: it printed something unknown",)


def test_two_failed_tasks_of_a_host_stay_separate() -> None:
    found = [host("failed_task", "Task A: no space", "n1"), host("failed_task", "Task B: refused", "n1"), host("failed_task", "Task A: no space", "n1")]
    assert [one.message for one in merged(found)] == ["Task A: no space", "Task B: refused"]


def test_an_address_conflict_found_by_the_rank_table_is_merged() -> None:
    probe = npu("address_conflict", "they have 10.0.0.1", ("n1", 0), ("n3", 2), stage="bring_up")
    table = npu("address_conflict", "the address 10.0.0.1 is also used by n1 NPU 0", ("n3", 2), stage="rank_table")
    found = merged([table, probe])
    assert named(found) == [("address_conflict", "n1 NPU 0, n3 NPU 2")]
    assert found[0].hosts == ("n1", "n3")


def test_a_finding_between_two_others_joins_all_of_them() -> None:
    found = merged([npu("address_conflict", "a", ("n1", 0)), npu("address_conflict", "b", ("n2", 0)), npu("address_conflict", "c", ("n1", 0), ("n2", 0))])
    assert named(found) == [("address_conflict", "n1 NPU 0, n2 NPU 0")]
    assert (found[0].message, found[0].evidence) == ("a", ("b", "c"))


def test_a_machine_listed_twice_implies_its_duplicates() -> None:
    twice = host("machine_listed_twice", "they are the same machine", "n1", "n3")
    found = merged([npu("address_conflict", "a", ("n1", 0), ("n3", 0)), npu("serial_duplicate", "b", ("n1", 0), ("n3", 0)), twice,
                    npu("address_conflict", "c", ("n1", 1), ("n2", 1))])
    assert named(found) == [("machine_listed_twice", "n1, n3"), ("address_conflict", "n1 NPU 1, n2 NPU 1")]


def test_two_differences_of_one_npu_stay_separate() -> None:
    found = [npu("conf_differs", "address", ("n1", 0)), npu("conf_differs", "mtu", ("n1", 0))]
    assert merged(found) == found


def test_findings_of_the_fabric_stay_beside_those_of_hosts() -> None:
    path = finding("slow_fabric", Component("path", "path L1-L2"), "slow", hosts=["n1", "n2"])
    lost = host("unreachable_host", "timed out", "n1")
    assert merged([path, path, lost]) == [path, lost]


def test_evidence_is_bounded() -> None:
    found = merged([npu("link_down", f"way {number}", ("n1", 0), evidence=[f"line {number}"]) for number in range(30)])
    assert (len(found), len(found[0].evidence)) == (1, 16)


def test_many_hosts_are_merged_quickly() -> None:
    found = [npu("link_down", "down", (f"n{number}", device)) for number in range(2000) for device in range(2)]
    found += [npu("failed_npu", "fails", (f"n{number}", 0)) for number in range(2000)]
    assert len(merged(found)) == 4000
