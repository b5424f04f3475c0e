"""The roles with a real API server: schemas, validation, label selectors, logs through the server, and deletes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.hccn.cluster.plugins.filter.runner_pods import runner_pods
from tests.integration.kubernetes_jobs.cluster import needs_kubernetes_core
from tests.integration.kubernetes_jobs.test_role import measured
from tests.lab.kubernetes.controller import JOBS, PODS, Controller
from tests.lab.kubernetes.server import NAMESPACE, Refused, Server, binaries
from tests.lib.playbook import run_playbook
from tests.lib.project import shared
from tests.lib.waiting import happens

DEFINITIONS = ("jobs.batch.volcano.sh-mindcluster-v1.9.0.yaml", "kubeflow.org_mpijobs.yaml", "scheduling.volcano.sh_podgroups.yaml")
CONFIGS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


class Cluster:
    """A server with a controller."""

    def __init__(self, folder: Path, definitions: list[dict[str, Any]]) -> None:
        self.server = Server(folder)
        try:
            for one in definitions:
                self.server.define(one)
            self.controller = Controller(self.server, folder / "jobs")
        except BaseException:
            self.server.close()
            raise

    def kubeconfig(self) -> str:
        return self.server.kubeconfig()

    def left(self) -> list[str]:
        return [f"{one['metadata']['name']}" for path in (*JOBS.values(), PODS, CONFIGS) for one in self.server.items(path)
                if one["metadata"]["name"] != "kube-root-ca.crt"]

    def remaining_objects(self) -> list[str]:
        happens(lambda: not self.left(), 30)
        return self.left()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    needs_kubernetes_core()
    binaries()
    documents = [yaml.safe_load(shared(f"samples/k8s/crd/{name}").read_text()) for name in DEFINITIONS]
    made = Cluster(tmp_path_factory.mktemp("kube"), documents)
    yield made
    made.controller.close()
    made.server.close()


@pytest.mark.parametrize(("launcher", "rank_table"), [("volcano", False), ("mpijob", True)])
def test_collective_is_measured(cluster: Cluster, tmp_path: Path, launcher: str, rank_table: bool) -> None:
    before = cluster.controller.served
    done, records = measured(cluster, tmp_path, check_collective_launcher=launcher, job={"rank_table": rank_table, "name": f"check-{launcher}"})
    assert done.returncode == 0, done.stdout + done.stderr + str(cluster.controller.errors)
    assert [(one["status"], one["hosts"], one["ranks"], len(one["samples"])) for one in records] == [("ok", ["lab0", "lab0"], 4, 2)]
    assert cluster.controller.served > before
    assert cluster.remaining_objects() == []
    assert cluster.controller.errors == []


def runners(**more: Any) -> list[dict[str, Any]]:
    return runner_pods({"image": "registry/python:3.11", "namespace": NAMESPACE, "nodes": ["a", "b"], "name": "fabric-1", **more})["objects"]


def test_server_accepts_the_runner_pods(cluster: Cluster) -> None:
    group = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups"
    for one in runners(queue="checks", priority_class="", security_context={"privileged": False}):
        made = cluster.server.create(group if one["kind"] == "PodGroup" else PODS, one)
        assert made["metadata"]["name"] == one["metadata"]["name"]
        cluster.server.call("DELETE", f"{group if one['kind'] == 'PodGroup' else PODS}/{one['metadata']['name']}")
    assert cluster.remaining_objects() == []


def test_server_refuses_the_same_pods_as_the_rules(cluster: Cluster) -> None:
    for more, reason in (({"labels": {"a b": "c"}}, "metadata.labels"), ({"mounts": [{"name": "huawei.com/x", "host_path": "/x"}]}, "RFC 1123"),
                       ({"resources": {"memory": "many"}}, "quantities")):
        assert runner_pods({"image": "x", "nodes": ["a"], "name": "f", **more})["problems"]
        with pytest.raises(Refused, match=reason):
            cluster.server.create(PODS, runners(**more)[0])


def test_server_accepts_the_pods_of_a_thousand_nodes_in_one_call(cluster: Cluster, tmp_path: Path) -> None:
    """The task that creates the pods, in check mode, for which kubernetes.core asks the server for a dry run."""
    objects = runners(nodes=[f"node-{number}" for number in range(1000)], hosts=[f"npu{number}" for number in range(1000)])
    assert sum(one["kind"] == "Pod" for one in objects) == 1000
    task = {"kubernetes.core.k8s": {"kubeconfig": cluster.kubeconfig(), "state": "present", "definition": "{{ objects }}"}, "register": "made", "timeout": 120}
    shown = {"ansible.builtin.copy": {"dest": str(tmp_path / "made.json"), "mode": "0600", "content": "{{ made.result.results | length }}"},
             "check_mode": False}
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task, shown]}]))
    (tmp_path / "objects.json").write_text(json.dumps({"objects": objects}))
    done = run_playbook(tmp_path / "play.yml", "localhost,", "--check", "-e", f"@{tmp_path}/objects.json", "-e", "ansible_connection=local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "made.json").read_text() == str(len(objects))
    assert cluster.left() == []
