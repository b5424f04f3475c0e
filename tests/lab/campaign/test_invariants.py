"""Check each invariant with a correct trace and with a trace that violates it, and check that a seed always generates the same sequence."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.lab.campaign import invariants, play, steps
from tests.lab.campaign.steps import Restore, Call, Change, Measure
from tests.lab.campaign.trace import Command, Node, Trace

CONF = b"address_0=10.81.1.10\nnetmask_0=255.255.0.0\n# site\narp_0=a\narp_0=b\ntls_enable_0=0\n"
DEVICE = {"ip": "10.81.1.10", "netmask": "255.255.0.0", "gateway": "", "netdetect": "", "mtu": "1500", "tls": "0"}
START = Node(CONF, 1, {0: DEVICE, 1: {**DEVICE, "ip": "10.81.1.11"}})
SET_MTU = Call("device_network", {"config": [{"id": 0, "mtu": 4200}], "keep_previous": True})
RESULT: dict[str, Any] = {
    "changed": True, "previous": [{"id": 0, "mtu": 1500}],
    "devices": [{"id": 0, "after": {"mtu": 4200, "persistent": {"mtu": 4200}}, "changed": True, "errors": []}]}
RECORD = {"network": [{"id": 0, "mtu": 1500}], "tls": []}


def tool_call(words: str, *busy: int, at: float = 0.0) -> Command:
    return Command("c1", "hccn_tool", tuple(words.split()), busy, at=at)


def smi_call(*busy: int) -> Command:
    return Command("c1", "npu-smi", ("info",), busy)


SET = tool_call("-i 0 -mtu -s size 4200")
ASKED = (tool_call("-i 0 -qp_info -g"), smi_call())


def end(conf: bytes = CONF + b"mtu_0=4200\n", mtu: str = "4200", **fields: Any) -> Node:
    return replace(START, conf=conf, devices={**START.devices, 0: {**DEVICE, "mtu": mtu}}, **{"saved": RECORD, **fields})


def trace(call: Call = SET_MTU, result: dict[str, Any] | None = RESULT, after: Node | None = None, commands: tuple[Command, ...] = (*ASKED, SET),
          before: Node = START, left: tuple[str, ...] = (), quiet: bool = True) -> Trace:
    return Trace({"c1": call}, {"c1": result}, {"n1": before}, {"n1": after or end()}, commands, left, quiet)


def violations(seen: Trace) -> dict[str, list[str]]:
    """Return the violations by invariant."""
    found = {invariant.__name__: list(invariant(seen)) for invariant in invariants.OF_A_STEP}
    return {name: sentences for name, sentences in found.items() if sentences}


def test_correct_trace_violates_nothing() -> None:
    assert violations(trace()) == {}


KILLED = replace(SET_MTU, kill={"operation": 1, "how": "kill"})


@pytest.mark.parametrize(("seen", "violated", "expected"), [
    (trace(after=end(conf=CONF + b"mtu_0=4200\n\0\0")), "conf_is_whole", "n1: hccn.conf contains NULs"),
    (trace(KILLED, None, after=end(conf=CONF.replace(b"# site", b"\0\0\0\0\0\0") + b"mtu_0=4200\n")), "conf_is_whole", "n1: hccn.conf contains NULs"),
    (trace(after=end(conf=CONF + b"mtu_0=4200")), "conf_is_whole", "n1: hccn.conf lost its last newline"),
    (trace(after=end(conf=CONF.replace(b"# site\n", b"") + b"mtu_0=4200\n")), "conf_is_whole", "n1: undeclared changes of other lines of hccn.conf"),
    (trace(after=end(conf=CONF.replace(b"arp_0=a\narp_0=b\n", b"arp_0=b\narp_0=a\n") + b"mtu_0=4200\n")), "conf_is_whole",
     "n1: undeclared changes of other lines of hccn.conf"),
    (trace(after=end(conf=CONF.replace(b"netmask_0=255.255.0.0\n", b"") + b"mtu_0=4200\n")), "conf_is_whole",
     "n1: netmask_0 was 255.255.0.0 and is None, which no call declared"),
    (trace(KILLED, None, after=end(conf=CONF + b"mtu_0=42\n")), "conf_is_whole", "n1: mtu_0 was None and is 42, which no call declared"),
    (trace(KILLED, None, after=end(conf=CONF + b"mtu_0=4200\nmtu_0=4200\n")), "conf_is_whole", "n1: duplicate keys"),
    (trace(after=end(inode=2)), "conf_is_whole", "n1: hccn.conf was replaced by another file"),
    (trace(commands=(smi_call(0), SET_BUSY := tool_call("-i 0 -mtu -s size 4200", 0))), "busy_is_untouched",
     "device_network ran -i 0 -mtu -s size 4200 while a job used NPU 0: the call had detected it"),
    (trace(commands=(smi_call(), tool_call("-i 1 -mtu -s size 4200", 0), SET_BUSY)), "busy_is_untouched",
     "device_network ran -i 0 -mtu -s size 4200 while a job used NPU 0: the call had not checked for 1 commands"),
    (trace(commands=(smi_call(), tool_call("-i 0 -qp_info -g", 0), SET_BUSY)), "busy_is_untouched",
     "device_network ran -i 0 -mtu -s size 4200 while a job used NPU 0: the call had not checked for 1 commands"),
    (trace(Call("hccn_conf", {"recover": True}), {"changed": True}, commands=(smi_call(0), tool_call("-i 0 -cfg recovery", 0))), "busy_is_untouched",
     "hccn_conf ran -i 0 -cfg recovery while a job used NPU 0: the call had detected it"),
    (trace(Call("rdma_perf"), commands=(smi_call(0), tool_call("-i 0 -roce_test ib_write_bw -tcp", 0)), after=START), "busy_is_untouched",
     "rdma_perf ran -i 0 -roce_test ib_write_bw -tcp while a job used NPU 0: the call had detected it"),
    (trace(Call("rdma_perf"), commands=(tool_call("-i 0 -link -g", 0, at=1), tool_call("-i 0 -roce_test reset", 0, at=9)), after=START), "busy_is_untouched",
     "rdma_perf ran -i 0 -roce_test reset while a job used NPU 0: the call had not checked for 8.0 s"),
    (trace(result={**RESULT, "changed": False}), "results_are_true", "device_network returned changed=false, but hccn.conf was"),
    (trace(after=replace(START, saved=RECORD), result={**RESULT, "devices": []}), "results_are_true",
     "device_network returned changed=true, but nothing changed"),
    (trace(after=end(mtu="1500")), "results_are_true", "device_network reported that mtu of NPU 0 is 4200, but it is 1500"),
    (trace(after=end(conf=CONF + b"mtu_0=1500\n")), "results_are_true", "device_network reported that hccn.conf has mtu_0=4200, but it has 1500"),
    (trace(Call("device_tls", {"state": "enabled"}), {"changed": True, "devices": [{"id": 0, "after": {"enabled": True, "persistent": True}}]}),
     "results_are_true", "device_tls reported that NPU 0 is {'enabled': True, 'persistent': True}, but it is False, in hccn.conf False"),
    (trace(Call("hccn_conf", {"settings": {"mtu": 4200}}), {"changed": True, "diff": {"after": "mtu_0=4200\n"}}), "results_are_true",
     "the diff of hccn_conf does not match the file"),
    (trace(Call("device_info", {"gather": ["tls"]}), {"changed": False, "side_effects": []}), "results_are_true", "device_info returned the side effects []"),
    (trace(result=None), "results_are_true", "device_network returned nothing"),
    (trace(result={"traceback": "Traceback"}), "results_are_true", "device_network raised an exception"),
    (trace(replace(SET_MTU, options={**SET_MTU.options, "fail_on": "none"}), {**RESULT, "failed": True, "msg": "no"}), "results_are_true",
     "device_network failed although no fault was active: no"),
    (trace(replace(SET_MTU, check=True), commands=ASKED, after=replace(START, saved=RECORD)), "check_mode_is_pure",
     "device_network changed the node in check mode"),
    (trace(replace(SET_MTU, check=True), after=START), "check_mode_is_pure", "device_network ran ['-i 0 -mtu -s size 4200'] in check mode"),
    (trace(left=("hccn_tool -i 0",)), "nothing_is_left", "processes left: hccn_tool -i 0"),
    (trace(after=end(tests=("roce_test_0.json",))), "nothing_is_left", "n1: tests are left on the devices: roce_test_0.json"),
    (trace(after=end(saved=None)), "old_values_are_saved", "set without being saved before: [(0, 'mtu')]"),
    (trace(after=end(saved={"network": [{"id": 0, "mtu": 4200}]})), "old_values_are_saved", "mtu of NPU 0 was 1500 and was saved as 4200"),
    (trace(before=replace(START, saved={"network": [{"id": 0, "mtu": 9000}]})), "old_values_are_saved",
     "mtu of NPU 0 was saved as 9000 and is now 1500 in the record"),
])
def test_violation_is_reported(seen: Trace, violated: str, expected: str) -> None:
    found = violations(seen)
    assert violated in found, found
    assert any(sentence.startswith(expected) for sentence in found[violated]), found


@pytest.mark.parametrize("seen", [
    trace(commands=(*ASKED, SET_BUSY)),
    trace(commands=(*ASKED, SET, tool_call("-i 0 -mtu -s size 4200", 0))),
    trace(commands=(smi_call(1), SET)),
    trace(replace(SET_MTU, options={**SET_MTU.options, "allow_busy": True}), commands=(smi_call(0), SET_BUSY)),
    trace(Call("rdma_perf"), {}, commands=(tool_call("-i 0 -roce_test ib_write_bw -tcp"), smi_call(0), tool_call("-i 0 -roce_test reset", 0)), after=START),
], ids=["it came after the last question", "it came between two sets of a device", "another NPU", "allowed", "a run's own test is reset"])
def test_undetectable_job_is_no_violation(seen: Trace) -> None:
    assert violations(seen) == {}


def test_only_a_kill_may_leave_trailing_nuls() -> None:
    assert violations(trace(KILLED, None, after=end(conf=CONF + b"\0\0\0", mtu="1500"), commands=())) == {}
    assert list(invariants.converges([trace(after=end(conf=CONF + b"\0"))], {})) == [f"without disturbance, hccn.conf contains NULs: {CONF + bytes(1)!r}"]


def test_incomplete_restoration_is_reported() -> None:
    again = Trace({"c2": SET_MTU}, {"c2": {"changed": True}}, {"n1": end()}, {"n1": START})
    assert list(invariants.previous_leads_back(trace(), again)) == []
    lost = replace(again, after={"n1": end(mtu="9000")})
    assert list(invariants.previous_leads_back(trace(), lost)) == ["restoring previous set mtu of NPU 0 to 9000, but it was 1500"]


def test_missed_target_state_is_reported() -> None:
    assert list(invariants.converges([trace()], {0: {"mtu": "4200"}})) == []
    assert list(invariants.converges([trace()], {0: {"mtu": "9000"}})) == ["without disturbance, mtu of NPU 0 is 4200, not 9000"]
    assert list(invariants.converges([trace(result={"failed": True, "msg": "no"})], {})) == ["without disturbance, device_network failed: no"]


def test_second_call_with_changes_is_reported() -> None:
    second = trace(before=end(), commands=ASKED, result={"changed": False})
    assert list(invariants.is_idempotent([second])) == []
    assert list(invariants.is_idempotent([replace(second, results={"c1": RESULT})])) == ["the second device_network returned changed=True"]
    assert list(invariants.is_idempotent([replace(second, commands=(SET,))])) == ["a second device_network changed the node"]
    assert list(invariants.is_idempotent([replace(second, before={"n1": START})])) == ["a second device_network changed the node"]


def test_sequences_are_deterministic_and_survive_json() -> None:
    assert steps.sequence(7) == steps.sequence(7) != steps.sequence(8)
    every = [step for seed in range(200) for step in steps.sequence(seed)]
    assert steps.from_json(json.loads(json.dumps(steps.as_json(every)))) == every


def test_sequences_contain_kills_and_jobs() -> None:
    """Check that campaigns contain kills, and jobs that start while a module runs. Without them they would prove little."""
    drawn = [step for seed in range(300) for step in steps.sequence(seed)]
    calls = [step for step in drawn if isinstance(step, Call)]
    assert {type(step) for step in drawn} == {Call, Change, Restore, Measure}
    assert {call.module for call in calls} == {"device_info", "device_network", "device_ping", "device_tls", "hccn_conf"}
    assert {(call.kill["what"], call.kill["moment"]) for call in calls if call.kill and "what" in call.kill} == {
        (what, moment) for what in ("module", "tool", "both") for moment in ("before", "after")}
    assert {call.kill["how"] for call in calls if call.kill and "how" in call.kill} == {"kill", "full"}
    assert sum("process=" in state for call in calls for _after, _words, state in call.events) > 200
    assert {call.options.get("recover", False) for call in calls} == {True, False}
    assert {call.check for call in calls} == {call.beside is not None for call in calls} == {True, False}


def test_shrink_finds_the_shortest_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, others = Change(("0.link=0",)), [Change((f"1.mtu={number}",)) for number in range(5)]
    monkeypatch.setattr(play, "play", lambda _world, chosen: ["step 1: it is wrong"] if bad in chosen and others[3] in chosen else [])
    found, expected = play.shrink(None, [*others, bad], ["step 6: it is wrong"], 10)  # type: ignore[arg-type]
    assert (found, expected) == ([others[3], bad], ["step 1: it is wrong"])
