"""Reading the Kubernetes API over a real socket: kubeconfigs with all kinds of credentials, pages, and messages of refusals."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import kube, kube_access
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.integration.clusterd.api import TOKEN, Api
from tests.integration.clusterd.certificates import Authority
from tests.simulator.clusterd_sim.gate import pass_on

PODS = [{"metadata": {"name": f"p{number}", "namespace": "train" if number < 5 else "other", "labels": {"odd": str(number % 2)}}} for number in range(7)]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    made = Api(tmp_path, {"pods": PODS}, page=2)
    yield made
    made.close()


@pytest.fixture
def secure(tmp_path: Path, authority: Authority) -> Iterator[Api]:
    made = Api(tmp_path, {"pods": PODS}, authority=authority)
    yield made
    made.close()


def names(path: str, namespace: str = "", labels: str = "", context: str = "") -> list[str]:
    return [kube.name_of(item) for item in kube.Api(path, context, 5).items("v1", "pods", namespace, labels)]


def failure(path: str, context: str = "") -> HccnError:
    with pytest.raises(HccnError) as caught:
        names(path, context=context)
    return caught.value


def test_pages_labels_and_namespaces(api: Api) -> None:
    path = api.kubeconfig()
    assert names(path) == ["train/p0", "train/p1", "train/p2", "train/p3", "train/p4", "other/p5", "other/p6"]
    assert names(path, "train", "odd=1") == ["train/p1", "train/p3"]
    assert kube.Api(path, "", 5).namespace == "train"
    assert set(api.requests) == {"GET /api/v1/pods", "GET /api/v1/namespaces/train/pods"}


def test_client_certificate(secure: Api, authority: Authority) -> None:
    pair = authority.pair("admin")
    as_data = {"client-certificate-data": base64.b64encode(pair.certificate.read_bytes()).decode(),
               "client-key-data": base64.b64encode(pair.key.read_bytes()).decode()}
    assert len(names(secure.kubeconfig(user=as_data))) == 7
    assert len(names(secure.kubeconfig(user={"client-certificate": str(pair.certificate), "client-key": str(pair.key)}))) == 7
    assert failure(secure.kubeconfig(user={})).code == "kubernetes_unauthorized"
    assert list(Path("/tmp").glob("hccn-kube-*")) == []


def test_untrusted_api_is_refused(secure: Api, unknown_authority: Authority) -> None:
    other = {"certificate-authority-data": base64.b64encode(unknown_authority.ca.read_bytes()).decode()}
    error = failure(secure.kubeconfig(cluster=other))
    assert (error.code, error.message) == ("kubernetes_unreachable", f"the Kubernetes API at {secure.url} does not answer: TLS: CERTIFICATE_VERIFY_FAILED")
    assert len(names(secure.kubeconfig(cluster={**other, "insecure-skip-tls-verify": True}))) == 7


def plugin(tmp_path: Path, answer: Any, code: int = 0) -> dict[str, Any]:
    script = tmp_path / "plugin.py"
    script.write_text(f"import os, sys\nassert os.environ['WHO'] == 'me' and 'KUBERNETES_EXEC_INFO' in os.environ\nprint({json.dumps(answer)!r})\n"
                      f"print('log in first', file=sys.stderr)\nsys.exit({code})\n")
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)],
                     "env": [{"name": "WHO", "value": "me"}]}}


def test_credential_plugin_and_its_failure(api: Api, tmp_path: Path) -> None:
    good = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": TOKEN}}
    assert len(names(api.kubeconfig(user=plugin(tmp_path, good)))) == 7
    error = failure(api.kubeconfig(user=plugin(tmp_path, good, 1)))
    assert (error.code, error.message.endswith("returned no credential: log in first")) == ("no_credential", True)


def test_token_file(api: Api, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert len(names(api.kubeconfig(user={"tokenFile": "token"}))) == 7


@pytest.mark.parametrize(("user", "cluster", "context", "message"), [
    ({"auth-provider": {"name": "oidc"}}, {}, "", "has auth-provider, which this collection does not support"),
    ({}, {"server": "ftp://x"}, "", "the server in the kubeconfig is not an http or https URL: 'ftp://x'"),
    ({}, {}, "absent", "has no context named 'absent'"),
    ({"exec": {"apiVersion": "v9", "command": "x"}}, {}, "", "has apiVersion 'v9', it must begin with client.authentication.k8s.io/"),
])
def test_unusable_kubeconfigs_are_refused(api: Api, user: dict[str, Any], cluster: dict[str, Any], context: str, message: str) -> None:
    assert message in failure(api.kubeconfig(user=user, cluster=cluster), context).message
    assert api.requests == []


class Proxy:
    """An HTTP proxy that connects to one server. ``requests``: the first line and the credentials of each client."""

    def __init__(self, status: str = "200 Connected") -> None:
        self.requests: list[tuple[str, str]] = []
        self._status = status
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _address = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        lines = head.decode().splitlines()
        self.requests.append((lines[0], next((line for line in lines if line.startswith("Proxy-Authorization")), "")))
        client.sendall(f"HTTP/1.1 {self._status}\r\n\r\n".encode())
        if self._status.startswith("200"):
            host, port = lines[0].split()[1].split(":")
            with socket.create_connection((host, int(port)), 5) as server, client:
                threading.Thread(target=pass_on, args=(server, client), daemon=True).start()
                pass_on(client, server)
        client.close()

    def close(self) -> None:
        self._server.close()


def test_proxy_of_the_kubeconfig(secure: Api, authority: Authority) -> None:
    pair = authority.pair("admin")
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    with contextlib.closing(Proxy()) as proxy:
        assert len(names(secure.kubeconfig(user=user, cluster={"proxy-url": f"http://me:p%40ss@{proxy.address}"}))) == 7
        server = secure.url.removeprefix("https://")
        assert proxy.requests == [(f"CONNECT {server} HTTP/1.{proxy.requests[0][0][-1]}", "Proxy-Authorization: Basic bWU6cEBzcw==")]
    with contextlib.closing(Proxy("403 Forbidden")) as proxy:
        error = failure(secure.kubeconfig(user=user, cluster={"proxy-url": f"http://me:geheim@{proxy.address}"}))
    assert (error.code, error.message) == (
        "kubernetes_unreachable", f"the Kubernetes API at {secure.url} does not answer through the proxy 127.0.0.1: Tunnel connection failed: 403 Forbidden")


@pytest.mark.parametrize(("given", "environment", "server", "proxy"), [
    ("http://p:3128", {"HTTPS_PROXY": "http://other"}, "https://10.0.0.1", "http://p:3128"),
    ("", {"HTTPS_PROXY": "p:3128"}, "https://10.0.0.1", "http://p:3128"),
    ("", {"https_proxy": "http://p"}, "https://k8s.example", "http://p"),
    ("", {"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .example"}, "https://k8s.example", ""),
    ("", {"HTTPS_PROXY": "http://p", "NO_PROXY": "ample"}, "https://k8s.example", "http://p"),
    ("", {"HTTPS_PROXY": "http://p", "no_proxy": "192.0.2.0/24,10.0.0.0/8"}, "https://10.1.2.3:6443", ""),
    ("", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, "https://k8s.example", ""),
    ("", {"HTTPS_PROXY": "http://p"}, "https://127.0.0.1:6443", ""),
    ("", {}, "https://k8s.example", ""),
])
def test_proxy_is_chosen_as_kubectl_does(given: str, environment: dict[str, str], server: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert kube_access.proxy_to(given, server) == proxy


def test_other_proxies_are_refused(secure: Api) -> None:
    assert failure(secure.kubeconfig(cluster={"proxy-url": "socks5://p:1080"})).message == "the proxy to the Kubernetes API is not an http:// URL"


def test_refusals(api: Api, tmp_path: Path) -> None:
    path = api.kubeconfig()
    error = failure(path, "nobody")
    assert (error.code, error.message) == ("kubernetes_unauthorized", "the Kubernetes API refuses /api/v1/pods: 401 Unauthorized")
    with pytest.raises(HccnError) as caught:
        kube.Api(path, "", 5).items("scheduling.volcano.sh/v1beta1", "podgroups")
    assert caught.value.code == "kubernetes_not_found"
    api.close()
    assert failure(path).code == "kubernetes_unreachable"
    (tmp_path / "broken").write_text("a: [")
    assert failure(str(tmp_path / "broken")).message.endswith("broken is not YAML")
    assert "cannot be read: [Errno 2]" in failure(str(tmp_path / "absent")).message


def test_search_path_of_the_kubeconfig(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    error = failure("")
    assert (error.code, error.message) == (
        "no_kubernetes", f"no kubeconfig: {tmp_path}/.kube/config does not exist, KUBECONFIG is not set, and this is not a pod")
    monkeypatch.setenv("KUBECONFIG", f"{api.kubeconfig()}:/nowhere")
    assert len(names("")) == 7
    monkeypatch.delenv("KUBECONFIG")
    (tmp_path / ".kube").mkdir()
    api.kubeconfig(".kube/config")
    assert len(names("")) == 7


def test_in_a_pod(secure: Api, tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("ca.crt", authority.ca.read_text()), ("token", TOKEN), ("namespace", "mindx-dl\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kube_access, "_POD", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", secure.url.rsplit(":", 1)[1])
    assert kube.Api("", "", 5).namespace == "mindx-dl"
    assert len(names("")) == 7
