from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.failure_detector import MOST_NAMES, FailureDetector, deadline


def suspended(known):
    return sorted(known.suspended())


def test_the_deadline_is_four_times_the_expected_time():
    assert deadline(5.0) == 20.0


def test_a_name_is_suspended_after_misses_with_two_partners():
    known = FailureDetector()
    known.missed(0, "a", "h")
    assert suspended(known) == []
    known.missed(1, "a", "h")
    assert suspended(known) == [], "the same partner twice is one strike"
    known.missed(2, "b", "h")
    assert suspended(known) == ["h"]


def test_a_name_is_released_when_the_partners_it_missed_are_suspended():
    known = FailureDetector()
    known.missed(0, "x", "h1")
    known.missed(1, "x", "h2")
    assert suspended(known) == ["x"], "no other name has missed them yet"
    known.missed(2, "y", "h1")
    known.missed(3, "z", "h1")
    known.missed(4, "y", "h2")
    known.missed(5, "z", "h2")
    assert "x" not in suspended(known)
    assert {"h1", "h2"} <= set(suspended(known))


def test_a_name_that_succeeded_needs_a_third_miss_and_is_suspended_last():
    known = FailureDetector()
    known.succeeded(0, "a", "b")
    for order, hung in enumerate(("h1", "h2"), 1):
        known.missed(order, "a", hung)
    assert suspended(known) == []
    known.missed(3, "a", "h3")
    assert suspended(known) == ["a"]
    for order, hung in enumerate(("h1", "h2", "h3"), 4):
        known.missed(order, "b", hung)
    assert suspended(known) == ["h1", "h2", "h3"]


def test_a_success_removes_earlier_strikes_only():
    known = FailureDetector()
    known.missed(3, "a", "h")
    known.succeeded(5, "b", "h")
    known.missed(4, "c", "h")
    assert suspended(known) == [], "both strikes are older than the success"
    known.missed(6, "a", "h")
    known.missed(7, "c", "h")
    known.missed(8, "d", "h")
    assert suspended(known) == ["h"], "it died later"


def test_partners_share_their_knowledge():
    one, other = FailureDetector(), FailureDetector()
    one.missed(0, "a", "h")
    other.missed(1, "b", "h")
    other.learn(one.share())
    assert suspended(other) == ["h"]
    one.learn(other.share())
    assert suspended(one) == ["h"]
    assert one.share()["missed"] == other.share()["missed"] == {"a": {"h": 0}, "h": {"a": 0, "b": 1}, "b": {"h": 1}}


def test_repeated_or_late_knowledge_changes_nothing():
    one, other = FailureDetector(), FailureDetector()
    one.missed(0, "a", "h")
    old = one.share()
    one.succeeded(2, "b", "h")
    other.learn(one.share())
    other.learn(old)
    other.missed(3, "c", "h")
    assert suspended(other) == []


def test_nothing_is_shared_without_misses():
    known = FailureDetector()
    known.succeeded(0, "a", "b")
    assert known.share() == {}


def test_only_a_partner_that_is_proven_good_can_judge():
    known = FailureDetector()
    for order, partner in enumerate("abc"):
        known.missed(order, partner, "h1")
        known.missed(order, partner, "h2")
    known.succeeded(10, "a", "b")
    assert suspended(known) == ["h1", "h2"]
    assert [(accused, partner) for accused in ("h1", "h2", "c") for partner in ("a", "b", "c", "h1", "h2") if known.can_judge(accused, partner)] == [
        ("h1", "a"), ("h1", "b"), ("h2", "a"), ("h2", "b")]


@pytest.mark.parametrize("good, names", [(True, []), (False, ["h"])])
def test_a_judgement_is_final(good, names):
    known, other = FailureDetector(), FailureDetector()
    known.missed(0, "a", "h")
    known.missed(1, "b", "h")
    known.succeeded(2, "a", "b")
    known.judge("h", good)
    other.missed(0, "a", "h")
    other.learn(known.share())
    assert suspended(known) == suspended(other) == names
    assert not known.can_judge("h", "a")


def test_a_good_judgement_outweighs_a_bad_one():
    one, other = FailureDetector(), FailureDetector()
    one.judge("h", False)
    other.judge("h", True)
    one.learn(other.share())
    other.learn({"judged": {"h": False}})
    assert suspended(one) == suspended(other) == []


@pytest.mark.parametrize("shared", [
    None, [], "x", {"missed": []}, {"missed": {"h": 3}}, {"missed": {"h": {"a": "0", "b": True}}}, {"missed": {3: {"a": 0, "b": 1}}},
    {"good": {"h": "1"}, "judged": {"h": 0}}, {"missed": {"n%d" % number: {"a": 0, "b": 1} for number in range(MOST_NAMES + 1)}},
    {"missed": {"h": {"n%d" % number: 0 for number in range(MOST_NAMES + 1)}}},
])
def test_malformed_knowledge_is_ignored(shared):
    known = FailureDetector()
    known.learn(shared)
    assert suspended(known) == []
