"""The history under stress and in whole plays: kills, full and read-only disks, secrets, old runs, a results host."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.lib import schemas
from tests.integration.history.disks import disk
from tests.integration.history.plays import files, play, run
from tests.lib.project import ROOT

RECORD = "{schema: hccn.cluster/measurement/1, id: '%s', kind: ping, status: ok, source: {address: a}, target: {address: b}%s}"
MEASURE = f"- measure: {{measurements: [{RECORD % ('a', '')}]}}\n"

WRITER = """
import os, sys, time
from pathlib import Path
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer import RunWriter
folder, name, count, log = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), os.open(sys.argv[4], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
writer = RunWriter(folder, {"schema": "hccn.cluster/history/1", "run_id": "same", "started_at": "2026-11-20T10:15:30.000Z"})
for number in range(count):
    identity = f"{name}/{number}"
    writer.write([{"schema": "hccn.cluster/measurement/1", "id": identity, "kind": "rdma", "status": "ok", "padding": "x" * (number * 37 % 900)}])
    os.write(log, (identity + "\\n").encode())
writer.finish({"end": True})
"""


def killed_writers(folder: Path, count: int, records: int, seed: int) -> tuple[set[str], list[reader.Run]]:
    """Run ``count`` writers in one folder and kill half of them. Return the acknowledged ids and the runs that are read back."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "collections")}
    logs = [folder / f"log{number}" for number in range(count)]
    history = folder / "history"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(history), f"w{number}", str(records), str(log)], env=env) for number, log in enumerate(logs)]
    chance = random.Random(seed)  # noqa: S311
    doomed = [(writer, log, chance.randrange(1, records)) for writer, log in zip(writers, logs) if chance.random() < 0.5]
    doomed = doomed or [(writers[0], logs[0], records // 2)]
    while any(writer.poll() is None for writer in writers):
        for writer, log, at in doomed:
            if writer.poll() is None and log.exists() and log.read_bytes().count(b"\n") >= at:
                writer.send_signal(signal.SIGKILL)
        time.sleep(0.002)
    assert [writer.returncode for writer in writers].count(-signal.SIGKILL) >= 1
    acknowledged = {identity for log in logs if log.exists() for identity in log.read_text().splitlines()}
    return acknowledged, [reader.read(entry) for entry in reader.runs(history)]


def test_acknowledged_records_are_read_back_after_kills(tmp_path: Path) -> None:
    """make bench does the same with 1,000 records of each writer."""
    acknowledged, runs = killed_writers(tmp_path, 16, 120, seed=1)
    kept = [record["id"] for run in runs for record in run.records]
    assert len(runs) == 16 and len({run.header["run_id"] for run in runs}) == 16
    assert acknowledged - set(kept) == set()
    assert len(kept) == len(set(kept))
    assert all(run.complete is not run.file.part for run in runs)
    assert sum(run.bad_lines for run in runs) <= 16


MANY = "".join(f"- measure: {{measurements: [{RECORD % (f'n{number}', ', command: [' + 'x' * 900 + ']')}]}}\n" for number in range(8))


@pytest.mark.parametrize(("kilobytes", "read_only", "reason"), [(8, False, "No space left on device"), (64, True, "Read-only file system")])
def test_play_continues_on_a_full_or_read_only_disk(tmp_path: Path, kilobytes: int, read_only: bool, reason: str) -> None:
    with disk(tmp_path / "history", kilobytes, read_only):
        done = play(tmp_path, MANY)
        left = files(tmp_path)
        assert (done.returncode, "ok=8 " in done.stdout) == (0, True), done.stdout
        warned = "".join(done.stderr.split())  # ansible-core before 2.19 breaks lines anywhere
        assert warned.count(f"storesnothingmoreofthisrun:{tmp_path}/history") == 1
        assert reason.replace(" ", "") in warned
        assert len(left) == (0 if read_only else 1)
        for path in left:
            found = reader.read(next(reader.runs(tmp_path / "history")))
            assert (found.complete, found.bad_lines, path.read_bytes().endswith(b"}\n")) == (False, 0, True)
            assert 0 <= len(found.records) < 8


# The secrets, which must not be found in any file, by the place where they are planted.
SECRETS = {
    "in a variable": "Vq8-extra-var-secret",
    "in the inventory": "Kp2-inventory-secret",
    "in the environment": "Zt7-environment-secret",
    "in a no_log result": "Rm4-nolog-secret",
    "in the output of a tool": "Jw9-tool-output-secret",
    "in a vault": "Xn3-vaulted-secret",
    "in the record itself": "Hd6-record-key-secret",
}
HOSTILE = '<img src=x onerror=alert(1)>|[x](javascript:1)"\'\\'


def secret_play() -> str:
    message = "it broke: " + " and ".join(
        ["login {{ db_password }}", "with {{ ansible_ssh_pass }}", "token {{ lookup('env', 'HCCN_API_TOKEN') }}", "vault {{ sealed }}",
         f"password={SECRETS['in the output of a tool']} refused"])
    record = {"schema": "hccn.cluster/measurement/1", "kind": "rdma", "status": "failed", "source": {"device": 0}, "target": {"host": HOSTILE, "device": 0},
              "error": {"code": "login_failed", "message": message}, "command": ["tool", "--token={{ lookup('env', 'HCCN_API_TOKEN') }}"]}
    lldp = {"schema": "hccn.cluster/measurement/1", "id": "d", "kind": "device", "status": "ok", "source": {"device": 0},
            "samples": [{"link": "down", "lldp": {"system_name": HOSTILE}, "optical": None}]}
    tasks = [
        {"measure": {"measurements": [{**record, "id": "r", "options": {"api_key": SECRETS["in the record itself"]}}, lldp]}},
        {"measure": {"outcome": "failed", "msg": message}, "ignore_errors": True},
        {"measure": {"outcome": "failed", "msg": SECRETS["in a no_log result"], "measurements": [{**record, "id": SECRETS["in a no_log result"]}]},
         "no_log": True, "ignore_errors": True},
        *({"hccn.cluster.report": {"format": kind}} for kind in ("md", "json", "prom", "jsonl")),
        {"hccn.cluster.report": {"language": "zh"}, "register": "page"},
        {"hccn.cluster.history_info": {"endpoints": [{"host": HOSTILE}], "collectives": [{}]}, "register": "known"},
        {"ansible.builtin.copy": {"content": "{{ {'page': page, 'known': known} | to_json }}", "dest": "{{ playbook_dir }}/returned.json"}},
    ]
    return yaml.safe_dump(tasks, width=10_000)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a play with secrets in all sources, with a history that has an old run."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "password").write_text("pw")
    unlock = ["--vault-password-file", str(folder / "password")]
    vault = run(folder, [sys.executable, "-m", "ansible", "vault", "encrypt_string", *unlock, "--name", "sealed", SECRETS["in a vault"]])
    (folder / "vars.yml").write_text(vault.stdout + f"db_password: {SECRETS['in a variable']}\n")
    (folder / "hosts").write_text(f"n1 ansible_ssh_pass={SECRETS['in the inventory']}\n")
    old = folder / "history/2020/01/02/20200102T030405Z-old.jsonl"
    old.parent.mkdir(parents=True)
    old.write_text('{"schema":"hccn.cluster/history/1","run_id":"old","started_at":"2020-01-02T03:04:05.000Z"}\n')
    done = play(folder, secret_play(), *unlock, "-e", f"@{folder / 'vars.yml'}", hosts=str(folder / "hosts"),
                env={"HCCN_RUN_ID": "r1", "HCCN_API_TOKEN": SECRETS["in the environment"]})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in files(folder) if path.suffix != ".gz"}


def test_no_secret_is_in_any_file(planted: Path) -> None:
    texts = {**written(planted), "returned.json": (planted / "returned.json").read_text()}
    assert sorted(name.split("Z-")[-1] for name in texts) == ["index.html", "r1.html", "r1.json", "r1.jsonl", "r1.jsonl", "r1.md", "r1.prom", "returned.json"]
    found = {(where, name) for where, secret in SECRETS.items() for name, text in texts.items() if secret in text}
    assert found == set()
    kept = next(text for name, text in texts.items() if name.endswith("Z-r1.jsonl"))
    assert '"message":"it broke: login (hidden) and with (hidden) and token (hidden) and vault (hidden) and password=(hidden) refused"' in kept
    assert "(hidden: the task has no_log)" in kept and '"command":["tool","--token=(hidden)"]' in kept


def test_files_match_the_published_schemas(planted: Path) -> None:
    (path,) = planted.rglob("*Z-r1.jsonl")
    assert schemas.history_violations(path) == []
    assert schemas.history_violations(planted / "history/reports/r1.jsonl") == []
    assert schemas.violations("report/1", json.loads((planted / "history/reports/r1.json").read_text())) == []


def test_hostile_names_are_escaped(planted: Path) -> None:
    texts = written(planted)
    page = texts["r1.html"]
    assert "&lt;img src=x onerror=alert(1)&gt;" in page and "<img src=x" not in page
    assert re.findall(r"(?<!\\)<(?!br>)|(?<!\\)\]\(", texts["r1.md"]) == []
    assert [line for line in texts["r1.prom"].splitlines() if not re.fullmatch(r"# (HELP|TYPE) .*|# EOF|hccn_\w+(\{.*\})? \S+", line)] == []
    returned = json.loads((planted / "returned.json").read_text())
    assert returned["known"]["judged_run"] == "r1" and returned["page"]["state"] == "failed"
    assert (returned["page"]["summary"]["run_id"], returned["page"]["summary"]["hosts"]) == ("r1", {"failed": 2})


def test_old_run_is_compressed_by_the_next(planted: Path) -> None:
    assert [path.name for path in (planted / "history/2020/01/02").iterdir()] == ["20200102T030405Z-old.jsonl.gz"]
    assert reader.read(reader.find(planted / "history", "old")).header["run_id"] == "old"


def pair(source: str, target: str, rate: float) -> dict[str, Any]:
    return {"schema": "hccn.cluster/measurement/1", "id": f"r/{source}-{target}", "kind": "rdma", "status": "ok", "source": {"host": source, "device": 0},
            "target": {"host": target, "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": rate}]}


SLOW = {"n1": {"measurements": [pair("n1", "n2", 50.0), pair("n1", "n3", 50.0)]}, "n2": {"measurements": [pair("n2", "n3", 190.0)]}}

ROLE = """
- hccn.cluster.fabric_verdict: {hosts: [n1], nodes: %s, floor_gbit_s: 100, fail_on: never}
- ansible.builtin.include_role: {name: hccn.cluster.report}
  vars: %s
"""


def test_results_host_keeps_run_and_report_and_a_slow_run_fails(tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    settings: dict[str, Any] = {"report_results_host": "keeper", "report_results_path": str(kept), "report_fail_on": "slow",
                                "report_prometheus_path": str(tmp_path / "hccn.prom")}
    done = play(tmp_path, ROLE % (json.dumps(SLOW), json.dumps(settings)), hosts="n1,", env={
        "HCCN_RUN_ID": "awx-7", "ANSIBLE_SHOW_CUSTOM_STATS": "true", "ANSIBLE_HOST_PATTERN_MISMATCH": "ignore"})
    output = " ".join(done.stdout.split())
    assert done.returncode == 2 and "The run is slow, see " in output, done.stdout + done.stderr
    assert "'state': 'slow'" in output.replace('"', "'") and "'bad_hosts': [ 'n1' ]" in output.replace('"', "'").replace("['n1']", "[ 'n1' ]")
    (entry,) = reader.runs(kept)
    sent = reader.read(entry)
    assert (sent.complete, sent.file.run_id, len(sent.records)) == (True, "awx-7", 1)
    assert schemas.history_violations(entry.path) == []
    assert (kept / "reports/awx-7.html").read_bytes() == (tmp_path / "history/reports/awx-7.html").read_bytes()
    assert 'hccn_hosts{class="slow"} 1' in (tmp_path / "hccn.prom").read_text()
    assert (tmp_path / "hccn.prom").stat().st_mode & 0o777 == 0o644
