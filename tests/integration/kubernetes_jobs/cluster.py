"""A simulated cluster: the part of the Kubernetes API that ``kubernetes.core`` uses, over HTTP, and controllers that make the pods of jobs.

The container of the launcher runs on this machine; workers are only objects. Objects are not validated here, but in test_schemas.py.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from tests.integration.kubernetes_jobs.container import HOSTS, here
from tests.lib.project import skip

GROUPS = {"batch.volcano.sh/v1alpha1": [("jobs", "Job")], "kubeflow.org/v2beta1": [("mpijobs", "MPIJob")],
          "scheduling.volcano.sh/v1beta1": [("podgroups", "PodGroup")]}
CORE = [("pods", "Pod"), ("configmaps", "ConfigMap")]
PATH = re.compile(r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+/[^/]+))/namespaces/(?P<namespace>[^/]+)/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?P<log>/log)?")
VERBS = ["create", "delete", "get", "list", "patch", "update"]


def needs_kubernetes_core() -> None:
    """Skip the test if the collection kubernetes.core or its Python package is missing."""
    for name in ("kubernetes", "ansible_collections.kubernetes.core"):
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            skip("kubernetes-core", name)


class Cluster:
    """``url``: of the API. ``placed``: whether pods are scheduled on nodes. ``environment``: of the container of the launcher."""

    def __init__(self, folder: Path, placed: bool = True, **environment: str) -> None:
        self.folder, self.placed, self.environment = folder, placed, environment
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.created: list[str] = []
        self.taken: set[str] = set()
        """Nodes whose devices are in use."""
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._work: list[threading.Thread] = []
        self.pods_listed = threading.Event()
        """Set when a client has listed all pods of a job. Only then the launcher starts, since it would end before a client sees the workers."""
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                code, what = cluster.answer(self.command, self.path, body)
                data = what.encode() if isinstance(what, str) else json.dumps(what).encode()
                self.send_response(code)
                self.send_header("Content-Type", "text/plain" if isinstance(what, str) else "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = _answer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for thread in self._work:
            thread.join(60)

    def kubeconfig(self) -> str:
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab", "clusters": [{"name": "lab", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": {"token": "x"}}], "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}]}))
        return str(path)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return the status and the JSON document or text of a request."""
        parsed = urlparse(path)
        found = PATH.fullmatch(parsed.path)
        if found is None:
            return self._discovery(parsed.path)
        with self._lock:
            kind = found["plural"], found["namespace"]
            if found["log"]:
                return 200, self.logs.get(found["name"], "")
            if method == "POST":
                return 201, self._create(*kind, body)
            if found["name"] is None:
                return 200, self._list(*kind, parse_qs(parsed.query))
            one = self.objects.get((*kind, found["name"]))
            if one is None:
                return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}
            if method == "DELETE":
                self._delete(*kind, found["name"])
                return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
            return 200, one

    def _discovery(self, path: str) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"major": "1", "minor": "31", "gitVersion": "v1.31.0"}
        if path in ("/api", "/api/"):
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path in ("/apis", "/apis/"):
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                {"name": name.split("/")[0], "versions": [{"groupVersion": name, "version": name.split("/")[1]}],
                 "preferredVersion": {"groupVersion": name, "version": name.split("/")[1]}} for name in GROUPS]}
        name = path.removeprefix("/apis/").removeprefix("/api/").strip("/")
        kinds = CORE if name == "v1" else GROUPS.get(name)
        if kinds is None:
            return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        resources = [{"name": plural, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": VERBS} for plural, kind in kinds]
        resources += [{"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]}] if name == "v1" else []
        return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}

    def _list(self, plural: str, namespace: str, query: dict[str, list[str]]) -> dict[str, Any]:
        wanted = dict(part.split("=", 1) for part in ",".join(query.get("labelSelector", [])).split(",") if part)
        kinds = dict(CORE + [one for many in GROUPS.values() for one in many])
        items = [one for (kind, space, _), one in self.objects.items() if (kind, space) == (plural, namespace)
                 and wanted.items() <= one["metadata"].get("labels", {}).items()]
        if plural == "pods" and len(items) > 2:
            self.pods_listed.set()
        return {"kind": kinds[plural] + "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}

    def _create(self, plural: str, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        one = copy.deepcopy(body)
        one["metadata"].update(namespace=namespace, uid=f"uid-{next(self._numbers)}", resourceVersion="1")
        self.objects[plural, namespace, one["metadata"]["name"]] = one
        self.created.append(f"{one['kind']}/{one['metadata']['name']}")
        if plural in ("jobs", "mpijobs"):
            thread = threading.Thread(target=self._control, args=(plural, one), daemon=True)
            self._work.append(thread)
            thread.start()
        if plural == "pods" and "status" not in one:
            self._place(one)
        return one

    def _place(self, pod: dict[str, Any]) -> None:
        """Schedule a pod that is not part of a job at once, or leave it pending."""
        term = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]
        node = term["matchExpressions"][0]["values"][0]
        if self.placed and node not in self.taken:
            pod["spec"]["nodeName"] = node
            pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
        else:
            pod["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "1 Insufficient huawei.com/Ascend910."}]}

    def _delete(self, plural: str, namespace: str, name: str) -> None:
        uid = self.objects.pop((plural, namespace, name))["metadata"]["uid"]
        for key in [key for key, one in self.objects.items() if uid in [owner["uid"] for owner in one["metadata"].get("ownerReferences", ())]]:
            del self.objects[key]

    def _pod(self, job: dict[str, Any], name: str, template: dict[str, Any], node: str) -> dict[str, Any]:
        with self._lock:
            pod = self._create("pods", job["metadata"]["namespace"], {"kind": "Pod", "apiVersion": "v1", "metadata": {
                "name": name, "labels": template["metadata"]["labels"], "ownerReferences": [{"uid": job["metadata"]["uid"], "kind": job["kind"]}]},
                "spec": copy.deepcopy(template["spec"]), "status": {"phase": "Pending", "conditions": []}})
            if self.placed:
                pod["spec"]["nodeName"], pod["status"]["phase"] = node, "Running"
            else:
                pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 Insufficient npu."}]
            return pod

    def _control(self, plural: str, job: dict[str, Any]) -> None:
        """Handle a job like the controllers of Volcano or MPI Operator."""
        name, volcano = job["metadata"]["name"], plural == "jobs"
        if volcano:
            roles = [task["template"] for task in job["spec"]["tasks"]]
            count, names = job["spec"]["tasks"][1]["replicas"], (f"{name}-mpimaster-0", f"{name}-mpiworker-%d")
        else:
            roles = [job["spec"]["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker")]
            count, names = job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"], (f"{name}-launcher-x7k2p", f"{name}-worker-%d")
        self._set_phase(job, volcano, "Pending")
        # The order of nodes differs from that of the numbers of workers.
        workers = [self._pod(job, names[1] % index, roles[1], f"node-{count - index}") for index in range(count)]
        launcher = self._pod(job, names[0], roles[0], "node-0")
        if not self.placed:
            return
        self._set_phase(job, volcano, "Running")
        self.pods_listed.wait(30)
        code = self._run(job, launcher)
        with self._lock:
            launcher["status"]["phase"] = "Failed" if code else "Succeeded"
            for pod in workers:
                self.objects.pop(("pods", pod["metadata"]["namespace"], pod["metadata"]["name"]), None)
        self._set_phase(job, volcano, ("Aborted" if volcano else "Failed") if code else ("Completed" if volcano else "Succeeded"))

    def _run(self, job: dict[str, Any], launcher: dict[str, Any]) -> int:
        folder = self.folder / job["metadata"]["uid"]
        slots = job["spec"].get("slotsPerWorker", 0)
        folder.mkdir(parents=True)
        operator = folder / "operator"
        operator.write_text("".join(f"{host}:{slots}\n" for host in HOSTS))
        more = {"HYDRA_HOST_FILE": str(operator)} if slots else {}
        argv, environment = here(folder / "files", launcher["spec"]["containers"][0], **self.environment, **more)
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90, check=False, stdin=subprocess.DEVNULL,
                              cwd=folder, env=environment)
        with self._lock:
            self.logs[launcher["metadata"]["name"]] = done.stdout
        return done.returncode

    def _set_phase(self, job: dict[str, Any], volcano: bool, phase: str) -> None:
        with self._lock:
            if volcano:
                job["status"] = {"state": {"phase": phase}, "conditions": [{"status": phase}]}
            else:
                ended = phase in ("Succeeded", "Failed")
                job["status"] = {"conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "False" if ended else "True"}]
                                 + ([{"type": phase, "status": "True"}] if ended else [])}
