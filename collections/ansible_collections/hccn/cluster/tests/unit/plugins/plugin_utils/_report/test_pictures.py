"""Cards, topology, timeline, health over runs, changes and distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.evidence import evidence
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import nights
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import RunContext
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import cards, distribution, health, pictures, timeline, topology_picture
from ansible_collections.hccn.cluster.plugins.plugin_utils._report.heatmaps import Expected, PairResults
from ansible_collections.hccn.cluster.plugins.plugin_utils._report.verdicts import HostVerdict

LINK = made.finding("link_down", made.of_npus([("n3", 5)]), "the link is down", devices=[("n3", 5)])
SLOW = made.finding("slow_npu", made.of_npus([("n1", 0)]), "it is slow", devices=[("n1", 0)])
PATH = made.finding("slow_fabric", made.Component("path", "path L1-L2"), "2 of its pairs are slow", ["n1", "n2"])
HOSTS = ["n1", "n2", "n3"]


def night(day: int, *findings: made.Finding) -> nights.Night:
    found = nights.of_records(f"r{day}", f"202611{day:02}T021500Z", conclude(HOSTS, {}, findings).as_records())
    assert found is not None
    return found


def verdict(host: str, name: str) -> HostVerdict:
    return HostVerdict(host, name, "", [], judged=True)


def test_since_is_the_first_of_the_runs_in_a_row() -> None:
    before = [night(19, LINK, SLOW), night(18, LINK), night(17), night(16, LINK)]
    assert cards.since(LINK, before) == cards.Since("since_runs", "20261118T021500Z", 3)
    assert cards.since(SLOW, before) == cards.Since("since_runs", "20261119T021500Z", 2)
    assert cards.since(PATH, before) == cards.Since("since_new", "20261119T021500Z", 1)
    assert cards.since(LINK, before[:2]) == cards.Since("since_all", "20261118T021500Z", 3)
    assert cards.since(LINK, []) is None
    other = made.finding("link_down", made.of_npus([("n3", 4)]), "the link is down", devices=[("n3", 4)])
    assert cards.since(other, before) == cards.Since("since_new", "20261119T021500Z", 1), "another NPU of the host"


def test_switch_ports_come_from_lldp_and_from_evidence() -> None:
    read = {"kind": "device", "source": {"host": "n3", "device": 5}, "samples": [{"lldp": {"system_name": "leaf-1", "port": "400GE1/1/5:1"}}]}
    told = made.finding("link_down", made.of_npus([("n9", 1)]), "the link is down", devices=[("n9", 1)],
                        evidence=[evidence("switch_port", host="n9", device=1, switch="leaf-2", port="7"), "it is down"])
    one, other = cards.build([LINK, told], [], [read], None)
    assert one.ports == [cards.Port(Endpoint("n3", 5), "leaf-1", "400GE1/1/5:1")]
    assert other.ports == [cards.Port(Endpoint("n9", 1), "leaf-2", "7")] and other.evidence == ["it is down"]


def test_topology_groups_hosts_by_leaf_and_marks_npus() -> None:
    leaves = [{"kind": "device", "source": {"host": host, "device": device}, "samples": [{"lldp": {"system_name": leaf}}]}
              for host, leaf in (("n1", "L1"), ("n2", "L1"), ("n3", "L2")) for device in (0, 5)]
    rows = [verdict("n1", "slow"), verdict("n2", "good"), verdict("n3", "failed")]
    found = topology_picture.build(RunContext(leaves), [], rows, [LINK, SLOW])
    assert found is not None and found.rails == [0, 5] and found.states == ["failed", "good", "slow"]
    assert [(block.leaves, [(host.name, host.npus) for host in block.hosts], block.bad) for block in found.blocks] == [
        (["L1"], [("n1", ["slow", "good"]), ("n2", ["good", "good"])], ["n1 NPU 0"]),
        (["L2"], [("n3", ["good", "failed"])], ["n3 NPU 1"])]
    drawn = pictures.blocks(found)
    assert 'aria-label="L1, 2 hosts, n1 NPU 0"' in drawn[0][1] and drawn[0][1].count('<path class="npus"') == 2


def test_topology_of_many_hosts_draws_only_blocks_that_are_not_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology_picture, "MOST_DRAWN", 3)
    ends = [Endpoint(f"n{number}", 0) for number in range(40)]
    found = topology_picture.build(RunContext([]), ends, [verdict(end.host, "slow" if end.host == "n35" else "good") for end in ends], [])
    assert found is not None and found.hidden == 32
    assert [[host.name for host in block.hosts] for block in found.blocks] == [[f"n{number}" for number in range(32, 40)]]
    monkeypatch.setattr(topology_picture, "MOST_DRAWN", 40)
    whole = topology_picture.build(RunContext([]), ends, [verdict(end.host, "good") for end in ends], [])
    assert whole is not None and (len(whole.blocks), whole.hidden) == (2, 0)


def test_topology_of_rails_on_different_leaves() -> None:
    leaves = [{"kind": "device", "source": {"host": host, "device": device}, "samples": [{"lldp": {"system_name": f"L{device}"}}]}
              for host in HOSTS for device in (0, 1)]
    found = topology_picture.build(RunContext(leaves), [], [verdict(host, "unreachable" if host == "n2" else "good") for host in HOSTS], [])
    assert found is not None and [(block.leaves, len(block.hosts)) for block in found.blocks] == [(["L0", "L1"], 3)]
    assert found.blocks[0].hosts[1].npus == ["unreachable", "unreachable"] and found.blocks[0].bad == ["n2"]
    assert topology_picture.build(RunContext([]), [], [verdict("n1", "good")], []) is None


def run(records: list[dict[str, Any]], events: list[dict[str, Any]]) -> Run:
    return Run(RunFile(Path("/h/x"), "r", "20261120T101500Z", part=False), {}, records, events, None)


def test_timeline_shows_probe_measurement_wait_and_loss() -> None:
    records = [{"kind": "device", "source": {"host": "n1", "device": 0}, "started_at": "2026-11-20T10:00:00Z", "duration_s": 10.0},
               {"kind": "rdma", "source": {"host": "n1", "device": 0}, "target": {"host": "n2", "device": 0}, "started_at": "2026-11-20T10:01:00Z",
                "duration_s": 60.0}]
    events = [{"event": "unreachable", "host": "n2", "at": "2026-11-20T10:01:30Z"}]
    found = timeline.build(run(records, events), [verdict("n2", "unreachable"), verdict("n1", "good")])
    assert found is not None and (found.seconds, found.columns) == (1.0, 120)
    assert [(row.host, [(timeline.NAMES[span.state], span.start, span.columns) for span in row.spans]) for row in found.hosts] == [
        ("n2", [("measure", 60, 30), ("lost", 90, 30)]), ("n1", [("probe", 0, 10), ("wait", 10, 50), ("measure", 60, 60)])]
    drawn = pictures.timeline(found)
    assert ">10:00:00</text>" in drawn and ">10:02:00</text>" in drawn
    assert timeline.build(run([], []), []) is None
    assert timeline.build(run([], events), [verdict("n2", "unreachable")]) is None, "no moment but that of the loss"
    assert timeline.build(run(records, events), []) is None


def test_health_lists_hosts_that_were_not_good_once() -> None:
    found = health.over_runs("20261120T021500Z", [verdict("n1", "good"), verdict("n2", "good"), verdict("n3", "failed")], [night(19, SLOW), night(18)])
    assert found == health.Health(["20261118T021500Z", "20261119T021500Z", "20261120T021500Z"],
                                  [("n3", ["good", "good", "failed"]), ("n1", ["good", "slow", "good"])], 1, 0)
    assert health.over_runs("20261120T021500Z", [], []) is None


def test_changes_are_findings_that_appeared_or_vanished() -> None:
    found = health.changes([LINK, PATH], [night(19, SLOW, PATH), night(18, LINK)], None)
    assert found == health.Changes("r19", "20261119T021500Z", [("link_down", "n3 NPU 5")], [("slow_npu", "n1 NPU 0")], [])
    assert health.changes([LINK], [], None) is None


def test_distribution_counts_shares_and_those_below_the_limit() -> None:
    records = [{"kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "source": {"host": "a", "device": 0},
                "target": {"host": f"b{number}", "device": 0}, "samples": [{"size_bytes": 64, "bandwidth_gbit_s": value}]}
               for number, value in enumerate((100.0, 101.0, 99.0, 40.0, 300.0))]
    found = distribution.build(PairResults(records), Expected(100.0, "median", 0.95))
    assert found is not None and (found.below, found.pairs) == (1, 5)
    assert [(part, count) for part, count in found.counts if count] == [(0.4, 1), (0.975, 1), (1.0, 2), (1.25, 1)]
    assert distribution.build(PairResults([]), Expected(100.0, "median")) is None


def test_nights_are_earlier_runs_of_the_same_playbook(tmp_path: Path) -> None:
    day = tmp_path / "2026/11/18"
    day.mkdir(parents=True)
    from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import line
    for number, playbook in ((1, "site.yml"), (2, "tls.yml"), (3, "site.yml")):
        header = {"schema": "hccn.cluster/history/1", "run_id": f"r{number}", "started_at": "x", "playbook": playbook}
        records = conclude(HOSTS, {}, [LINK] if number == 1 else []).as_records()
        (day / f"2026111{number}T021500Z-r{number}.jsonl").write_bytes(b"".join(map(line, [header, *records])))
    (day / "20261114T021500Z-r4.jsonl").write_bytes(b"damaged")
    now = Run(RunFile(Path("x"), "r9", "20261120T101500Z", part=False), {"playbook": "site.yml"}, [], [], None)
    found = nights.before(tmp_path, now, 5)
    assert [(one.run_id, one.result, dict(one.findings), one.classes["n3"]) for one in found] == [
        ("r3", "good", {}, "good"), ("r1", "failed", {("link_down", "n3", 5): "n3 NPU 5"}, "failed")]
    assert nights.before(tmp_path, now, 1) == found[:1]
