"""Check whole playbooks on hosts of which one sends a mutated answer: the results of the others do not change, and nothing of the answer becomes code, a path
or markup.

HCCN_ODD_PLAYS: number of runs for each playbook; HCCN_ODD_SEED: seed of the mutations; HCCN_CORES=2.16.14,2.21.5: run on these releases of ansible-core
(``make test-odd-host``) instead of the installed one, in environments that tests/lab/versions/cores.py makes.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.lab.versions import cores
from tests.lab.benchmarks.null import answers
from tests.lab.versions.interpreters import found as interpreters
from tests.contract.security.mutations import CANARY, MARK
from tests.lib.playbook import BYTECODE, ansible_environment, unfolded
from tests.lib.project import COLLECTION, ROOT, skip

pytestmark = [pytest.mark.slow, pytest.mark.long]
"""CI runs it by make test-odd-host, on the oldest ansible-core."""

PLAYS = int(os.environ.get("HCCN_ODD_PLAYS", "4"))
SEED = os.environ.get("HCCN_ODD_SEED", "1")
RELEASES = list(filter(None, os.environ.get("HCCN_CORES", "").split(","))) or [None]
COUNT = 4
HOSTS = answers.names(COUNT)
SECURITY, NULL = ROOT / "tests/contract/security", ROOT / "tests/lab/benchmarks/null"

ANSWERS: Mapping[str, list[str]] = {
    "check_fabric": ["device_info-address-counters-link-link_changes-optical-processes-speed", "rdma_perf", "rdma_perf_info"],
    "bring_up": ["device_state-nothing",
                 "device_state-address-counters-dscp_to_tc-gateway-health-link-link_changes-lldp-mtu-netdetect-network_version-optical-pfc-speed-tls-versions"],
    "rank_table": ["device_info-address-super_pod", "stat"],
}
"""The answers that each playbook gets from a host."""

VERDICT = {"check_fabric": r"\b{host}: (\w+)\.", "bring_up": r"\b({host}: \d+ NPUs \(\w+\), \d+ links up, TLS on \d+)",
           "rank_table": r"\b{host} +: ok=\d+ +changed=(\d+)"}
"""The possible classes of a host."""

VERSIONS = yaml.safe_load((ROOT / "tests/lab/versions/versions.yml").read_text())


class PlaybookRun(NamedTuple):
    """A completed run: exit status, output, the mutation of the answer, and the class of each host by the conclusion."""

    code: int
    output: str
    done: str
    classes: dict[str, str]

    def failed(self, host: str) -> bool:
        recap = re.search(rf"^{host} +: .*unreachable=(\d+) +failed=(\d+)", self.output, re.MULTILINE)
        return recap is None or recap.groups() != ("0", "0") or self.classes.get(host) != "good"

    def verdict(self, playbook: str, host: str) -> str | None:
        classes = re.findall(VERDICT[playbook].format(host=host), self.output)
        return classes[-1] if classes else None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "DEVICES", 2)
        answers.write(folder, COUNT)
    inventory = answers.inventory(COUNT)
    inventory["npu"]["vars"].update(ansible_connection="odd", check_fabric_timeout_s=60)
    (folder / "hosts.json").write_text(json.dumps(inventory))
    return folder


@pytest.fixture(scope="module", params=RELEASES, ids=lambda release: release or "here")
def binaries(request: pytest.FixtureRequest) -> Path:
    if request.param is None:
        return Path(sys.executable).parent
    supported = next(core["controller"] for core in VERSIONS["cores"] if core["release"].rpartition(".")[0] == request.param.rpartition(".")[0])
    here = interpreters(supported)
    if not here:
        skip(f"python{supported[0]}", request.param)
    return cores.core(request.param, here[next(version for version in ("3.12", *supported) if version in here)]) / "bin"


def play(site: Path, binaries: Path, place: Path, playbook: str, odd: Mapping[str, Any]) -> PlaybookRun:
    for name in ("home", "tmp", "work"):
        (place / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="odd-") as short:
        # ansible-core 2.21 creates a socket below TMPDIR. Its path is limited to 107 bytes.
        temporary = Path(short) / "tmp"
        temporary.symlink_to(place / "tmp")
        environment = ansible_environment(
            ANSIBLE_CONNECTION_PLUGINS=str(SECURITY / "connection"), ANSIBLE_FORKS="2", BENCH_ANSWERS=str(site), HCCN_ODD=json.dumps(odd),
            HCCN_ODD_PLACE=str(place), HCCN_RESULTS_PATH=str(place / "history"), ANSIBLE_CALLBACKS_ENABLED="hccn.cluster.results", HOME=str(place / "home"),
            TMPDIR=str(temporary), ANSIBLE_HOME=str(place / "home/.ansible"), ANSIBLE_PYTHON_INTERPRETER=sys.executable,
            PATH=os.pathsep.join([str(binaries), os.environ["PATH"]]), PYTHONPATH=os.pathsep.join([str(BYTECODE), str(ROOT)]))
        done = subprocess.run([binaries / "ansible-playbook", "-i", site / "hosts.json", f"hccn.cluster.{playbook}"], cwd=place / "work", env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
    mutations = place / "mutations"
    output = unfolded((done.stdout + done.stderr).decode("utf-8", "replace"))
    return PlaybookRun(done.returncode, output, mutations.read_text() if mutations.exists() else "", concluded(place / "history"))


def concluded(history: Path) -> dict[str, str]:
    """Return the class of each host by the conclusion in the only run of a history."""
    (path,) = history.glob("*/*/*/*.jsonl")
    (sample,) = [record["samples"][0] for record in map(json.loads, path.read_text().splitlines()) if record.get("kind") == "conclusion"]
    return {host: name for name, hosts in sample["hosts"].items() for host in hosts}


@pytest.fixture(scope="module")
def sound(site: Path, binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], PlaybookRun]:
    """Return a function that runs a playbook without a mutation, once for all tests."""
    made: dict[str, PlaybookRun] = {}

    def of(playbook: str) -> PlaybookRun:
        if playbook not in made:
            made[playbook] = play(site, binaries, tmp_path_factory.mktemp(playbook) / "place", playbook, {"host": "", "module": "", "seed": 0, "others": []})
            assert made[playbook].code == 0, made[playbook].output[-3000:]
            assert all(made[playbook].verdict(playbook, host) for host in HOSTS), made[playbook].output[-3000:]
            assert made[playbook].classes == dict.fromkeys(HOSTS, "good")
        return made[playbook]

    return of


@pytest.mark.parametrize("number", range(PLAYS))
@pytest.mark.parametrize("playbook", list(ANSWERS))
def test_other_hosts_are_not_affected(site: Path, binaries: Path, sound: Callable[[str], PlaybookRun], tmp_path: Path, playbook: str, number: int) -> None:
    generator = random.Random(f"{SEED} {playbook} {number}")  # noqa: S311
    odd = {"host": generator.choice(HOSTS), "module": ANSWERS[playbook][number % len(ANSWERS[playbook])], "seed": generator.randrange(10**9), "others": HOSTS}
    before = outside()
    ended = play(site, binaries, tmp_path / "place", playbook, odd)
    details = f"{odd}: {ended.done}exit {ended.code}\n{ended.output[-6000:]}"
    assert ended.done, f"no answer was mutated\n{details}"
    assert "Traceback" not in ended.output, details
    usual = sound(playbook)
    others = [host for host in HOSTS if host != odd["host"]]
    # A table of all hosts cannot be made without the odd host; the error names that host.
    if playbook == "rank_table" and ended.code:
        assert re.search(rf"(?:cannot be in the rank table|not written): .*\b{odd['host']}\b", ended.output) or ended.failed(odd["host"]), details
    else:
        assert {host: ended.verdict(playbook, host) for host in others} == {host: usual.verdict(playbook, host) for host in others}, details
        assert [host for host in others if ended.failed(host)] == [], details
        assert ended.code == usual.code or ended.failed(odd["host"]), details
    assert (canaries(tmp_path), outside() - before) == ([], set()), details
    assert sorted(path.name for path in (tmp_path / "place/work").iterdir()) == [], details


FACTS = {"check_fabric_plan": MARK, "hccn_fail_on": MARK, "check_fabric_relative_floor": 0.0001, "report_path": f"/tmp/{CANARY}",
         "quarantine_command": ["touch", CANARY], "hccn_hosts": MARK}


def test_facts_do_not_become_options(site: Path, binaries: Path, sound: Callable[[str], PlaybookRun], tmp_path: Path) -> None:
    """Check facts from the first host, whose variables apply to all tasks with run_once."""
    ended = play(site, binaries, tmp_path / "place", "check_fabric", {"host": HOSTS[0], "module": ANSWERS["check_fabric"][0], "facts": FACTS})
    usual = sound("check_fabric")
    assert (ended.code, ended.done) == (usual.code, "carries more\n"), ended.output[-3000:]
    assert {host: ended.verdict("check_fabric", host) for host in HOSTS} == {host: usual.verdict("check_fabric", host) for host in HOSTS}
    assert (canaries(tmp_path), MARK in ended.output) == ([], False), ended.output[-3000:]


def test_forged_records_are_dropped(site: Path, binaries: Path, sound: Callable[[str], PlaybookRun], tmp_path: Path) -> None:
    """The answer of a host contains records of another host, and verdicts."""
    forged = {"schema": "hccn.cluster/measurement/1", "id": "forged/1", "kind": "rdma", "status": "failed", "source": {"host": HOSTS[1], "device": 0},
              "target": {"host": HOSTS[2], "device": 0}, "error": {"code": "x", "message": MARK}, "context": {"failed_end": "source"}}
    verdict = {"schema": "hccn.cluster/measurement/1", "id": "forged/2", "kind": "verdict", "status": "failed", "source": {"host": "all"},
               "samples": [{"class": "failed", "message": MARK, "evidence": []}]}
    ended = play(site, binaries, tmp_path / "place", "check_fabric", {"host": HOSTS[3], "module": "rdma_perf_info", "records": [forged, verdict]})
    usual, others = sound("check_fabric"), HOSTS[:3]
    expected = {host: usual.verdict("check_fabric", host) for host in others}
    assert {host: ended.verdict("check_fabric", host) for host in others} == expected, ended.output[-3000:]
    kept = [json.loads(line) for path in (tmp_path / "place/history").rglob("*.jsonl") for line in path.read_text().splitlines()]
    verdicts = [str(record["id"]) for record in kept if record.get("kind") == "verdict"]
    assert len(verdicts) == COUNT, verdicts
    assert [record for record in kept if str(record.get("id")).startswith("forged/")] == []


def canaries(folder: Path) -> list[str]:
    """Return files that an answer created, here or at its paths."""
    found = [path for path in folder.rglob("*") if CANARY in path.name or path.name == MARK]
    return [str(path) for path in [*found, Path("/tmp") / CANARY, ROOT / CANARY, ROOT.parent / CANARY] if path.exists() or path in found]


def outside() -> set[str]:
    """Return the content of folders in which a run must not write."""
    # Exclude the folder of temporary files: other tests write there, and the checkout may be below it.
    beside = [] if ROOT.parent == Path(tempfile.gettempdir()) else [ROOT.parent]
    return {str(path) for folder in (ROOT, *beside, ROOT / "playbooks", ROOT / "inventories", COLLECTION, COLLECTION / "playbooks")
            for path in folder.iterdir() if not path.name.startswith(".") and path.name not in ("__pycache__", "build", "history")}
