"""The end of a job: exit status, the lines after Ansible's recap, and the first row of the report."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.lab.benchmarks.null import answers
from tests.lib.hosts import node, set_state
from tests.lib.playbook import final_screen, recap, run_playbook, unfolded
from tests.lib.project import ROOT

HOSTS = {"npu1": 1, "npu2": 2, "npu3": 3, "npu4": 4}
DEADLINE = 300


class Ended(NamedTuple):
    """``screen``: the lines after the recap; ``recap``: failed and unreachable tasks by host."""

    code: int
    output: str
    screen: list[str]
    recap: dict[str, tuple[int, int]]

    @property
    def report(self) -> Path:
        return Path(self.screen[-1].removeprefix("Report: "))

    def first_card(self) -> list[str]:
        """Return severity, component and text of the first finding."""
        page = re.sub(r'<(\w+) lang="?zh[^>]*>.*?</\1>', "", self.report.read_text())
        parts = re.search(r'<article class="card .*?<h2><span>(.*?)</span> <b>(.*?)</b>(.*?)</article>', page, re.DOTALL).groups()
        return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in parts]


class Site:
    """Four simulated hosts with one NPU each, in the inventory of the demo."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for host, number in HOSTS.items():
            node(self.root(host), "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", "--switch-address", "10.78.0.1",
                 "--state", "*.gateway=10.78.0.1", "--state", "*.netdetect=10.78.0.1", "--state", "*.rate_mbit=200",
                 "--state", "*.tls=0", devices=1)  # the inventory declares TLS off

    def root(self, host: str) -> Path:
        return self.place / "nodes" / host

    def with_variables(self, host: str, variables: str) -> tuple[str, str]:
        """Return arguments that give a host further variables."""
        path = self.place / f"{host}.ini"
        path.write_text(f"{host} {variables}\n")
        return "-i", str(path)

    def play(self, playbook: str, *arguments: str, callback: bool = True, **variables: object) -> Ended:
        # An installed collection alone enables neither the callback nor the settings of the project's ansible.cfg.
        own = {} if callback else {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.controller_memory", "ANSIBLE_DISPLAY_OK_HOSTS": "true"}
        done = run_playbook(f"playbooks/{playbook}.yml", "inventories/demo/hosts", "-e", json.dumps(variables), *arguments, timeout=DEADLINE,
                            ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), **own,
                            HCCN_DEMO_FOLDER=str(self.place / "nodes"), HCCN_RESULTS_PATH=str(self.place / "history"))
        output = unfolded(done.stdout)
        counts = {name: (counts["failed"], counts["unreachable"]) for name, counts in recap(output).items()}
        return Ended(done.returncode, output + done.stderr, final_screen(output), counts)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("conclusion"))


@pytest.fixture
def state(site: Site) -> Iterator[list[tuple[str, str]]]:
    """Pairs of a host and a state that is set when the test is over, to undo its changes."""
    undo: list[tuple[str, str]] = []
    yield undo
    for host, setting in undo:
        set_state(site.root(host), setting)


@pytest.mark.long
def test_slow_npu_fails_check_fabric(site: Site, state: list[tuple[str, str]]) -> None:
    state.append(("npu3", "0.rate_mbit=200"))
    set_state(site.root("npu3"), "0.rate_mbit=30")
    done = site.play("check_fabric", check_fabric_plan="full")
    assert done.code == 2, done.output
    assert done.screen[0] == "Result: slow. 4 hosts: 1 slow, 3 good."
    assert re.fullmatch(r"slow npu3 NPU 0: .*slow with \d of \d proven-good partners: npu1, npu2, npu4, [78]\d % below normal"
                        r" -> On npu3: hccn_tool -i 0 -optical -g", done.screen[1]), done.screen
    assert done.screen[2:] == [f"Report: {done.report}"]
    assert done.first_card()[:2] == ["◐ slow", "npu3 NPU 0"], done.first_card()
    assert done.recap == {"localhost": (1, 0), **dict.fromkeys(HOSTS, (0, 0))}


def test_hccn_fail_on_decides_the_exit_status(site: Site, state: list[tuple[str, str]]) -> None:
    state.append(("npu2", "0.link=1"))
    set_state(site.root("npu2"), "0.link=0")
    done = site.play("bring_up", hccn_fail_on="never", hccn_hosts="npu1:npu2")
    assert done.code == 0, done.output
    assert done.screen == ["Result: failed. 2 hosts: 1 failed, 1 good.", "failed npu2 NPU 0: the link is down -> On npu2: hccn_tool -i 0 -optical -g",
                           f"Report: {done.report}"]
    assert done.first_card()[:2] == ["✕ failed", "npu2 NPU 0"], done.first_card()
    assert "the link is down" in done.first_card()[2]


@pytest.mark.long
def test_job_concludes_without_the_callback(site: Site) -> None:
    done = site.play("check_fabric", callback=False)
    assert done.code == 0, done.output
    assert done.screen == []
    assert "There will be no history and no report: enable the callback hccn.cluster.results" in " ".join(done.output.split())
    bad = site.play("bring_up", callback=False, hccn_tool="/opt/nowhere/hccn_tool")
    assert bad.code == 2
    assert "Result: failed. 4 hosts: 4 failed." in bad.output
    assert "No report: the callback hccn.cluster.results is not enabled." in bad.output


def test_tool_that_is_missing_on_all_hosts_is_one_finding(site: Site) -> None:
    done = site.play("bring_up", hccn_tool="/opt/nowhere/hccn_tool")
    assert done.code == 2, done.output
    assert done.screen[0] == "Result: failed. 4 hosts: 4 failed."
    assert re.fullmatch(r"failed npu1, npu2, npu3 \.\.\. \(4 hosts\): .*/opt/nowhere/hccn_tool.* -> Install the driver on .*", done.screen[1]), done.screen
    assert done.screen[2:] == [f"Report: {done.report}"]
    # Ansible's own output has the failure once, too.
    fatal = re.findall(r"^fatal: \[(.*?)\]: FAILED", done.output, re.MULTILINE)
    assert [sorted(names.split(", ")) for names in fatal] == [list(HOSTS), ["localhost"]]
    assert len(done.output.splitlines()) < 80, done.output


@pytest.mark.parametrize(("variables", "message"), [
    ({"hccn_hosts": "npuu"}, "The pattern 'npuu' matches no host of the inventory. Did you mean npu?"),
    ({"bring_up_tls_sate": "enabled"}, "Did you mean bring_up_tls_state?"),
    ({"check_fabric_duration_s": "long"}, "check_fabric_duration_s"),
])
def test_invalid_job_does_not_begin(site: Site, variables: dict[str, object], message: str) -> None:
    done = site.play("site", **variables)
    assert done.code == 2, done.output
    assert done.screen[0] == "Result: failed.", done.screen
    assert message in done.screen[1], done.screen
    assert done.recap == {"localhost": (1, 0)}


def test_run_with_only_unreachable_hosts_is_concluded(site: Site) -> None:
    """Ansible ends a playbook when all hosts are unreachable, so its last play is not run."""
    done = site.play("bring_up", ansible_connection="ssh", ansible_port=1, ansible_ssh_retries=0)
    assert done.code == 4, done.output
    assert done.screen[0] == "Result: failed. 4 hosts: 4 unreachable."
    assert done.screen[1].startswith("failed npu1, npu2, npu3 ... (4 hosts): "), done.screen
    assert "Connection refused" in done.screen[1]
    assert done.report.is_file()
    assert done.first_card()[0] == "✕ failed", done.first_card()


def test_unreachable_host_and_host_without_tool_do_not_stop_the_others(site: Site) -> None:
    unreachable = site.with_variables("npu2", "ansible_connection=ssh ansible_port=1 ansible_ssh_retries=0")
    done = site.play("site", *unreachable, *site.with_variables("npu4", "hccn_tool=/opt/nowhere/hccn_tool"))
    assert done.code == 4, done.output  # Ansible's exit status of a run with unreachable hosts
    assert done.screen[0] == "Result: failed. 4 hosts: 1 failed, 1 unreachable, 2 good."
    assert sorted(line.split(":")[0] for line in done.screen[1:3]) == ["failed npu2", "failed npu4"], done.screen
    assert re.search(r"^failed npu4: .*/opt/nowhere/hccn_tool", "\n".join(done.screen), re.MULTILINE), done.screen
    assert done.screen[3:] == [f"Report: {done.report}"]
    assert done.recap == {"localhost": (1, 0), **dict.fromkeys(HOSTS, (0, 0)), "npu2": (0, 1)}
    assert done.first_card()[1] in ("npu2", "npu4")
    assert "quick: " in done.output and "over 2 hosts" in done.output


def lines_of(folder: Path, playbook: str, count: int) -> int:
    """Return the number of lines that a job with canned hosts prints, without the recap of each host."""
    folder.mkdir()
    answers.write(folder, count)
    (folder / "hosts.json").write_text(json.dumps(answers.inventory(count)))
    done = run_playbook(f"hccn.cluster.{playbook}", folder / "hosts.json", timeout=DEADLINE, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"),
                        ANSIBLE_CONNECTION_PLUGINS=str(ROOT / "tests/lab/benchmarks/null/connection"), BENCH_ANSWERS=str(folder),
                        HCCN_RESULTS_PATH=str(folder / "history"))
    assert done.returncode == 0, done.stdout + done.stderr
    screen = final_screen(done.stdout)
    assert screen[0] == f"Result: good. {count} hosts: {count} good.", screen
    return len(done.stdout.splitlines()) - count


@pytest.mark.long
@pytest.mark.parametrize("playbook", ["bring_up", "rank_table", "check_fabric"])
def test_output_does_not_grow_with_the_number_of_hosts(tmp_path: Path, playbook: str) -> None:
    few, many = (lines_of(tmp_path / str(count), playbook, count) for count in (4, 12))
    assert few == many < 40
