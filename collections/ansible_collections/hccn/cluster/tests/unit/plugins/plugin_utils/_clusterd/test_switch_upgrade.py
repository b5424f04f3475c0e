from __future__ import annotations

import json

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.switch_upgrade import FilterModule

switch_upgrade = FilterModule().filters()["switch_upgrade"]

NEW = {"leaf": "leaf-1", "direction": "failover", "path": "/state.json", "check_mode": False}
BACK = {**NEW, "direction": "switchback"}
MODULE = "hccn.cluster.clusterd_nic_switch"


def job(name, status="running", deleted=False, nics=(), **more):
    return {"job_id": f"uid-{name}", "name": name, "namespace": "train", "status": status, "framework": "pytorch", "deleted": deleted, "nodes": None,
            "nics": None if nics is None else list(nics), **more}


def entry(name, direction="failover"):
    return {"job_id": f"uid-{name}", "name": name, "namespace": "train", "nics": [], "direction": direction}


def state(*moved, pending=None, leaf="leaf-1"):
    return {"leaf": leaf, "moved": {f"uid-{name}": entry(name) for name in moved}, **({"pending": pending} if pending else {})}


def planned(*jobs, new=None, file=None, resolution=""):
    run = switch_upgrade(new or NEW, "opened", text=json.dumps(file) if file else "", resolution=resolution)
    assert run["refusal"] is None
    return switch_upgrade(run, "planned", jobs=list(jobs))


def names(jobs):
    return [one["name"] for one in jobs]


def test_all_jobs_of_a_leaf_are_moved_one_by_one():
    run = planned(job("a"), job("b"))
    assert (run["file"], run["refusal"]) == (state(), None)
    run = switch_upgrade(run, "started")
    assert run["file"] == state(pending=entry("a"))
    run = switch_upgrade(run, "switched")
    assert run["file"] == state("a")
    run = switch_upgrade(run, "started")
    assert run["file"] == state("a", pending=entry("b"))
    run = switch_upgrade(run, "switched")
    assert run["file"] == state("a", "b")
    assert run["summary"] == "failover of leaf leaf-1: 2 jobs moved: train/a, train/b"


def test_moved_jobs_are_moved_back():
    run = planned(job("a"), job("c"), new=BACK, file=state("a", "b"))
    assert (names(run["plan"]), names(run["ended"]), sorted(run["moved"])) == (["a"], ["b"], ["uid-a"])
    run = switch_upgrade(run, "started")
    assert run["file"] == state("a", pending=entry("a", "switchback"))
    run = switch_upgrade(run, "switched")
    assert run["moved"] == {}
    assert run["summary"] == "switchback of leaf leaf-1: 1 jobs moved back: train/a. Ended meanwhile: b"


@pytest.mark.parametrize("jobs, file, chosen", [
    ([], None, []),
    ([job("a", "complete"), job("b", "pending"), job("c", deleted=True), job("d")], None, ["d"]),
    ([job("a"), job("b")], state("a"), ["b"]),
])
def test_a_failover_switches_running_jobs_that_were_not_moved(jobs, file, chosen):
    assert names(planned(*jobs, file=file)["plan"]) == chosen


@pytest.mark.parametrize("direction, resolution, moved", [
    ("failover", "done", ["uid-a", "uid-b"]), ("failover", "not_done", ["uid-a"]), ("switchback", "done", ["uid-a"]),
    ("switchback", "not_done", ["uid-a", "uid-b"]),
])
def test_the_operator_resolves_an_unfinished_switch(direction, resolution, moved):
    kept = state("a", *(["b"] if direction == "switchback" else []), pending=entry("b", direction))
    run = switch_upgrade(NEW, "opened", text=kept, resolution=resolution)
    assert (sorted(run["moved"]), run["pending"], run["known"]) == (moved, None, kept)


@pytest.mark.parametrize("file, resolution, refusal", [
    (state("a", leaf="leaf-2"), "", "/state.json belongs to leaf leaf-2: move its jobs back first, or set another switch_upgrade_state_file."),
    ({"moved": {}}, "", "/state.json belongs to leaf ?: move its jobs back first, or set another switch_upgrade_state_file."),
    (state(pending=entry("b")), "",
     "/state.json belongs to leaf leaf-1, and the previous run ended while it switched the job b (uid-b), with an unknown result: check the job, then set "
     "switch_upgrade_pending to done or not_done."),
])
def test_a_state_that_cannot_be_continued_is_refused(file, resolution, refusal):
    assert switch_upgrade(NEW, "opened", text=json.dumps(file), resolution=resolution)["refusal"] == refusal


@pytest.mark.parametrize("text, reason", [
    ("{", "it is not JSON"), ("[]", "it does not hold the state of switch_upgrade"), ('{"moved": []}', "it does not hold the state of switch_upgrade"),
    ('{"moved": {"a": {}}}', "a job in it lacks a required field"), ('{"pending": {"name": "a"}}', "a job in it lacks a required field"),
    ('{"pending": "a"}', "a job in it lacks a required field"),
])
def test_an_invalid_state_file_is_refused(text, reason):
    with pytest.raises(AnsibleFilterError) as raised:
        switch_upgrade(NEW, "opened", text=text)
    assert str(raised.value) == f"switch_upgrade: /state.json cannot be used: {reason} (move it away, or set another switch_upgrade_state_file)"


def test_nothing_is_switched_while_the_npus_of_a_job_are_unknown():
    run = planned(job("a"), job("b", nics=None), job("c", nics=None))
    assert run["refusal"] == "Nothing was switched: the NPUs of these running jobs are unknown: b, c."


@pytest.mark.parametrize("check_mode, confirm, messages, refusal", [
    (False, True, [None, None], None),
    (True, False, [None, None], None),
    (False, False, [None, None], "Nothing was switched: a failed switch can end the job. Set switch_upgrade_confirm to true to accept this. "
                                 "Jobs: train/a, train/b"),
    (False, True, [None, "a link is down"], "Nothing was switched: b: a link is down"),
    (True, False, ["no recovery", "a link is down"], "Nothing was switched: a: no recovery; b: a link is down"),
])
def test_all_jobs_are_switched_or_none(check_mode, confirm, messages, refusal):
    run = planned(job("a"), job("b"), new={**NEW, "check_mode": check_mode})
    results = [{"job": one, **({"msg": message} if message else {})} for one, message in zip(run["plan"], messages)]
    assert switch_upgrade(run, "checked", results=results, confirm=confirm)["refusal"] == refusal


def test_a_run_without_jobs_needs_no_confirmation():
    run = planned(new={**NEW, "check_mode": True})
    assert switch_upgrade(planned(), "checked", results=[], confirm=False)["refusal"] is None
    assert run["summary"] == "failover of leaf leaf-1: 0 jobs would be moved"


class LazyContainer(dict):
    """A container whose type cannot be called, like the containers in which Ansible passes variables to filters."""

    def __init__(self, *content):
        raise TypeError("direct construction of lazy containers is not supported")

    @classmethod
    def of(cls, value):
        if not isinstance(value, dict):
            return [cls.of(inner) for inner in value] if isinstance(value, list) else value
        made = cls.__new__(cls)
        made.update({key: cls.of(inner) for key, inner in value.items()})
        return made


def test_a_run_survives_variables_of_ansible():
    run = planned(job("a"), file=state("b"))
    for event, file in (("started", state("b", pending=entry("a"))), ("switched", state("b", "a"))):
        run = switch_upgrade(LazyContainer.of(run), event)
        assert run["file"] == file
    assert not isinstance(run["moved"]["uid-b"], LazyContainer)


def test_a_file_changed_by_another_run_is_refused():
    run = planned(job("a"), job("b"))
    assert switch_upgrade(run, "compared", text="")["refusal"] is None
    assert switch_upgrade(run, "compared", text=json.dumps(state()))["refusal"] is not None
    run = switch_upgrade(switch_upgrade(run, "started"), "switched")
    for text in (json.dumps(state("a")), json.dumps(state("a"), indent=4) + "\n", state("a")):
        assert switch_upgrade(run, "compared", text=text)["refusal"] is None
    for text in ("", "{", json.dumps(state("a", pending=entry("b")))):
        assert switch_upgrade(run, "compared", text=text)["refusal"] == (
            "/state.json has changed since this run read it: another run is switching jobs of this leaf. Moved by this run: train/a. "
            "Wait until the other run has ended, then start this run again.")


@pytest.mark.parametrize("action, result, pending", [
    (MODULE, {"msg": "timeout", "status": "failed"}, True),
    (MODULE, {"msg": "timeout", "status": "unknown"}, True),
    (MODULE, {"msg": "it died"}, True),
    (MODULE, {"msg": "refused", "status": "refused"}, False),
    (MODULE, {"msg": "a link is down", "status": "stopped"}, False),
    (MODULE, {"msg": "unreachable", "error": {"code": "server_unreachable"}}, False),
    ("ansible.builtin.copy", {"msg": "disk full"}, False),
])
def test_a_job_stays_pending_unless_its_switch_did_not_begin(action, result, pending):
    run = switch_upgrade(planned(job("a"), job("b"), job("c")), "started")
    run = switch_upgrade(switch_upgrade(switch_upgrade(run, "switched"), "started"), "failed", action=action, result=result)
    assert run["file"] == state("a", pending=entry("b") if pending else None)
    assert run["refusal"] == f"train/b: {result['msg']}. Moved: train/a. Not moved: train/c."


def test_a_failure_without_a_message_has_a_default():
    run = switch_upgrade(planned(job("a"), new=BACK, file=state("a")), "started")
    assert switch_upgrade(run, "failed", action=MODULE, result={})["refusal"] == "train/a: failed. Moved back: none. Not moved back: none."


def test_a_file_that_could_not_be_written_after_the_switch():
    """The job was moved, and the message names it as the job at which the run stopped."""
    run = switch_upgrade(switch_upgrade(planned(job("a"), job("b")), "started"), "switched")
    run = switch_upgrade(run, "failed", action="ansible.builtin.copy", result={"msg": "disk full"})
    assert (run["file"], run["refusal"]) == (state("a"), "train/a: disk full. Moved: none. Not moved: train/b.")


@pytest.mark.parametrize("run, event, message", [
    ({}, "started", "switch_upgrade: the input is not a run of switch_upgrade: it needs leaf, direction and path"),
    (NEW, "begun", "switch_upgrade: event begun is not one of opened, planned, checked, compared, started, switched, failed"),
])
def test_an_invalid_run_or_event_is_refused(run, event, message):
    with pytest.raises(AnsibleFilterError) as raised:
        switch_upgrade(run, event)
    assert str(raised.value) == message
