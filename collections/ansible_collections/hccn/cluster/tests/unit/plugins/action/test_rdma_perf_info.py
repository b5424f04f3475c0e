"""The wait for a run is split into calls, each with its time limit."""

from __future__ import annotations

import contextlib
import types

import pytest

from ansible_collections.hccn.cluster.plugins.action import rdma_perf_info

RUNNING, FINISHED = {"state": "running"}, {"state": "finished", "measurements": []}


class Action(rdma_perf_info.ActionModule):
    """An action with prepared answers instead of a host, and a clock that advances by the wait of each call."""

    def __init__(self, arguments, answers):
        self._task = types.SimpleNamespace(args=arguments, register=None)
        self.answers, self.now, self.waited, self.bounds = list(answers), 0.0, [], []

    @contextlib.contextmanager
    def answered_within(self, seconds):
        self.bounds.append(seconds)
        yield

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_more):
        self.waited.append(module_args["wait"])
        self.now += float(module_args["wait"]) if isinstance(module_args["wait"], float) else 0.0
        return self.answers.pop(0)


def ran(monkeypatch, arguments, *answers):
    monkeypatch.setattr(rdma_perf_info.BoundedAction, "run", lambda self, tmp=None, task_vars=None: {"changed": False})
    action = Action({"run_id": "r1", **arguments}, answers)
    monkeypatch.setattr(rdma_perf_info.time, "monotonic", lambda: action.now)
    return action, action.run(None, {})


def test_a_finished_run_takes_one_call_without_waiting(monkeypatch):
    action, result = ran(monkeypatch, {"wait": 1800}, FINISHED)
    assert (action.waited, action.bounds, result) == ([0.0], [30.0], {"changed": False, **FINISHED})


def test_a_wait_is_split_into_calls_and_ends_in_time(monkeypatch):
    action, result = ran(monkeypatch, {"wait": "25"}, *[RUNNING] * 4)
    assert (action.waited, action.bounds, result["state"]) == ([0.0, 10.0, 10.0, 5.0], [30.0, 40.0, 40.0, 35.0], "running")


def test_without_a_wait_there_is_one_call(monkeypatch):
    action, result = ran(monkeypatch, {}, RUNNING)
    assert (action.waited, result["state"]) == ([0.0], "running")


def test_a_failure_ends_the_wait(monkeypatch):
    action, result = ran(monkeypatch, {"wait": 100}, RUNNING, {"failed": True, "msg": "no"})
    assert (action.waited, result["msg"]) == ([0.0, 10.0], "no")


def test_an_invalid_wait_is_passed_to_the_module(monkeypatch):
    action, _result = ran(monkeypatch, {"wait": "soon"}, {"failed": True, "msg": "argument 'wait' is of type str"})
    assert action.waited == ["soon"]


@pytest.mark.parametrize("found, expected", [
    ({"state": "running", "alive": True, "fabric": None}, True),
    ({"state": "finished", "alive": True, "fabric": None}, False),
    ({"state": "finished", "alive": True, "fabric": {"over": False}}, True),
    ({"state": "finished", "alive": False, "fabric": {"over": False}}, False),
    ({"state": "running", "alive": True, "fabric": {"over": True}}, False),
    ({"state": "running"}, True),
    ({"state": "unknown"}, False),
])
def test_waiting_continues_while_the_run_goes_on(found, expected):
    assert rdma_perf_info.goes_on(found) is expected
