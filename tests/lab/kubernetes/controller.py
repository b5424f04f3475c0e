"""Simulation of the components besides the API server: the controllers of Volcano and MPI Operator, the scheduler and the kubelet of a node.

It makes a job's pods as they do, runs the launcher's container on this machine, serves its log to the server, and sets the status of the job.
"""

from __future__ import annotations

import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.integration.kubernetes_jobs.container import HOSTS, here
from tests.lab.kubernetes.server import NAMESPACE, Refused, Server

NODE = "lab0"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = {"Job": f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/jobs", "MPIJob": f"/apis/kubeflow.org/v2beta1/namespaces/{NAMESPACE}/mpijobs"}
POLL_SECONDS = 0.1


class Controller:
    """``served``: the number of requests of the server for logs."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._known: set[str] = set()
        self._logs: dict[str, str] = {}
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.served = 0
        self.errors: list[str] = []
        controller = self

        class Kubelet(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                controller.served += 1
                text = controller._logs.get(self.path.split("?")[0].split("/")[3], "").encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._kubelet = ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
        self._kubelet.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server.cert, server.key)
        self._kubelet.socket = context.wrap_socket(self._kubelet.socket, server_side=True)
        node = server.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        server.patch(f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": self._kubelet.server_address[1]}}}})
        self._start(self._kubelet.serve_forever)
        self._start(self._watch)

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def close(self) -> None:
        self._over.set()
        self._kubelet.shutdown()
        self._kubelet.server_close()
        for thread in self._threads:
            thread.join(60)

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            try:
                self._poll()
            except (Refused, OSError) as error:
                if not self._over.is_set():
                    self.errors.append(str(error))

    def _poll(self) -> None:
        living = set()
        for kind, path in JOBS.items():
            for job in self._server.items(path):
                living.add(job["metadata"]["uid"])
                if job["metadata"]["uid"] not in self._known:
                    self._known.add(job["metadata"]["uid"])
                    self._start(self._control, kind, job)
        for pod in self._server.items(PODS):
            owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences", ())}
            if "deletionTimestamp" in pod["metadata"] or (owners and not owners & living):
                self._remove(pod)
            elif not owners and "nodeName" not in pod["spec"]:
                self._bind(pod)

    def _remove(self, pod: dict[str, Any]) -> None:
        """Remove a pod as the kubelet and the garbage collector do."""
        try:
            self._server.call("DELETE", f"{PODS}/{pod['metadata']['name']}", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        except Refused as error:
            if error.code != 404:
                raise

    def _bind(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        self._server.create(f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                       "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}})
        self._server.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "podIP": "127.0.0.1"}})

    def _control(self, kind: str, job: dict[str, Any]) -> None:
        try:
            self._work(kind, job)
        except (Refused, OSError) as error:
            self.errors.append(str(error))

    def _work(self, kind: str, job: dict[str, Any]) -> None:
        name, volcano, spec = job["metadata"]["name"], kind == "Job", job["spec"]
        if volcano:
            roles, count = [task["template"] for task in spec["tasks"]], spec["tasks"][1]["replicas"]
            names = (f"{name}-mpimaster-0", f"{name}-mpiworker-%d")
        else:
            roles, count = [spec["mpiReplicaSpecs"][role]["template"] for role in ("Launcher", "Worker")], spec["mpiReplicaSpecs"]["Worker"]["replicas"]
            names = (f"{name}-launcher-x7k2p", f"{name}-worker-%d")
        self._set_phase(kind, name, "Pending")
        for index in range(count):
            self._pod(kind, job, names[1] % index, roles[1])
        launcher = self._pod(kind, job, names[0], roles[0])
        self._set_phase(kind, name, "Running")
        if self._over.wait(3):  # so that a client that waits for the pods sees them
            return
        code = self._run(job, launcher)
        self._server.patch(f"{PODS}/{names[0]}/status", {"status": {"phase": "Failed" if code else "Succeeded"}})
        self._set_phase(kind, name, ("Aborted" if volcano else "Failed") if code else ("Completed" if volcano else "Succeeded"))

    def _pod(self, kind: str, job: dict[str, Any], name: str, template: dict[str, Any]) -> dict[str, Any]:
        owner = {"apiVersion": job["apiVersion"], "kind": kind, "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
        pod = self._server.create(PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": name, "ownerReferences": [owner]},
            "spec": {**template["spec"], "nodeName": NODE}})
        self._server.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "podIP": "127.0.0.1"}})
        return pod

    def _run(self, job: dict[str, Any], launcher: dict[str, Any]) -> int:
        folder = self._folder / job["metadata"]["uid"]
        folder.mkdir(parents=True)
        slots = job["spec"].get("slotsPerWorker", 0)
        (folder / "operator").write_text("".join(f"{host}:{slots}\n" for host in HOSTS))
        more = {"HYDRA_HOST_FILE": str(folder / "operator")} if slots else {}
        argv, environment = here(folder / "files", launcher["spec"]["containers"][0], **more)
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90, check=False, stdin=subprocess.DEVNULL,
                              cwd=folder, env=environment)
        self._logs[launcher["metadata"]["name"]] = done.stdout
        return done.returncode

    def _set_phase(self, kind: str, name: str, phase: str) -> None:
        if kind == "Job":
            status: dict[str, Any] = {"state": {"phase": phase}}
        else:
            ended = phase in ("Succeeded", "Failed")
            status = {"conditions": [{"type": "Running", "status": "False" if ended else "True"}] + ([{"type": phase, "status": "True"}] if ended else [])}
        self._server.patch(f"{JOBS[kind]}/{name}/status", {"status": status})
