# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action says of what a reporter tells; that it is asked through connections, tests/fabric shows."""

from __future__ import annotations

import types

import pytest

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure

from ansible_collections.hccn.cluster.plugins.action import fabric_progress

PLAN = {"summary": {"pairs": 12, "rounds": 3, "seconds_per_pair": 2}}


def fabric(done, over=False, age=0.5):
    return {"hosts": 4, "hosts_heard": 4, "hosts_over": 4 if over else 0, "silent": [], "hosts_silent": 0, "over": over, "pairs_done": done,
            "pairs_failed": 0, "round": 2, "slowest": None, "seconds": 6.0, "age": age}


def told(found, state="running", alive=True, **more):
    return {"run_id": "r1", "state": state, "alive": alive, "fabric": found, **more}


class Action(fabric_progress.ActionModule):
    """With answers in place of a host."""

    def __init__(self, answers, options=None, check_mode=False):
        self.answers = list(answers)
        self.asked = []
        self.said = []
        self._task = types.SimpleNamespace(check_mode=check_mode, delegate_to="n1")
        self._display = types.SimpleNamespace(display=self.said.append)
        self._given = {"run_id": "r1", "plan": PLAN, "state_dir": "/s", "interval": 10.0, "timeout": 100.0, "all_started": True, **(options or {})}

    def validate_argument_spec(self, *_arguments, **_more):
        return None, self._given

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_more):
        self.asked.append((module_name, module_args["wait"]))
        self.all_started = module_args["all_started"]
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def ran(monkeypatch, *answers, **more):
    monkeypatch.setattr(fabric_progress.ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    action = Action(answers, **more)
    return action, action.run(None, {"inventory_hostname": "n7"})


def test_lines_until_it_is_over(monkeypatch):
    action, result = ran(monkeypatch, told(None), told(fabric(3)), told(fabric(9)), told(fabric(12, True), "finished", False))
    assert action.said == ["round 2 of 3, 3 of 12 pairs done, 0 failed, about 18 s left", "round 2 of 3, 9 of 12 pairs done, 0 failed, about 2 s left",
                           "12 of 12 pairs done, 0 failed, over"]
    assert (result["state"], result["lines"], result["msg"], result["reporter"], result["changed"]) == (
        "over", action.said, action.said[-1], "n1", False)
    assert result["progress"]["pairs_done"] == 12
    assert action.asked[0][0] == "hccn.cluster.rdma_perf_info"
    assert action.all_started is True


@pytest.mark.parametrize("answers, reason", [
    ([AnsibleConnectionFailure("no route to host")], "it cannot be asked: no route to host"),
    ([{"failed": True, "msg": "Permission denied"}], "Permission denied"),
    ([{"failed": True, "module_stderr": "sudo: no\n"}], "sudo: no"),
    ([told(None, "unknown", False)], "it has no such run"),
    ([told(fabric(5), "failed", False, error={"message": "the runner ended in mid-run: 2 of 6 pairs are in the journal"})],
     "the runner ended in mid-run: 2 of 6 pairs are in the journal"),
    ([told(fabric(5), "finished", False)], "its runner is gone, and others were still at work"),
    ([told(fabric(5, age=44.0))], "its runner has written nothing for 44 s"),
    ([told(None), told(None), told(None)], "nobody has told it anything"),
])
def test_a_reporter_that_is_lost(monkeypatch, answers, reason):
    action, result = ran(monkeypatch, *answers)
    assert (result["state"], action.said) == ("lost", ["n1 does not tell how far the run is: " + reason])
    assert action.answers == []
    assert "failed" not in result


def test_a_run_that_takes_longer_than_the_task(monkeypatch):
    action, result = ran(monkeypatch, told(fabric(5)), options={"timeout": 0.0})
    assert (result["state"], action.said) == ("timeout", ["not over after 0 s: round 2 of 3, 5 of 12 pairs done, 0 failed, about 8 s left"])


def test_check_mode_asks_nobody(monkeypatch):
    action, result = ran(monkeypatch, check_mode=True)
    assert (result["skipped"], action.asked) == (True, [])


def test_an_interval_of_nothing(monkeypatch):
    with pytest.raises(AnsibleActionFail):
        ran(monkeypatch, options={"interval": 0.0})
