# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Find out how to reach the API of a Kubernetes cluster: by a context of a kubeconfig, or by the service account of this pod.

Entries ``auth-provider`` are not supported. As with kubectl, the proxy is the ``proxy-url`` of the cluster, else that of the environment.
Source: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ and client-authentication.v1/.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import ssl
import tempfile
import traceback
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional
from urllib.parse import urlsplit

from .._core import process
from .._core.errors import HccnError, InputError
from .._core.untrusted_text import json_object
from .._core.words import ending

try:
    import yaml
except ImportError:
    YAML_ERROR: Optional[str] = traceback.format_exc()
else:
    YAML_ERROR = None

_POD = "/var/run/secrets/kubernetes.io/serviceaccount"
_EXEC_API = "client.authentication.k8s.io/"


@dataclass(frozen=True)
class Access:
    """``context`` is None for http. ``namespace`` is that of the kubeconfig's context. ``proxy``: the URL of an HTTP proxy for https, or empty."""

    server: str
    context: Optional[ssl.SSLContext]
    token: str = ""
    namespace: str = ""
    proxy: str = ""


def _read(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("%s %s cannot be read: %s" % (name, path, error)) from error


def _named(entries: Any, name: str, kind: str, path: str) -> Mapping[str, Any]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
            found: Mapping[str, Any] = entry[kind]
            return found
    raise InputError("the kubeconfig %s has no %s named %r" % (path, kind, name))


class _CredentialFiles:
    """Resolves paths relative to the kubeconfig, and writes base64 data to files, since ssl loads certificates from files only."""

    def __init__(self, folder: str, kept: List[str]) -> None:
        self._folder = folder
        self._kept = kept

    def path(self, fields: Mapping[str, Any], key: str) -> Optional[str]:
        if fields.get(key + "-data"):
            try:
                return self.keep(base64.b64decode(fields[key + "-data"]))
            except ValueError as error:
                raise InputError("%s-data in the kubeconfig is not base64" % key) from error
        return os.path.join(self._folder, fields[key]) if fields.get(key) else None

    def keep(self, data: bytes) -> str:
        descriptor, path = tempfile.mkstemp(prefix="hccn-kube-")
        self._kept.append(path)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        return path


def _credential(plugin: Mapping[str, Any], timeout: float) -> Dict[str, Any]:
    """Return ``status`` of the ExecCredential that the credential plugin of the user prints. Raises HccnError."""
    api = str(plugin.get("apiVersion", ""))
    if not api.startswith(_EXEC_API):
        raise InputError("the credential plugin in the kubeconfig has apiVersion %r, it must begin with %s" % (api, _EXEC_API))
    environment = {str(entry["name"]): str(entry["value"]) for entry in plugin.get("env") or ()}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps({"apiVersion": api, "kind": "ExecCredential", "spec": {"interactive": False}})
    done = process.run([str(plugin.get("command", ""))] + [str(word) for word in plugin.get("args") or ()], timeout, environment)
    status = (json_object(done.stdout) or {}).get("status")
    if done.rc == 0 and isinstance(status, dict):
        return status
    reason = ending(done.stderr.strip(), 200) or "rc %d" % done.rc
    raise HccnError("no_credential", "the credential plugin %s of the kubeconfig returned no credential: %s" % (done.argv[0], reason),
                    "log in as the plugin requires, and test it with kubectl get pods")


def _context(cluster: Mapping[str, Any], user: Mapping[str, Any], files: _CredentialFiles, credential: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.path(cluster, "certificate-authority"))
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = files.path(user, "client-certificate"), files.path(user, "client-key")
    if credential.get("clientCertificateData"):
        certificate = files.keep(credential["clientCertificateData"].encode())
        key = files.keep(credential["clientKeyData"].encode())
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def _from_kubeconfig(path: str, wanted: str, timeout: float, kept: List[str]) -> Access:
    try:
        document = yaml.safe_load(_read(path, "the kubeconfig"))
    except yaml.YAMLError as error:
        raise InputError("the kubeconfig %s is not YAML" % path) from error
    if not isinstance(document, dict):
        raise InputError("the kubeconfig %s is empty" % path)
    name = wanted or document.get("current-context") or ""
    context = _named(document.get("contexts"), name, "context", path)
    cluster = _named(document.get("clusters"), context.get("cluster", ""), "cluster", path)
    user = _named(document.get("users"), context.get("user", ""), "user", path) if context.get("user") else {}
    if user.get("auth-provider"):
        raise InputError("the kubeconfig %s has auth-provider, which this collection does not support" % path)
    files = _CredentialFiles(os.path.dirname(os.path.abspath(path)), kept)
    credential = _credential(user["exec"], timeout) if user.get("exec") else {}
    token = credential.get("token") or user.get("token") or ""
    token_file = user.get("tokenFile")
    if token_file and not token:
        token = _read(os.path.join(os.path.dirname(path), token_file), "the token")
    server = str(cluster.get("server", ""))
    try:
        secure = _context(cluster, user, files, credential) if server.startswith("https://") else None
    except OSError as error:  # also ssl.SSLError
        raise InputError("certificates of the kubeconfig %s cannot be used: %s" % (path, error)) from error
    return Access(server, secure, token.strip(), str(context.get("namespace") or ""), proxy_to(str(cluster.get("proxy-url") or ""), server) if secure else "")


def proxy_to(given: str, server: str) -> str:
    """Return the URL of the proxy to an https server, an empty text if it is reached directly. Raises InputError."""
    host = urlsplit(server).hostname or ""
    found = given or ("" if _is_direct(host) else _variable("HTTPS_PROXY"))
    if found and "://" not in found:
        found = "http://" + found
    if found and (urlsplit(found).scheme != "http" or not urlsplit(found).hostname):
        raise InputError("the proxy to the Kubernetes API is not an http:// URL", "set proxy-url in the kubeconfig, or the variable HTTPS_PROXY")
    return found


def _is_direct(host: str) -> bool:
    """Return True if NO_PROXY contains the host: by its name or a domain, its address or a network, or ``*``; and for a loopback address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or address and address.is_loopback:
        return True
    for entry in filter(None, map(str.strip, _variable("NO_PROXY").split(","))):
        if entry == "*" or host == entry.lstrip(".") or host.endswith("." + entry.lstrip(".")):
            return True
        try:
            if address and address in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False


def _variable(name: str) -> str:
    return os.environ.get(name) or os.environ.get(name.lower()) or ""


def _from_pod() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    name = "[%s]" % host if ":" in host else host
    try:
        context = ssl.create_default_context(cafile=_POD + "/ca.crt")
    except OSError as error:
        raise InputError("this pod has no service account for the Kubernetes API: %s/ca.crt: %s" % (_POD, error.strerror)) from error
    return Access("https://%s:%s" % (name, port), context, _read(_POD + "/token", "the token").strip(), _read(_POD + "/namespace", "the namespace").strip())


def find(kubeconfig: str, context: str, timeout: float) -> Access:
    """Search as kubectl does: ``kubeconfig``, the first file of KUBECONFIG, ~/.kube/config, then the account of the pod. Raises HccnError ``no_kubernetes``."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    path = os.path.expanduser(named or "~/.kube/config")
    if not named and not os.path.exists(path):
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            return _from_pod()
        raise HccnError("no_kubernetes", "no kubeconfig: %s does not exist, KUBECONFIG is not set, and this is not a pod" % path, "set kubeconfig")
    kept: List[str] = []
    try:
        return _from_kubeconfig(path, context, timeout, kept)
    finally:
        for name in kept:
            os.unlink(name)
