from __future__ import annotations

import threading

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.pair_scheduler import PairScheduler
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, Plan

NOW = 0.0
SOON = 10.0


def pair(order, source, target, device=0):
    return Pair("p%d" % order, order + 1, order, Endpoint(source, device, "10.0.0.1"), Endpoint(target, device, "10.0.0.2"))


def scheduler_of(*pairs, membership=None, **options):
    return PairScheduler(Plan("r1", "me", pairs, {"me": Control("127.0.0.1", 1)}), membership or Membership("me"), **options)


@pytest.fixture
def membership():
    return Membership("me")


def lose(membership, host):
    membership.call_failed(host, pair(0, "me", host), HccnError("peer_unreachable", "no answer"), NOW)


def test_pairs_of_a_device_start_in_order():
    first, second = pair(0, "x", "me"), pair(1, "me", "y")
    scheduler = scheduler_of(first, second)
    assert not scheduler.acquire(second, NOW)
    assert scheduler.acquire(first, NOW)
    assert not scheduler.acquire(second, NOW)
    scheduler.settle([first])
    assert not scheduler.acquire(second, NOW)
    scheduler.release(first)
    assert scheduler.acquire(second, NOW)


def test_a_lost_partner_does_not_delay_later_pairs(membership):
    first, second = pair(0, "x", "me"), pair(1, "me", "y")
    scheduler = scheduler_of(first, second, membership=membership)
    lose(membership, "x")
    assert scheduler.acquire(second, NOW)
    scheduler.release(second)
    membership.met("x")
    assert not scheduler.acquire(second, NOW)


def test_devices_are_independent_unless_the_host_works_one_pair_at_a_time():
    one, other = pair(0, "me", "x", device=0), pair(1, "me", "x", device=1)
    rails = scheduler_of(one, other)
    assert rails.acquire(one, NOW) and rails.acquire(other, NOW)
    single = scheduler_of(one, other, parallel=False)
    assert single.acquire(one, NOW)
    assert not single.acquire(other, NOW)


def test_initiator_that_was_given_up_can_claim_its_pair():
    first, second = pair(0, "x", "me"), pair(1, "me", "y")
    scheduler = scheduler_of(first, second)
    scheduler.give_up([first])
    assert scheduler.acquire(second, NOW)
    scheduler.settle([second])
    scheduler.release(second)
    assert scheduler.wait_done(NOW)
    scheduler.take_back(first)
    assert not scheduler.wait_done(NOW)
    assert scheduler.acquire(first, NOW)
    scheduler.settle([first])
    scheduler.take_back(first)
    assert not scheduler.is_open(first)


def test_finished_pair_is_not_given_up():
    first = pair(0, "x", "me")
    scheduler = scheduler_of(first)
    scheduler.settle([first])
    scheduler.give_up([first])
    scheduler.take_back(first)
    assert not scheduler.is_open(first)


def test_releasing_a_device_of_another_pair_does_nothing():
    first, second = pair(0, "me", "x"), pair(1, "me", "y")
    scheduler = scheduler_of(first, second)
    assert scheduler.acquire(first, NOW)
    scheduler.release(second)
    scheduler.settle([first])
    assert not scheduler.acquire(second, NOW)


def test_waiting_ends_with_the_last_pair():
    only = pair(0, "me", "x")
    scheduler = scheduler_of(only)
    assert scheduler.acquire(only, NOW)
    scheduler.settle([only])
    assert not scheduler.wait_done(NOW)
    timer = threading.Timer(0.01, scheduler.release, [only])
    timer.start()
    assert scheduler.wait_done(SOON)
    timer.join(SOON)


def test_closing_wakes_waiting_threads():
    first, second = pair(0, "me", "x"), pair(1, "me", "y")
    scheduler = scheduler_of(first, second)
    assert scheduler.acquire(first, NOW)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(scheduler.acquire(second, SOON)))
    waiting.start()
    scheduler.close()
    waiting.join(SOON)
    assert answers == [False]


def test_hosts_that_a_device_waits_for_are_awaited(membership):
    mine, theirs, later, elsewhere = pair(0, "me", "x"), pair(1, "y", "me"), pair(2, "z", "me"), pair(3, "w", "me", device=1)
    scheduler = scheduler_of(mine, theirs, later, elsewhere, membership=membership)
    assert scheduler.awaited() == {"w": [elsewhere]}
    scheduler.settle([mine])
    assert scheduler.awaited() == {"w": [elsewhere], "y": [theirs]}
    lose(membership, "y")
    assert scheduler.awaited() == {"w": [elsewhere], "y": [theirs], "z": [later]}
    assert scheduler.acquire(later, NOW)
    assert scheduler.awaited() == {"w": [elsewhere]}


def test_an_awaited_host_has_all_its_open_pairs():
    pairs = [pair(0, "x", "me"), pair(1, "x", "me", device=1), pair(2, "x", "me")]
    assert scheduler_of(*pairs).awaited() == {"x": pairs}


def test_initiated_pairs_are_returned_in_order():
    one, other = pair(1, "me", "x"), pair(0, "me", "y")
    scheduler = scheduler_of(one, other, pair(2, "x", "me"))
    assert scheduler.open_initiated() == [other, one]
    assert scheduler.is_open(one)
    scheduler.settle([one])
    assert not scheduler.is_open(one)
    assert scheduler.open_initiated() == [other]


def test_an_initiated_pair_that_is_left_out_does_not_hide_awaited_hosts(membership):
    """Otherwise the pair of x would stay open, the host would never be idle, and pairs that are left out would never be tried again."""
    own, theirs = pair(0, "me", "y"), pair(1, "x", "me")
    scheduler = scheduler_of(own, theirs, membership=membership)
    for partner in ("v", "w"):
        membership.pair_ended(pair(2, partner, "y"), HccnError("peer_lost", "gone"))
    lose(membership, "x")
    assert scheduler.awaited() == {"x": [theirs]}
