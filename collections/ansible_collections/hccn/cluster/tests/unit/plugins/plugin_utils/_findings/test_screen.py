from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Component, finding, of_host, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import lines, report_line


def dead(host: str, device: int = 5):
    return finding("link_down", of_npus([(host, device)]), "the link is down", devices=[(host, device)])


def test_headline_and_line_of_one_fault() -> None:
    found = conclude(["npu1", "npu2", "npu3", "npu4"], {}, [dead("npu3")])
    assert [*lines(found), report_line("/tmp/report.html")] == [
        "Result: failed. 4 hosts: 1 failed, 3 good.",
        "failed npu3 NPU 5: the link is down -> On npu3: hccn_tool -i 5 -optical -g",
        "Report: /tmp/report.html",
    ]


def test_the_report_line_says_why_there_is_no_report() -> None:
    assert lines(conclude(["npu1"], {}, [])) == ["Result: good. 1 host: 1 good."]
    assert report_line(None, "the callback is not enabled") == "No report: the callback is not enabled"
    assert report_line(None) == "No report: none was requested"
    assert report_line("/" + "x" * 600) == "Report: /" + "x" * 600


def test_hosts_with_the_same_finding_share_a_line() -> None:
    names = [f"npu{number}" for number in range(1, 513)]
    found = conclude(names, {}, [dead(name) for name in names] + [finding("unreachable_host", of_host(name), "no route", hosts=[name]) for name in names[:2]])
    assert lines(found) == [
        "Result: failed. 512 hosts: 510 failed, 2 unreachable.",
        "failed npu1, npu2: no route -> ansible npu1 -m ansible.builtin.ping -vvv",
        "failed npu1, npu2, npu3 ... (512 hosts): NPU 5: the link is down -> On npu1: hccn_tool -i 5 -optical -g",
    ]


def test_lost_hosts_share_a_line_despite_different_addresses() -> None:
    lost = [finding("unreachable_host", of_host(f"n{number}"), f"n{number}: connect to host 10.0.0.{number} port 22: refused", hosts=[f"n{number}"])
            for number in (1, 2)]
    assert lines(conclude(["n1", "n2"], {}, lost)) == [
        "Result: failed. 2 hosts: 2 unreachable.",
        "failed n1, n2: n1: connect to host 10.0.0.1 port 22: refused -> ansible n1 -m ansible.builtin.ping -vvv"]


def test_different_npus_or_messages_have_separate_lines() -> None:
    found = conclude(["n1", "n2"], {}, [dead("n1", 5), dead("n2", 6)])
    assert lines(found)[1:3] == ["failed n1 NPU 5: the link is down -> On n1: hccn_tool -i 5 -optical -g",
                                 "failed n2 NPU 6: the link is down -> On n2: hccn_tool -i 6 -optical -g"]


def test_ten_findings_are_shown() -> None:
    many = [finding("slow_fabric", Component("path", f"path L1-L{number}"), f"{number} of its pairs are slow", next_step="") for number in range(17)]
    shown = lines(conclude(["n1"], {}, [*many, dead("n1")]))
    assert len(shown) == 12
    assert shown[1].startswith("failed n1 NPU 5")
    assert shown[10:] == ["slow path L1-L8: 8 of its pairs are slow", "... and 8 more findings"]
    assert "... and 1 more finding" in lines(conclude(["n1"], {}, many[:11]))


def test_a_long_message_is_cut_and_the_next_step_kept() -> None:
    one = finding("tool_failed", of_host("n1"), "no word " * 200, hosts=["n1"])
    shown = lines(conclude(["n1"], {}, [one]))[1]
    assert len(shown) <= 400
    assert shown.endswith("... -> On n1: npu-smi info, and read /var/log/hccn_tool/hccn.log")
    assert len(lines(conclude(["n1"], {}, [finding("tool_failed", of_host("n1"), "a", hosts=["n1"], next_step="step " * 200)]))[1]) <= 400
