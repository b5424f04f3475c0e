"""The playbooks nic_switch and switch_upgrade with each version of ClusterD, through nginx with client certificates, in a cluster with a MindIE job."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import owner

from tests.integration.clusterd.api import Api, Object
from tests.integration.clusterd.certificates import Authority
from tests.integration.clusterd.nginx import Nginx
from tests.integration.clusterd.test_playbooks import ALL, HOSTS, RESULT, SWITCH, Site, cluster, pod, pod_group, server, summary
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = [pytest.mark.usefixtures("no_proxy"), pytest.mark.slow]
STATE = ".hccn.cluster/switch_upgrade.json"
NEWEST = "master"
"""Only `make test-long` switches these versions through nginx; `make test-rest` switches the others."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cluster(tmp_path_factory.mktemp("site"), dict.fromkeys(HOSTS, "A3"))


def without_npus(name: str) -> Object:
    """The ConfigMap of a MindIE coordinator or controller."""
    found = summary(name)
    found["data"]["hccl.json"] = ""
    return found


@contextlib.contextmanager
def served(nodes: Path, version: str, switch_s: float = 0.2) -> Iterator[Site]:
    """Yield a site with two training jobs, a MindIE job, and a job that was deleted while ClusterD did not run."""
    devices = {name: [str(device) for device in range(16)] for name in HOSTS}
    names = ("a", "b", "mindie-coordinator", "mindie-controller")
    world = World(tuple(Job(f"uid-{name}", devices) for name in names), Times(switch=switch_s), version=version)
    objects = {"configmaps": [summary("a", server("node-1", *range(16))), summary("b", server("node-2", *range(16))), without_npus("mindie-coordinator"),
                              without_npus("mindie-controller"), summary("deleted", server("node-1", *range(16)))],
               "podgroups": [pod_group(name) for name in names], "pods": [pod(name) for name in names]}
    made = Site(nodes, ClusterD(world), Api(nodes, objects))
    try:
        yield made
        assert made.clusterd.forbidden == []
    finally:
        made.clusterd.close()
        made.api.close()
        (nodes / STATE).unlink(missing_ok=True)


def reached(address: str, authority: Authority, client: str = "client") -> Object:
    files = authority.pair(client)
    return {"server": address, "ca_cert": str(authority.ca), "client_cert": str(files.certificate), "client_key": str(files.key)}


@pytest.mark.parametrize("version", [name if name == NEWEST else pytest.param(name, marks=pytest.mark.long) for name in PROFILES])
def test_switches_through_nginx(tmp_path: Path, nodes: Path, authority: Authority, version: str) -> None:
    """nginx ends each silent stream after 5 s, before the result is there."""
    with served(nodes, version, switch_s=6.5) as site, Nginx(tmp_path / "nginx", site.clusterd.port, read_timeout_s=5, authority=authority) as nginx:
        clusterd = reached(nginx.address, authority)
        code, output = site.upgrade(hccn_clusterd=clusterd)
        assert code == 0, output
        assert "failover of leaf leaf-1: 2 jobs moved: train/a, train/b" in output
        assert site.clusterd.paths() == [SWITCH, RESULT, RESULT] * 2
        assert (site.switched(), sorted(site.state["moved"])) == ([("uid-a", True), ("uid-b", True)], ["uid-a", "uid-b"])

        code, output = site.nic_switch(hccn_clusterd=clusterd, nic_switch_confirm=True, nic_switch_direction="switchback")
        assert code == 0, output
        assert "switchback of job uid-a: finished" in output
        assert site.clusterd.calls[0] == (SWITCH, {"jobID": "uid-a", "nicOps": {"node-1": {"dev": ALL, "op": [False] * 8}}})
        assert site.clusterd.paths() == [SWITCH, RESULT, RESULT]


@pytest.mark.long
def test_missing_certificate_is_named_and_nothing_is_sent(tmp_path: Path, nodes: Path, authority: Authority, unknown_authority: Authority) -> None:
    with served(nodes, "v26.0.1") as site, Nginx(tmp_path / "nginx", site.clusterd.port, authority=authority) as nginx:
        code, output = site.nic_switch(hccn_clusterd={"server": nginx.address, "ca_cert": str(authority.ca)}, nic_switch_confirm=True)
        assert code != 0
        assert "nothing was switched, since the request did not reach ClusterD: the proxy of ClusterD at" in output
        assert "refuses the request, since no client certificate was sent" in output
        assert '"status": "not_sent"' in output and '"changed": false' in output

        foreign = reached(nginx.address, unknown_authority)
        code, output = site.upgrade(hccn_clusterd={**foreign, "ca_cert": str(authority.ca)})
        assert code != 0
        assert f"does not accept the client certificate {foreign['client_cert']}" in output
        assert "Moved: none. Not moved: train/b." in output
        assert (site.clusterd.calls, site.state["moved"], "pending" in site.state) == ([], {}, False)


def test_jobs_without_npus_and_deleted_jobs_are_left_out(nodes: Path) -> None:
    with served(nodes, "v26.0.1") as site:
        code, output = site.upgrade("--check")
        assert code == 0, output
        assert "failover of leaf leaf-1: 2 jobs would be moved: train/a, train/b" in output


def lock_of(pid: int) -> str:
    """Return the content of a lock of this process, which stands for the ansible-playbook of another operator."""
    return json.dumps({"owner": f"{owner.here()}.{pid}.{owner.started(pid) or 1}", "host": "controller-2", "pid": str(pid), "since": "2026-11-25T10:00:00Z"})


def test_second_operator_is_refused(nodes: Path) -> None:
    with served(nodes, "v26.0.1") as site:
        lock = nodes / f"{STATE}.lock"
        lock.parent.mkdir(exist_ok=True)
        lock.write_text(lock_of(os.getpid()))
        code, output = site.upgrade()
        assert code != 0
        assert (f"{lock} is held by another run of switch_upgrade (pid {os.getpid()} on controller-2 since 2026-11-25T10:00:00Z), which may be switching the "
                "same jobs (wait until that run has ended.") in output
        assert (site.switched(), site.state) == ([], None)
        assert lock.read_text() == lock_of(os.getpid())  # the refused run releases nothing
        lock.unlink()


@pytest.mark.long
def test_lock_of_an_ended_run_is_replaced(nodes: Path) -> None:
    with served(nodes, "v26.0.1") as site:
        lock = nodes / f"{STATE}.lock"
        lock.parent.mkdir(exist_ok=True)
        lock.write_text(lock_of(4194304))  # above the largest pid
        code, output = site.upgrade()
        assert code == 0, output
        assert site.switched() == [("uid-a", True), ("uid-b", True)]
        assert not lock.exists()
