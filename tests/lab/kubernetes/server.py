"""A real kube-apiserver with a real etcd on loopback, and the requests that tests make."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.lib.ports import free_port
from tests.lib.project import ROOT, skip

START_SECONDS = 120.0
TOKEN = "of-this-test"
NAMESPACE = "lab"


def binaries() -> Path:
    """Return the folder with etcd and kube-apiserver: HCCN_KUBE_BIN, or else the folder of ``make kube-bin``. Skip the test without them."""
    folder = Path(os.environ.get("HCCN_KUBE_BIN") or ROOT / ".cache/kube")
    for name in ("etcd", "kube-apiserver"):
        if not os.access(folder / name, os.X_OK):
            skip("kube-apiserver", str(folder / name))
    return folder


class Refused(Exception):
    """The status and the message of the server."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Server:
    """``cert`` and ``key``: the self-signed certificate of the server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._context = ssl._create_unverified_context()  # the certificate is self-signed
        self._port = free_port()
        self.url = f"https://127.0.0.1:{self._port}"
        self.cert, self.key = folder / "certs/apiserver.crt", folder / "certs/apiserver.key"
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        found, store, peer = binaries(), free_port(), free_port()
        (self.folder / "tokens").write_text(f'{TOKEN},admin,1,"system:masters"\n')
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f", str(self.folder / "accounts")], check=True, timeout=60)
        self._run("etcd", [str(found / "etcd"), "--data-dir", str(self.folder / "etcd"), f"--listen-client-urls=http://127.0.0.1:{store}",
                           f"--advertise-client-urls=http://127.0.0.1:{store}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                           f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}"])
        self._run("kube-apiserver", [
            str(found / "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{store}", "--bind-address=127.0.0.1", f"--secure-port={self._port}",
            "--insecure-port=0", f"--cert-dir={self.folder / 'certs'}", f"--token-auth-file={self.folder / 'tokens'}", "--authorization-mode=RBAC",
            f"--service-account-key-file={self.folder / 'accounts'}", f"--service-account-signing-key-file={self.folder / 'accounts'}",
            "--service-account-issuer=https://lab", "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"])
        end = time.monotonic() + START_SECONDS
        while not self._ready():
            gone = [process for process in self._processes if process.poll() is not None]
            assert not gone and time.monotonic() < end, self._logs()
            time.sleep(0.1)
        self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def _run(self, name: str, argv: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder))

    def _logs(self) -> str:
        return "".join(path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log"))

    def _ready(self) -> bool:
        try:
            return self.call("GET", "/readyz") == "ok"
        except (OSError, Refused):
            return False

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Send a request and return the JSON document or text of the answer. Raise Refused."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()[:1000]) from None
        return json.loads(text) if text.startswith("{") else text

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.call("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def items(self, path: str) -> list[dict[str, Any]]:
        return list(self.call("GET", path)["items"])

    def define(self, definition: dict[str, Any]) -> None:
        """Add a CustomResourceDefinition and wait until the server serves it."""
        self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        version = next(one["name"] for one in definition["spec"]["versions"] if one["served"])
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.items(f"/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}")
                return
            except Refused:
                assert time.monotonic() < end, self._logs()
                time.sleep(0.1)

    def kubeconfig(self) -> str:
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab", "users": [{"name": "me", "user": {"token": TOKEN}}],
            "clusters": [{"name": "lab", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}]}))
        return str(path)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait(30)
