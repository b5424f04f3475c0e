# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

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
    """It knows that h did not answer two others, and has succeeded with d itself."""
    known, other = Membership(host), Membership("a")
    other.note(pair(1, "a", "h"), SILENT)
    other.note(pair(2, "b", "h"), SILENT)
    known.learn(other.share())
    known.note(pair(3, host, "d"), None)
    return known


def test_a_silent_runner_takes_all_npus_of_its_host_along():
    known = knowing()
    assert known.holds(pair(4, "c", "h", 5))
    assert not known.holds(pair(5, "c", "d", 5))


def test_a_hanging_test_takes_its_npu_only():
    known = Membership("c")
    known.note(pair(1, "c", "h", 3), TIMEOUT)
    known.note(pair(2, "b", "h", 3), TIMEOUT)
    assert known.holds(pair(4, "d", "h", 3))
    assert not known.holds(pair(4, "d", "h", 4))


def test_an_error_told_at_once_leaves_nobody_out():
    known = Membership("c")
    for order, name in enumerate("abcd"):
        known.note(pair(order, name, "h"), REFUSED)
    assert not known.holds(pair(9, "c", "h"))
    assert known.share() == {}


def test_one_trial_at_a_time():
    known = knowing()
    first, second = pair(4, "c", "h", 0), pair(5, "c", "h", 1)
    assert known.try_again(first) and known.try_again(first)
    assert not known.try_again(second)
    known.over(first)
    assert known.try_again(second)


def test_a_trial_without_an_answer_is_the_end():
    known, other = knowing(), knowing("d")
    tried, rest = pair(4, "c", "h", 0), pair(5, "c", "h", 1)
    known.tried(tried, SILENT)
    names = known.given_up(rest)
    assert names == ("h",)
    assert known.why(rest, names)[0] is True
    assert known.why(rest, names)[1].message == "h was left out: there was no answer with a, b, nor from it at the end of the run"
    other.learn(known.share())
    assert other.given_up(pair(6, "h", "d")) == ("h", "h npu 0")
    assert other.given_up(pair(7, "a", "d")) == ()


@pytest.mark.parametrize("error", [None, REFUSED])
def test_a_trial_with_an_answer_brings_all_pairs_back(error):
    known = knowing()
    known.tried(pair(4, "c", "h", 0), error)
    assert not known.holds(pair(5, "c", "h", 1))
    assert known.given_up(pair(5, "c", "h", 1)) == ()


def test_who_is_not_proven_good_does_not_judge():
    known = Membership("c")
    known.note(pair(1, "a", "h"), SILENT)
    known.note(pair(2, "b", "h"), SILENT)
    known.tried(pair(4, "c", "h"), SILENT)
    assert known.given_up(pair(5, "c", "h")) == ()
    assert known.holds(pair(5, "c", "h"))
