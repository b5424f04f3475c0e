"""The site job on the simulated cluster of `make demo`: with faults, in check mode, and killed during the run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lib import schemas
from tests.lib.hosts import set_state
from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment, final_screen, recap, unfolded
from tests.lib.processes import processes
from tests.lib.project import ROOT, skip
from tests.lib.waiting import happens, until

HOSTS = ("npu1", "npu2", "npu3", "npu4")
DEADLINE = 300


def environment(place: Path, **more: str) -> dict[str, str]:
    own = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "HCCN_DEMO_FOLDER": str(place / "nodes"), "HCCN_RESULTS_PATH": str(place / "history")}
    return ansible_environment(**{**own, **more})


def command(playbook: str, *arguments: str) -> list[str]:
    return [ANSIBLE_PLAYBOOK, "-i", "inventories/demo/hosts", f"playbooks/{playbook}.yml", *arguments]


def play(place: Path, playbook: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(playbook, *arguments), cwd=ROOT, env=environment(place, **more), capture_output=True, text=True, timeout=DEADLINE)
    done.stdout = unfolded(done.stdout)
    return done


def records(place: Path) -> list[dict[str, Any]]:
    newest = max((place / "history").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    return [json.loads(line) for line in newest.read_text().splitlines()]


def screen(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that the callback prints after Ansible's recap, without the path of the report."""
    return [re.sub(r"^Report: \S+\.html$", "Report: PATH", line) for line in final_screen(done.stdout)]


def left_behind(place: Path) -> list[str]:
    """Return the processes of this cluster (tools, devices and runners): its folder is in their command lines."""
    return list(processes(str(place), environment=False).values())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    place = tmp_path_factory.mktemp("demo")
    return place, play(place, "demo")


@pytest.mark.smoke("site", "bring_up", "rank_table", "check_fabric", "check_collective", "report")
def test_demo_succeeds(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place, done = demo
    assert done.returncode == 0, done.stdout + done.stderr
    assert {host: (counts["failed"], counts["unreachable"]) for host, counts in recap(done.stdout).items()} == dict.fromkeys(("localhost", *HOSTS), (0, 0))
    assert not left_behind(place)


@pytest.mark.smoke
def test_output_of_a_good_run_is_short_and_ends_with_the_result(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    done = demo[1]
    assert screen(done) == ["Result: good. 4 hosts: 4 good.", "Report: PATH"]
    assert "quick: 32 pairs of NPUs over 4 hosts in 2 rounds" in done.stdout
    assert "32 of 32 pairs done, 0 failed" in done.stdout
    assert "npu1: good." not in done.stdout
    assert "PLAY [Validate the job]" in done.stdout
    assert len(done.stdout.splitlines()) < 80


@pytest.mark.smoke
def test_history_has_the_verdict_of_each_host(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    kept = records(demo[0])
    messages = {record["source"]["host"]: record["samples"][0]["message"].partition(", ")[0] for record in kept if record.get("kind") == "verdict"}
    assert messages == dict.fromkeys(HOSTS, "16 good pairs with 2 other hosts")
    read = [record for record in kept if record.get("kind") == "device" and record["samples"][0].get("link") == "up"]
    assert {(record["source"]["host"], record["source"]["device"]) for record in read} == {(host, device) for host in HOSTS for device in range(8)}
    assert [record["samples"][0]["message"] for record in kept if record.get("kind") == "conclusion"] == ["Result: good. 4 hosts: 4 good."]
    assert [record["samples"][0] for record in kept if record.get("kind") == "finding"] == []


@pytest.mark.smoke
def test_collective_is_measured(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    if not shutil.which("mpirun", path=environment(demo[0])["PATH"]):
        skip("mpirun")
    collective = [record for record in records(demo[0]) if record.get("kind") == "collective"]
    assert [(record["status"], record["ranks"], record["operation"]) for record in collective] == [("ok", 8, "all_reduce")]
    assert [sample["size_bytes"] for sample in collective[0]["samples"]] == [8192, 16384, 32768, 65536]


@pytest.mark.smoke
def test_history_has_all_records(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    kept = records(demo[0])
    pairs = [record for record in kept if record.get("kind") == "rdma"]
    verdicts = {record["source"]["host"]: record["samples"][0]["class"] for record in kept if record.get("kind") == "verdict"}
    assert (len(pairs), {record["status"] for record in pairs}) == (32, {"ok"})
    assert verdicts == dict.fromkeys(HOSTS, "good")
    assert kept[-1]["end"] is True


@pytest.mark.smoke
def test_history_has_the_plan_before_the_results(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    kinds = [record.get("kind") for record in records(demo[0])]
    (plan,) = (record for record in records(demo[0]) if record.get("kind") == "plan")
    assert kinds.index("device") < kinds.index("plan") < kinds.index("rdma")
    sample = plan["samples"][0]
    assert (sorted(plan["hosts"]), sample["plan"], sample["pairs"], sample["left_out"], sample["hosts_left_out"]) == (
        list(HOSTS), "quick", 32, [], {"count": 0, "names": []})
    assert sample["text"][0].startswith("quick: 32 pairs of NPUs over 4 hosts in 2 rounds")
    page = max((path for path in (demo[0] / "history/reports").glob("*.html") if path.name != "index.html"), key=lambda path: path.stat().st_mtime).read_text()
    assert "32 (quick): 32 measured, 0 failed, 0 not run, 0 without any result" in page


@pytest.mark.smoke
def test_history_matches_the_published_schema(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    kept = list((demo[0] / "history").rglob("*.jsonl"))
    assert kept and [text for path in kept for text in schemas.history_violations(path)] == []


@pytest.mark.smoke
def test_report_is_at_the_path_of_the_last_line(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    paths = re.findall(r"Report: (\S+?)'?$", demo[1].stdout, re.MULTILINE)
    page = Path(paths[-1]).read_text()
    for word in ("npu1", "npu4", "all_reduce", "good"):
        assert word in page
    assert not re.search(r"(?:src|href)=[\"']?https?:", page)


@pytest.mark.smoke
def test_rank_table_is_the_same_on_all_hosts(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    tables = {(demo[0] / "nodes" / host / "etc/rank_table.json").read_text() for host in HOSTS}
    assert len(tables) == 1
    table = json.loads(tables.pop())
    assert [server["server_id"] for server in table["server_list"]] == ["127.77.0.1", "127.77.0.2", "127.77.0.3", "127.77.0.4"]
    assert table["server_list"][3]["device"][7] == {"device_id": "7", "device_ip": "10.78.4.17", "rank_id": "31"}


@pytest.mark.long
def test_check_mode_of_site_changes_nothing(demo: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    place = demo[0]
    set_state(place / "nodes/npu2", "*.tls=1")
    path = place / "nodes/npu2/etc/hccn.conf"
    before = path.read_bytes()
    done = play(place, "site", "--check", "--diff", HCCN_RESULTS_PATH=str(tmp_path / "history"))  # later tests must not find the flag in the history
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_bytes() == before
    assert "+device 7: TLS off, after a boot off" in done.stdout
    assert screen(done) == ["Result: good. 4 hosts: 4 good.", "Report: PATH"]
    play(place, "tls", "-e", "tls_state=disabled")


@pytest.mark.long
def test_differing_tls_flags_fail_the_run(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place = demo[0]
    done = play(place, "tls", "-e", "tls_state=enabled", "-e", "hccn_hosts=npu3")
    assert (done.returncode, {host: counts["changed"] for host, counts in recap(done.stdout).items()}) == (0, {"localhost": 0, "npu3": 1}), done.stdout
    done = play(place, "bring_up", "-e", "bring_up_tls_state=unchanged")
    assert done.returncode == 2
    result, failed, changed, report = screen(done)
    assert (result, report) == ("Result: failed. 4 hosts: 1 failed, 3 good.", "Report: PATH")
    assert failed == "failed npu3: TLS is on, that of 24 other NPUs is off -> ansible-playbook hccn.cluster.tls -e tls_state=disabled"
    assert re.fullmatch(r"note npu3: since the last run at \S+ \S+ UTC, tls changed from False to True"
                        r" -> ansible-playbook hccn\.cluster\.bring_up --check --diff -e hccn_hosts=npu3", changed), changed
    assert {host: counts["failed"] for host, counts in recap(done.stdout).items()} == {**dict.fromkeys(HOSTS, 0), "localhost": 1}
    assert play(place, "tls", "-e", "tls_state=disabled").returncode == 0


@pytest.mark.long
def test_slow_npu_and_missing_link_are_named(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place = demo[0]
    set_state(place / "nodes/npu3", "5.link=0", "2.rate_mbit=10")
    try:
        done = play(place, "site", "-e", "check_fabric_plan=full")
    finally:
        set_state(place / "nodes/npu3", "5.link=1", "2.rate_mbit=40")
    assert done.returncode == 2, done.stdout
    shown = screen(done)
    assert [shown[0], shown[1], shown[-1]] == [
        "Result: failed. 4 hosts: 1 failed, 3 good.", "failed npu3 NPU 5: the link is down -> On npu3: hccn_tool -i 5 -optical -g", "Report: PATH"]
    assert re.fullmatch(r"slow npu3 NPU 2: it is slow with 3 of 3 proven-good partners: npu1, npu2, npu4, \d+ % below normal"
                        r" -> On npu3: hccn_tool -i 2 -optical -g", shown[2])
    verdicts = {record["source"]["host"]: record["samples"][0] for record in records(place) if record.get("kind") == "verdict"}
    assert {host: verdict["class"] for host, verdict in verdicts.items()} == {"npu1": "good", "npu2": "good", "npu3": "failed", "npu4": "good"}
    assert "NPU 5" in verdicts["npu3"]["message"] and "NPU 2" in verdicts["npu3"]["message"]
    # The run fails on localhost, not on the first host.
    assert {host: counts["failed"] for host, counts in recap(done.stdout).items()} == {**dict.fromkeys(HOSTS, 0), "localhost": 1}
    assert len(done.stdout.splitlines()) < 80, done.stdout
    assert not left_behind(place)


@pytest.mark.long
def test_busy_npus_are_not_measured(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place = demo[0]
    set_state(place / "nodes/npu2", "6.process=4711:python3:100")
    try:
        collective = play(place, "check_collective", "-e", "hccn_fail_on=any")
        fabric = play(place, "check_fabric")
    finally:
        set_state(place / "nodes/npu2", "6.process=")
    assert collective.returncode == 2
    assert screen(collective) == [
        "Result: busy. 4 hosts: 4 good.",
        "unknown cluster: all_reduce: not run, NPUs are at work: npu2 NPU 6 (pid 4711) -> "
        "When the job has ended: ansible-playbook hccn.cluster.check_collective",
        "Report: PATH"]
    assert fabric.returncode == 0, fabric.stdout
    assert screen(fabric) == [
        "Result: busy. 4 hosts: 1 busy, 3 good.",
        "unknown npu2 NPU 6: it is at work, pid 4711 -> When the job has ended: ansible-playbook hccn.cluster.check_fabric",
        "Report: PATH"]
    (plan,) = (record for record in records(place) if record.get("kind") == "plan")
    assert plan["samples"][0]["left_out"] == [
        {"code": "device_busy", "message": "it is at work, pid 4711", "count": 1, "npus": [["npu2", 6]]}]


@pytest.mark.long
def test_killed_run_is_readable_up_to_its_last_task(demo: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    place = demo[0]
    env = {**environment(place), "HCCN_RESULTS_PATH": str(tmp_path / "history")}
    running = subprocess.Popen(command("check_fabric"), cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        (part,) = until(lambda: [path for path in (tmp_path / "history").rglob("*.part") if path.read_text().count('"kind":"device"') >= 32], DEADLINE)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(DEADLINE)
    kept = [json.loads(line) for line in part.read_text().splitlines()]
    assert kept[0]["schema"] == "hccn.cluster/history/1"
    assert len([record for record in kept if record.get("kind") == "device"]) == 32
    assert not any("end" in record for record in kept)
    page = subprocess.run(command("report", "-e", f"report_history={tmp_path / 'history'}", "-e", f"report_path={tmp_path / 'page.html'}"),
                          cwd=ROOT, env={**environment(place), "HCCN_RESULTS_PATH": str(tmp_path / "other")}, capture_output=True, text=True, timeout=DEADLINE)
    assert page.returncode == 0, page.stdout + page.stderr
    assert (tmp_path / "page.html").exists()
    assert happens(lambda: not left_behind(place), DEADLINE), left_behind(place)
