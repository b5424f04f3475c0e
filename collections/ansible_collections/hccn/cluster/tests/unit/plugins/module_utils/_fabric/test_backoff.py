"""The backoff of pairs: when a device tries each of its pairs."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric.pair_scheduler import Backoff
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Endpoint, Pair


def pair(number):
    return Pair("p%d" % number, number, number, Endpoint("n0", 0, "192.0.2.1"), Endpoint("n%d" % number, 0, "192.0.2.9"))


ONE, TWO, THREE = pair(1), pair(2), pair(3)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def lost(*hosts):
    return hosts.__contains__


def test_pairs_are_ready_in_order_until_they_are_over(clock):
    backoff = Backoff([ONE, TWO], clock)
    assert (backoff.ready(lost()), backoff.patience()) == ([ONE, TWO], 1.0)
    backoff.over(ONE)
    assert (backoff.ready(lost()), list(backoff), bool(backoff)) == ([TWO], [TWO], True)
    backoff.over(TWO)
    assert (backoff.ready(lost()), bool(backoff)) == ([], False)


def test_a_pair_is_retried_soon_after_busy_and_later_after_parked(clock):
    backoff = Backoff([ONE, TWO, THREE], clock)
    backoff.busy(ONE, parked=False)
    backoff.busy(TWO, parked=True)
    assert (backoff.ready(lost()), backoff.patience()) == ([THREE], pytest.approx(0.02))
    clock.now += 0.1
    assert (backoff.ready(lost()), backoff.patience()) == ([ONE, THREE], pytest.approx(0.4))
    clock.now += 0.4
    assert backoff.ready(lost()) == [ONE, TWO, THREE]


@pytest.mark.parametrize("failures, seconds", [(1, 0.4), (2, 0.8), (3, 1.6), (4, 2.0), (2000, 2.0)])
def test_the_backoff_of_a_partner_grows_with_its_failures(clock, failures, seconds):
    backoff = Backoff([ONE], clock)
    for _time in range(failures):
        backoff.failed(ONE, 9.0)
    assert backoff.ready(lost("n1")) == []
    clock.now += seconds + 0.001
    assert backoff.ready(lost("n1")) == [ONE]


@pytest.mark.parametrize("seconds", [3.0, 60.0])  # a call ends within 3 s; this host was suspended during the longer one
def test_slow_failed_calls_delay_the_next_call(clock, seconds):
    backoff = Backoff([ONE, TWO], clock)
    backoff.failed(ONE, seconds)
    clock.now += 8.9
    assert backoff.ready(lost("n1")) == [TWO]
    clock.now += 0.2
    assert backoff.ready(lost("n1")) == [ONE, TWO]


def test_hundreds_of_absent_partners_are_called_ten_times_a_second(clock):
    pairs = [pair(number) for number in range(1, 301)]
    backoff = Backoff(pairs, clock)
    for one in pairs:
        backoff.failed(one, 0.001)
    calls = 0
    for _tick in range(6000):
        clock.now += 0.01
        for one in backoff.ready(lambda host: True):
            backoff.failed(one, 0.001)
            calls += 1
    assert 540 <= calls <= 660  # in 60 s


def test_a_partner_that_appeared_is_called_at_once(clock):
    backoff = Backoff([ONE, TWO], clock)
    backoff.failed(ONE, 3.0)
    backoff.failed(TWO, 3.0)
    assert backoff.ready(lost("n1")) == [TWO]


def test_a_partner_that_answered_busy_is_not_called_at_once(clock):
    backoff = Backoff([ONE], clock)
    backoff.failed(ONE, 3.0)
    backoff.busy(ONE, parked=True)
    assert backoff.ready(lost()) == []
