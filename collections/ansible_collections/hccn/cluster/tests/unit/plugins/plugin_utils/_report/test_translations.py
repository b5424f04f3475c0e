"""Texts of findings in Chinese: every cause, next step and piece of evidence has a translation, and messages keep their numbers."""

from __future__ import annotations

import re

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import causes
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.evidence import TEMPLATES, evidence, of_text
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import texts_findings, translations

HAN = re.compile("[\u4e00-\u9fff]")


def test_every_cause_has_a_title_in_both_languages() -> None:
    assert [cause for cause in causes.CAUSES if cause not in texts_findings.TITLES] == []
    assert all(english and HAN.search(chinese) for english, chinese in texts_findings.TITLES.values())
    assert (translations.title("link_down", "zh"), translations.title("no_such_cause", "zh")) == ("链路断开", "no such cause")


@pytest.mark.parametrize("cause", [cause for cause, known in causes.CAUSES.items() if known.next_step])
def test_every_next_step_is_a_command_or_translated(cause: str) -> None:
    text = causes.next_step(cause, ["npu3"], [5])
    found = translations.step(text, "zh")
    assert found.translated
    assert HAN.search(found.words) or (not found.words and found.command == text)


def test_next_step_is_words_and_a_command() -> None:
    assert translations.step("On npu3: hccn_tool -i 5 -optical -g", "en") == ("On npu3:", "hccn_tool -i 5 -optical -g", True)
    assert translations.step("On npu3: hccn_tool -i 5 -optical -g", "zh") == ("在 npu3 上执行：", "hccn_tool -i 5 -optical -g", True)
    assert translations.step("When the job has ended: ansible-playbook hccn.cluster.check_fabric", "zh") == (
        "作业结束后执行：", "ansible-playbook hccn.cluster.check_fabric", True)
    assert translations.step("Ask somebody", "zh") == ("Ask somebody", "", False)


def test_every_code_of_evidence_has_the_same_values_in_chinese() -> None:
    assert {code: sorted(re.findall(r"{\w+}", text)) for code, text in TEMPLATES.items()} == {
        code: sorted(re.findall(r"{\w+}", texts_findings.EVIDENCE[code])) for code in TEMPLATES}
    grew = evidence("counter_grew", host="npu3", device=5, counter="mac_rx_fcs_err_pkt_num", growth=7, before=3, after=10)
    assert translations.evidence(grew, "zh") == "npu3 的 NPU 5：运行期间 mac_rx_fcs_err_pkt_num 增加 7（由 3 至 10）"
    assert translations.evidence(grew, "en") == str(grew)


@pytest.mark.parametrize(("text", "chinese"), [
    ("npu2 NPU 2 to npu4 NPU 2: 0.003607 Gbit/s, normal is 0.03536", "npu2 NPU 2 到 npu4 NPU 2：0.003607 Gbit/s，正常值 0.03536"),
    ("check_fabric: its link is down", "check_fabric：链路断开"),
    ("something else", None),
])
def test_evidence_of_other_sentences(text: str, chinese: str | None) -> None:
    assert translations.evidence(of_text(text), "zh") == chinese


@pytest.mark.parametrize(("text", "chinese"), [
    ("the link is down", "链路断开"),
    ("it is slow with 2 of 2 proven-good partners: npu3, npu4, 90 % below normal", "与 2 个已确认正常的对端中的 2 个通信慢，比正常值低 90 %（npu3, npu4）"),
    ("it fails as target with 3 of 3 proven-good partners: n1, n2, n3", "作为接收端与 3 个已确认正常的对端中的 3 个通信失败（n1, n2, n3）"),
    ("all 8 NPUs are slow with 16 of 16 proven-good partners: n1, n2", "8 个 NPU 与 16 个已确认正常的对端中的 16 个通信慢（n1, n2）"),
    ("64 of its pairs are slow, 20 % below normal", "其中 64 条链路慢，比正常值低 20 %"),
    ("NPU 5 was left out: its link is down; 13 good pairs with 2 other hosts, 0.034 to 0.037 Gbit/s; bad pairs attributed to the partner: 1",
     "NPU 5 未列入计划：链路断开；与其他 2 台主机的 13 条链路正常，0.034 至 0.037 Gbit/s；归因于对端的异常链路：1 条"),
    ("150 Gbit/s, 23.4 % below the baseline of 195.9", "150 Gbit/s，比基线 195.9 低 23.4 %"),
    ("a tool said something", None),
])
def test_messages_in_chinese(text: str, chinese: str | None) -> None:
    assert translations.sentence(text, "zh") == chinese
    assert translations.sentence(text, "en") == text


@pytest.mark.parametrize(("name", "chinese"), [
    ("npu3 NPU 5", "npu3 NPU 5"), ("path L1-L2", "路径 L1-L2"), ("cluster", "集群"), ("npu1, npu2, npu3 ... (24 hosts)", "npu1, npu2, npu3 等 24 台主机"),
    ("npu1, npu2, npu3 ... (24 hosts): NPU 2", "npu1, npu2, npu3 等 24 台主机: NPU 2")])
def test_names_of_components(name: str, chinese: str) -> None:
    assert (translations.component(name, "zh"), translations.component(name, "en")) == (chinese, name)


def test_braces_in_names_of_hosts_are_text() -> None:
    assert translations.sentence("it is slow with {npus} and [x]", "zh") == "与 {npus} and [x] 通信慢"
