# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Decide how to take a host out of service or to return it, from what Slurm or Kubernetes reports about all of its nodes.

A node counts as set aside by this collection only if its reason or taint says so: a node that somebody else drained is neither changed nor returned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.words import printable
from .._findings import reading

OUT, IN = STATES = ("out", "in")
COMMAND, KUBERNETES, SLURM = PROVIDERS = ("command", "kubernetes", "slurm")

MARK = "hccn.cluster"
"""Beginning of the reason in Slurm, and owner of the taint in Kubernetes."""
TAINT = {"key": "hccn.cluster/quarantine", "value": "out", "effect": "NoSchedule"}

LONGEST_REASON = 200
OUT_OF_SERVICE = ("drain", "draining", "drained", "down", "fail", "failing", "maint", "not_responding")
"""Words of states of Slurm nodes on which no job starts (sinfo(1), NODE STATE CODES)."""

_SLURM_STATE = re.compile(r"\bState=(\S+)")
_SLURM_REASON = re.compile(r"^\s*Reason=(.*?)(?:\s+\[[^\]]*\])?\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Decision:
    """``refusal``: why nothing may be done, else empty. ``done``: whether nothing is left to do. ``argv`` or ``patch`` is what to do; ``line`` says it."""

    line: str
    refusal: str = ""
    done: bool = False
    argv: list[str] = field(default_factory=list)
    patch: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Order:
    """What is wanted. ``node``: the name of the host at the provider; ``most_percent``: of all nodes that may be out of service."""

    node: str
    state: str
    reason: str
    most_percent: float

    @property
    def marked_reason(self) -> str:
        return printable(f"{MARK}: {self.reason}", LONGEST_REASON)


def decide(provider: str, order: Order, observed: Mapping[str, Any]) -> Decision:
    """Return the decision. ``observed``: ``argv`` of a command; ``nodes`` of Kubernetes; ``node`` and ``nodes``, the outputs of scontrol and sinfo.

    Raises InputError for an unknown provider or state.
    """
    if provider not in PROVIDERS:
        raise InputError(f"quarantine_provider is {provider!r}, it must be one of {', '.join(PROVIDERS)}")
    if order.state not in STATES:
        raise InputError(f"quarantine_state is {order.state!r}, it must be one of {', '.join(STATES)}")
    if not 0 < order.most_percent <= 100:
        raise InputError(f"quarantine_most_percent is {order.most_percent:g}, it must be above 0 and at most 100")
    return {COMMAND: _command, KUBERNETES: _kubernetes, SLURM: _slurm}[provider](order, observed)


def _command(order: Order, observed: Mapping[str, Any]) -> Decision:
    argv = [str(word) for word in observed.get("argv") or ()]
    if not argv:
        name = "quarantine_command" if order.state == OUT else "quarantine_undo_command"
        return Decision("", refusal=f"{name} is empty, so {order.node} cannot be {_what(order)}. Set it to the command that does so.")
    return Decision(" ".join(argv), argv=argv)


def _what(order: Order) -> str:
    return "taken out of service" if order.state == OUT else "returned to service"


def _refusal(order: Order, out: int, total: int) -> str:
    """Return why one more node may not be taken out of service; one node always may."""
    most = max(1, int(total * order.most_percent / 100))
    if order.state == OUT and out + 1 > most:
        return (f"{order.node} is not taken out of service: {out} of {total} nodes are out of service already, and quarantine_most_percent allows {most}. "
                "Return repaired nodes to service, or raise it.")
    return ""


def _slurm(order: Order, observed: Mapping[str, Any]) -> Decision:
    text = str(observed.get("node") or "")
    found = _SLURM_STATE.search(text)
    if found is None:
        return Decision("", refusal=f"scontrol reports no state of node {order.node}: {printable(text.strip() or 'no output', LONGEST_REASON)}. "
                        "Set quarantine_node to the name of the host in Slurm.")
    words = _words(found.group(1))
    reason = _SLURM_REASON.search(text)
    mine = bool(reason) and reason.group(1).startswith(f"{MARK}:")  # type: ignore[union-attr]
    drained = bool(words & {"drain", "draining", "drained"})
    if order.state == IN:
        if not drained or not mine:
            return Decision(f"{order.node} is {found.group(1)}, not drained by {MARK}", done=True)
        argv = ["scontrol", "update", f"NodeName={order.node}", "State=RESUME"]
        return Decision(" ".join(argv), argv=argv)
    if drained:
        return Decision(f"{order.node} is {found.group(1)} already", done=True)
    states = {line.split()[0]: _words(line.split()[1]) for line in str(observed.get("nodes") or "").splitlines() if len(line.split()) > 1}
    refusal = _refusal(order, sum(bool(found & set(OUT_OF_SERVICE)) for name, found in states.items() if name != order.node), len(states))
    argv = ["scontrol", "update", f"NodeName={order.node}", "State=DRAIN", f"Reason={order.marked_reason}"]
    return Decision(" ".join(argv), refusal, argv=argv)


def _words(state: str) -> set[str]:
    """Return the words of a state such as ``IDLE+DRAIN`` or ``drained*`` in lower case."""
    return {word.strip("*~#!%$@^-") for word in state.lower().split("+")}


def _kubernetes(order: Order, observed: Mapping[str, Any]) -> Decision:
    nodes = {reading.text(reading.mapping(node.get("metadata")).get("name")): node for node in reading.mappings(observed.get("nodes"))}
    node = nodes.get(order.node)
    if node is None:
        return Decision("", refusal=f"Kubernetes has no node {order.node}. Set quarantine_node to the name of the host in Kubernetes.")
    spec = reading.mapping(node.get("spec"))
    taints = [dict(taint) for taint in reading.mappings(spec.get("taints"))]
    others = [taint for taint in taints if taint.get("key") != TAINT["key"]]
    mine = len(others) < len(taints)
    # The API server sets this taint for a cordoned node, and removes it with the cordon.
    kept = [taint for taint in others if taint.get("key") != "node.kubernetes.io/unschedulable"]
    cordoned = spec.get("unschedulable") is True
    if order.state == IN:
        if not mine:
            return Decision(f"{order.node} has no taint {TAINT['key']}, so {MARK} did not take it out of service", done=True)
        return Decision(f"uncordon {order.node} and remove its taint {TAINT['key']}", patch=_patch(node, False, kept, None))
    if mine and cordoned:
        return Decision(f"{order.node} is cordoned and has the taint {TAINT['key']} already", done=True)
    out = sum(reading.mapping(other.get("spec")).get("unschedulable") is True for name, other in nodes.items() if name != order.node)
    return Decision(f"cordon {order.node} and add the taint {TAINT['key']}:{TAINT['effect']}", _refusal(order, out, len(nodes)),
                    patch=_patch(node, True, [*kept, TAINT], order.marked_reason))


def _patch(node: Mapping[str, Any], cordoned: bool, taints: list[Any], reason: str | None) -> dict[str, Any]:
    """Return a merge patch. The resource version makes it fail if somebody else changed the node meanwhile, since a list is replaced as a whole."""
    metadata = reading.mapping(node.get("metadata"))
    version = {"resourceVersion": metadata["resourceVersion"]} if "resourceVersion" in metadata else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], **version, "annotations": {f"{MARK}/quarantine-reason": reason}},
            "spec": {"unschedulable": True if cordoned else None, "taints": taints or None}}
