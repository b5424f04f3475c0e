"""The playbook quarantine with Slurm and Kubernetes: out of service, check mode, the limit of nodes, and back."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kubernetes_jobs.cluster import needs_kubernetes_core
from tests.lib.playbook import run_playbook, unfolded

SCONTROL = """#!/bin/sh
cd "$(dirname "$0")/.." || exit 1
echo "scontrol $*" >> calls
case "$1 $2" in
"show node")
    test -f "state/$3" || { echo "slurm_load_node error: Node $3 not found" >&2; exit 1; }
    echo "NodeName=$3 Arch=aarch64"
    cat "state/$3" ;;
"update NodeName="*)
    node="${2#NodeName=}"
    case "$3" in
    State=DRAIN) printf '   State=IDLE+DRAIN ThreadsPerCore=1\\n   %s [root@2026-11-20T10:15:00]\\n' "$4" > "state/$node" ;;
    State=RESUME) printf '   State=IDLE ThreadsPerCore=1\\n' > "state/$node" ;;
    esac ;;
esac
"""
SINFO = """#!/bin/sh
cd "$(dirname "$0")/../state" && for node in *; do
    if grep -q DRAIN "$node"; then echo "$node drained"; else echo "$node idle"; fi
done
"""


def play(folder: Path, inventory: str, *arguments: str, code: int = 0, **variables: Any) -> str:
    given = {"quarantine_host": "n3", "quarantine_enabled": True, **variables}
    done = run_playbook("hccn.cluster.quarantine", inventory, "-e", json.dumps(given), *arguments, cwd=folder, HOME=str(folder),
                        PATH=f"{folder}/bin{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(unfolded(done.stdout).split())


@pytest.mark.long
def test_slurm_node_is_drained_and_resumed(tmp_path: Path) -> None:
    for name, text in (("scontrol", SCONTROL), ("sinfo", SINFO)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "state").mkdir()
    for number in range(1, 5):
        (tmp_path / f"state/n{number}").write_text("   State=IDLE ThreadsPerCore=1\n")
    slurm: dict[str, Any] = {"quarantine_provider": "slurm", "quarantine_reason": "NPU 5 is slow"}
    node = tmp_path / "state/n3"

    assert "n3: would be taken out of service by: scontrol update NodeName=n3 State=DRAIN Reason=hccn.cluster: NPU 5 is slow" in play(
        tmp_path, "n3,n4", "--check", **slurm)
    assert "DRAIN" not in node.read_text()
    play(tmp_path, "n3,n4", **slurm)
    assert node.read_text() == "   State=IDLE+DRAIN ThreadsPerCore=1\n   Reason=hccn.cluster: NPU 5 is slow [root@2026-11-20T10:15:00]\n"
    assert "n3: nothing to do: n3 is IDLE+DRAIN already" in play(tmp_path, "n3,n4", **slurm)
    refused = play(tmp_path, "n3,n4", code=2, **{**slurm, "quarantine_host": "n4"})
    assert "n4 is not taken out of service: 1 of 4 nodes are out of service already, and quarantine_most_percent allows 1." in refused
    assert "DRAIN" not in (tmp_path / "state/n4").read_text()
    play(tmp_path, "n3,n4", quarantine_state="in", **slurm)
    assert node.read_text() == "   State=IDLE ThreadsPerCore=1\n"
    updates = [line for line in (tmp_path / "calls").read_text().splitlines() if "update" in line]
    assert updates == ["scontrol update NodeName=n3 State=DRAIN Reason=hccn.cluster: NPU 5 is slow", "scontrol update NodeName=n3 State=RESUME"]


class Nodes:
    """The part of the Kubernetes API that reads and patches nodes."""

    def __init__(self, *names: str) -> None:
        self.nodes: dict[str, dict[str, Any]] = {
            name: {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "resourceVersion": "1"}, "spec": {"podCIDR": "10.0.0.0/24"}}
            for name in names}
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                path, _mark, query = self.path.partition("?")
                code, found = api.answer(self.command, path, body, "dryRun=All" in query)
                data = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PATCH = _answer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path) -> str:
        path = folder / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab", "users": [{"name": "me", "user": {"token": "x"}}],
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{self._server.server_address[1]}"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}]}))
        return str(path)

    def answer(self, method: str, path: str, body: Any, dry_run: bool) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"major": "1", "minor": "31", "gitVersion": "v1.31.0"}
        if path.rstrip("/") == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path.rstrip("/") == "/apis":
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
        if path.rstrip("/") == "/api/v1":
            verbs = ["get", "list", "patch", "update"]
            return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
                {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node", "verbs": verbs}]}
        if path == "/api/v1/nodes":
            return 200, {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": list(self.nodes.values())}
        node = self.nodes.get(path.removeprefix("/api/v1/nodes/"))
        if node is None:
            return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        if method == "PATCH":
            node = copy.deepcopy(node) if dry_run else node
            _merge(node, body)
        return 200, node


def _merge(node: dict[str, Any], patch: dict[str, Any]) -> None:
    """Apply a JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            node.pop(key, None)
        elif isinstance(value, dict):
            _merge(node.setdefault(key, {}), value)
        else:
            node[key] = value


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    needs_kubernetes_core()
    made = Nodes("n1", "n2", "n3", "n4")
    yield made
    made.close()


def test_kubernetes_node_is_cordoned_and_uncordoned(nodes: Nodes, tmp_path: Path) -> None:
    nodes.nodes["n3"]["spec"]["taints"] = [{"key": "gpu", "effect": "NoExecute"}]
    options: dict[str, Any] = {"quarantine_provider": "kubernetes", "hccn_kubernetes": {"kubeconfig": nodes.kubeconfig(tmp_path)},
                               "quarantine_reason": "NPU 5 is slow"}
    mine = {"key": "hccn.cluster/quarantine", "value": "out", "effect": "NoSchedule"}

    assert "n3: would be taken out of service by: cordon n3 and add the taint hccn.cluster/quarantine:NoSchedule" in play(
        tmp_path, "n3,n4", "--check", **options)
    assert "unschedulable" not in nodes.nodes["n3"]["spec"]
    play(tmp_path, "n3,n4", **options)
    assert nodes.nodes["n3"]["spec"] == {"podCIDR": "10.0.0.0/24", "unschedulable": True, "taints": [{"key": "gpu", "effect": "NoExecute"}, mine]}
    assert nodes.nodes["n3"]["metadata"]["annotations"] == {"hccn.cluster/quarantine-reason": "hccn.cluster: NPU 5 is slow"}
    refused = play(tmp_path, "n3,n4", code=2, **{**options, "quarantine_host": "n4"})
    assert "n4 is not taken out of service: 1 of 4 nodes are out of service already" in refused
    play(tmp_path, "n3,n4", quarantine_state="in", **options)
    assert nodes.nodes["n3"]["spec"] == {"podCIDR": "10.0.0.0/24", "taints": [{"key": "gpu", "effect": "NoExecute"}]}
    assert nodes.nodes["n4"]["spec"] == {"podCIDR": "10.0.0.0/24"}
