from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.tls_outcome import tls_outcome
from ansible_collections.hccn.cluster.plugins.filter.tls_rollout import tls_rollout
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.tls_rollout import Outcome, Rollout, outcome, rollout

HOSTS = ["n1", "n2", "n3"]
CA, OTHER_CA = ["/CN=a", "/CN=b"], ["/CN=c"]
SKIPPED = {"changed": False, "skipped": True}


def device(number: int = 0, before: Any = False, after: Any = True, changed: bool = True, authorities: Any = None) -> dict[str, Any]:
    authorities = CA if authorities is None else authorities
    return {"id": number, "before": {"enabled": before}, "after": {"enabled": after}, "changed": changed, "authorities": authorities}


def answer(*devices: Any, state: str = "enabled", **more: Any) -> dict[str, Any]:
    return {"state": state, "devices": list(devices), **more}


def of(active: list[str] | None = None, batch: list[str] | None = None, **variables: dict[str, Any]) -> Rollout:
    present = HOSTS if active is None else active
    return rollout(HOSTS, present, present if batch is None else batch, lambda host: variables.get(host, {}))


PROBED = {"tls_dry_run": answer(device())}
AS_WANTED = {"tls_dry_run": answer(device(before=True, changed=False))}
SET = {**PROBED, "tls_devices": answer(device())}


def test_hosts_that_were_probed() -> None:
    assert of(n1=PROBED, n2=AS_WANTED, n3=PROBED) == Rollout(True, ["n1", "n3"], [CA], [], False)


def test_a_host_that_was_lost_before_it_was_probed() -> None:
    found = of(active=["n1", "n3"], n1=PROBED, n3=PROBED)
    assert (found.all_probed, found.changing, found.failed) == (False, ["n1", "n3"], ["n2"])


def test_an_active_host_that_was_not_probed_has_failed() -> None:
    found = of(n1=PROBED, n3=PROBED)
    assert (found.all_probed, found.failed) == (False, ["n2"])


def test_hosts_of_later_batches_have_not_failed() -> None:
    found = of(batch=["n1"], n1=SET)
    assert (found.all_probed, found.changing, found.failed) == (True, ["n1"], [])


def test_only_hosts_of_the_batch_would_change() -> None:
    assert of(batch=["n2"], n1=PROBED, n2=PROBED).changing == ["n2"]


def test_authorities_of_all_batches_are_distinct() -> None:
    found = of(batch=["n3"], n1=PROBED, n2={"tls_dry_run": answer(device(authorities=OTHER_CA), device(1))}, n3={"tls_dry_run": answer(device(authorities=[]))})
    assert found.authorities == [CA, OTHER_CA]


@pytest.mark.parametrize("result, failed", [
    (answer(device(), device(1, True, changed=False)), []),
    (answer(device(after=False), state="disabled"), []),
    (SKIPPED, []),
    (answer(device(), device(1, after=False)), ["n2"]),
    (answer(device(after=None)), ["n2"]),
    (answer(device(after=None), state="disabled"), ["n2"]),
    (answer(msg="2 of 2 devices failed"), ["n2"]),
    ({"unreachable": True, "msg": "no route to host"}, ["n2"]),
    (answer("odd"), ["n2"]),
    (answer({"after": "odd"}), ["n2"]),
    ({"devices": 5}, ["n2"]),
])
def test_hosts_without_the_requested_state_have_failed(result: Any, failed: list[str]) -> None:
    assert of(n1=SET, n2={**PROBED, "tls_devices": result}, n3=SET).failed == failed


def test_a_host_lost_after_the_change_counts_as_set() -> None:
    assert of(active=["n1", "n3"], n1=SET, n2=SET, n3=SET).failed == []


@pytest.mark.parametrize("own, settled", [
    (AS_WANTED, True),
    (PROBED, False),
    ({"tls_dry_run": answer(device(before=True, changed=False), msg="1 of 1 devices failed")}, False),
    ({"tls_dry_run": answer()}, False),
    ({"tls_dry_run": answer(device(before=True, changed=False, authorities=OTHER_CA))}, False),
])
def test_a_batch_is_settled_if_all_its_hosts_have_the_requested_state(own: dict[str, Any], settled: bool) -> None:
    assert of(n1=AS_WANTED, n2=own, n3=AS_WANTED).settled is settled


def test_certificates_do_not_matter_if_tls_is_disabled() -> None:
    off = [{"tls_dry_run": answer(device(after=False, changed=False, authorities=one), state="disabled")} for one in (CA, OTHER_CA)]
    assert of(n1=off[0], n2=off[1], n3=off[0]).settled is True


def test_the_result_of_device_state_contains_the_dry_run() -> None:
    own = {"probe": {"devices": [{"id": 0}], "tls": AS_WANTED["tls_dry_run"]}}
    found = rollout(HOSTS, HOSTS, HOSTS, lambda host: own, "probe")
    assert (found.all_probed, found.changing, found.authorities, found.settled) == (True, [], [CA], True)


@pytest.mark.parametrize("odd", [None, 5, "text", [], {}, {"devices": 5}, {"devices": ["x", {}, {"authorities": 5}]}])
def test_a_malformed_probe_does_not_affect_other_hosts(odd: Any) -> None:
    assert of(n1=PROBED, n2={"tls_dry_run": odd}, n3=PROBED) == Rollout(True, ["n1", "n3"], [CA], [], False)


def test_the_filters_return_dictionaries() -> None:
    assert tls_rollout(["n1"], {"n1": SET}, ["n1"], ["n1"]) == {"all_probed": True, "changing": ["n1"], "authorities": [CA], "failed": [], "settled": False}
    assert tls_outcome("n1", "enabled", [], "keep", result=answer(device())) == {
        "complete": True, "bad": False, "line": "n1: TLS enabled on 1 of 1 NPUs, 1 of them set now", "put_back": {"disabled": ["0"]}}


def of_host(failed: list[str], result: Any, rolls_back: bool = True, probed: Any = None, put_back: Any = None) -> Outcome:
    return outcome("n1", "enabled", failed, rolls_back, probed, result, SKIPPED if put_back is None else put_back)


def test_a_host_with_the_requested_state_is_good() -> None:
    assert of_host([], answer(device(), device(1, True, changed=False))) == Outcome(
        True, False, "n1: TLS enabled on 2 of 2 NPUs, 1 of them set now", {"disabled": ["0"]})
    assert outcome("n1", "disabled", [], True, None, answer(device(0, True, False), device(1, None, False)), None) == Outcome(
        True, False, "n1: TLS disabled on 2 of 2 NPUs, 2 of them set now", {"enabled": ["0"], "disabled": ["1"]})


def test_a_host_is_rolled_back_if_others_failed() -> None:
    found = of_host(["n2", "n3"], answer(device(), device(1)), put_back={"results": [{}]})
    assert (found.complete, found.bad, found.line) == (False, True, "n1: TLS put back as it was on 2 NPUs. Failed: n2, n3")


def test_a_failed_host_is_bad() -> None:
    found = of_host(["n1"], answer(device(), msg="1 of 2 devices failed"), put_back={"results": [{}]})
    assert (found.complete, found.bad, found.line) == (False, True, "n1: TLS put back as it was on 1 NPUs. 1 of 2 devices failed. Failed: n1")


def test_a_failed_rollback_is_reported() -> None:
    found = of_host(["n2"], answer(device()), put_back={"results": [{"msg": "locked"}, {"msg": "full"}, {}]})
    assert (found.complete, found.bad, found.line) == (False, True, "n1: TLS could not be put back as it was: locked; full. Failed: n2")


def test_a_host_is_not_changed_if_others_cannot_be() -> None:
    found = of_host(["n2"], SKIPPED, probed=answer(device()))
    assert (found.complete, found.bad, found.line) == (False, True, "n1: TLS left as it was, since not every host can change. Failed: n2")


def test_a_host_can_keep_its_change() -> None:
    found = of_host(["n2"], answer(device()), rolls_back=False)
    assert (found.complete, found.bad, found.line) == (False, True, "n1: TLS enabled on 1 of 1 NPUs, 1 of them set now. Failed: n2")


def test_a_host_without_a_change_is_good() -> None:
    found = of_host(["n2"], answer(device(before=True, changed=False)))
    assert (found.complete, found.bad, found.line) == (False, False, "n1: TLS enabled on 1 of 1 NPUs, 0 of them set now. Failed: n2")


@pytest.mark.parametrize("odd", [None, {}, "text", {"devices": 5}, {"devices": ["x"]}])
def test_a_malformed_answer_counts_as_not_set(odd: Any) -> None:
    assert of_host(["n2"], odd, probed=odd, put_back=odd).bad is False


def test_a_host_is_as_requested_if_no_host_had_to_be_set() -> None:
    found = of_host([], SKIPPED, probed=answer(device(before=True, changed=False)))
    assert (found.complete, found.bad, found.line) == (True, False, "n1: TLS enabled on 1 of 1 NPUs, 0 of them set now")
