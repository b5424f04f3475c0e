"""Stages of the playbooks that use ClusterD: stand-ins for ClusterD and the Kubernetes API run on the controller, and their jobs run on the hosts of the
lab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.clusterd.api import Api, Object
from tests.lab.fault_matrix import states
from tests.lab.fault_matrix.faults import VICTIM
from tests.lab.fault_matrix.stage import Stage, called
from tests.simulator.clusterd_sim.server import ClusterD
from tests.simulator.clusterd_sim.world import Job, Times, World
from tests.lab.testbed import Lab

SWITCH = "/Recover/SwitchNicTrack"
SWITCH_SECONDS = 1.5
DIES = 2
LEAF = [{"leaf": "leaf-1", "backup": "leaf-2", "qdds": [{"qdd": "QDD8", "backup": "QDD7", "ports": {"A": 0, "B": 1}}]}]
NAMES = {"a": "node1", "b": "node2"}
"""The host of each job."""


def _summary(job: str, host: str) -> Object:
    devices = [{"device_id": str(device), "rank_id": "0"} for device in range(DIES)]
    return {"metadata": {"name": f"job-summary-{job}", "namespace": "train", "labels": {"outside-job-info": "true"}},
            "data": {"job_id": f"uid-{job}", "job_name": job, "job_status": "running", "framework": "pytorch", "operator": "add", "cm_index": "0", "total": "1",
                     "hccl.json": json.dumps({"status": "completed", "server_list": [{"server_id": "192.0.2.1", "server_name": host, "device": devices}]})}}


def _pod_group(job: str) -> Object:
    return {"metadata": {"name": f"{job}-pg", "namespace": "train", "labels": {"process-recover-enable": "on"},
                         "ownerReferences": [{"uid": f"uid-{job}", "controller": True}]}, "status": {"phase": "Running"}}


@contextmanager
def _services(folder: Path) -> Iterator[tuple[ClusterD, Api]]:
    folder.mkdir(parents=True, exist_ok=True)
    devices = [str(device) for device in range(DIES)]
    world = World(tuple(Job(f"uid-{job}", {host: devices}) for job, host in NAMES.items()), Times(switch=SWITCH_SECONDS))
    objects = {"configmaps": [_summary(job, host) for job, host in NAMES.items()], "podgroups": [_pod_group(job) for job in NAMES]}
    clusterd, api = ClusterD(world), Api(folder, objects)
    try:
        yield clusterd, api
        assert clusterd.forbidden == []
    finally:
        clusterd.close()
        api.close()


def _requests(clusterd: ClusterD) -> str:
    sent = [str(request["jobID"]) for path, request in clusterd.calls if path == SWITCH]
    return " ".join(sorted(sent)) or "none"


probed = called("-link", "-g")


def _of_leaf(clusterd: ClusterD, api: Api, kept: Path) -> dict[str, Any]:
    return {"hccn_clusterd": {"server": clusterd.address}, "switch_upgrade_leaf": "leaf-1", "switch_upgrade_topology": LEAF,
            "hccn_kubernetes": {"kubeconfig": api.kubeconfig()}, "switch_upgrade_confirm": True, "switch_upgrade_pause_s": 1,
            "switch_upgrade_state_file": str(kept)}


@contextmanager
def nic_switch(lab: Lab, folder: Path) -> Iterator[Stage]:
    lab.set_state(VICTIM, "*.latency=0.4")
    with _services(folder) as (clusterd, api):
        variables: dict[str, Any] = {
            "nic_switch_job_id": "uid-b", "nic_switch_direction": "failover", "nic_switch_topology": LEAF,
            "nic_switch_nics": [{"node": VICTIM, "leaf": "leaf-1"}], "nic_switch_confirm": True, "nic_switch_pause_s": 1}
        variables |= _of_leaf(clusterd, api, folder / "other.json")
        yield Stage(variables, probed(lab), lambda name: states.network_and_tls(lab, name), lambda: {"switched": _requests(clusterd)},
                    lambda _play: _requests(clusterd) != "none")


@contextmanager
def switch_upgrade(lab: Lab, folder: Path) -> Iterator[Stage]:
    lab.set_state(VICTIM, "*.latency=0.4")
    kept = folder / "switch_upgrade.json"
    with _services(folder) as (clusterd, api):
        yield Stage(_of_leaf(clusterd, api, kept), probed(lab), lambda name: states.network_and_tls(lab, name),
                    lambda: {"switched": _requests(clusterd), "kept": _kept(kept)}, lambda _play: _requests(clusterd) != "none")


def _kept(path: Path) -> str:
    """Return the file from which a later run continues: jobs that were moved, and the job whose state is unknown."""
    if not path.exists():
        return "none"
    try:
        found = json.loads(path.read_text())
    except ValueError:
        return "torn"
    moved, pending = " ".join(sorted(found["moved"])) or "none", found.get("pending", {}).get("job_id", "")
    return f"moved {moved}{', open ' + pending if pending else ''}"

