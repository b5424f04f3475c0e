# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a host is taken out of service and returned, by what Slurm and Kubernetes report."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.quarantine import Decision, Order, decide

SHOWN = """NodeName=n3 Arch=aarch64 CoresPerSocket=24
   CPUAlloc=0 CPUTot=192 CPULoad=0.10
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1
   Partitions=npu
   BootTime=2026-11-01T10:00:00 SlurmdStartTime=2026-11-01T10:01:00
{reason}"""
DRAIN = ["scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=hccn.cluster: NPU 5 is slow"]
RESUME = ["scontrol", "update", "NodeName=n3", "State=RESUME"]


def order(state: str = "out", percent: float = 10) -> Order:
    return Order("n3", state, "NPU 5 is slow", percent)


def slurm(shown: str, state: str, reason: str = "", others: str = "", percent: float = 10) -> Decision:
    text = SHOWN.format(state=shown, reason=f"   Reason={reason}\n" if reason else "")
    return decide("slurm", order(state, percent), {"node": text, "nodes": others or "n1 idle\nn2 idle\nn3 idle\n"})


@pytest.mark.parametrize("shown", ["IDLE", "MIXED+PLANNED", "ALLOCATED", "DOWN*"])
def test_a_slurm_node_is_drained_with_the_reason(shown: str) -> None:
    assert slurm(shown, "out").as_dict() == {"line": " ".join(DRAIN), "refusal": "", "done": False, "argv": DRAIN, "patch": {}}


@pytest.mark.parametrize("shown", ["IDLE+DRAIN", "DRAINED", "MIXED+DRAIN*"])
def test_a_drained_slurm_node_is_left_alone(shown: str) -> None:
    found = slurm(shown, "out", "disk broken [root@2026-11-20T10:15:00]")
    assert (found.done, found.argv, found.line) == (True, [], f"n3 is {shown} already")


def test_only_a_slurm_node_that_was_drained_by_this_collection_is_returned() -> None:
    mine = slurm("IDLE+DRAIN", "in", "hccn.cluster: NPU 5 is slow [root@2026-11-20T10:15:00]")
    assert (mine.done, mine.argv) == (False, RESUME)
    for shown, reason in (("IDLE+DRAIN", "disk broken [root@2026-11-20T10:15:00]"), ("IDLE", "hccn.cluster: x"), ("IDLE+DRAIN", "")):
        other = slurm(shown, "in", reason)
        assert (other.done, other.argv, other.line) == (True, [], f"n3 is {shown}, not drained by hccn.cluster")


def test_the_share_of_slurm_nodes_out_of_service_is_limited() -> None:
    many = "".join(f"m{number} {'drained*' if number < 3 else 'idle'}\n" for number in range(37)) + "n3 idle\nm1 drained*\n"
    assert slurm("IDLE", "out", others=many).refusal == (
        "n3 is not taken out of service: 3 of 38 nodes are out of service already, and quarantine_most_percent allows 3. "
        "Return repaired nodes to service, or raise it.")
    assert slurm("IDLE", "out", others=many, percent=11).refusal == ""
    assert slurm("IDLE+DRAIN", "in", "hccn.cluster: x", others=many).refusal == ""
    assert slurm("IDLE", "out", others="n1 idle\nn3 idle\n").refusal == "", "one node always may"


@pytest.mark.parametrize("text", ["", "slurm_load_node error: Node n3 not found", 7])
def test_an_unknown_slurm_node_is_refused(text: Any) -> None:
    found = decide("slurm", order(), {"node": text, "nodes": ""})
    assert found.refusal.startswith("scontrol reports no state of node n3: ") and not found.argv


def node(name: str, taints: list[Any] | None = None, cordoned: bool = False) -> dict[str, Any]:
    spec = {**({"taints": taints} if taints else {}), **({"unschedulable": True} if cordoned else {})}
    return {"metadata": {"name": name, "resourceVersion": "7"}, "spec": spec}


MINE = {"key": "hccn.cluster/quarantine", "value": "out", "effect": "NoSchedule"}
OTHER = {"key": "gpu", "effect": "NoExecute"}
BY_SERVER = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def kubernetes(state: str, *nodes: dict[str, Any]) -> Decision:
    return decide("kubernetes", order(state), {"nodes": [node("n1"), node("n2"), *nodes]})


def test_a_kubernetes_node_is_cordoned_and_tainted_and_keeps_its_other_taints() -> None:
    assert kubernetes("out", node("n3", [OTHER])).patch == {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n3", "resourceVersion": "7", "annotations": {"hccn.cluster/quarantine-reason": "hccn.cluster: NPU 5 is slow"}},
        "spec": {"unschedulable": True, "taints": [OTHER, MINE]}}
    assert kubernetes("out", node("n3", [OTHER, MINE, BY_SERVER], True)).done


def test_only_a_kubernetes_node_that_was_tainted_by_this_collection_is_returned() -> None:
    assert kubernetes("in", node("n3", [OTHER, MINE, BY_SERVER], True)).patch["spec"] == {"unschedulable": None, "taints": [OTHER]}
    assert kubernetes("in", node("n3", [MINE], True)).patch["spec"] == {"unschedulable": None, "taints": None}
    assert kubernetes("in", node("n3", [OTHER, BY_SERVER], True)).done


def test_the_share_of_kubernetes_nodes_out_of_service_is_limited() -> None:
    assert kubernetes("out", node("n3"), node("n4", cordoned=True)).refusal.startswith("n3 is not taken out of service: 1 of 4 nodes are out of service")
    assert kubernetes("out").refusal == "Kubernetes has no node n3. Set quarantine_node to the name of the host in Kubernetes."


def test_commands() -> None:
    assert decide("command", order(), {"argv": ["touch", "x"]}).as_dict() == {
        "line": "touch x", "refusal": "", "done": False, "argv": ["touch", "x"], "patch": {}}
    assert decide("command", order("in"), {}).refusal == (
        "quarantine_undo_command is empty, so n3 cannot be returned to service. Set it to the command that does so.")


@pytest.mark.parametrize(("provider", "state", "percent", "message"), [
    ("nomad", "out", 10, "quarantine_provider is 'nomad', it must be one of command, kubernetes, slurm"),
    ("slurm", "away", 10, "quarantine_state is 'away', it must be one of out, in"),
    ("slurm", "out", 0, "quarantine_most_percent is 0, it must be above 0 and at most 100")])
def test_invalid_options(provider: str, state: str, percent: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decide(provider, order(state, percent), {})
