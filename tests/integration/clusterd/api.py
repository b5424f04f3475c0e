"""A simulated Kubernetes API with lists by namespace and label, in pages, for clients with the token."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import yaml

from tests.integration.clusterd.certificates import Authority

TOKEN = "a-token"
Object = dict[str, Any]


class Api:
    """``objects`` by kind, such as ``configmaps``. ``requests``: methods and paths, in the order they came. With an authority it speaks TLS and takes client
    certificates in place of the token. With
    ``hostile``, it answers every request with the page that this function returns for its number, from 0."""

    def __init__(self, folder: Path, objects: dict[str, list[Object]], page: int = 500, authority: Authority | None = None,
                 hostile: Callable[[int], Object] | None = None) -> None:
        self.folder, self.objects, self.page, self.authority, self.hostile = folder, objects, page, authority, hostile
        self.requests: list[str] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                api.requests.append(f"{self.command} {urlparse(self.path).path}")
                certified = isinstance(self.connection, ssl.SSLSocket) and self.connection.getpeercert()
                allowed = certified or self.headers.get("Authorization") == f"Bearer {TOKEN}"
                code, body = api.answer(self.path) if allowed else (401, {"kind": "Status", "message": "Unauthorized"})
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if authority is not None:
            pair = authority.pair("kubernetes")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair.certificate, pair.key)
            context.load_verify_locations(authority.ca)
            context.verify_mode = ssl.CERT_OPTIONAL
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http{'s' if authority else ''}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, Object]:
        if self.hostile is not None:
            return 200, self.hostile(len(self.requests) - 1)
        parsed = urlparse(path)
        parts, query = parsed.path.strip("/").split("/"), parse_qs(parsed.query)
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        if parts[-1] not in self.objects:
            return 404, {"kind": "Status", "message": "the server could not find the requested resource"}
        wanted = dict(part.split("=") for part in query.get("labelSelector", [""])[0].split(",") if part)
        found = [one for one in self.objects[parts[-1]] if namespace in ("", one["metadata"]["namespace"])
                 and wanted.items() <= (one["metadata"].get("labels") or {}).items()]
        start = int(query.get("continue", ["0"])[0])
        rest = found[start + self.page:]
        return 200, {"kind": "List", "metadata": {"continue": str(start + self.page)} if rest else {}, "items": found[start:start + self.page]}

    def kubeconfig(self, name: str = "kubeconfig", namespace: str = "train", user: Object | None = None, cluster: Object | None = None) -> str:
        """Write a kubeconfig with the contexts ``lab`` (current) and ``nobody``, which has no credentials. Return its path."""
        trusted = {"certificate-authority-data": base64.b64encode(self.authority.ca.read_bytes()).decode()} if self.authority else {}
        document = {
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": self.url, **trusted, **(cluster or {})}}],
            "users": [{"name": "me", "user": {"token": TOKEN} if user is None else user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me", "namespace": namespace}},
                         {"name": "nobody", "context": {"cluster": "lab"}}]}
        path = self.folder / name
        path.write_text(yaml.safe_dump(document))
        return str(path)
