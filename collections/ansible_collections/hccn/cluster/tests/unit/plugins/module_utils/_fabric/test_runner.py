"""A runner with an unexpected error: it ends and reports the error."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import journal, runner
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import Journal
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.host_state import Outcome, Settings
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import Control, Endpoint, Pair, Plan

PLAN = Plan("r1", "a", [Pair("p%d" % number, number, number - 1, Endpoint("a", 0, "10.0.0.1"), Endpoint("b", 0, "10.0.0.2")) for number in (1, 2, 3)],
            {host: Control("127.0.0.1", 1) for host in "ab"})


class Tool:
    def cleanup(self, device):
        return None

    def about(self, device):
        return {}

    def describe(self):
        return {"tool": {"name": "fake"}}


class Listener:
    refused = {}

    def serve(self, key, run_id, handle):
        pass

    def close(self):
        pass


@pytest.fixture
def run(tmp_path):
    def work():
        made = Journal.create(str(tmp_path / "state"), "r1")
        runner.Runner(PLAN, Tool(), Settings(0.0, 1.0, 1.0), b"k", Listener(), made).run()
        made.close()
        return journal.read(str(tmp_path / "state"), "r1")

    return work


def good(state, pair):
    state.scheduler.release(pair)
    return Outcome(1, [{"bandwidth_gbit_s": 195.0}], None, ("fake",), 0.0, 1.0)


def test_an_unexpected_error_fails_only_its_pair(run, monkeypatch):
    def measure(state, pair):
        if pair.id == "p2":
            state.scheduler.release(pair)
            raise KeyError("bandwidth")
        return good(state, pair)

    monkeypatch.setattr(runner, "measure", measure)
    over = run()
    assert (over.state, [(record["id"], record["status"]) for record in over.records]) == (
        "finished", [("r1/p1/forward/1", "ok"), ("r1/p2/forward/1", "failed"), ("r1/p3/forward/1", "ok")])
    assert over.records[1]["error"] == {"code": "pair_broken", "message": "the runner could not continue with this pair: KeyError: 'bandwidth'"}
    assert over.records[1]["context"]["failed_end"] == "source"


def test_a_failed_thread_does_not_delay_the_end_of_the_run(run, monkeypatch):
    monkeypatch.setattr(runner, "measure", good)
    monkeypatch.setattr(runner.Backoff, "patience", lambda self: None + 1)
    over = run()
    assert (over.state, over.records, over.error()["code"]) == ("failed", [], "runner_failed")
    assert over.error()["message"].startswith("the runner failed with TypeError: ")
