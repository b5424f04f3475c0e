# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Read objects of Kubernetes over its API: only lists, selected by label. Nothing is written.

A list comes in pages, each with a continue token for the next one. The server decides how many pages there are, so the time, the pages, the objects and the
bytes of a list are bounded, and a continue token may occur only once.

The modules run on hosts on which nothing is installed. The package ``kubernetes`` would be needed there with its 25 dependencies (126 MB for release 37), takes
three times the CPU time to be imported (0.23 s instead of 0.06 s), reads an answer of any size, and limits the time of a read instead of that of the call.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import socket
import ssl
import time
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from .._core.errors import HccnError, InputError
from .._core.untrusted_text import json_object
from .._core.words import beginning
from . import kube_access

POD_GROUPS = "scheduling.volcano.sh/v1beta1"
"""The group of PodGroups, which ClusterD takes for jobs."""
MESSAGE_LIMIT = 200
"""Characters of the message of a refusal."""
PAGE = 500
"""Objects per request."""
MAX_PAGES = 1000
MAX_ITEMS = 50000
"""Objects of a list, which has one per job or per pod of a job. ClusterD serves 10,000 jobs."""
MAX_BYTES = 512 * 1024 * 1024
"""Bytes of all pages of a list. An object has at most 1.5 MiB (the limit of etcd), and most are small."""
MAX_TOKEN = 8192
"""Characters of a continue token; those of the API server have a few hundred."""
CHUNK = 1024 * 1024

_RIGHTS = "the account needs the verbs get and list on it"
_NARROW = "name a namespace, or raise timeout for a large cluster; check kubeconfig and context"


class _DeadlineStream(io.RawIOBase):
    """Reads a socket until a deadline of the monotonic clock, then raises socket.timeout. The timeout of a socket itself restarts with each byte."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock = sock
        self._content = sock.makefile("rb", 0)  # keeps the socket open when http.client closes it
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        left = self._until - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        self._sock.settimeout(left)
        return self._content.readinto(buffer)

    def close(self) -> None:
        self._content.close()
        super().close()

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a buffered reader; http.client calls this method of a socket."""
        return io.BufferedReader(self)


class Api:
    """The API of one cluster. ``namespace`` is that of the context, else ``default``."""

    def __init__(self, kubeconfig: str, context: str, timeout: float) -> None:
        """Raises HccnError ``no_kubernetes`` if no configuration is found, and InputError."""
        self._access = kube_access.find(kubeconfig, context, timeout)
        self._timeout = timeout
        parts = urlsplit(self._access.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("the server in the kubeconfig is not an http or https URL: %r" % self._access.server)
        self._parts = parts
        self._proxy = urlsplit(self._access.proxy)
        self.namespace = self._access.namespace or "default"

    def _connection(self, until: float) -> http.client.HTTPConnection:
        host, timeout = self._parts.hostname or "", max(0.001, until - time.monotonic())
        if self._access.context is not None:
            proxy, port = self._proxy, self._parts.port or 443
            first = (proxy.hostname, proxy.port or 80) if proxy.hostname else (host, port)
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(first[0], first[1], timeout=timeout, context=self._access.context)
            if proxy.hostname:
                connection.set_tunnel(host, port, _authorization(proxy.username, proxy.password))
        else:
            connection = http.client.HTTPConnection(host, self._parts.port or 80, timeout=timeout)

        def response(sock: socket.socket, *args: Any, **others: Any) -> http.client.HTTPResponse:
            return http.client.HTTPResponse(_DeadlineStream(sock, until), *args, **others)  # type: ignore[arg-type]

        connection.response_class = response  # type: ignore[assignment]
        return connection

    def _get(self, path: str, query: Mapping[str, str], until: float, room: int) -> Tuple[Dict[str, Any], int]:
        """Return the answer, which may have at most ``room`` bytes, and its size."""
        headers = {"Accept": "application/json", "User-Agent": "hccn.cluster"}
        if self._access.token:
            headers["Authorization"] = "Bearer " + self._access.token
        connection = self._connection(until)
        try:
            connection.request("GET", "%s%s?%s" % (self._parts.path.rstrip("/"), path, urlencode(query)), headers=headers)
            with connection.getresponse() as answer:
                body = self._body(answer, path, room)
        except (OSError, http.client.HTTPException) as error:
            proxy = self._proxy.hostname
            through = " through the proxy %s" % proxy if proxy else ""
            raise HccnError("kubernetes_unreachable", "the Kubernetes API at %s does not answer%s: %s" % (self._access.server, through, _why(error)),
                            "check kubeconfig, context and proxy" if proxy else "check kubeconfig and context") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise self._refused(answer.status, body, path)
        document = json_object(body)
        if document is None:
            raise self._unexpected("did not answer %s with a JSON object" % path)
        return document, len(body)

    def _body(self, answer: http.client.HTTPResponse, path: str, room: int) -> bytes:
        parts: List[bytes] = []
        size = 0
        while size <= room:
            part = answer.read1(CHUNK)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
        raise self._unexpected("sends more than %d MiB for the list %s" % (MAX_BYTES >> 20, path), _NARROW)

    def _unexpected(self, predicate: str, hint: str = "") -> HccnError:
        return HccnError("kubernetes_unexpected", "the Kubernetes API at %s %s" % (self._access.server, predicate), hint)

    def _refused(self, status: int, body: bytes, path: str) -> HccnError:
        try:
            message = str(json.loads(body.decode("utf-8"))["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            message = body[:4096].decode("utf-8", "replace")
        message = beginning(message, MESSAGE_LIMIT)
        code = {401: "kubernetes_unauthorized", 403: "kubernetes_forbidden", 404: "kubernetes_not_found"}.get(status, "kubernetes_refused")
        return HccnError(code, "the Kubernetes API refuses %s: %d %s" % (path, status, message), _RIGHTS if status in (401, 403) else "")

    def items(self, group: str, plural: str, namespace: str = "", labels: str = "") -> List[Dict[str, Any]]:
        """Return all objects of a kind. ``group`` is ``v1`` or a group with version such as ``scheduling.volcano.sh/v1beta1``.

        An empty namespace selects all. Raises HccnError, also if the list does not end within the timeout and the bounds above.
        """
        place = "/namespaces/%s" % quote(namespace, safe="") if namespace else ""
        path = "/%s/%s%s/%s" % ("apis" if "/" in group else "api", group, place, plural)
        query = {"limit": str(PAGE)}
        if labels:
            query["labelSelector"] = labels
        until = time.monotonic() + self._timeout
        found: List[Dict[str, Any]] = []
        tokens: Set[str] = set()
        room = MAX_BYTES
        while True:
            try:
                page, size = self._get(path, query, until, room)
            except HccnError as error:
                if tokens and time.monotonic() >= until:
                    raise self._late(path, len(tokens), len(found)) from error
                raise
            room -= size
            items, token = _contents(page)
            found += items
            if not token:
                return found
            self._check_going_on(path, token, tokens, len(found))
            tokens.add(token)
            if time.monotonic() >= until:
                raise self._late(path, len(tokens), len(found))
            query["continue"] = token

    def _late(self, path: str, pages: int, count: int) -> HccnError:
        return self._unexpected("did not finish the list %s within %g s: %d pages with %d objects so far" % (path, self._timeout, pages, count), _NARROW)

    def _check_going_on(self, path: str, token: str, tokens: Set[str], count: int) -> None:
        """Raise HccnError if the page of ``token`` must not be requested after those of ``tokens``."""
        if len(token) > MAX_TOKEN:
            raise self._unexpected("sends a continue token of %d characters for the list %s" % (len(token), path))
        if token in tokens:
            raise self._unexpected("sends the same continue token twice for the list %s, which therefore never ends" % path)
        if count > MAX_ITEMS:
            raise self._unexpected("has more than %d objects in the list %s" % (MAX_ITEMS, path), _NARROW)
        if len(tokens) + 1 >= MAX_PAGES:
            raise self._unexpected("has more than %d pages in the list %s: %d objects so far" % (MAX_PAGES, path, count), _NARROW)


def _contents(page: Dict[str, Any]) -> Tuple[List[Dict[str, Any]], str]:
    """Return the objects of a page and its continue token, which is empty for the last page."""
    items, metadata = page.get("items"), page.get("metadata")
    token = metadata.get("continue") if isinstance(metadata, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else [], token if isinstance(token, str) else ""


def _authorization(user: Optional[str], password: Optional[str]) -> Dict[str, str]:
    """Return the header with the credentials of a proxy, as its URL contains them."""
    if user is None:
        return {}
    pair = "%s:%s" % (unquote(user), unquote(password or ""))
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _why(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return "TLS: %s" % (error.reason or error)
    return str(getattr(error, "strerror", "") or error or type(error).__name__)


def labels_of(item: Dict[str, Any]) -> Dict[str, str]:
    return (item.get("metadata") or {}).get("labels") or {}


def name_of(item: Dict[str, Any]) -> str:
    """Return ``namespace/name``."""
    metadata = item.get("metadata") or {}
    return "%s/%s" % (metadata.get("namespace", ""), metadata.get("name", ""))
