# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Reading objects of Kubernetes over its API: lists only, by label, with a deadline. Nothing is ever written."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from typing import Any, Dict, List
from urllib.parse import quote, urlencode, urlsplit

from .._core.errors import HccnError, InputError
from . import kube_access

PAGE = 500
"""Objects a request."""
MAX_BODY = 512 * 1024 * 1024
"""Bytes of one answer: an object has 1.5 MiB at most (etcd's limit), and most have little."""
CHUNK = 1024 * 1024

_RIGHTS = "the account needs the verbs get and list on it"


class Api:
    """The API of one cluster. ``namespace``: that of the context, else ``default``."""

    def __init__(self, kubeconfig: str, context: str, timeout: float) -> None:
        """Raises HccnError ``no_kubernetes`` where nothing says how to reach one, and InputError."""
        self._access = kube_access.find(kubeconfig, context, timeout)
        self._timeout = timeout
        parts = urlsplit(self._access.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("the kubeconfig's server is no URL of http or https: %r" % self._access.server)
        self._parts = parts
        self.namespace = self._access.namespace or "default"

    def _connection(self) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        if self._access.context is not None:
            return http.client.HTTPSConnection(host, self._parts.port or 443, timeout=self._timeout, context=self._access.context)
        return http.client.HTTPConnection(host, self._parts.port or 80, timeout=self._timeout)

    def _get(self, path: str) -> Dict[str, Any]:
        headers = {"Accept": "application/json", "User-Agent": "hccn.cluster"}
        if self._access.token:
            headers["Authorization"] = "Bearer " + self._access.token
        connection = self._connection()
        try:
            connection.request("GET", self._parts.path.rstrip("/") + path, headers=headers)
            with connection.getresponse() as answer:
                body = self._body(answer)
        except (OSError, http.client.HTTPException) as error:
            raise HccnError("kubernetes_unreachable", "the Kubernetes API at %s does not answer: %s" % (self._access.server, _why(error)),
                            "is it the right kubeconfig and context?") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise self._refused(answer.status, body, path)
        try:
            document = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise HccnError("kubernetes_unexpected", "the Kubernetes API at %s answered %s with no JSON object" % (self._access.server, path))
        return document

    def _body(self, answer: http.client.HTTPResponse) -> bytes:
        """All of it, within the time of the whole request. Raises HccnError for what no list of the API is."""
        until = time.monotonic() + self._timeout
        parts: List[bytes] = []
        size = 0
        while size <= MAX_BODY:
            part = answer.read1(CHUNK)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if time.monotonic() > until:
                raise socket.timeout()
        raise HccnError("kubernetes_unexpected", "the Kubernetes API at %s sends more than %d MiB in one answer" % (self._access.server, MAX_BODY >> 20))

    def _refused(self, status: int, body: bytes, path: str) -> HccnError:
        try:
            message = str(json.loads(body.decode("utf-8"))["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            message = body.decode("utf-8", "replace")[:200]
        code = {401: "kubernetes_unauthorized", 403: "kubernetes_forbidden", 404: "kubernetes_not_found"}.get(status, "kubernetes_refused")
        return HccnError(code, "the Kubernetes API refuses %s: %d %s" % (path, status, message), _RIGHTS if status in (401, 403) else "")

    def items(self, group: str, plural: str, namespace: str = "", labels: str = "") -> List[Dict[str, Any]]:
        """All objects of a kind: ``group`` is ``v1`` or such as ``scheduling.volcano.sh/v1beta1``; in all namespaces where none is named."""
        place = "/namespaces/%s" % quote(namespace, safe="") if namespace else ""
        query = {"limit": str(PAGE)}
        if labels:
            query["labelSelector"] = labels
        found: List[Dict[str, Any]] = []
        while True:
            page = self._get("/%s/%s%s/%s?%s" % ("apis" if "/" in group else "api", group, place, plural, urlencode(query)))
            found += [item for item in page.get("items") or () if isinstance(item, dict)]
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return found
            query["continue"] = more


def _why(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return "TLS: %s" % (error.reason or error)
    return str(getattr(error, "strerror", "") or error or type(error).__name__)


def labels_of(item: Dict[str, Any]) -> Dict[str, str]:
    return (item.get("metadata") or {}).get("labels") or {}


def name_of(item: Dict[str, Any]) -> str:
    """``namespace/name``."""
    metadata = item.get("metadata") or {}
    return "%s/%s" % (metadata.get("namespace", ""), metadata.get("name", ""))
