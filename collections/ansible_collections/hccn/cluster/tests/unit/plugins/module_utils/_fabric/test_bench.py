# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that is lost is heard of through others: who has not met it yet does not wait for it to start."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.bench import Bench, Settings
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, Plan

HOSTS = ("a", "b", "c", "dead")


def pair(order, source, target):
    return Pair("p%d" % order, order + 1, order, Endpoint(source, 0, "10.0.0.1"), Endpoint(target, 0, "10.0.0.2"))


def bench_of(host, *pairs):
    plan = Plan("r1", host, pairs, {name: Control("127.0.0.1", 1) for name in HOSTS})
    return Bench(plan, None, Settings(0.0, 60.0, 120.0), b"")


class Wire:
    def __init__(self):
        self.said = None

    def send(self, body):
        self.said = body


def told_by(bench):
    wire = Wire()
    bench.say(wire, {"type": "noted"})
    return wire.said


def test_nothing_is_told_while_all_is_well():
    bench = bench_of("a", pair(0, "a", "b"))
    bench.agenda.met("b")
    assert told_by(bench) == {"type": "noted"}


@pytest.mark.parametrize("code, come", [("peer_lost", ["a", "dead"]), ("iperf3_timeout", ["a", "dead"]), ("peer_unreachable", ["a", "dead"])])
def test_who_was_lost_is_told_from_host_to_host(code, come):
    lost = pair(0, "a", "dead")
    met, between, waits = bench_of("a", lost), bench_of("b", pair(1, "b", "dead")), bench_of("c", pair(2, "c", "dead"))
    met.agenda.met("dead")
    met.agenda.met("a")
    met.left_out.note(lost, HccnError(code, "gone"))
    assert told_by(met)["known"]["come"] == come
    assert not waits.agenda.has_come("dead", late=False)
    between.hear(told_by(met))
    waits.hear(told_by(between))
    assert waits.agenda.has_come("dead", late=False)


def test_one_that_nobody_met_has_its_time_to_start():
    missed = pair(0, "a", "dead")
    late, waits = bench_of("a", missed), bench_of("c", pair(2, "c", "dead"))
    late.left_out.note(missed, HccnError("peer_unreachable", "no answer"))
    waits.hear(told_by(late))
    assert not waits.agenda.has_come("dead", late=False)


@pytest.mark.parametrize("known", [None, [], "x", {"come": None}, {"come": {"dead": 1}}, {"come": [1, None, ["dead"], "nobody"]}, {"missed": []}])
def test_what_has_not_the_form_is_left_aside(known):
    waits = bench_of("c", pair(2, "c", "dead"))
    waits.hear({"type": "noted", "known": known})
    assert (waits.agenda.has_come("dead", late=False), waits.agenda.came(["nobody"])) == (False, [])
