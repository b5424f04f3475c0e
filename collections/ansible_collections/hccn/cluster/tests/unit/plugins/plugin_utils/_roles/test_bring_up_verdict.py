from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.bring_up_verdict import bring_up_verdict
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.bring_up_verdict import lines

GOOD = "n1: 2 NPUs (A2), 2 links up, TLS on 0 of them, hccn.conf with 0 problems"


def npu(number: int, link: str = "up", tls: Any = False, errors: Any = ()) -> dict[str, Any]:
    return {"id": number, "link": link, "tls": {"enabled": tls}, "errors": list(errors)}


def of(*devices: dict[str, Any], product: Any = "A2", problems: Any = (), **more: Any) -> tuple[bool, str]:
    found = bring_up_verdict("n1", {"product": product, "devices": list(devices), "hccn_conf": {"problems": list(problems)}}, **more)
    assert sorted(found) == ["bad", "line"]
    return found["bad"], found["line"]


def test_a_good_host_is_not_bad() -> None:
    assert of(npu(0), npu(1)) == (False, GOOD)
    assert of(npu(0, tls=True), product=None, problems=[{}, {}]) == (
        False, "n1: 1 NPUs (unknown product), 1 links up, TLS on 1 of them, hccn.conf with 2 problems")


def test_a_host_without_a_result_for_hccn_conf_is_not_bad() -> None:
    assert bring_up_verdict("n1", {"product": "A2", "devices": [npu(0), npu(1)]}) == {"bad": False, "line": GOOD}


def test_bad_npus_are_listed() -> None:
    assert of(npu(10, link="down"), npu(2, errors=[{"code": "x"}]), npu(3, link="partial", errors=[{}]), npu(4)) == (
        True, "n1: 4 NPUs (A2), 2 links up, TLS on 0 of them, hccn.conf with 0 problems, bad: 2, 3, 10")


@pytest.mark.parametrize("reason", ["would_write", "no_final_newline", "nul_bytes", "unsupported_dialect"])
def test_a_flag_that_was_not_queried_is_not_counted_as_off(reason: str) -> None:
    skipped = dict(npu(0), tls={"enabled": None, "reason": reason})
    assert of(skipped, dict(skipped, id=1)) == (False, "n1: 2 NPUs (A2), 2 links up, TLS not asked, hccn.conf with 0 problems")
    assert of(skipped, npu(1, tls=True), npu(2)) == (
        False, "n1: 3 NPUs (A2), 3 links up, TLS on 1 of them, not asked on 1, hccn.conf with 0 problems")


def test_odd_tls_answers_are_not_counted() -> None:
    assert of(dict(npu(0), tls=None), dict(npu(1), tls={"enabled": None, "reason": ["would_write"]})) == (False, GOOD)


def test_differing_tls_flags_are_reported() -> None:
    differing = {"hosts": ["n1", "n2"], "enabled": ["n2", "n3"]}
    assert of(npu(0), npu(1), differing=differing) == (
        True, f"{GOOD}. The TLS flag differs between the hosts: NPUs with different flags cannot connect (HCCL: EI0016 or EI0006). "
              "Enabled on: n2, n3. Set bring_up_tls_state to enabled or disabled, or run the playbook hccn.cluster.tls.")
    assert of(npu(0), npu(1), differing={"hosts": ["n2"], "enabled": ["n2"]}) == (False, GOOD)


@pytest.mark.parametrize("tls, bad, more", [
    ({}, False, ""),
    ({"complete": True, "bad": False, "line": "n1: TLS"}, False, ""),
    ({"complete": False, "bad": False, "line": "n1: TLS. Failed: n2"}, False, ". n1: TLS. Failed: n2"),
    ({"complete": False, "bad": True, "line": "n1: TLS. Failed: n1"}, True, ". n1: TLS. Failed: n1"),
])
def test_the_outcome_of_tls_is_included(tls: dict[str, Any], bad: bool, more: str) -> None:
    assert of(npu(0), npu(1), tls=tls) == (bad, GOOD + more)


def test_lines_of_all_hosts() -> None:
    """One line for each host that was read: with the problems of hccn.conf, and none for hosts without an answer."""
    up = {"id": 0, "link": "up", "errors": [], "tls": {"enabled": False}}
    known = {
        "n1": {"bring_up_devices": {"product": "A2", "devices": [up], "hccn_conf": {"problems": [{}]}}},
        "n2": {"bring_up_devices": {"product": "A2", "devices": [dict(up, link="down")], "hccn_conf": {"problems": []}}},
        "n3": {"bring_up_devices": {"failed": True, "devices": []}},
        "n4": {},
        "n5": {"bring_up_devices": "garbage"},
    }
    assert lines(known, known.__getitem__, {}, [], True) == [
        "n1: 1 NPUs (A2), 1 links up, TLS on 0 of them, hccn.conf with 1 problems",
        "n2: 1 NPUs (A2), 0 links up, TLS on 0 of them, hccn.conf with 0 problems, bad: 0",
    ]


def test_lines_include_the_outcome_of_tls_where_it_was_managed() -> None:
    """A host that could change is left as it was since another failed; the host without a TLS task has no outcome."""
    read = {"bring_up_devices": {"product": "A2", "devices": [{"id": 0, "link": "up", "errors": [], "tls": {"enabled": False}}]}}
    dry_run = {"state": "enabled", "devices": [{"id": 0, "changed": True}]}
    known = {"n1": dict(read, tls_dry_run=dry_run, tls_devices={"skipped": True}), "n2": dict(read, tls_dry_run={"skipped": True})}
    line = "1 NPUs (A2), 1 links up, TLS on 0 of them, hccn.conf with 0 problems"
    assert lines(known, known.__getitem__, {}, ["n3"], True) == [
        f"n1: {line}. n1: TLS left as it was, since not every host can change. Failed: n3",
        f"n2: {line}",
    ]
