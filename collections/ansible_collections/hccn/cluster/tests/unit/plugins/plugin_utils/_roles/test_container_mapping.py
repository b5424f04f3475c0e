from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device.mounts import MountPaths
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.container_mapping import instructions, summarize

MISSING = {"rule": "conf_not_mapped", "severity": "error", "where": "container 5f0e2c1a7b9d pid 7 (python3)", "message": "it does not exist",
           "hint": "recreate it"}
COPIED = {**MISSING, "rule": "conf_copied", "severity": "warning", "message": "it is a copy"}


def answer(*states, problems=(), cdi_state="absent", changed=False):
    return {"containers": [{"state": state} for state in states], "problems": list(problems), "cdi_state": cdi_state, "changed": changed}


def test_report():
    found = summarize({"n1": answer("mapped", "missing", problems=[MISSING]), "n2": answer("copy", problems=[COPIED], cdi_state="current"), "n3": None},
                      "report", False)
    assert found.lines() == [
        "Containers with NPUs: 3 on 2 hosts, 1 of them see the hccn.conf of their host",
        "n1: container 5f0e2c1a7b9d pid 7 (python3): it does not exist -> recreate it",
        "n2: container 5f0e2c1a7b9d pid 7 (python3): it is a copy -> recreate it",
        "CDI spec absent: 1 host (n1)",
        "CDI spec up to date: 1 host (n2)",
        "Not examined: n3",
    ]
    assert found.problems == ({"host": "n1", **MISSING}, {"host": "n2", **COPIED})


@pytest.mark.parametrize("fail_on, hosts", [("never", []), ("failed", ["n1"]), ("slow", ["n1"]), ("any", ["n1", "n1"])])
def test_problems_that_fail_the_job(fail_on, hosts):
    found = summarize({"n1": answer("missing", "copy", problems=[MISSING, COPIED])}, "report", False)
    assert [problem["host"] for problem in found.failing(fail_on)] == hosts


@pytest.mark.parametrize("state, check_mode, changed, cdi_state, expected", [
    ("report", False, False, "different", "different"), ("present", False, True, "absent", "written"), ("present", True, True, "different", "to be written"),
    ("present", False, False, "current", "up to date"), ("absent", False, True, "current", "removed"), ("absent", True, True, "current", "to be removed"),
    ("absent", False, False, "absent", "absent"), ("report", False, True, "current", "up to date"),
])
def test_outcome_of_the_spec(state, check_mode, changed, cdi_state, expected):
    assert summarize({"n1": answer(cdi_state=cdi_state, changed=changed)}, state, check_mode).specs == {expected: ("n1",)}


def test_many_problems():
    found = summarize({f"n{number}": answer("missing", problems=[MISSING] * 2) for number in range(600)}, "report", False)
    assert (len(found.problems), found.more_problems, len(found.lines())) == (1000, 200, 1 + 20 + 1 + 1)
    assert found.lines()[21] == "... and 1180 more problems"
    assert found.lines()[22] == "CDI spec absent: 600 hosts (n0, n1, n2, n3, n4, n5, n6, n7 and 592 more)"


@pytest.mark.parametrize("value", [None, 7, "text", [], {}, {"cdi_state": "evil"}, {"cdi_state": ["absent"]}, {"failed": True, "msg": "unreachable"}])
def test_unusable_answers(value):
    found = summarize({"n1": value, "n2": answer("mapped")}, "report", False)
    assert (found.unknown, found.containers, found.hosts) == (("n1",), 1, ("n2",))


def test_malformed_parts_are_ignored():
    odd = {"cdi_state": "absent", "containers": [None, {"state": ["mapped"]}, {}], "problems": ["x", {"message": "a\x1b[2Jb", "severity": {}}],
           "changed": "yes"}
    found = summarize({"n1": odd}, "present", False)
    assert (found.containers, found.mapped, found.specs) == (2, 0, {"absent": ("n1",)})
    assert found.lines()[1] == "n1: None: a?[2Jb -> None"
    assert found.failing("any") == []


def test_instructions():
    assert instructions(MountPaths("/data/hccn conf", "/etc/hccn.conf")) == [
        "New containers see the file with one of these:",
        "  docker, podman, nerdctl: -v '/data/hccn conf:/etc/hccn.conf:ro'",
        "  CDI, with the spec:      --device hccn.cluster/conf=hccn-conf",
        '  Kubernetes, in the pod:  volumes: [{"name": "hccn-conf", "hostPath": {"path": "/data/hccn conf", "type": "File"}}]',
        '  and in its containers:   volumeMounts: [{"name": "hccn-conf", "mountPath": "/etc/hccn.conf", "readOnly": true}]',
    ]
