from __future__ import annotations

import time
import types

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import membership, progress_aggregator, progress_reporter
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.progress_aggregator import Counts, ProgressAggregator, silent_after_s
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.progress_reporter import ProgressReporter

REPORTERS = ["n1", "n2"]


class State:
    """What a progress reporter needs of HostState: the plan, the membership, whom the scheduler waits for, and what is said."""

    def __init__(self, host, reporters, awaited=(), meeting_s=60.0):
        self.plan = types.SimpleNamespace(host=host, controls=dict.fromkeys(["n1", "n2", "n3", "n4"]), run_id="r1")
        self.membership = Membership(host, self.plan.controls, reporters, meeting_s, silent_after_s(4))
        self.membership.start(time.monotonic())
        self.scheduler = types.SimpleNamespace(awaited=lambda: dict.fromkeys(awaited))
        self.key = b""
        self.said = []

    def say(self, channel, body):
        self.said.append(body)

    def hear(self, body):
        return body


def reporter_of(host, tmp_path, reporters=REPORTERS, **options):
    state = State(host, reporters=reporters, **options)
    aggregator = ProgressAggregator(state.membership, str(tmp_path / "fabric.json")) if host in reporters else None
    return ProgressReporter(state, Counts(host, 1), aggregator)


@pytest.fixture
def reporter(tmp_path):
    return reporter_of("n1", tmp_path)


def report(host, over=False, **more):
    return {"type": "report", "host": host, "total": 1, "done": 1, "failed": 0, "round": 1, "over": over, **more}


def test_a_reporter_tells_who_of_those_that_are_waited_for_is_over(reporter):
    reporter.take(None, report("n2", over=True))
    reporter.take(None, report("n3", awaits=["n2", "n4", 5, ["n2"]]))
    assert reporter._state.said == [{"type": "noted", "over": []}, {"type": "noted", "over": ["n2"]}]
    assert [host for host in ("n1", "n2", "n3", "n4") if reporter._membership.is_over(host)] == ["n2"]


@pytest.mark.parametrize("awaits", [None, "n2", {"n2": 1}])
def test_a_line_that_is_no_report_of_ours_is_answered(reporter, awaits):
    reporter.take(None, report("n2", over=True))
    reporter.take(None, report("n3", awaits=awaits))
    assert reporter._state.said[-1] == {"type": "noted", "over": []}


@pytest.mark.parametrize("answer, known", [({"type": "noted", "over": ["n4", 7]}, ["n4"]), ({"type": "noted"}, []), ({"type": "noted", "over": "n4"}, [])])
def test_who_reports_hears_who_is_over(tmp_path, monkeypatch, answer, known):
    channel = types.SimpleNamespace(receive=lambda timeout: answer, close=lambda: None)
    called = []
    monkeypatch.setattr(progress_reporter, "call", lambda host, *_more: called.append(host) or channel)
    teller = reporter_of("n3", tmp_path, awaited=["n4", "n2"])
    teller.end()
    assert called == ["n1", "n2"]
    assert teller._state.said[0] == {"type": "report", "host": "n3", "total": 1, "done": 0, "failed": 0, "round": 0, "over": True, "awaits": ["n2", "n4"]}
    assert [host for host in ("n1", "n2", "n3", "n4") if teller._membership.is_over(host)] == known


GONE = HccnError("peer_unreachable", "connection refused")


class Reporters:
    """What each call to a reporter comes to, in turn."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)

    def __call__(self, _host, *_more):
        if self.outcomes.pop(0) == "gone":
            raise GONE
        return types.SimpleNamespace(receive=lambda timeout: {"type": "noted"}, close=lambda: None)


@pytest.mark.parametrize("outcomes, forsaken", [
    (["there", "there", "gone", "gone", "gone", "gone"], True),
    (["there", "there", "gone", "gone"], False),  # one refusal each may be a crowd at the door
    (["there", "there", "gone", "gone", "gone", "there"], False),
    (["there", "gone", "gone", "gone", "gone", "gone"], False),  # the second was never there: it may still come
    (["gone", "gone"] * 3, False),
])
def test_a_host_that_slept_until_the_reporters_were_gone_waits_for_nobody(tmp_path, monkeypatch, outcomes, forsaken):
    monkeypatch.setattr(progress_reporter, "call", Reporters(*outcomes))
    teller = reporter_of("n3", tmp_path)
    for number in range(len(outcomes)):
        teller._report(REPORTERS[number % 2])
    assert teller._membership.is_forsaken() is forsaken


def test_a_reporter_that_takes_its_time_to_refuse_is_not_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_reporter, "call", Reporters("there", "there", "gone", "gone", "gone", "gone"))
    teller = reporter_of("n3", tmp_path)
    for number in range(6):
        monkeypatch.setattr(membership, "SLOW_SECONDS", -1.0 if number == 4 else 1.0)
        teller._report(REPORTERS[number % 2])
    assert not teller._membership.is_forsaken()


@pytest.mark.parametrize("seconds, mute", [(0.5, False), (2.0, True), (60.0, False)])
def test_a_call_in_which_this_host_stood_still_tells_nothing_of_the_reporter(tmp_path, monkeypatch, seconds, mute):
    """Else it would be asked every tenth time only, and the host that slept would go on for half a minute with nobody there."""
    clock = [0.0]
    monkeypatch.setattr(progress_reporter.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress_reporter, "call", Reporters("there"))
    teller = reporter_of("n3", tmp_path)
    assert teller._report("n1")

    def late(*_more):
        clock[0] += seconds
        raise HccnError("peer_unreachable", "gone")

    monkeypatch.setattr(progress_reporter, "call", late)
    assert not teller._report("n1")
    assert ("n1" not in teller._membership.reporters(slow=False)) is mute
    assert teller._membership._reporters["n1"].refusals == (1 if seconds < 1 else 0)


@pytest.mark.parametrize("seconds, forsaken", [(9.0, False), (60.0, True)])
def test_to_a_host_that_stood_still_each_reporter_was_there(tmp_path, monkeypatch, seconds, forsaken):
    """Stopped before its first word to them, it would wait for the others until the time of the meeting is over."""
    clock = [0.0]
    monkeypatch.setattr(progress_reporter.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress_reporter, "call", Reporters(*["gone"] * 6))
    teller = reporter_of("n3", tmp_path)
    turns = []

    def wait(_seconds):
        turns.append(_seconds)
        clock[0] += seconds if len(turns) == 2 else _seconds
        return len(turns) > 3

    monkeypatch.setattr(teller, "_stop", types.SimpleNamespace(wait=wait))
    teller._report_repeatedly()
    assert (turns, teller._membership.is_forsaken()) == ([0.0, 2.0, 2.0, 2.0], forsaken)


def test_a_host_that_stood_still_asks_slow_reporters_again_at_once(tmp_path):
    known = reporter_of("n3", tmp_path)._membership
    known.reporter_failed("n2", 2.0)
    assert (known.stood_still(3.0), known.reporters(slow=False), known.reporters(slow=True)) == (False, ["n1"], ["n1", "n2"])
    assert (known.stood_still(60.0), known.reporters(slow=False)) == (True, ["n1", "n2"])


def test_the_only_reporter_is_not_forsaken(reporter, tmp_path):
    assert not reporter._membership.is_forsaken()
    assert not reporter_of("n1", tmp_path, reporters=["n1"])._membership.is_forsaken()


def test_a_reporter_for_which_all_is_over_tells_the_other_one(reporter, monkeypatch):
    """n4 said one word, to this one, and died: the other would wait for its first until the time of the meeting is over."""
    channel = types.SimpleNamespace(receive=lambda timeout: {"type": "noted"}, close=lambda: None)
    called = []
    monkeypatch.setattr(progress_reporter, "call", lambda host, *_more: called.append(host) or channel)
    for host in ("n1", "n2", "n3", "n4"):
        reporter.aggregator.take(report(host, over=True))
    reporter.linger(float("inf"))
    assert called == ["n2"]
    assert [body.get("all_over") for body in reporter._state.said] == [True]


@pytest.mark.parametrize("teller, over", [("n2", True), ("n3", False), ("n1", False), (["n2"], False)])
def test_only_another_reporter_tells_that_nobody_will_come(reporter, teller, over):
    for host in ("n1", "n2", "n3"):
        reporter.aggregator.take(report(host, over=True))
    assert not reporter.aggregator.is_over()
    reporter.take(None, report(teller, over=True, all_over=True))
    assert reporter.aggregator.is_over() is over


def test_one_that_was_heard_is_waited_for_whatever_another_reporter_says(reporter):
    for host in ("n1", "n2", "n3"):
        reporter.aggregator.take(report(host, over=host != "n3"))
    reporter.take(None, report("n2", over=True, all_over=True))
    assert not reporter.aggregator.is_over()
    reporter.aggregator.take(report("n3", over=True))
    assert reporter.aggregator.is_over()
    assert reporter.aggregator.summary()["silent"] == ["n4"]


def test_a_reporter_that_is_told_that_all_are_started_tells_all(reporter, tmp_path):
    reporter._keep()
    reporter.take(None, report("n3"))
    progress_aggregator.mark_started(str(tmp_path.parent), tmp_path.name)
    assert (tmp_path / "started").stat().st_mode & 0o777 == 0o600
    reporter._keep()
    reporter.take(None, report("n3"))
    assert reporter._state.said == [{"type": "noted", "over": []}, {"type": "noted", "over": [], "started": True}]
    assert not reporter._membership.is_late(time.monotonic())


def test_who_hears_it_gives_those_that_are_not_there_as_long_as_a_silent_one(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress_reporter.time, "monotonic", lambda: now[0])
    answers = [{"type": "noted"}, {"type": "noted", "started": 1}, {"type": "noted", "started": True}, {"type": "noted"}]
    monkeypatch.setattr(progress_reporter, "call", lambda *_all: types.SimpleNamespace(receive=lambda timeout: answers.pop(0), close=lambda: None))
    teller = reporter_of("n3", tmp_path, meeting_s=2000.0)
    late = []
    for after in (0.0, 1000.0, 0.0, 0.0):
        teller._report("n1")
        now[0] += after
        late.append(teller._membership.is_late(now[0]))
    now[0] += 4 * 2.0 + progress_reporter.CONNECT_SECONDS
    late.append(teller._membership.is_late(now[0]))
    now[0] += 0.1
    assert [*late, teller._membership.is_late(now[0])] == [False, False, False, False, False, True]
    assert [body.get("started") for body in teller._state.said] == [None] * 4  # only reporters are believed, so only they say it


@pytest.mark.parametrize("teller, known", [("n2", True), ("n3", False)])
def test_a_reporter_believes_another_reporter_alone(reporter, teller, known):
    reporter.take(None, report(teller, started=True))
    assert reporter._state.said == [{"type": "noted", "over": [], **({"started": True} if known else {})}]


def test_what_an_earlier_run_of_that_name_was_told_is_gone(tmp_path):
    (tmp_path / "started").touch()
    reporter_of("n1", tmp_path)
    assert not (tmp_path / "started").exists()
