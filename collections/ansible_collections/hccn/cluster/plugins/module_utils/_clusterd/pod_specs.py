# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read from the pods of a job what a switch of NPUs requires of TaskD and MindIO.

A value is that of the variable in ``env``, or of a later assignment in ``command`` and ``args``. A start script may set any of them too, which no spec shows.
Sources: Ascend/mind-cluster component/ascend-operator pkg/api/v1 (variables of the operator), component/taskd taskd/python (TASKD_PROCESS_ENABLE), and
docs/zh/scheduling, configuration of link failover (MS_ENABLE_TFT, port 9601); MindSpeed-LLM, high availability.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from .._core.words import printable
from .._rank_table.json_fields import entries
from . import kube

PYTORCH, MINDSPORE = "pytorch", "mindspore"
TASKD_ENABLE, RECOVERY, ON = "TASKD_PROCESS_ENABLE", "PROCESS_RECOVER", "on"
TASKD_PORT = 9601
_MINDSPORE_VARIABLE, _MINDIO_OF_MINDSPORE, _MINDIO_OF_PYTORCH = "MINDIO_FOR_MINDSPORE", "MS_ENABLE_TFT", "HIGH_AVAILABILITY"
_READ = (TASKD_ENABLE, RECOVERY, _MINDSPORE_VARIABLE, _MINDIO_OF_MINDSPORE, _MINDIO_OF_PYTORCH)
_STEP_PAUSE = re.compile(r"\bTSP\s*:\s*1\b")
_OPTION = re.compile(r"(?<!\S)--enable-high-availability(?!\S)")
_ASSIGNMENTS = {name: re.compile(r"""(?:^|[\s;&|(])%s=(?:"([^"]*)"|'([^']*)'|([^\s;&|)"']*))""" % name) for name in _READ}
TRAINER = "ascend"
"""Name of the container that Ascend Operator gives NPUs to. In other jobs all containers are read."""


class Pod(NamedTuple):
    """``phase`` is Terminating for a pod that is being deleted. ``framework`` is empty if unknown. ``mindio`` is the setting that starts MindIO with what a
    switch requires, None if the spec has none."""

    name: str
    phase: str
    framework: str
    taskd_enable: Optional[str]
    recovery: Optional[str]
    mindio: Optional[str]
    has_taskd_port: bool


def _lines(container: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of command and arguments, without comments."""
    for key in ("command", "args"):
        words = container.get(key)
        for word in words if isinstance(words, list) else ():
            if isinstance(word, str):
                yield from (line for line in word.splitlines() if not line.lstrip().startswith("#"))


def _value(name: str, containers: Sequence[Mapping[str, Any]]) -> Optional[str]:
    """Return the value of a variable; None if it is not set, or refers to another variable or object."""
    found: Optional[str] = None
    for container in containers:
        for entry in entries(container, "env"):
            if entry.get("name") == name and isinstance(entry.get("value"), str):
                found = entry["value"]
        for line in _lines(container):
            for assigned in _ASSIGNMENTS[name].finditer(line):
                found = next((group for group in assigned.groups() if group is not None), "")
    return None if "$" in (found or "") else found


def _framework(labels: Mapping[str, Any], values: Mapping[str, Optional[str]]) -> str:
    label = labels.get("framework")
    if label in (PYTORCH, MINDSPORE):
        return str(label)
    if values[_MINDSPORE_VARIABLE] is not None or values[_MINDIO_OF_MINDSPORE] is not None:
        return MINDSPORE
    return PYTORCH if values[_MINDIO_OF_PYTORCH] is not None else ""


def _mindio(framework: str, values: Mapping[str, Optional[str]], containers: Sequence[Mapping[str, Any]]) -> Optional[str]:
    if _STEP_PAUSE.search(values[_MINDIO_OF_MINDSPORE] or ""):
        return _MINDIO_OF_MINDSPORE + " with TSP:1"
    if framework == MINDSPORE:
        return None
    if (values[_MINDIO_OF_PYTORCH] or "").lower() not in ("", "off", "false", "0"):
        return _MINDIO_OF_PYTORCH
    return "--enable-high-availability" if any(_OPTION.search(line) for container in containers for line in _lines(container)) else None


def read(item: Mapping[str, Any]) -> Pod:
    """Return what the object of a pod tells. Fields of another form are treated as missing."""
    spec, metadata, status = (value if isinstance(value, dict) else {} for value in map(item.get, ("spec", "metadata", "status")))
    containers: List[Mapping[str, Any]] = entries(spec, "containers")
    trainers = [container for container in containers if container.get("name") == TRAINER]
    values = {name: _value(name, trainers or containers) for name in _READ}
    labels = metadata.get("labels")
    framework = _framework(labels if isinstance(labels, dict) else {}, values)
    phase = "Terminating" if metadata.get("deletionTimestamp") else printable(status.get("phase"))
    return Pod(name=printable(kube.name_of({"metadata": metadata}), 128), phase=phase, framework=framework,
               taskd_enable=values[TASKD_ENABLE], recovery=values[RECOVERY], mindio=_mindio(framework, values, trainers or containers),
               has_taskd_port=any(port.get("containerPort") == TASKD_PORT for container in containers for port in entries(container, "ports")))
