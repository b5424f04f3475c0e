from __future__ import annotations

import json
import os
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import progress_aggregator
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.membership import Membership
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.progress_aggregator import Counts, ProgressAggregator


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
def heard(tmp_path, clock):
    os.makedirs(str(tmp_path / "r1"))
    membership = Membership("n1", ["n1", "n2", "n3"], ["n1"], meeting_s=60.0, silent_s=10.0)
    return ProgressAggregator(membership, progress_aggregator.path_of(str(tmp_path), "r1"), clock)


def test_counts_of_one_host():
    counts = Counts("n1", 5, [entry(round_=2)])
    assert counts.as_body() == body("n1", 1, 5, round_=2, slowest={"value": 100.0, "unit": "Gbit/s", "source": "n1 npu 3", "target": "n2 npu 4"})
    counts.add(entry("failed", round_=4))
    counts.add(entry(round_=3, value=50.0))
    counts.add(entry(round_=3, value=70.0))
    counts.end()
    found = counts.as_body()
    assert (found["done"], found["failed"], found["round"], found["slowest"]["value"], found["over"]) == (4, 1, 4, 50.0, True)


def test_of_latencies_the_largest_is_the_slowest():
    counts = Counts("n1", 2, [entry(latency=2.5), entry(latency=7.5), entry(latency=5.0)])
    assert (counts.as_body()["slowest"]["value"], counts.as_body()["slowest"]["unit"]) == (7.5, "us")


def test_the_sum_over_all_hosts(heard):
    assert (heard.summary()["hosts_heard"], heard.summary()["round"], heard.summary()["slowest"]) == (0, 0, None)
    slowest = {"value": 50.0, "unit": "Gbit/s", "source": "n2 npu 0", "target": "n3 npu 0"}
    heard.take(body("n1", 4, round_=6, slowest={**slowest, "value": 190.0}))
    heard.take(body("n2", 1, round_=2, failed=1, slowest=slowest))
    heard.take(body("n3", 3, round_=5))
    heard.take(body("n1", 5, round_=7))
    assert heard.summary() == {
        "hosts": 3, "hosts_heard": 3, "hosts_over": 0, "silent": [], "hosts_silent": 0, "over": False, "pairs_done": 9, "pairs_failed": 1, "round": 5,
        "slowest": slowest, "seconds": 0.0}


def test_a_host_that_falls_silent_is_waited_for_no_longer(heard, clock):
    heard.take(body("n1", 10, over=True))
    heard.take(body("n2", 3))
    clock.now = 11.0
    assert (heard.summary()["silent"], heard.is_over()) == (["n2"], False)
    clock.now = 61.0
    assert (heard.summary()["silent"], heard.is_over(), heard.summary()["over"]) == (["n2", "n3"], True, True)
    heard.take(body("n3", 1))
    assert heard.is_over() is False
    heard.take(body("n3", 10, over=True))
    assert (heard.is_over(), heard.summary()["silent"]) == (True, ["n2"])


@pytest.mark.parametrize("said", [
    {}, body("n9", 1), body(["n1"], 1), body("n1", -1), body("n1", True), body("n1", "1"), body("n1", 1 << 50), {**body("n1", 1), "round": None}])
def test_what_is_no_report_is_left_aside(heard, said):
    heard.take(said)
    assert heard.summary()["hosts_heard"] == 0


@pytest.mark.parametrize("slowest", ["x", {}, {"unit": "Gbit/s"}, {"unit": "Gbit/s", "value": float("nan")}, {"unit": "miles", "value": 1.0},
                                     {"unit": "us", "value": True}])
def test_a_slowest_that_is_none_is_left_aside(heard, slowest):
    heard.take(body("n1", 1, slowest=slowest))
    assert (heard.summary()["hosts_heard"], heard.summary()["slowest"]) == (1, None)


def test_names_from_the_network_are_cut(heard):
    heard.take(body("n1", 1, slowest={"unit": "us", "value": 1.5, "source": "x" * 1000, "target": None}))
    assert heard.summary()["slowest"] == {"unit": "us", "value": 1.5, "source": "x" * 128, "target": "None"}


def test_the_file(heard, tmp_path):
    assert progress_aggregator.read(str(tmp_path), "r1") is None
    heard.take(body("n1", 4))
    heard.write()
    found = progress_aggregator.read(str(tmp_path), "r1")
    assert (found["pairs_done"], 0 <= found["age"] < 60, "written_at" in found) == (4, True, False)
    assert os.stat(progress_aggregator.path_of(str(tmp_path), "r1")).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(str(tmp_path / "r1"))) == ["fabric.json"]
    with open(progress_aggregator.path_of(str(tmp_path), "r1"), "w") as stream:
        stream.write(json.dumps({})[:1])
    assert progress_aggregator.read(str(tmp_path), "r1") is None


@pytest.mark.parametrize("text", ["[]", "7", "null", "{}", '{"written_at": "now", "over": true}', '{"written_at": 1.0, "over": "no"}', "[" * 100000])
def test_a_file_of_another_form_says_nothing(heard, tmp_path, text):
    with open(progress_aggregator.path_of(str(tmp_path), "r1"), "w") as stream:
        stream.write(text)
    assert progress_aggregator.read(str(tmp_path), "r1") is None


def test_a_wall_clock_that_is_set_makes_no_file_old(heard, tmp_path, monkeypatch):
    heard.write()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86400)
    assert progress_aggregator.read(str(tmp_path), "r1")["age"] < 60


def test_a_folder_that_is_gone_is_no_reason_to_stop(clock, tmp_path):
    ProgressAggregator(Membership("n1", ["n1"], ["n1"]), str(tmp_path / "gone" / "fabric.json"), clock).write()
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize("hosts, seconds", [(2, 2.0), (100, 2.0), (1024, 20.48)])
def test_how_often_a_host_reports(hosts, seconds):
    assert progress_aggregator.interval_s(hosts) == seconds
