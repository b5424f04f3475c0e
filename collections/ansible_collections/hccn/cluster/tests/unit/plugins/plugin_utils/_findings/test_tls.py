from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.tls import of_tls

HOSTS = ["n1", "n2", "n3"]
CHANGED, UNCHANGED = {"devices": [{"id": 0, "changed": True}]}, {"devices": [{"id": 0, "changed": False}]}
SKIPPED = {"skipped": True}


def summaries(failed: Any, **by_name: dict[str, Any]) -> list[str]:
    variables = {"tls_failed_hosts": dict.fromkeys(HOSTS, failed), **by_name}
    return [f"{one.cause} {one.severity} {one.component.name}: {one.message}" for one in of_tls(HOSTS, lambda host, name: variables.get(name, {}).get(host))]


def test_a_host_lost_before_leaves_tls_of_the_others_unchanged() -> None:
    assert summaries(["n2"], tls_dry_run={"n1": CHANGED, "n3": CHANGED}, tls_devices={"n1": SKIPPED, "n3": SKIPPED}) == [
        "tls_not_set failed cluster: TLS was left or put back as it was on n1, n3, since it could not be set on n2"]


def test_a_failed_host_has_tls_of_the_others_restored() -> None:
    locked = {**UNCHANGED, "msg": "2 of 2 devices failed: hccn.conf stayed locked"}
    not_put_back = {"results": [{"msg": "hccn.conf stayed locked"}, {}]}
    assert summaries(["n2"], tls_dry_run=dict.fromkeys(HOSTS, CHANGED), tls_devices={"n1": CHANGED, "n2": locked, "n3": CHANGED},
                     tls_put_back={"n1": {"results": [{}]}, "n2": {"results": []}, "n3": not_put_back}) == [
        "tls_not_set failed n2: TLS could not be set: 2 of 2 devices failed: hccn.conf stayed locked",
        "tls_not_set failed n3: TLS could not be put back as it was: hccn.conf stayed locked",
        "tls_not_set failed cluster: TLS was left or put back as it was on n1, n3, since it could not be set on n2"]


def test_hosts_that_needed_no_change_are_as_declared() -> None:
    assert summaries(["n2"], tls_dry_run={"n1": UNCHANGED, "n3": UNCHANGED}, tls_devices={"n1": SKIPPED, "n3": SKIPPED}) == []


def test_hosts_that_keep_the_new_state_are_as_declared() -> None:
    assert summaries(["n2"], tls_devices={"n1": CHANGED, "n2": {"unreachable": True, "msg": "no route to host"}, "n3": CHANGED},
                     tls_put_back=dict.fromkeys(HOSTS, SKIPPED)) == []


@pytest.mark.parametrize("odd", [None, [], {}, "n2", 7, [7, None]])
def test_without_failed_hosts_there_are_no_findings(odd: object) -> None:
    assert summaries(odd, tls_devices=dict.fromkeys(HOSTS, "odd")) == []
