"""Requirements of a job on the controller."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import address_pools
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import requirements

NO_NETADDR = ("Planning addresses from bring_up_subnets needs the Python library netaddr on the controller. Install it beside ansible-core: "
              "pip install netaddr")


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("HCCN_RESULTS_FILE", "HCCN_RESULTS_LOST"):
        monkeypatch.delenv(name, raising=False)


def messages(names, subnets=()):
    return [(problem.cause, problem.message) for problem in requirements.missing(names, subnets)]


def test_netaddr_is_needed_where_addresses_are_planned(monkeypatch):
    assert messages(["netaddr"], ["npu1"]) == []
    monkeypatch.setattr(address_pools, "netaddr", None)
    assert messages(["netaddr"], ["npu1"]) == [("requirement_missing", NO_NETADDR)]
    assert messages(["netaddr"]) == []
    assert messages([], ["npu1"]) == []


def test_a_missing_callback_is_reported():
    (found,) = messages(["history"])
    assert found == ("requirement_missing", "There will be no history and no report: enable the callback hccn.cluster.results, with callbacks_enabled = "
                     "hccn.cluster.results in the section [defaults] of ansible.cfg, or with the environment variable "
                     "ANSIBLE_CALLBACKS_ENABLED=hccn.cluster.results")


def test_an_enabled_callback_satisfies_history(monkeypatch):
    monkeypatch.setenv("HCCN_RESULTS_FILE", "/srv/history/run.jsonl.part")
    assert messages(["history"]) == []


def test_a_history_that_cannot_be_written_is_named(monkeypatch):
    monkeypatch.setenv("HCCN_RESULTS_FILE", "/srv/history/run.jsonl.part")
    monkeypatch.setenv("HCCN_RESULTS_LOST", "no space left on /srv")
    assert messages(["history"]) == [("requirement_missing", "There will be no history and no report: no space left on /srv")]
