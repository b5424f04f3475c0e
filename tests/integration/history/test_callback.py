"""The callback hccn.cluster.results in real runs: the records that it keeps; it never disturbs a play."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lib.schemas import lines, violations

from .plays import DEADLINE, command, environment, files, header, kept, play, run, wait_until_alone

SCHEMA = "schema: hccn.cluster/measurement/1"


def record(name: str, *more: str) -> str:
    """Return a record as YAML on one line."""
    return "{" + ", ".join((SCHEMA, f"id: '{name}'", *more)) + "}"


TASKS = f"""
- name: Look
  measure:
    measurements:
      - {record("device", "kind: device", "source: {device: 0}")}
      - {record("pair", "kind: rdma", "source: {host: '{{ inventory_hostname }}', device: 1}")}
      - {record("of another host", "kind: rdma", "source: {host: n9, device: 1}")}
      - {record("of the controller", "kind: verdict", "source: {host: '{{ inventory_hostname }}'}")}
      - {{schema: other/1, id: foreign}}
      - just a text
- name: Each
  measure:
    measurements:
      - {record("item-{{ item }}", "kind: ping")}
  loop: [1, 2]
- name: Fail
  measure:
    outcome: failed
    measurements:
      - {record("failed", "kind: rdma", "status: failed")}
  ignore_errors: true
- name: Hide
  measure:
    measurements:
      - {record("hidden")}
  no_log: true
- name: Hide the failure
  measure:
    outcome: failed
    msg: the password is x
    measurements:
      - {record("hidden too")}
  no_log: true
  ignore_errors: true
- name: Again
  measure:
    measurements:
      - {record("device", "kind: other")}
      - {record("new", "kind: device")}
      - {record("new", "kind: twice")}
- name: Fail one of two
  measure:
    outcome: "{{{{ item }}}}"
    msg: "{{{{ 'long ' * 100 }}}}"
    measurements:
      - {record("of-{{ item }}")}
  loop: [ok, failed]
  ignore_errors: true
- name: Let another host do it
  measure:
    measurements:
      - {record("delegated")}
  delegate_to: n2
  when: inventory_hostname == "n1"
- name: Lose one
  measure:
    outcome: "{{{{ 'unreachable' if inventory_hostname == 'n2' else 'ok' }}}}"
- name: End
  measure:
    outcome: failed
"""

N1 = '"schema": "hccn.cluster/measurement/1"'


def of(host: str) -> dict[str, list[str]]:
    """Return the lines that each task adds for a host."""
    source = f'"source": {{"host": "{host}"}}'
    return {
        "Look": [
            f'{{{N1}, "id": "device", "kind": "device", "source": {{"device": 0, "host": "{host}"}}}}',
            f'{{{N1}, "id": "pair", "kind": "rdma", "source": {{"host": "{host}", "device": 1}}}}',
        ],
        "Each": [f'{{{N1}, "id": "item-{item}", "kind": "ping", {source}}}' for item in (1, 2)],
        "Fail": [
            f'{{{N1}, "id": "failed", "kind": "rdma", "status": "failed", {source}}}',
            f'{{"event": "failed", "host": "{host}", "task": "Fail", "message": "it broke", "ignored": true}}',
        ],
        "Hide": [
            f'{{"event": "failed", "host": "{host}", "task": "Hide the failure", "message": "(hidden: the task has no_log)", "ignored": true}}',
        ],
        "Again": [f'{{{N1}, "id": "new", "kind": "device", {source}}}'],
        "Fail one of two": [
            f'{{{N1}, "id": "of-ok", {source}}}',
            f'{{{N1}, "id": "of-failed", {source}}}',
            f'{{"event": "failed", "host": "{host}", "task": "Fail one of two", "message": "{"long " * 60}", "ignored": true}}',
        ],
    }


def test_all_kept_records_and_events(tmp_path: Path) -> None:
    done = play(tmp_path, TASKS, hosts="n1,n2")
    assert done.returncode in (2, 4), done.stderr
    (path,) = files(tmp_path)
    both = [line for pair in zip(of("n1").values(), of("n2").values()) for lines in pair for line in lines]
    assert kept(path) == [
        *both,
        f'{{{N1}, "id": "delegated", "source": {{"host": "n1"}}}}',
        '{"event": "unreachable", "host": "n2", "task": "Lose one", "message": "no route to host"}',
        '{"event": "failed", "host": "n1", "task": "End", "message": "it broke"}',
        '{"end": true, "records": 17, "hosts": {"n1": {"ok": 9, "failed": 1, "unreachable": 0, "changed": 0}, '
        '"n2": {"ok": 7, "failed": 0, "unreachable": 1, "changed": 0}}}',
    ]
    assert "password" not in path.read_text()


def test_host_unreachable_in_a_loop_is_recorded_once(tmp_path: Path) -> None:
    tasks = f"""
- name: Each
  measure: {{outcome: "{{{{ item }}}}", measurements: [{record("{{ item }}")}]}}
  loop: [ok, unreachable]
  ignore_unreachable: true
- name: None
  measure: {{outcome: failed}}
  loop: []
- name: No list
  measure:
  loop: "{{{{ absent }}}}"
"""
    play(tmp_path, tasks)
    (path,) = files(tmp_path)
    lines = kept(path)
    assert [line.split('"message"')[0] for line in lines[:-1]] == [
        f'{{{N1}, "id": "ok", "source": {{"host": "n1"}}}}',
        '{"event": "unreachable", "host": "n1", "task": "Each", ',
        '{"event": "failed", "host": "n1", "task": "No list", ',
    ]


def test_paths_in_ansible_cfg_are_relative_to_its_folder(tmp_path: Path) -> None:
    argv = command(tmp_path, "- measure:")
    variables = environment(tmp_path, HCCN_RESULTS_PATH="")
    (tmp_path / "ansible.cfg").write_text("[hccn_results]\npath = kept/here\nrun_id = from-file\nshow_path = true\n")
    done = subprocess.run(argv, env=variables, text=True, capture_output=True, timeout=DEADLINE, cwd="/")
    (path,) = [path for path in (tmp_path / "kept/here").rglob("*") if path.is_file()]
    assert path.name.endswith("Z-from-file.jsonl")
    assert f"hccn.cluster.results: 0 records in {path}\n" in done.stdout


FIND_HISTORY = """
- measure:
  register: seen
- ansible.builtin.assert:
    that:
      - seen.variables | sort == ["HCCN_RESULTS_DIR", "HCCN_RESULTS_FILE", "HCCN_RESULTS_PATH"]
      - lookup("ansible.builtin.env", "HCCN_RESULTS_DIR") == lookup("ansible.builtin.env", "HCCN_RESULTS_PATH")
      - lookup("ansible.builtin.env", "HCCN_RESULTS_FILE") is file
"""


def test_header_name_and_variables_of_a_run(tmp_path: Path) -> None:
    """The tasks of a run find its history by environment variables."""
    tasks = f"- measure: {{measurements: [{record('a')}]}}{FIND_HISTORY}"
    done = play(tmp_path, tasks, "--check", "-e", "secret=hunter2", env={"HCCN_RUN_ID": "night-1"})
    assert done.returncode == 0, done.stdout
    (path,) = files(tmp_path)
    found = header(path)
    started = found.pop("started_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", started)
    stamp = re.sub(r"[-:]|\.\d+", "", started)
    assert path == tmp_path / "history" / started[:4] / started[5:7] / started[8:10] / f"{stamp}-night-1.jsonl"
    assert re.fullmatch(r"2\.\d+\.\d+\S*", found.pop("ansible_core"))
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*|unknown", found.pop("collection"))
    assert found.pop("controller") == os.uname().nodename
    assert found == {"schema": "hccn.cluster/history/1", "run_id": "night-1", "playbook": "measure.yml", "check_mode": True}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o640, 0o750)
    assert "hunter2" not in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "env", "pattern", "shown"),
    [
        ([], {}, r"[0-9a-f]{8}-[0-9a-f]{16}", False),
        (["-v"], {"JOB_ID": "1234"}, "awx-1234", True),
        ([], {"JOB_ID": "1234", "HCCN_RUN_ID": "mine", "HCCN_RESULTS_SHOW_PATH": "true"}, "mine", True),
    ],
)
def test_run_id_and_path_on_the_screen(tmp_path: Path, arguments: list[str], env: dict[str, str], pattern: str, shown: bool) -> None:
    done = play(tmp_path, f"- measure: {{measurements: [{record('a')}]}}", *arguments, env=env)
    (path,) = files(tmp_path)
    assert re.fullmatch(pattern, header(path)["run_id"])
    assert path.name.endswith(f"-{header(path)['run_id']}.jsonl")
    assert [line for line in done.stdout.splitlines() if "hccn.cluster.results" in line] == [f"hccn.cluster.results: 1 records in {path}"] * shown
    assert "WARN" not in done.stderr


def test_invalid_run_id_is_replaced_with_a_warning(tmp_path: Path) -> None:
    done = play(tmp_path, "- measure:", env={"HCCN_RUN_ID": "../../etc"})
    assert "'../../etc' is not a valid run id" in " ".join(done.stderr.split())
    (path,) = files(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{16}", header(path)["run_id"])


def test_module_through_a_connection_and_in_the_background(tmp_path: Path) -> None:
    tasks = f"""
- measured: {{measurements: [{record("now")}]}}
- measured: {{measurements: [{record("later")}]}}
  async: 60
  poll: 1
- measured: {{measurements: [{record("fired")}]}}
  async: 60
  poll: 0
  register: job
- async_status: {{jid: "{{{{ job.ansible_job_id }}}}"}}
  register: waited
  until: waited.finished
  delay: 1
  retries: 60
- measured: {{measurements: [{record("scrubbed")}], key: hunter2}}
"""
    done = play(tmp_path, tasks)
    wait_until_alone(tmp_path)
    assert done.returncode == 0, done.stdout
    (path,) = files(tmp_path)
    tools = {"now": "x", "later": "x", "fired": "x", "scrubbed": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"}
    assert kept(path)[:-1] == [
        f'{{{N1}, "id": "{name}", "tool": {{"name": "{tool}"}}, "source": {{"host": "n1"}}}}' for name, tool in tools.items()
    ]


def test_vaulted_variable_in_a_result_stays_encrypted(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pw")
    unlock = ["--vault-password-file", str(tmp_path / "password")]
    vault = run(tmp_path, [sys.executable, "-m", "ansible", "vault", "encrypt_string", *unlock, "--name", "secret", "hunter2"])
    (tmp_path / "vars.yml").write_text(vault.stdout)
    tasks = f"""
- assert: {{that: secret == "hunter2", quiet: true}}
- measure: {{measurements: [{record("a")}], variable: secret}}
"""
    done = play(tmp_path, tasks, *unlock, "-e", f"@{tmp_path / 'vars.yml'}")
    assert done.returncode == 0, done.stdout
    (path,) = files(tmp_path)
    assert len(kept(path)) == 2
    assert '"variable": "' in kept(path)[0]
    assert "hunter2" not in path.read_text()


def test_each_playbook_of_a_command_is_a_run(tmp_path: Path) -> None:
    one = command(tmp_path, f"- measure: {{measurements: [{record('a')}]}}", name="one.yml")
    two = command(tmp_path, f"- measure: {{measurements: [{record('a')}, {record('b')}]}}", name="two.yml")
    assert run(tmp_path, [*one, two[-1]], {"HCCN_RUN_ID": "same"}).returncode == 0
    assert {header(path)["playbook"]: [line.split('"id": ')[-1][:3] for line in kept(path)[:-1]] for path in files(tmp_path)} == {
        "one.yml": ['"a"'],
        "two.yml": ['"a"', '"b"'],
    }


DEEP = """#!/usr/bin/python
# WANT_JSON: no AnsibleModule, which would examine the values that it returns
import json
record = {"schema": "hccn.cluster/measurement/1", "id": "shallow DEPTH", "kind": "ping"}
deep = json.dumps({**record, "id": "deep DEPTH", "x": "X"}).replace('"X"', "[" * DEPTH + "]" * DEPTH)
print('{"changed": false, "measurements": [%s, %s, %s]}' % (json.dumps(record), deep, json.dumps({**record, "id": "after DEPTH"})))
"""


def test_deeply_nested_record_costs_no_other_result(tmp_path: Path) -> None:
    """With 300 levels, ansible-core 2.19 and later cannot give the result to a callback."""
    library = tmp_path / "library"
    library.mkdir()
    for depth in ("40", "300"):
        (library / f"deep{depth}.py").write_text(DEEP.replace("DEPTH", depth))
    tasks = f"""
- deep40:
  when: inventory_hostname == "n1"
- deep300:
  when: inventory_hostname == "n1"
- name: After them
  measure: {{measurements: [{record("later")}]}}
"""
    done = play(tmp_path, tasks, hosts="n1,n2", env={"ANSIBLE_LIBRARY": str(library)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stores nothing more" not in done.stderr
    (path,) = files(tmp_path)
    assert path.suffix == ".jsonl"
    assert [violations("history/1", line) for line in lines(path) if "event" in line] == [[], []]
    found = [(line.get("event"), line.get("source", line).get("host"), line.get("id"), line.get("message")) for line in lines(path)[1:-1]]
    later = [(None, "n1", "later", None), (None, "n2", "later", None)]
    of_40, of_300 = ([
        (None, "n1", f"shallow {depth}", None), (None, "n1", f"after {depth}", None),
        ("dropped", "n1", None, f"A record is not kept: 'deep {depth}': it is nested deeper than 32 levels")] for depth in (40, 300))
    none = [("dropped", "n1", None, "A record is not kept: the result could not be examined: RecursionError")]
    assert found in ([*of_40, *of_300, *later], [*of_40, *none, *later])


def test_long_text_is_examined_once(tmp_path: Path) -> None:
    """160,000 characters, any of which may start a secret, do not delay the play, and the history stays small."""
    text = "a-" * 40_000 + "basic " + "a." * 40_000
    tasks = "- fail: {msg: " + text + "}\n  ignore_errors: true\n" + f"- measure: {{measurements: [{record('a', 'tool: {name: ' + text + '}')}]}}\n"
    done = play(tmp_path, tasks)
    assert done.returncode == 0, done.stderr
    (path,) = files(tmp_path)
    assert path.stat().st_size < 10_000
    assert '"id":"a"' in path.read_text()


def test_callback_that_is_not_enabled_writes_nothing(tmp_path: Path) -> None:
    done = play(tmp_path, "- measure:", env={"ANSIBLE_CALLBACKS_ENABLED": ""})
    assert (done.returncode, files(tmp_path)) == (0, [])


def test_killed_run_is_readable_up_to_its_last_finished_task(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting"
    tasks = f"""
- measure: {{measurements: [{record("one")}, {record("two")}]}}
- measure: {{measurements: [{record("three")}]}}
- measure: {{measurements: [{record("never")}], wait: {waiting}}}
"""
    process = subprocess.Popen(command(tmp_path, tasks), env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + DEADLINE
        while not waiting.exists():
            assert time.monotonic() < deadline and process.poll() is None, "the task never started"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait(DEADLINE)
        if waiting.exists():
            # The worker outlives its parent. Its pid is in the file.
            os.kill(int(waiting.read_text()), signal.SIGKILL)
    (path,) = files(tmp_path)
    assert path.name.endswith(".jsonl.part")
    assert path.read_bytes().split(b"\n", 1)[1] == (
        b'{"schema":"hccn.cluster/measurement/1","id":"one","source":{"host":"n1"}}\n'
        b'{"schema":"hccn.cluster/measurement/1","id":"two","source":{"host":"n1"}}\n'
        b'{"schema":"hccn.cluster/measurement/1","id":"three","source":{"host":"n1"}}\n'
    )


def reasons(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the reasons in the warnings of the callback, without spaces, since ansible-core before 2.19 breaks lines anywhere."""
    return re.findall(r"hccn\.cluster\.resultsstoresnothingmoreofthisrun:/\S+?\.jsonl\.part:(\w+)\.Freediskspace", re.sub(r"\s", "", done.stderr))


MANY = "".join(f"- measure: {{measurements: [{record(f'n{number}', 'command: [' + 'x' * 600 + ']')}]}}\n" for number in range(8))


def test_play_continues_without_a_history_folder(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file where the folder should be")
    done = play(tmp_path, MANY)
    assert (done.returncode, "ok=8 " in done.stdout) == (0, True)
    assert reasons(done) == ["Notadirectory"]


def test_play_continues_on_a_full_disk_with_whole_lines(tmp_path: Path) -> None:
    # The kernel refuses to let a file grow above this limit as it does on a full disk: first a short write, then an error.
    done = run(tmp_path, ["bash", "-c", 'ulimit -f 4; exec "$@"', "limited", *command(tmp_path, MANY)])
    assert (done.returncode, "ok=8 " in done.stdout) == (0, True)
    assert reasons(done) == ["Filetoolarge"]
    (path,) = files(tmp_path)
    assert path.name.endswith(".jsonl.part")
    assert path.read_bytes().endswith(b"}\n")
    assert [line.split('"id": ')[1][:3] for line in kept(path)] == ['"n0', '"n1', '"n2', '"n3', '"n4']
