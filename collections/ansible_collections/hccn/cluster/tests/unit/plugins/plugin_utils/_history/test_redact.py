# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets do not get into what is kept, and nothing else is lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import redact
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import Redactor, is_secret_name, secret_values


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ansible_password", True),
        ("ansible_become_pass", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("api-token", True),
        ("HCCN_KEY", True),
        ("vault_passphrase", True),
        ("PWD", False),
        ("OLDPWD", False),
        ("ANSIBLE_VAULT_PASSWORD_FILE", False),
        ("SSH_AUTH_SOCK", False),
        ("key", False),
        ("monkey", False),
        ("tokens", False),
        ("run_id", False),
        (7, False),
    ],
)
def test_names(name: Any, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_values_by_name() -> None:
    assert secret_values({"db_password": "hunter2", "host": "n1", "pin_token": "abc", "list_token": ["x"], "a_secret": "long enough"}) == {
        "hunter2",
        "long enough",
    }


def test_what_stands_inside_of_a_secret() -> None:
    inside = {"user": "operator", "login": "kangaroo7", "port": 443443, "more": [{"key": "zebra99x", "id": 7}], "pin": 12345678, "level": 1024, "on": True}
    assert secret_values({"switch_credentials": inside, "other": {"login": "giraffe55"}}) == {"kangaroo7", "zebra99x", "12345678"}


def test_secrets_below_another_name_and_not_in_what_is_large() -> None:
    variables = {
        "bmc": {"a": {"password": "leopard9"}, "b": {"c": {"password": "too deep"}}},
        "users": [{"name": "op", "api_token": "lioness4"}],
        "hostvars": {"password": "not looked at"},
        "large": [{"password": "not looked at"}] * 65,
    }
    assert secret_values(variables) == {"leopard9", "lioness4"}


def test_of_a_registered_result_what_it_told() -> None:
    told = {"changed": True, "cmd": ["cat", "/etc/token"], "stdout": "rhino66\n", "json": {"access_token": "tigress5", "type": "bearer"}}
    assert secret_values({"login_token": told}) == {"rhino66", "tigress5"}


def test_common_words_are_no_secrets() -> None:
    assert secret_values({"a_password": "root", "b_password": "True", "c_password": "None", "d_password": 1024, "e_password": "rooted"}) == {"rooted"}
    assert cleaned("root said true", "root", "true") == "root said true"


def test_templates_are_opened_and_what_cannot_be_known_is_left() -> None:
    values = {"{{ a }}": "opened1", "{{ b }}": {"login": "opened2"}, "{{ c }}": None}
    found = secret_values({"a_token": "{{ a }}", "b_credentials": "{{ b }}", "c_token": "{{ c }}", "d_token": "plain"}, values.get)
    assert found == {"opened1", "opened2", "plain"}


def cleaned(text: str, *known: str) -> str:
    redactor = Redactor()
    redactor.learn(known)
    return redactor.text(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("login with hunter2 failed", "login with (hidden) failed"),
        ("password=s3cr3t, user=op", "password=(hidden), user=op"),
        ("db_password: 's3cr3t' refused", "db_password: '(hidden)' refused"),
        ("the password is s3cr3t now", "the password is (hidden) now"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer (hidden)"),
        ("https://op:s3cr3t@mirror.example/x", "https://(hidden)@mirror.example/x"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a (hidden) b"),
        ("a -----BEGIN PRIVATE KEY-----\nMII", "a (hidden)"),
        ("https://mirror.example/x is down", "https://mirror.example/x is down"),
        ("3 tokens, 2 passes over the data, keyed by host", "3 tokens, 2 passes over the data, keyed by host"),
        ("", ""),
    ],
)
def test_texts(text: str, kept: str) -> None:
    assert cleaned(text, "hunter2") == kept


def test_the_longest_value_goes_first_and_short_ones_are_left() -> None:
    assert cleaned("abcdef abcd abc", "abcd", "abcdef", "abc") == "(hidden) (hidden) abc"


def test_a_value_that_comes_late_is_known_at_once_and_many_cost_few_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compiled = re.compile
    monkeypatch.setattr(redact.re, "compile", lambda pattern: made.append(pattern) or compiled(pattern))
    redactor = Redactor()
    for number in range(200):
        redactor.learn([f"password{number}"])
        assert redactor.text("nothing here") == "nothing here"
    assert len(made) == 3
    assert redactor.text("password19 password199 password7") == "(hidden) (hidden) (hidden)"
    redactor.learn(["password19 and more"])
    assert redactor.text("password19 and more") == "(hidden)"


def test_a_record_keeps_its_shape() -> None:
    redactor = Redactor()
    redactor.learn(["rdma", "n1 npu 0 secret"])
    record = {
        "schema": "hccn.cluster/measurement/1",
        "kind": "rdma",
        "status": "ok",
        "source": {"host": "n1", "device": 0},
        "command": ["tool", "--password=hunter2", "-d", "rdma"],
        "options": {"api_token": "s3cr3t", "qps": 1, "rdma": 2},
        "samples": [{"bandwidth_gbit_s": [195.9, None, 3]}, {"output": ("n1 npu 0 secret",)}],
    }
    assert redactor.entry(record) == {
        "schema": "hccn.cluster/measurement/1",
        "kind": "rdma",
        "status": "ok",
        "source": {"host": "n1", "device": 0},
        "command": ["tool", "--password=(hidden)", "-d", "(hidden)"],
        "options": {"api_token": "(hidden)", "qps": 1, "(hidden)": 2},
        "samples": [{"bandwidth_gbit_s": [195.9, None, 3]}, {"output": ["(hidden)"]}],
    }


def test_what_is_not_json_stays_for_the_writer_to_say_so() -> None:
    value = object()
    assert Redactor().entry({"a": value, "b": [value]}) == {"a": value, "b": [value]}
