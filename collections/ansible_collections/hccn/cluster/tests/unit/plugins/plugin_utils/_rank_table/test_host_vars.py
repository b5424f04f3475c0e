"""Variables of hosts, which are templated only if they contain a template."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import packed
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import host_vars
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.host_vars import HostVars, plain


@pytest.mark.parametrize("value, expected", [
    ({"devices": [{"id": 0, "address": "192.168.1.1"}]}, ({"devices": [{"id": 0, "address": "192.168.1.1"}]}, True)),
    ("192.0.2.1", ("192.0.2.1", True)),
    (None, (None, True)),
    ({"a": {"b": {}}}, ({"a": {"b": {}}}, True)),
    ("{{ address }}", (None, False)),
    ({"devices": [{"address": "{{ address }}"}]}, (None, False)),
    (["{% if true %}1{% endif %}"], (None, False)),
    (["{# nothing #}"], (None, False)),
    ("#jinja2: variable_start_string:'[['\n[[ a ]]", (None, False)),
    ({"a": object()}, (None, False)),
])
def test_plain_values_are_recognized(value, expected):
    assert plain(value) == expected


class Raw(dict):
    """Like HostVars of ansible-core, with raw and templated variables."""

    def __init__(self, raw, templated):
        super().__init__(templated)
        self.raw = raw
        self.asked = 0

    def raw_get(self, host):
        return self.raw[host]

    def __getitem__(self, host):
        self.asked += 1
        return super().__getitem__(host)


def test_only_values_with_templates_are_templated():
    hostvars = Raw({"n1": {"npu": {"devices": []}, "rank_table_rack": "r{{ number }}"}}, {"n1": {"npu": "templated", "rank_table_rack": "r7"}})
    hosts = HostVars(hostvars)
    assert (hosts.result("n1", "npu"), hosts.result("n1", "other"), hostvars.asked) == ({"devices": []}, None, 0)
    assert (hosts.rack("n1", {}), hostvars.asked) == ("r7", 1)
    assert sorted(hosts.of("n1")) == ["npu", "rank_table_rack"]
    assert len(hosts.of("n1")) == 2


def test_a_result_of_all_hosts_is_read_once(monkeypatch):
    """A task with run_once registers one object on every host, as large as the cluster."""
    verdict = {"verdicts": [{"host": "n1"}, {"host": "n2"}]}
    raw = {name: {"verdict": verdict, "npus": packed({"devices": [{"id": number}]})} for number, name in enumerate(("n1", "n2"))}
    asked = []
    monkeypatch.setattr(host_vars, "plain", lambda value: asked.append(value) or plain(value))
    hosts = HostVars(Raw(raw, raw))
    assert [hosts.result(host, "verdict") for host in ("n1", "n2", "n1")] == [verdict] * 3
    assert asked == [verdict]
    assert [hosts.result(host, "npus") for host in ("n1", "n2", "n1")] == [{"devices": [{"id": 0}]}, {"devices": [{"id": 1}]}, {"devices": [{"id": 0}]}]


def test_raw_variables_are_not_templated():
    class Raw(dict):
        def raw_get(self, host):
            return {"path": "{{ folder }}/x"} if host == "n1" else {}

    assert HostVars(Raw(n1={"path": "/srv/x"})).raw("n1") == {"path": "{{ folder }}/x"}
    assert HostVars({"n1": {"path": "/srv/x"}}).raw("n1") == {"path": "/srv/x"}
