"""Secrets that are known only at run time are removed from the history as well."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.history.plays import files, play_of, playbook_command, run


class Case(NamedTuple):
    """Tasks for one host, and the messages that the history keeps of their failures. FOLDER in ``tasks`` is replaced."""

    tasks: str
    messages: list[str]


def failing(text: str, variables: str = "") -> str:
    return f"- fail: {{msg: {json.dumps(text)}}}\n  ignore_errors: true\n" + (f"  vars: {variables}\n" if variables else "")


def with_lookup(template: str) -> str:
    """A secret whose template runs a program, beside a password that is known."""
    return failing("with {{ ansible_password }}", json.dumps({"a_token": template, "between": "{{ q('pipe', 'touch FOLDER/between') }}"}))


# Secrets differ between cases: a value that one case reveals to the callback would be hidden in all later ones.
CASES = {
    "password_of_the_inventory": Case(failing("with {{ ansible_password }}"), ["with (hidden)"]),
    "template_of_the_task": Case(failing("with {{ a_token }}", "{a_token: \"{{ ('rhino' ~ '66') | trim }}\"}"), ["with (hidden)"]),
    "nested_variable": Case(failing("with {{ bmc.a.password }}", "{bmc: {a: {password: leopard9}}}"), ["with (hidden)"]),
    "set_fact": Case(failing("early") + "- set_fact: {late_token: elephant44}\n" + failing("late {{ late_token }}"), ["early", "late (hidden)"]),
    "set_fact_with_no_log": Case(
        failing("early") + "- set_fact: {late_token: antelope55}\n  no_log: true\n" + failing("late {{ late_token }}"), ["early", "late (hidden)"]),
    "registered": Case(
        failing("early") + "- command: printf giraffe88\n  register: a_token\n" + failing("printf {{ a_token.stdout }}"), ["early", "printf (hidden)"]),
    "registered_with_no_log": Case(
        failing("early") + "- command: printf gazelle77\n  register: a_token\n  no_log: true\n" + failing("printf {{ a_token.stdout }}"),
        ["early", "printf (hidden)"]),
    "include_vars": Case(failing("early") + "- include_vars: {file: FOLDER/late.yml}\n" + failing("late {{ db_password }}"), ["early", "late (hidden)"]),
    "before_the_message_is_cut": Case(
        failing("{{ 'x' * 270 }} {{ a_token }}", "{a_token: buffalo-buffalo-buffalo-buffalo-buffalo}"), ["x" * 270 + " (hidden)"]),
    "before_a_list_is_written_as_json": Case(
        "- assert: {that: false, fail_msg: [a, '{{ odd_token }}']}\n  ignore_errors: true\n  vars: {odd_token: \"p'\\\"\\\\ \u00e4\"}\n",
        ['["a", "(hidden)"]']),
    "beside_templates_that_fail": Case(
        failing("with {{ ansible_password }}", '{a_token: "{{ absent.x }}", b_token: "{{ 1 | nofilter }}"}'), ["with (hidden)"]),
    "lookup_that_runs_a_program": Case(with_lookup("{{ lookup('pipe', 'touch FOLDER/lookup') }}"), ["with (hidden)"]),
    "query_that_runs_a_program": Case(with_lookup("{{ query( 'ansible.builtin.pipe', 'touch FOLDER/query') }}"), ["with (hidden)"]),
    "variable_that_runs_a_program": Case(with_lookup("{{ between }}"), ["with (hidden)"]),
    "lookup_of_a_file": Case(failing("with {{ a_token }}", json.dumps({"a_token": "{{ lookup('file', 'FOLDER/token') }}"})), ["with (hidden)"]),
    "template_of_a_vaulted_variable": Case(failing("with {{ vault_token }}"), ["with (hidden)"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of one run in which each case is a play on a separate host."""
    made = tmp_path_factory.mktemp("secrets")
    (made / "late.yml").write_text('db_password: "{{ db_store }}"\ndb_store: lioness4\n')
    (made / "token").write_text("panther3\n")
    (made / "password").write_text("pw")
    unlock = ["--vault-password-file", str(made / "password")]
    vault = run(made, [sys.executable, "-m", "ansible", "vault", "encrypt_string", *unlock, "--name", "closed", "hunter2x"])
    (made / "vars.yml").write_text(vault.stdout + 'vault_token: "{{ closed }}"\n')
    (made / "inventory").write_text("".join(
        f'{name} ansible_connection=local ansible_password="{{{{ pw_store }}}}" pw_store=hunter-of-{name}\n' for name in CASES))
    playbook = "".join(play_of(case.tasks.replace("FOLDER", str(made)), name) for name, case in CASES.items())
    done = run(made, playbook_command(made, playbook, "-e", f"@{made}/vars.yml", *unlock, hosts=str(made / "inventory")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stores nothing more" not in done.stderr
    return made


@pytest.fixture(scope="module")
def messages(folder: Path) -> dict[str, list[str]]:
    """The messages that the history keeps, by host."""
    (path,) = files(folder)
    found: dict[str, list[str]] = {}
    for line in map(json.loads, path.read_text().splitlines()):
        if "message" in line:
            found.setdefault(line["host"], []).append(line["message"].replace("Task failed: ", "").replace("Action failed: ", ""))
    return found


@pytest.mark.parametrize("case", CASES)
def test_secret_is_hidden(messages: dict[str, list[str]], case: str) -> None:
    assert messages[case] == CASES[case].messages


def test_no_program_is_run_to_learn_a_secret(folder: Path) -> None:
    assert [name for name in ("lookup", "query", "between") if (folder / name).exists()] == []
