from __future__ import annotations

import json
import os
import time
import types

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import membership as memberships
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import progress
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership, interval_s, silent_after_s
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.progress import Counts, ProgressAggregator, ProgressReporter
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.transport import CONNECT_SECONDS


def entry(status="ok", round_=1, value=100.0, latency=None):
    samples = [{"size_bytes": 2, "latency_us": {"typical": latency}}] if latency else [{"size_bytes": 65536, "bandwidth_gbit_s": value}]
    return {"status": status, "context": {"round": round_}, "samples": samples if status == "ok" else [], "source": {"host": "n1", "device": 3},
            "target": {"host": "n2", "device": 4}}


def body(host, done, total=10, over=False, round_=1, **more):
    return {"type": "report", "host": host, "total": total, "done": done, "failed": 0, "round": round_, "over": over, **more}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def aggregator(tmp_path, clock):
    os.makedirs(str(tmp_path / "r1"))
    membership = Membership("n1", ["n1", "n2", "n3"], ["n1"], meeting_s=60.0, silent_s=10.0)
    return ProgressAggregator(membership, progress.path_of(str(tmp_path), "r1"), clock)


def test_one_host_counts_its_pairs():
    counts = Counts("n1", 5, [entry(round_=2)])
    assert counts.as_body() == body("n1", 1, 5, round_=2, slowest={"value": 100.0, "unit": "Gbit/s", "source": "n1 NPU 3", "target": "n2 NPU 4"})
    counts.add(entry("failed", round_=4))
    counts.add(entry(round_=3, value=50.0))
    counts.add(entry(round_=3, value=70.0))
    counts.end()
    found = counts.as_body()
    assert (found["done"], found["failed"], found["round"], found["slowest"]["value"], found["over"]) == (4, 1, 4, 50.0, True)


def test_the_largest_latency_is_the_slowest():
    counts = Counts("n1", 2, [entry(latency=2.5), entry(latency=7.5), entry(latency=5.0)])
    assert (counts.as_body()["slowest"]["value"], counts.as_body()["slowest"]["unit"]) == (7.5, "us")


def test_the_summary_adds_up_the_counts_of_all_hosts(aggregator):
    assert (aggregator.summary()["hosts_heard"], aggregator.summary()["round"], aggregator.summary()["slowest"]) == (0, 0, None)
    slowest = {"value": 50.0, "unit": "Gbit/s", "source": "n2 NPU 0", "target": "n3 NPU 0"}
    aggregator.take(body("n1", 4, round_=6, slowest={**slowest, "value": 190.0}))
    aggregator.take(body("n2", 1, round_=2, failed=1, slowest=slowest))
    aggregator.take(body("n3", 3, round_=5))
    aggregator.take(body("n1", 5, round_=7))
    assert aggregator.summary() == {
        "hosts": 3, "hosts_heard": 3, "hosts_over": 0, "silent": [], "hosts_silent": 0, "over": False, "pairs_done": 9, "pairs_failed": 1, "round": 5,
        "slowest": slowest, "seconds": 0.0}


def test_a_silent_host_does_not_delay_the_end_of_the_run(aggregator, clock):
    aggregator.take(body("n1", 10, over=True))
    aggregator.take(body("n2", 3))
    clock.now = 11.0
    assert (aggregator.summary()["silent"], aggregator.is_over()) == (["n2"], False)
    clock.now = 61.0
    assert (aggregator.summary()["silent"], aggregator.is_over(), aggregator.summary()["over"]) == (["n2", "n3"], True, True)
    aggregator.take(body("n3", 1))
    assert aggregator.is_over() is False
    aggregator.take(body("n3", 10, over=True))
    assert (aggregator.is_over(), aggregator.summary()["silent"]) == (True, ["n2"])


@pytest.mark.parametrize("report", [
    {}, body("n9", 1), body(["n1"], 1), body("n1", -1), body("n1", True), body("n1", "1"), body("n1", 1 << 50), {**body("n1", 1), "round": None}])
def test_malformed_reports_are_ignored(aggregator, report):
    aggregator.take(report)
    assert aggregator.summary()["hosts_heard"] == 0


@pytest.mark.parametrize("slowest", ["x", {}, {"unit": "Gbit/s"}, {"unit": "Gbit/s", "value": float("nan")}, {"unit": "miles", "value": 1.0},
                                     {"unit": "us", "value": True}])
def test_a_malformed_slowest_measurement_is_ignored(aggregator, slowest):
    aggregator.take(body("n1", 1, slowest=slowest))
    assert (aggregator.summary()["hosts_heard"], aggregator.summary()["slowest"]) == (1, None)


def test_names_from_the_network_are_truncated(aggregator):
    aggregator.take(body("n1", 1, slowest={"unit": "us", "value": 1.5, "source": "x" * 1000, "target": None}))
    assert aggregator.summary()["slowest"] == {"unit": "us", "value": 1.5, "source": "x" * 128, "target": "None"}


def test_the_summary_is_written_and_read(aggregator, tmp_path):
    assert progress.read(str(tmp_path), "r1") is None
    aggregator.take(body("n1", 4))
    aggregator.write()
    found = progress.read(str(tmp_path), "r1")
    assert (found["pairs_done"], 0 <= found["age"] < 60, "written_at" in found) == (4, True, False)
    assert os.stat(progress.path_of(str(tmp_path), "r1")).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(str(tmp_path / "r1"))) == ["fabric.json"]
    with open(progress.path_of(str(tmp_path), "r1"), "w") as stream:
        stream.write(json.dumps({})[:1])
    assert progress.read(str(tmp_path), "r1") is None


@pytest.mark.parametrize("text", ["[]", "7", "null", "{}", '{"written_at": "now", "over": true}', '{"written_at": 1.0, "over": "no"}', "[" * 100000])
def test_a_malformed_file_is_ignored(aggregator, tmp_path, text):
    with open(progress.path_of(str(tmp_path), "r1"), "w") as stream:
        stream.write(text)
    assert progress.read(str(tmp_path), "r1") is None


def test_the_age_does_not_depend_on_the_wall_clock(aggregator, tmp_path, monkeypatch):
    aggregator.write()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86400)
    assert progress.read(str(tmp_path), "r1")["age"] < 60


def test_a_missing_folder_does_not_stop_the_run(clock, tmp_path):
    ProgressAggregator(Membership("n1", ["n1"], ["n1"]), str(tmp_path / "gone" / "fabric.json"), clock).write()
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize("hosts, seconds", [(2, 2.0), (100, 2.0), (1024, 20.48)])
def test_the_report_interval_grows_with_the_number_of_hosts(hosts, seconds):
    assert interval_s(hosts) == seconds


# -- the progress reporter

REPORTERS = ["n1", "n2"]
HOSTS = ("n1", "n2", "n3", "n4")
ACCEPTED = {"type": "noted"}


class Wire:
    """A channel that records the lines sent, and answers each with ``answer``."""

    def __init__(self, answer=None):
        self.answer = ACCEPTED if answer is None else answer
        self.sent = []

    def send(self, line):
        self.sent.append(line)

    def receive(self, timeout):
        return self.answer

    def close(self):
        pass


class Host:
    """A host of four that reports to ``reporters``, and collects reports if it is one of them."""

    def __init__(self, host, tmp_path, reporters=None, awaited=(), meeting_s=60.0):
        reporters = REPORTERS if reporters is None else reporters
        plan = types.SimpleNamespace(host=host, controls=dict.fromkeys(HOSTS), run_id="r1")
        self.membership = Membership(host, plan.controls, reporters, meeting_s, silent_after_s(4))
        self.membership.start(time.monotonic())
        scheduler = types.SimpleNamespace(awaited=lambda: dict.fromkeys(awaited))
        self.aggregator = ProgressAggregator(self.membership, str(tmp_path / "fabric.json")) if host in reporters else None
        self.reporter = ProgressReporter(plan, b"", self.membership, scheduler, Counts(host, 1), self.aggregator)

    def answer_to(self, line):
        """Return the answer of this reporter to a report."""
        wire = Wire()
        self.reporter.take(wire, line)
        return wire.sent[-1]

    def knows_over(self):
        return [host for host in HOSTS if self.membership.is_over(host)]


@pytest.fixture
def collector(tmp_path):
    """The reporter n1."""
    return Host("n1", tmp_path)


def report(host, over=False, **more):
    return {"type": "report", "host": host, "total": 1, "done": 1, "failed": 0, "round": 1, "over": over, **more}


def test_the_answer_names_the_awaited_hosts_that_are_over(collector):
    assert collector.answer_to(report("n2", over=True)) == {"type": "noted", "over": []}
    assert collector.answer_to(report("n3", awaits=["n2", "n4", 5, ["n2"]])) == {"type": "noted", "over": ["n2"]}
    assert collector.knows_over() == ["n2"]


@pytest.mark.parametrize("awaits", [None, "n2", {"n2": 1}])
def test_a_report_with_malformed_awaited_hosts_is_answered(collector, awaits):
    collector.answer_to(report("n2", over=True))
    assert collector.answer_to(report("n3", awaits=awaits)) == {"type": "noted", "over": []}


@pytest.mark.parametrize("answer, known", [({"type": "noted", "over": ["n4", 7]}, ["n4"]), ({"type": "noted"}, []), ({"type": "noted", "over": "n4"}, [])])
def test_a_host_learns_from_the_answers_which_hosts_are_over(tmp_path, monkeypatch, answer, known):
    wire, called = Wire(answer), []
    monkeypatch.setattr(progress, "call", lambda host, *_more: called.append(host) or wire)
    host = Host("n3", tmp_path, awaited=["n4", "n2"])
    host.reporter.end()
    assert called == ["n1", "n2"]
    assert wire.sent[0] == {"type": "report", "host": "n3", "total": 1, "done": 0, "failed": 0, "round": 0, "over": True, "awaits": ["n2", "n4"]}
    assert host.knows_over() == known


class Calls:
    """The outcomes of the calls to reporters, in order: ``accepted`` or ``refused``."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)

    def __call__(self, _host, *_more):
        if self.outcomes.pop(0) == "refused":
            raise HccnError("peer_unreachable", "connection refused")
        return Wire()


@pytest.mark.parametrize("outcomes, refused", [
    (["accepted", "accepted", "refused", "refused", "refused", "refused"], True),
    (["accepted", "accepted", "refused", "refused"], False),  # a single refusal of each may be an overload
    (["accepted", "accepted", "refused", "refused", "refused", "accepted"], False),
    (["accepted", "refused", "refused", "refused", "refused", "refused"], False),  # the second reporter has never accepted: it may still start
    (["refused", "refused"] * 3, False),
])
def test_a_host_is_refused_by_all_reporters_after_two_refusals_of_each(tmp_path, monkeypatch, outcomes, refused):
    monkeypatch.setattr(progress, "call", Calls(*outcomes))
    host = Host("n3", tmp_path)
    for number in range(len(outcomes)):
        host.reporter.report(REPORTERS[number % 2])
    assert host.membership.is_refused_by_all_reporters() is refused


def test_a_slow_reporter_does_not_count_as_refusing(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "call", Calls("accepted", "accepted", "refused", "refused", "refused", "refused"))
    host = Host("n3", tmp_path)
    for number in range(6):
        monkeypatch.setattr(memberships, "SLOW_SECONDS", -1.0 if number == 4 else 1.0)
        host.reporter.report(REPORTERS[number % 2])
    assert not host.membership.is_refused_by_all_reporters()


@pytest.mark.parametrize("seconds, slow, refused", [(0.5, False, True), (2.0, True, False), (60.0, False, False)])
def test_a_failed_call_that_outlasts_its_deadlines_does_not_count_against_the_reporter(tmp_path, monkeypatch, seconds, slow, refused):
    """Otherwise a host that was suspended would call the reporter only at every tenth turn, and go on for half a minute after the end of the run."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "call", Calls("accepted"))
    host = Host("n3", tmp_path, reporters=["n1"])
    assert host.reporter.report("n1")

    def fail(*_more):
        clock[0] += seconds
        raise HccnError("peer_unreachable", "gone")

    monkeypatch.setattr(progress, "call", fail)
    assert not host.reporter.report("n1")
    assert (host.membership.reporters(slow=False) == []) is slow
    host.membership.reporter_failed("n1", 0.1)
    assert host.membership.is_refused_by_all_reporters() is refused, "the second refusal in a row counts"


@pytest.mark.parametrize("seconds, refused", [(9.0, False), (60.0, True)])
def test_a_host_that_was_suspended_treats_refusals_as_the_end_of_the_run(tmp_path, monkeypatch, seconds, refused):
    """A host that was suspended before its first report would otherwise wait for the others until the meeting timeout."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "call", Calls(*["refused"] * 6))
    host = Host("n3", tmp_path)
    waits = []

    def wait(planned):
        waits.append(planned)
        clock[0] += seconds if len(waits) == 2 else planned
        return len(waits) > 3

    host.reporter.report_repeatedly(wait)
    assert (waits, host.membership.is_refused_by_all_reporters()) == ([0.0, 2.0, 2.0, 2.0], refused)


def test_a_host_that_was_suspended_calls_slow_reporters_at_once(tmp_path):
    known = Host("n3", tmp_path).membership
    known.reporter_failed("n2", 2.0)
    assert (known.was_suspended(3.0), known.reporters(slow=False), known.reporters(slow=True)) == (False, ["n1"], ["n1", "n2"])
    assert (known.was_suspended(60.0), known.reporters(slow=False)) == (True, ["n1", "n2"])


def test_the_only_reporter_is_not_refused_by_others(collector, tmp_path):
    assert not collector.membership.is_refused_by_all_reporters()
    assert not Host("n1", tmp_path, reporters=["n1"]).membership.is_refused_by_all_reporters()


def test_a_reporter_announces_to_the_other_one_that_all_hosts_are_over(collector, monkeypatch):
    """n4 reported once, to this reporter, and died: the other one would wait for its first report until the meeting timeout."""
    wire, called = Wire(), []
    monkeypatch.setattr(progress, "call", lambda host, *_more: called.append(host) or wire)
    for host in HOSTS:
        collector.aggregator.take(report(host, over=True))
    collector.reporter.linger(float("inf"))
    assert called == ["n2"]
    assert [line.get("all_over") for line in wire.sent] == [True]


@pytest.mark.parametrize("sender, over", [("n2", True), ("n3", False), ("n1", False), (["n2"], False)])
def test_only_another_reporter_can_announce_that_all_hosts_are_over(collector, sender, over):
    for host in ("n1", "n2", "n3"):
        collector.aggregator.take(report(host, over=True))
    assert not collector.aggregator.is_over()
    collector.answer_to(report(sender, over=True, all_over=True))
    assert collector.aggregator.is_over() is over


def test_a_host_that_has_reported_is_awaited_whatever_another_reporter_announces(collector):
    for host in ("n1", "n2", "n3"):
        collector.aggregator.take(report(host, over=host != "n3"))
    collector.answer_to(report("n2", over=True, all_over=True))
    assert not collector.aggregator.is_over()
    collector.aggregator.take(report("n3", over=True))
    assert collector.aggregator.is_over()
    assert collector.aggregator.summary()["silent"] == ["n4"]


def test_a_reporter_passes_on_that_all_runners_have_started(collector, tmp_path):
    collector.reporter.update_summary()
    assert collector.answer_to(report("n3")) == {"type": "noted", "over": []}
    progress.mark_started(str(tmp_path.parent), tmp_path.name)
    assert (tmp_path / "started").stat().st_mode & 0o777 == 0o600
    collector.reporter.update_summary()
    assert collector.answer_to(report("n3")) == {"type": "noted", "over": [], "started": True}
    assert not collector.membership.is_late(time.monotonic())


def test_once_all_runners_have_started_absent_hosts_are_late_after_the_time_of_a_silent_host(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    wires = [Wire(answer) for answer in ({"type": "noted"}, {"type": "noted", "started": 1}, {"type": "noted", "started": True}, {"type": "noted"})]
    calls = list(wires)
    monkeypatch.setattr(progress, "call", lambda *_all: calls.pop(0))
    host = Host("n3", tmp_path, meeting_s=2000.0)
    late = []
    for after in (0.0, 1000.0, 0.0, 0.0):
        host.reporter.report("n1")
        now[0] += after
        late.append(host.membership.is_late(now[0]))
    now[0] += 4 * 2.0 + CONNECT_SECONDS
    late.append(host.membership.is_late(now[0]))
    now[0] += 0.1
    assert [*late, host.membership.is_late(now[0])] == [False, False, False, False, False, True]
    assert [line.get("started") for wire in wires for line in wire.sent] == [None] * 4, "only reporters announce it, since only they are believed"


@pytest.mark.parametrize("sender, known", [("n2", True), ("n3", False)])
def test_only_another_reporter_can_announce_that_all_runners_have_started(collector, sender, known):
    assert collector.answer_to(report(sender, started=True)) == {"type": "noted", "over": [], **({"started": True} if known else {})}


def test_the_announcement_to_an_earlier_run_of_the_same_name_is_removed(tmp_path):
    (tmp_path / "started").touch()
    Host("n1", tmp_path)
    assert not (tmp_path / "started").exists()
