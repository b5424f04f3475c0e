from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair

SILENT = HccnError("peer_unreachable", "no answer")
TIMEOUT = HccnError("roce_test_timeout", "no end")
REFUSED = HccnError("connection_refused", "no")


def pair(order, source, target, device=0):
    return Pair("p%d" % order, order, order, Endpoint(source, device, "10.0.0.1"), Endpoint(target, device, "10.0.0.2"))


def knowing(host="c"):
    """Return a membership that knows that h did not answer two others, and that succeeded with d itself."""
    known, other = Membership(host), Membership("a")
    other.pair_ended(pair(1, "a", "h"), SILENT)
    other.pair_ended(pair(2, "b", "h"), SILENT)
    known.learn(other.share())
    known.pair_ended(pair(3, host, "d"), None)
    return known


def test_all_npus_of_a_host_with_a_silent_runner_are_left_out():
    known = knowing()
    assert known.is_left_out(pair(4, "c", "h", 5))
    assert not known.is_left_out(pair(5, "c", "d", 5))


def test_only_the_npu_of_a_hanging_test_is_left_out():
    known = Membership("c")
    known.pair_ended(pair(1, "c", "h", 3), TIMEOUT)
    known.pair_ended(pair(2, "b", "h", 3), TIMEOUT)
    assert known.is_left_out(pair(4, "d", "h", 3))
    assert not known.is_left_out(pair(4, "d", "h", 4))


def test_an_immediate_error_leaves_no_host_out():
    known = Membership("c")
    for order, name in enumerate("abcd"):
        known.pair_ended(pair(order, name, "h"), REFUSED)
    assert not known.is_left_out(pair(9, "c", "h"))
    assert known.share() == {}


def test_each_name_has_one_trial_at_a_time():
    known = knowing()
    first, second = pair(4, "c", "h", 0), pair(5, "c", "h", 1)
    assert known.start_trial(first) and known.start_trial(first)
    assert not known.start_trial(second)
    known.pair_over(first)
    assert known.start_trial(second)


def test_a_trial_without_an_answer_is_final():
    known, other = knowing(), knowing("d")
    tried, rest = pair(4, "c", "h", 0), pair(5, "c", "h", 1)
    known.trial_ended(tried, SILENT)
    names = known.given_up(rest)
    assert names == ("h",)
    assert known.why_given_up(rest, names)[0] is True
    assert known.why_given_up(rest, names)[1].message == "h was left out: its pairs with a, b got no answer, and neither did the trial at the end of the run"
    other.learn(known.share())
    assert other.given_up(pair(6, "h", "d")) == ("h", "h NPU 0")
    assert other.given_up(pair(7, "a", "d")) == ()


@pytest.mark.parametrize("error", [None, REFUSED])
def test_a_trial_with_an_answer_brings_all_pairs_back(error):
    known = knowing()
    known.trial_ended(pair(4, "c", "h", 0), error)
    assert not known.is_left_out(pair(5, "c", "h", 1))
    assert known.given_up(pair(5, "c", "h", 1)) == ()


def test_a_trial_is_conclusive_only_on_a_host_that_is_proven_good():
    known = Membership("c")
    known.pair_ended(pair(1, "a", "h"), SILENT)
    known.pair_ended(pair(2, "b", "h"), SILENT)
    assert known.accused(pair(4, "c", "h")) == ("h", "h NPU 0")
    assert not known.is_conclusive(pair(4, "c", "h"))
    assert knowing().is_conclusive(pair(4, "c", "h"))
    assert not knowing().is_conclusive(pair(4, "c", "d"))
    known.trial_ended(pair(4, "c", "h"), SILENT)
    assert known.given_up(pair(5, "c", "h")) == ()
    assert known.is_left_out(pair(5, "c", "h"))


class TestHosts:
    """A host is given up after three failed calls over two seconds without a success, if it was present or had its time to appear."""

    def fails(self, known, *moments, host="h"):
        return [known.call_failed(host, pair(0, "c", host), SILENT, now) for now in moments]

    def test_an_absent_host_is_given_up_after_the_meeting_timeout(self):
        known = Membership("c", "ch", meeting_s=60.0)
        known.start(100.0)
        assert self.fails(known, 100.0, 130.0, 160.0, 160.1) == [False, False, False, True]

    def test_a_host_that_was_present_is_given_up_soon(self):
        known = Membership("c", "ch", meeting_s=60.0)
        known.start(100.0)
        known.met("h")
        assert self.fails(known, 101.0, 101.1, 102.9, 103.0) == [False, False, False, True]
        known.met("h")
        assert not known.is_lost("h")
        assert self.fails(known, 104.0, 105.0, 106.0) == [False, False, True]

    def test_a_host_that_only_reports_is_given_up(self):
        known = Membership("c", "ch", meeting_s=60.0)
        for now in (1.0, 2.0):
            self.fails(known, now)
            known.present(["h"])
        assert self.fails(known, 3.0) == [True]

    def test_pairs_of_a_lost_host_let_others_go_first_until_it_is_met(self):
        known, one = Membership("c", "ch", meeting_s=60.0), pair(0, "c", "h")
        assert not known.lets_others_go_first(one)
        self.fails(known, 1.0)
        assert known.is_lost("h") and known.lets_others_go_first(one)
        known.present(["h"])
        assert known.is_lost("h")
        known.met("h")
        assert not known.lets_others_go_first(one)

    def test_only_hosts_that_were_present_get_strikes(self):
        known = Membership("c", "abch", meeting_s=60.0)
        known.call_failed("h", pair(1, "a", "h"), SILENT, 1.0)
        known.call_failed("h", pair(2, "b", "h"), SILENT, 2.0)
        assert not known.is_left_out(pair(3, "c", "h"))
        known.met("h")
        known.call_failed("h", pair(1, "a", "h"), SILENT, 3.0)
        known.call_failed("h", pair(2, "b", "h"), SILENT, 4.0)
        assert known.is_left_out(pair(3, "c", "h"))

    def test_a_trial_with_an_unreachable_host_is_over_at_once(self):
        known = knowing()
        assert known.call_failed("h", pair(4, "c", "h"), SILENT, 1.0, trial=True)
        assert known.given_up(pair(5, "c", "h", 1)) == ("h",)

    def test_after_all_started_absent_hosts_have_the_time_of_a_silent_host(self):
        known = Membership("c", "ch", meeting_s=600.0, silent_s=11.0)
        known.start(100.0)
        known.all_started(200.0)
        known.all_started(300.0)
        assert [known.is_late(now) for now in (150.0, 211.0, 211.1)] == [False, False, True]
        assert (known.silent(210.0), known.silent(211.0)) == ([], ["c", "h"])


class TestReports:
    """The knowledge of a reporter about the hosts that report to it."""

    def test_hosts_become_silent_or_over(self):
        known = Membership("a", "abc", ["a"], meeting_s=60.0, silent_s=10.0)
        known.reported("a", True, 0.0)
        known.reported("b", False, 0.0)
        assert (known.silent(10.0), known.silent(11.0), known.silent(60.0)) == ([], ["b"], ["b", "c"])
        assert (known.all_over(59.0), known.all_over(60.0)) == (False, True)
        known.reported("c", False, 61.0)
        assert not known.all_over(61.0)
        known.reported("c", True, 62.0)
        assert (known.all_over(62.0), known.over_among(["c", "b", 7, "x", ["a"], "a"])) == (True, ["c", "a"])

    def test_a_late_report_does_not_reopen_a_run(self):
        known = Membership("a", "ab", ["a"], meeting_s=60.0, silent_s=10.0)
        known.reported("b", True, 1.0)
        known.reported("b", False, 2.0)
        assert known.is_over("b")

    def test_hosts_announced_as_over_need_not_have_reported_here(self):
        known = Membership("a", "abc", ["a", "b"])
        known.over(["c", "x", 7, ["b"]])
        assert ([host for host in "abcx" if known.is_over(host)], known.over_among("abcx")) == (["c"], [])

    def test_no_host_is_awaited_after_all_appeared(self):
        known = Membership("a", "ab", ["a"], meeting_s=60.0, silent_s=10.0)
        known.all_appeared(5.0)
        assert (known.silent(4.9), known.silent(5.0)) == ([], ["a", "b"])


def test_a_host_was_suspended_if_a_call_outlasts_all_its_deadlines():
    known = Membership("c", "ch", ["h"])
    assert (known.was_suspended(14.9), known.was_suspended(15.0)) == (False, True)


def test_changes_are_announced_with_the_lock_held():
    class Lock:
        held = 0

        def __enter__(self):
            self.held += 1

        def __exit__(self, *_error):
            self.held -= 1

    lock, changes = Lock(), []
    known = Membership("c", "cdh", lock=lock, changed=lambda: changes.append(lock.held > 0))
    known.met("h")
    known.present(["h"])
    known.call_failed("h", pair(1, "c", "h"), SILENT, 1.0)
    known.pair_ended(pair(2, "c", "d"), None)
    known.trial_ended(pair(3, "c", "h"), SILENT)
    known.learn({"judged": {"h": False}})
    assert (changes, lock.held) == ([True] * 6, 0)
