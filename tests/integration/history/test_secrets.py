"""Secrets that are known only once a play runs are not in what it leaves either."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.history.plays import files, play

INVENTORY = """
n1 ansible_connection=local ansible_password="{{ pw_store }}" pw_store=hunter22x
"""


def failing(text: str, variables: str = "") -> str:
    return f"- fail: {{msg: {json.dumps(text)}}}\n  ignore_errors: true\n" + (f"  vars: {variables}\n" if variables else "")


def messages(folder: Path, tasks: str) -> list[str]:
    (folder / "inventory").write_text(INVENTORY)
    done = play(folder, tasks, hosts=str(folder / "inventory"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "keeps nothing more" not in done.stderr
    (path,) = files(folder)
    lines = map(json.loads, path.read_text().splitlines())
    return [line["message"].replace("Task failed: ", "").replace("Action failed: ", "") for line in lines if "message" in line]


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        (failing("with {{ ansible_password }}"), ["with (hidden)"]),
        (failing("with {{ a_token }}", "{a_token: \"{{ ('rhino' ~ '66') | trim }}\"}"), ["with (hidden)"]),
        (failing("with {{ bmc.a.password }}", "{bmc: {a: {password: leopard9}}}"), ["with (hidden)"]),
        (failing("early") + "- set_fact: {late_token: elephant44}\n" + failing("late {{ late_token }}"), ["early", "late (hidden)"]),
        (failing("early") + "- set_fact: {late_token: elephant44}\n  no_log: true\n" + failing("late {{ late_token }}"), ["early", "late (hidden)"]),
        (failing("early") + "- command: printf giraffe88\n  register: a_token\n" + failing("printf {{ a_token.stdout }}"), ["early", "printf (hidden)"]),
        (
            failing("early") + "- command: printf giraffe88\n  register: a_token\n  no_log: true\n" + failing("printf {{ a_token.stdout }}"),
            ["early", "printf (hidden)"],
        ),
        (failing("early") + "- include_vars: {file: ../late.yml}\n" + failing("late {{ db_password }}"), ["early", "late (hidden)"]),
        # Hidden before the message is cut, and before a list is written as JSON.
        (failing("{{ 'x' * 270 }} {{ a_token }}", "{a_token: buffalo-buffalo-buffalo-buffalo-buffalo}"), ["x" * 270 + " (hidden)"]),
        (
            "- assert: {that: false, fail_msg: [a, '{{ odd_token }}']}\n  ignore_errors: true\n  vars: {odd_token: \"p'\\\"\\\\ \u00e4\"}\n",
            ['["a", "(hidden)"]'],
        ),
        # One that is not to be known takes nothing from the others.
        (failing("with {{ ansible_password }}", '{a_token: "{{ absent.x }}", b_token: "{{ 1 | nofilter }}"}'), ["with (hidden)"]),
    ],
)
def test_what_the_play_makes_of_variables(tmp_path: Path, tasks: str, said: list[str]) -> None:
    (tmp_path / "late.yml").write_text('db_password: "{{ db_store }}"\ndb_store: lioness4\n')
    assert messages(tmp_path, tasks.replace("../late.yml", str(tmp_path / "late.yml"))) == said


@pytest.mark.parametrize("call", ["lookup('pipe', 'touch RAN')", "query( 'ansible.builtin.pipe', 'touch RAN')", "between"])
def test_nothing_is_run_to_learn_a_secret(tmp_path: Path, call: str) -> None:
    ran = tmp_path / "ran"
    variables = {"a_token": f"{{{{ {call} }}}}".replace("RAN", str(ran)), "between": f"{{{{ q('pipe', 'touch {ran}') }}}}"}
    assert messages(tmp_path, failing("with {{ ansible_password }}", json.dumps(variables))) == ["with (hidden)"]
    assert not ran.exists()


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("panther3\n")
    variables = json.dumps({"a_token": f"{{{{ lookup('file', '{tmp_path}/token') }}}}"})
    assert messages(tmp_path, failing("with {{ a_token }}", variables)) == ["with (hidden)"]


def test_a_password_that_refers_to_the_vault(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pw")
    unlock = ["--vault-password-file", str(tmp_path / "password")]
    argv = [sys.executable, "-m", "ansible", "vault", "encrypt_string", *unlock, "--name", "closed", "hunter2x"]
    vault = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    (tmp_path / "vars.yml").write_text(vault.stdout + 'a_token: "{{ closed }}"\n')
    play(tmp_path, failing("with {{ a_token }}"), "-e", f"@{tmp_path}/vars.yml", *unlock)
    (path,) = files(tmp_path)
    assert "with (hidden)" in path.read_text()
