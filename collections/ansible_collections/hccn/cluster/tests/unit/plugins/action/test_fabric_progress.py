"""The action fabric_progress. tests/integration/check_fabric tests it over connections."""

from __future__ import annotations

import contextlib
import types

import pytest

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ansible_collections.hccn.cluster.plugins.action import fabric_progress

PLAN = {"summary": {"pairs": 12, "rounds": 3, "seconds_per_pair": 2}}


def fabric(done, over=False, age=0.5):
    return {"hosts": 4, "hosts_heard": 4, "hosts_over": 4 if over else 0, "silent": [], "hosts_silent": 0, "over": over, "pairs_done": done,
            "pairs_failed": 0, "round": 2, "slowest": None, "seconds": 6.0, "age": age}


def answer(found, state="running", alive=True, **more):
    return {"run_id": "r1", "state": state, "alive": alive, "fabric": found, **more}


class Action(fabric_progress.ActionModule):
    """The action with answers in place of a host."""

    def __init__(self, answers, options=None, check_mode=False):
        self.answers = list(answers)
        self.calls = []
        self.bounds = []
        self.displayed = []
        self._task = types.SimpleNamespace(check_mode=check_mode, delegate_to="n1")
        self._display = types.SimpleNamespace(display=self.displayed.append)
        self._given = {"run_id": "r1", "plan": PLAN, "state_dir": "/s", "interval": 10.0, "timeout": 100.0, "all_started": True, "tool": "roce_test",
                       **(options or {})}

    @contextlib.contextmanager
    def answered_within(self, seconds):
        self.bounds.append(seconds)
        yield

    def validate_argument_spec(self, *_arguments, **_more):
        return None, self._given

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_more):
        self.calls.append((module_name, module_args["wait"]))
        self.all_started = module_args["all_started"]
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def ran(monkeypatch, *answers, **more):
    monkeypatch.setattr(fabric_progress.BoundedAction, "run", lambda self, tmp=None, task_vars=None: {})
    action = Action(answers, **more)
    return action, action.run(None, {"inventory_hostname": "n7"})


def test_lines_are_displayed_until_the_run_is_over(monkeypatch):
    action, result = ran(monkeypatch, answer(None), answer(fabric(3)), answer(fabric(9)), answer(fabric(12, True), "finished", False))
    assert action.displayed == ["round 2 of 3, 3 of 12 pairs done, 0 failed, about 18 s left", "round 2 of 3, 9 of 12 pairs done, 0 failed, about 2 s left",
                                "12 of 12 pairs done, 0 failed, finished"]
    assert (result["state"], result["lines"], result["msg"], result["reporter"], result["changed"]) == (
        "over", action.displayed, action.displayed[-1], "n1", False)
    assert result["progress"]["pairs_done"] == 12
    assert action.calls == [("hccn.cluster.rdma_perf_info", wait) for wait in (0.0, 10.0, 10.0, 10.0)]
    assert action.all_started is True
    assert action.bounds == [30.0, 20.0, 20.0, 20.0], "the first may take 30 seconds longer than it waits, and the others 10 where it was fast"


def test_a_slow_reporter_gets_more_time(monkeypatch):
    clock = [0.0]
    longer = iter([4, 8, 1, 1])
    monkeypatch.setattr(fabric_progress.time, "monotonic", lambda: clock[0])

    class Slow(Action):
        def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_more):
            clock[0] += module_args["wait"] + next(longer)
            return super()._execute_module(module_name, module_args, task_vars)

    monkeypatch.setattr(fabric_progress.BoundedAction, "run", lambda self, tmp=None, task_vars=None: {})
    action = Slow([answer(fabric(3)), answer(fabric(6)), answer(fabric(9)), answer(fabric(12, True), "finished", False)])
    assert action.run(None, {"inventory_hostname": "n7"})["state"] == "over"
    assert action.bounds == [30.0, 30.0, 40.0, 40.0]


@pytest.mark.parametrize("answers, reason", [
    ([AnsibleConnectionFailure("no route to host")], "it cannot be polled: no route to host"),
    ([{"failed": True, "msg": "Permission denied"}], "Permission denied"),
    ([{"failed": True, "module_stderr": "sudo: no\n"}], "sudo: no"),
    ([answer(None, "unknown", False)], "it does not know this run"),
    ([answer(fabric(5), "failed", False, error={"message": "the runner died during the run: 2 of 6 pairs are in the journal"})],
     "the runner died during the run: 2 of 6 pairs are in the journal"),
    ([answer(fabric(5), "finished", False)], "its runner ended while other hosts were still measuring"),
    ([answer(fabric(5, age=44.0))], "its runner has written nothing for 44 s"),
    ([answer(None), answer(None), answer(None), answer(None)], "no host has reported to it"),
])
def test_a_lost_reporter_ends_the_task(monkeypatch, answers, reason):
    action, result = ran(monkeypatch, *answers)
    assert (result["state"], action.displayed) == ("lost", ["n1 cannot report the progress of the run: " + reason])
    assert action.answers == []
    assert "failed" not in result


ESC = {"value": 5.0, "unit": "Gbit/s\x1b[2J", "source": "n3\u202e NPU 1\n", "target": "\x9b31m" + "x" * 1000}


def test_names_from_hosts_are_displayed_printable_and_bounded(monkeypatch):
    silent = ["n4\x1b]0;title\x07", "n5\r\n", ["n6"], "y" * 1000, *["z"] * 100]
    action, result = ran(monkeypatch, answer({**fabric(3), "slowest": ESC, "silent": silent, "hosts_silent": 104}), answer(fabric(12, True), "finished", False))
    assert action.displayed[0] == (
        "round 2 of 3, 3 of 12 pairs done, 0 failed, slowest 5 Gbit/s?[2J (n3? NPU 1? to ?31m" + "x" * 57 + "...), about 18 s left; "
        "no report from n4?]0;title?, n5??, ['n6'], " + "y" * 61 + "..., z, z, z, z and 96 more")
    assert result["lines"] == action.displayed


@pytest.mark.parametrize("found", [[], "x", 7, {"hosts": 4}, {**fabric(3), "hosts": "4"}, {**fabric(3), "pairs_done": -1}, {**fabric(3), "round": True},
                                   {**fabric(3), "seconds": float("nan")}, {**fabric(3), "age": None}, {**fabric(3), "over": "yes"},
                                   {**fabric(3), "silent": "n1"}, {**fabric(3), "slowest": []}, {**fabric(3), "slowest": {"value": "5"}},
                                   {**fabric(3), "pairs_done": 10 ** 400}])
def test_a_malformed_answer_loses_the_reporter_and_not_the_run(monkeypatch, found):
    action, result = ran(monkeypatch, *[answer(found)] * 3)
    assert result["state"] == "lost"
    assert "failed" not in result


def test_the_reason_of_a_lost_reporter_is_one_printable_line(monkeypatch):
    action, _result = ran(monkeypatch, {"failed": True, "msg": "\x1b[2Jno\nsuch \u202efile"})
    assert action.displayed == ["n1 cannot report the progress of the run: ?[2Jno?such ?file"]
    action, result = ran(monkeypatch, answer(fabric(5), "failed", False, error={"message": "\x1b[31m"}))
    assert (action.displayed, result["msg"]) == (["n1 cannot report the progress of the run: ?[31m"], "n1 cannot report the progress of the run: ?[31m")


def test_a_run_that_takes_longer_than_the_task(monkeypatch):
    action, result = ran(monkeypatch, answer(fabric(5)), options={"timeout": 0.0})
    assert (result["state"], action.displayed) == ("timeout", ["not finished after 0 s: round 2 of 3, 5 of 12 pairs done, 0 failed, about 8 s left"])


def test_check_mode_contacts_no_host(monkeypatch):
    action, result = ran(monkeypatch, check_mode=True)
    assert (result["skipped"], action.calls) == (True, [])


def test_an_interval_of_zero_is_refused(monkeypatch):
    with pytest.raises(AnsibleActionFail):
        ran(monkeypatch, options={"interval": 0.0})
