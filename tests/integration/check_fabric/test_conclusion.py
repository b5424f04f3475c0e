"""check_fabric with several different faults at once: exit status, the lines after Ansible's recap, and rows of the report."""

from __future__ import annotations

import html
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric import play as plays
from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, UNREACHABLE, play, verdicts
from tests.lib.playbook import final_screen
from tests.lib.waiting import until


def check(cluster: Cluster, folder: Path, **options: Any) -> tuple[list[str], str]:
    """Run check_fabric. Return the lines after the recap without the path of the report, each percentage below normal replaced by N, and the report."""
    kept = {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results", "HCCN_RESULTS_PATH": str(folder / "history")}
    output = play(cluster, folder, environment=kept, **options)
    screen = final_screen(output)
    (report,) = (path for path in (folder / "history/reports").glob("*.html") if path.name != "index.html")
    assert screen.pop() == f"Report: {report}"
    return [re.sub(r"\d+ % below", "N % below", line) for line in screen], report.read_text()


def rows(report: str) -> list[list[str]]:
    """Return the cells of all rows of all tables."""
    found = []
    for row in re.findall(r"<tr>(.*?)</tr>", re.sub(r'<(\w+) lang="?zh[^>]*>.*?</\1>', "", report), re.DOTALL):
        cells = re.findall(r"<td[^>]*>(.*?)(?=<td|$)", row, re.DOTALL)
        found.append([" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in cells])
    return found


def test_host_whose_only_partner_has_no_link_is_not_measured(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """Both hosts are classified although no pair can be measured."""
    cluster = make(2, 2)
    cluster.set_state("n1", "*.link=0")
    screen, report = check(cluster, tmp_path, code=FAILED)
    assert screen == [
        "Result: failed. 2 hosts: 1 failed, 1 not measured.",
        "failed n1 NPUs 0-1: the link is down -> On n1: hccn_tool -i 0 -optical -g",
        "unknown n2: it had no partner: no other host has an NPU that can be measured with one of its own -> "
        "ansible-playbook hccn.cluster.check_fabric"]
    assert ["n1", "✕ failed"] in [row[:2] for row in rows(report)]
    assert [cluster.calls(name) for name in cluster.ports] == [[], []]


@pytest.mark.long
def test_slow_and_busy_npus_do_not_fail_a_job_that_fails_on_failed(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """With the default hccn_fail_on, a slow NPU fails the job: see test_confirmation.py."""
    cluster = make(4, 2)
    cluster.set_state("n2", "0.rate_mbit=20")
    cluster.set_state("n3", "1.process=4711:python3:100")
    screen, _report = check(cluster, tmp_path, code=0, hccn_fail_on="failed")
    assert screen == [
        "Result: slow. 4 hosts: 1 slow, 1 busy, 2 good.",
        "slow n2 NPU 0: it is slow with 2 of 2 proven-good partners: n3, n4, N % below normal -> On n2: hccn_tool -i 0 -optical -g",
        "unknown n3 NPU 1: it is at work, pid 4711 -> When the job has ended: ansible-playbook hccn.cluster.check_fabric"]


@pytest.mark.long
def test_host_that_is_unreachable_from_the_start(make: Callable[..., Cluster], tmp_path: Path) -> None:
    screen, report = check(make(4, 1), tmp_path, lost="n3", code=UNREACHABLE)
    headline, lost = screen
    assert headline == "Result: failed. 4 hosts: 1 unreachable, 3 good."
    assert lost.startswith("failed n3: Ansible did not reach it: ")
    assert lost.endswith("ssh: connect to host 127.0.0.1 port 1: Connection refused -> ansible n3 -m ansible.builtin.ping -vvv")
    of_n3 = [row for row in rows(report) if row[:1] == ["n3"]]
    assert of_n3[0][1] == "⊘ unreachable"
    assert "port 1: Connection refused" in of_n3[0][2]


@pytest.mark.parametrize("victim", [pytest.param("n1", id="the first reporter"), pytest.param("n3", id="another host", marks=pytest.mark.long)])
def test_host_that_dies_during_the_measurement(make: Callable[..., Cluster], tmp_path: Path, victim: str) -> None:
    cluster = make(3, 1, measure_seconds=1.0)
    with plays.ssh_host(tmp_path / "ssh", cluster, victim) as (connection, send), ThreadPoolExecutor(1) as pool:
        of_hosts = {name: connection if name == victim else {} for name in cluster.ports}
        ended = pool.submit(check, cluster, tmp_path, code=UNREACHABLE, of_hosts=of_hosts, check_fabric_plan="full")
        until(lambda: ended.done() or (all(cluster.journals(name) for name in cluster.ports) and cluster.testing(victim)), 120)
        assert not ended.done(), ended.result()
        send(signal.SIGKILL)
        screen, report = ended.result(240)
    assert screen[0] == "Result: failed. 3 hosts: 1 unreachable, 2 good."
    assert screen[1].startswith(f"failed {victim}: Ansible did not reach it: ")
    assert screen[1].endswith(f" -> ansible {victim} -m ansible.builtin.ping -vvv")
    assert len(screen) == 2
    of_victim = [row for row in rows(report) if row[:1] == [victim]]
    assert of_victim[0][1] == "⊘ unreachable"


@pytest.mark.long
def test_slow_host_that_dies_during_the_confirmation_run(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """Its pairs were slow before, and fail now: that is no path that is bad each time."""
    cluster = make(3, 1, measure_seconds=1.0)
    cluster.set_state("n1", "0.rate_mbit=80")
    with plays.ssh_host(tmp_path / "ssh", cluster, "n1") as (connection, send), ThreadPoolExecutor(1) as pool:
        ended = pool.submit(play, cluster, tmp_path, code=UNREACHABLE, of_hosts={"n1": connection, "n2": {}, "n3": {}}, check_fabric_plan="full",
                            check_fabric_relative_floor=0.8)
        until(lambda: ended.done() or (len(cluster.runners("n1")) == 4 and cluster.testing("n1")), 120)
        assert not ended.done(), ended.result()
        send(signal.SIGKILL)
        output = ended.result(240)
    assert verdicts(output) == {"n2": "good", "n3": "good"}
    assert "n1 NPU 0: it is slow with 2 of 2 proven-good partners: n2, n3, " in output
    assert "path n" not in output
