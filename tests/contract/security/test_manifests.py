"""Check manifests of jobs from hostile variables: the values stay single arguments of the collection's script, and Kubernetes expands none of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import mpi, volcano
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.job import read

from tests.contract.security.hostile import MARK, VALUES, texts_in, with_value

JOB = {
    "image": "registry/hccl:1", "nodes": ["a", "b"], "name": "check", "namespace": "checks", "queue": "q", "tool": "hccl_test", "tool_dir": "/opt/hccl_test",
    "mpirun": "mpirun", "sshd": "/usr/sbin/sshd", "environment": {"HCCL_SOCKET_IFNAME": "eth0"}, "labels": {"team": "net"}, "annotations": {"note": "x"},
    "sizes": {"begin": "8K", "end": "64K"}, "operation": "all_reduce", "node_selector": {"kind": "npu"},
}


def commands(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        words = [*(value.get("command") or []), *(value.get("args") or [])]
        if words and all(isinstance(word, str) for word in words):
            yield words
        for one in value.values():
            yield from commands(one)
    elif isinstance(value, list):
        for one in value:
            yield from commands(one)


def bad(words: list[str]) -> list[str]:
    script = words[2] if words[:2] == ["/bin/sh", "-c"] else ""
    found = ["in a script"] if MARK in script else []
    found += ["an option" for word in words[1:] if MARK in word and word.startswith("-")]
    # Kubernetes expands $(NAME) in commands and replaces $$ with a dollar sign.
    return found + ["expanded" for word in words if "$(" in word.replace("$$", "") and MARK in word]


@pytest.mark.parametrize("plan", [volcano.planned, mpi.planned], ids=["volcano", "mpijob"])
def test_values_stay_single_arguments(plan: Any) -> None:
    names = [place for place in texts_in(JOB) if place[1:] != (":key",)]
    seen, found = 0, []
    for mpirun in ("mpich", "openmpi"):
        for where in names:
            for value in VALUES:
                job = with_value({**copy.deepcopy(JOB), "mpi": mpirun}, where, value)
                try:
                    planned = plan(read(job))
                except InputError:
                    continue
                for words in commands(planned["objects"]):
                    seen += 1
                    found += [f"{where} = {value!r}: {reason} of {words!r}" for reason in bad(words)]
    assert seen > 100
    assert found == [], "\n".join(found)
