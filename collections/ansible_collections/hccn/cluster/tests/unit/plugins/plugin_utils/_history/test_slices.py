"""The conclusion over runs of a playbook that each concluded a part of the hosts."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import finding, of_npus
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import slices

HOSTS = ["n1", "n2", "n3", "n4"]
OLDEST = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)


def device(host: str, number: int = 0, tls: bool = False, address: str | None = None, **sample: Any) -> dict[str, Any]:
    return {"schema": "hccn.cluster/measurement/1", "id": f"{host}/{number}", "kind": "device", "status": "ok", "source": {"device": number, "host": host},
            "context": {"product": "A2"}, "samples": [{"tls": tls, "mtu": 4096, "address": address or f"10.0.{number}.{host[1:]}", **sample}]}


def run(folder: Path, stamp: str, records: list[dict[str, Any]], hosts: list[str], classes: dict[str, str] | None = None, findings: Any = (),
        playbook: str = "bring_up.yml", complete: bool = True) -> str:
    """Write a run with its conclusion and return its id."""
    path = folder / stamp[:4] / stamp[4:6] / stamp[6:8] / f"{stamp}-r{stamp[9:13]}.jsonl{'' if complete else '.part'}"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = conclude(hosts, classes or {}, findings)
    lines = [{"schema": "hccn.cluster/history/1", "run_id": f"r{stamp[9:13]}", "started_at": "2026-11-20T10:15:30.000Z", "playbook": playbook},
             *records, *made.as_records(), *([{"end": True, "finished_at": "2026-11-20T10:15:30.000Z", "records": 1, "hosts": {}}] if complete else [])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"r{stamp[9:13]}"


def found(folder: Path) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Return the runs, the hosts by class and the findings of the conclusion over all hosts."""
    seen = slices.of(folder, "bring_up", HOSTS, OLDEST)
    made = conclude(HOSTS, seen.classes, seen.findings)
    return seen.runs, made.hosts, [f"{one.cause} {one.component.name}: {one.message}" for one in made.findings]


def test_a_difference_between_slices_is_found(tmp_path: Path) -> None:
    run(tmp_path, "20261120T100000Z", [device("n1"), device("n2")], ["n1", "n2"])
    run(tmp_path, "20261120T100100Z", [device("n3"), device("n4", tls=True, address="10.0.0.1")], ["n3", "n4"])
    runs, hosts, findings = found(tmp_path)
    assert runs == ["r1001", "r1000"]
    assert hosts == {"failed": ["n1", "n4"], "good": ["n2", "n3"]}
    assert sorted(findings) == [
        "address_conflict n1 NPU 0, n4 NPU 0: both have the address 10.0.0.1", "tls_differs n4: TLS is on, that of 3 other NPUs is off"]


def test_findings_of_slices_are_kept_and_comparisons_of_a_slice_are_not(tmp_path: Path) -> None:
    down = finding("link_down", of_npus([("n1", 0)]), "the link is down", devices=[("n1", 0)])
    differs = finding("mtu_differs", of_npus([("n2", 0)]), "the MTU is 4096, that of 1 other NPU is 1500", devices=[("n2", 0)])
    run(tmp_path, "20261120T100000Z", [device("n1"), device("n2")], ["n1", "n2"], findings=[down, differs])
    run(tmp_path, "20261120T100100Z", [device("n3"), device("n4")], ["n3", "n4"], {"n4": "unreachable"})
    _runs, hosts, findings = found(tmp_path)
    assert hosts == {"failed": ["n1"], "unreachable": ["n4"], "good": ["n2", "n3"]}
    assert findings == ["link_down n1 NPU 0: the link is down"]


def test_the_newest_run_of_a_host_counts(tmp_path: Path) -> None:
    run(tmp_path, "20261120T100000Z", [device(host, tls=True) for host in HOSTS], HOSTS)
    newer = run(tmp_path, "20261120T110000Z", [device("n1"), device("n2")], ["n1", "n2"])
    assert found(tmp_path)[0] == [newer, "r1000"]
    again = run(tmp_path, "20261120T120000Z", [device("n3"), device("n4")], ["n3", "n4"])
    assert found(tmp_path) == ([again, newer], {"good": HOSTS}, [])


def test_hosts_without_a_run_are_not_measured(tmp_path: Path) -> None:
    run(tmp_path, "20261120T100000Z", [device("n1")], ["n1"])
    run(tmp_path, "20261120T100100Z", [device("n2")], ["n2"], complete=False)
    run(tmp_path, "20261120T100200Z", [device("n3")], ["n3"], playbook="tls.yml")
    run(tmp_path, "20261031T100000Z", [device("n4")], ["n4"])
    (tmp_path / "2026/11/20/20261120T100300Z-odd.jsonl").write_text('"conclusion"\n')
    assert found(tmp_path) == (["r1000"], {"not_measured": ["n2", "n3", "n4"], "good": ["n1"]}, [
        "not_measured n2, n3, n4: no run of bring_up since 2026-11-01 00:00 UTC concluded it"])


def test_a_damaged_conclusion_counts_for_no_host(tmp_path: Path) -> None:
    path = tmp_path / "2026/11/20/20261120T100000Z-r.jsonl"
    path.parent.mkdir(parents=True)
    header = {"schema": "hccn.cluster/history/1", "run_id": "r", "started_at": "2026-11-20T10:15:30.000Z", "playbook": "bring_up.yml"}
    for sample in ({"hosts": 7}, {"hosts": {"good": "n1"}}, {"hosts": {"good": [7, None]}}, 3):
        conclusion = {"schema": "hccn.cluster/measurement/1", "id": "c", "kind": "conclusion", "status": "ok", "samples": [sample]}
        path.write_text("".join(json.dumps(line) + "\n" for line in (header, conclusion, {"end": True})))
        assert found(tmp_path)[:2] == ([], {"not_measured": HOSTS})


def test_age_of_the_oldest_run() -> None:
    now = datetime.datetime(2026, 11, 2, 1, tzinfo=datetime.timezone.utc)
    assert slices.oldest_of(90, lambda: now) == datetime.datetime(2026, 11, 1, 23, 30, tzinfo=datetime.timezone.utc)
