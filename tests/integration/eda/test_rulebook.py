"""The rulebook in ansible-rulebook: one retest per degraded link, and a quarantine only if it is enabled (make test-eda)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.eda.test_history_source import run, verdict
from tests.lib.project import COLLECTION, ROOT, skip

BIN = ROOT / ".cache/eda/bin"
DEADLINE = 120
# Replacements of the playbooks: the first records the link and reports it as degraded again, the second records the host.
RETEST = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.shell: |
        echo "{{ ansible_eda.event.link }}" >> {{ notes }}/retested
        cp {{ notes }}/again.jsonl {{ notes }}/history/2026/11/21/20261121T00010$(wc -l < {{ notes }}/retested)Z-again.jsonl
"""
QUARANTINE = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.shell: echo "{{ ansible_eda.event.host }} {{ quarantine_enabled }}" >> {{ notes }}/quarantined
"""


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(("quarantine", "out"), [("false", []), ("true", ["n3 True"])])
def test_degraded_link_is_retested_once(tmp_path: Path, quarantine: str, out: list[str]) -> None:
    if not (BIN / "ansible-rulebook").exists() or not shutil.which("java"):
        skip("ansible-rulebook")
    place = tmp_path / "collections/ansible_collections/hccn/cluster"
    (place / "playbooks").mkdir(parents=True)
    shutil.copytree(COLLECTION / "extensions", place / "extensions")
    shutil.copy(COLLECTION / "galaxy.yml", place)
    for name, text in (("retest", RETEST), ("quarantine", QUARANTINE)):
        (place / f"playbooks/{name}.yml").write_text(text.replace("{{ notes }}", str(tmp_path)))
    history = tmp_path / "history/2026/11/21"
    history.mkdir(parents=True)
    bad = verdict("n3", "slow", "n3 NPU 1 to n1 NPU 1: 5 Gbit/s, normal is 195", "n1 NPU 1 to n3 NPU 1: 5 Gbit/s")
    (tmp_path / "again.jsonl").write_text(run(bad, playbook="hccn.cluster.retest"))
    (tmp_path / "hosts").write_text(f"localhost ansible_connection=local ansible_python_interpreter={sys.executable}\n")
    (tmp_path / "variables.yml").write_text(f"hccn_history: {tmp_path}/history\nhccn_quarantine: {quarantine}\n")
    argv = [str(BIN / "ansible-rulebook"), "-r", "hccn.cluster.degraded", "-i", str(tmp_path / "hosts"), "-e", str(tmp_path / "variables.yml"), "-v"]
    environment = {"PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]), "HOME": str(tmp_path), "LANG": "C.UTF-8",
                   "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), **{name: value for name, value in os.environ.items() if name == "JAVA_HOME"}}
    log = (tmp_path / "log").open("wb")
    running = subprocess.Popen(argv, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait(lambda: b"Waiting for actions" in (tmp_path / "log").read_bytes() or b"Waiting for events" in (tmp_path / "log").read_bytes(), running, tmp_path)
        for number in (1, 2):  # the same link in two runs
            (history / f"20261121T00000{number}Z-r{number}.jsonl").write_text(run(bad, run_id=f"r{number}"))
        wait(lambda: bool(lines(tmp_path / "retested")) and lines(tmp_path / "quarantined") == out, running, tmp_path)
        time.sleep(8)  # nothing more may come
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(30)
        log.close()
    assert lines(tmp_path / "retested") == ["n1/1-n3/1"]
    assert lines(tmp_path / "quarantined") == out


def wait(condition, running: subprocess.Popen[bytes], place: Path) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert running.poll() is None and time.monotonic() < end, (place / "log").read_text()
        time.sleep(0.2)
