"""Recognition of secrets in variables."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import secret_variables
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.secret_variables import is_secret_name, secret_values


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
def test_names_of_secrets(name: Any, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_secrets_are_found_by_name() -> None:
    assert secret_values({"db_password": "hunter2", "host": "n1", "pin_token": "abc", "list_token": ["x"], "a_secret": "long enough"}) == {
        "hunter2",
        "long enough",
    }


def test_values_nested_in_a_secret_are_collected() -> None:
    inside = {"user": "operator", "login": "kangaroo7", "port": 443443, "more": [{"key": "zebra99x", "id": 7}], "pin": 12345678, "level": 1024, "on": True}
    assert secret_values({"switch_credentials": inside, "other": {"login": "giraffe55"}}) == {"kangaroo7", "zebra99x", "12345678"}


def test_nested_secrets_are_found_except_in_large_variables() -> None:
    variables = {
        "bmc": {"a": {"password": "leopard9"}, "b": {"c": {"password": "too deep"}}},
        "users": [{"name": "op", "api_token": "lioness4"}],
        "hostvars": {"password": "not looked at"},
        "large": [{"password": "not looked at"}] * 65,
    }
    assert secret_values(variables) == {"leopard9", "lioness4"}


def test_output_of_a_registered_result_is_collected() -> None:
    result = {"changed": True, "cmd": ["cat", "/etc/token"], "stdout": "rhino66\n", "json": {"access_token": "tigress5", "type": "bearer"}}
    assert secret_values({"login_token": result}) == {"rhino66", "tigress5"}


def test_common_words_are_not_secrets() -> None:
    assert secret_values({"a_password": "root", "b_password": "True", "c_password": "None", "d_password": 1024, "e_password": "rooted"}) == {"rooted"}


def test_templates_are_evaluated_and_unknown_values_ignored() -> None:
    values = {"{{ a }}": "opened1", "{{ b }}": {"login": "opened2"}, "{{ c }}": None, "{# d #}e": "opened3"}
    found = secret_values({"a_token": "{{ a }}", "b_credentials": "{{ b }}", "c_token": "{{ c }}", "d_token": "plain", "e_token": "{# d #}e"}, values.get)
    assert found == {"opened1", "opened2", "opened3", "plain"}


def test_passwords_in_urls_of_proxies() -> None:
    variables = {"perf_tools_http_proxy": "http://operator:zebra%4099@proxy.example:3128", "HTTPS_PROXY": "{{ proxy }}", "site_http_proxy": "http://proxy:3128",
                 "no_proxy": "a://b:walrus77@c", "site": {"https_proxy": "http://x:ocelot11@proxy"}, "a_token": "https://me:jaguar22@site",
                 "bad_http_proxy": "http://[x"}
    assert secret_values(variables, {"{{ proxy }}": "http://x:lynx5555@proxy"}.get) == {
        "zebra%4099", "zebra@99", "lynx5555", "ocelot11", "https://me:jaguar22@site", "jaguar22"}


def test_number_of_secrets_of_a_result_is_bounded() -> None:
    """A host may print anything into a variable with the name of a secret."""
    result = {"changed": False, "stdout_lines": [f"line {number}" for number in range(1_000_000)]}
    found = secret_values({"a_token": result})
    assert {"line 0", "line 1"} <= found and sum(map(len, found)) < secret_variables.MOST_COLLECTED
    assert secret_values({"a_token": "x" * 100_000}) == {"x" * 65536}
