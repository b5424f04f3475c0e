from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.same_results import Results, key_of, label_of


@pytest.mark.parametrize(("hosts", "label"), [
    (["n1"], "n1"), (["n1", "n2", "n3", "n4"], "n1, n2, n3, n4"), (["n1", "n2", "n3", "n4", "n5"], "n1, n2, n3 ... (5 hosts)")])
def test_many_hosts_are_counted(hosts, label):
    assert label_of(hosts) == label


def test_a_change_is_the_same_whatever_it_returns():
    assert key_of("changed", {"msg": "a"}, "n1", "10.0.0.1") == key_of("changed", {"msg": "b"}, "n2", "10.0.0.2") == ("changed",)


@pytest.mark.parametrize(("message", "expected"), [
    ("ssh: connect to host 10.0.0.1 port 22: Connection refused", "ssh: connect to host HOST port 22: Connection refused"),
    ("10.9.9.9 is also the address of n10 and n1", "ADDRESS is also the address of n10 and HOST"),
    ("/opt/n1/hccn_tool: no such program", "/opt/HOST/hccn_tool: no such program"),
    ("driver 25.0.1 on my-n1", "driver 25.0.1 on my-n1"),
])
def test_a_failure_is_compared_without_the_names_of_its_host(message, expected):
    assert key_of("failed", {"msg": message}, "n1", "10.0.0.1") == ("failed", expected)


def test_results_are_taken_once_in_their_order():
    results: Results[str] = Results()
    for key, host in (("b", "n1"), ("a", "n2"), ("b", "n3")):
        results.add((key,), host, f"{key} of {host}")
    assert results.take() == [(["n1", "n3"], "b of n1"), (["n2"], "a of n2")]
    assert results.take() == []
