# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of Kubernetes for pod templates and names that the manifest of a collective can violate.

The schema of a custom resource does not check them: the API server accepts the job, but its controller then cannot create the pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...module_utils._core.problems import Problem

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SERVICE = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?([eE][0-9]+|[kMGTPE]i?|Ki|m)?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")


def error(rule: str, where: str, message: str, hint: str = "") -> Problem:
    return Problem(rule, "error", message, where=where, hint=hint or None, reader="kubernetes")


def is_label(text: Any) -> bool:
    """Return True for an RFC 1123 label, as required for host names, containers and volumes."""
    return isinstance(text, str) and _LABEL.fullmatch(text) is not None


def is_service(text: Any) -> bool:
    """Return True for an RFC 1035 label, as required for services. It begins with a letter."""
    return isinstance(text, str) and _SERVICE.fullmatch(text) is not None


def is_subdomain(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_qualified(text: Any) -> bool:
    """Return True for ``prefix/name`` or ``name``, as required for keys of labels and annotations and names of resources."""
    prefix, slash, name = str(text).rpartition("/")
    return (not slash or is_subdomain(prefix)) and bool(name) and _VALUE.fullmatch(name) is not None


def nulls(value: Any, where: str = "") -> Iterator[Problem]:
    """Report keys with a null value, which strict readers refuse and servers drop silently."""
    if value is None:
        yield error("null", where, f"{where} has no value", "omit the key")
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        yield from nulls(one, f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}" if where else str(key))


def metadata(found: Mapping[str, Any], where: str) -> Iterator[Problem]:
    for key, value in (found.get("labels") or {}).items():
        if not is_qualified(key):
            yield error("label_key", f"{where}.labels", f"{key!r} is not a label key")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:
            yield error("label_value", f"{where}.labels.{key}", f"{value!r} is not a label value",
                        "use a string of at most 63 letters, digits, '-', '_' and '.'")
    for key, value in (found.get("annotations") or {}).items():
        if not is_qualified(key) or not isinstance(value, str):
            yield error("annotation", f"{where}.annotations", f"{key!r}: {value!r} is not a valid annotation",
                        "both must be strings, and the key a qualified name")


def names(found: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the name and the namespace of the job."""
    if not is_service(found.get("name")):
        yield error("job_name", "metadata.name", "{!r} is not a service name, and the pods of the job share a service of this name".format(found.get("name")),
                    "use a letter followed by lowercase letters, digits and '-', at most 63 characters")
    if not is_label(found.get("namespace")):
        yield error("namespace", "metadata.namespace", "{!r} is not a namespace name".format(found.get("namespace")))


def pod_name(name: str, where: str) -> Iterator[Problem]:
    """Check the name of a pod, which is also its host name."""
    if not is_label(name):
        yield error("pod_name", where, f"the pod name would be {name!r}, with {len(name)} characters",
                    "a host name has at most 63 characters: shorten the name of the job")


def template(found: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """Check a pod template."""
    yield from metadata(found.get("metadata") or {}, where + ".metadata")
    spec = found.get("spec") or {}
    where += ".spec"
    if spec.get("restartPolicy", "Always") not in ("Always", "OnFailure", "Never"):
        yield error("restart_policy", where + ".restartPolicy", f"restartPolicy {spec['restartPolicy']} is not known")
    volumes = spec.get("volumes") or []
    yield from _volumes(volumes, where)
    yield from _unique("container_name", [one.get("name") for one in spec.get("containers") or []], where + ".containers")
    if not spec.get("containers"):
        yield error("containers", where + ".containers", "there is no container")
    for index, one in enumerate(spec.get("containers") or []):
        yield from _container(one, {volume.get("name") for volume in volumes}, f"{where}.containers[{index}]")
    for key in spec.get("nodeSelector") or {}:
        if not is_qualified(key):
            yield error("label_key", where + ".nodeSelector", f"{key!r} is not a label key")


def _unique(rule: str, found: list[Any], where: str) -> Iterator[Problem]:
    for index, name in enumerate(found):
        if not is_label(name):
            yield error(rule, f"{where}[{index}].name", f"{name!r} is not a valid name: it must be an RFC 1123 label",
                        "use lowercase letters, digits and '-', at most 63 characters")
        if name in found[:index]:
            yield error(rule, f"{where}[{index}].name", f"{name!r} occurs twice")


def _volumes(volumes: list[Any], where: str) -> Iterator[Problem]:
    yield from _unique("volume_name", [one.get("name") for one in volumes], where + ".volumes")
    for index, one in enumerate(volumes):
        source = one.get("hostPath")
        if source is None:
            continue
        if not str(source.get("path", "")).startswith("/"):
            yield error("host_path", f"{where}.volumes[{index}]", "{!r} is not an absolute path of the host".format(source.get("path")),
                        "host_path must begin with /")
        if source.get("type", "") not in _HOST_PATH_TYPES:
            yield error("host_path", f"{where}.volumes[{index}]", "type {!r} is not known".format(source.get("type")),
                        "valid values are {}".format(", ".join(_HOST_PATH_TYPES[1:])))


def _container(found: Mapping[str, Any], volumes: set[Any], where: str) -> Iterator[Problem]:
    if not found.get("image"):
        yield error("image", where + ".image", "there is no image")
    for one in found.get("env") or []:
        if _VARIABLE.fullmatch(str(one.get("name"))) is None or not isinstance(one.get("value", ""), str):
            yield error("env", where + ".env", "{!r}: {!r} is not a valid environment variable".format(one.get("name"), one.get("value")),
                        "the value must be a string")
    for one in found.get("ports") or []:
        if not 0 < one.get("containerPort", 0) < 65536:
            yield error("port", where + ".ports", "{!r} is not a port".format(one.get("containerPort")))
    yield from _mounts(found.get("volumeMounts") or [], volumes, where)
    yield from _resources(found.get("resources") or {}, where)


def _mounts(mounts: list[Any], volumes: set[Any], where: str) -> Iterator[Problem]:
    paths = [one.get("mountPath") for one in mounts]
    for index, one in enumerate(mounts):
        place = f"{where}.volumeMounts[{index}]"
        if one.get("name") not in volumes:
            yield error("mount", place, "there is no volume {!r}".format(one.get("name")))
        if not one.get("mountPath") or ":" in one["mountPath"] or paths[index] in paths[:index]:
            yield error("mount", place, "{!r} is not a mount path, or occurs twice".format(one.get("mountPath")))


def _resources(found: Mapping[str, Any], where: str) -> Iterator[Problem]:
    limits = found.get("limits") or {}
    for part in ("requests", "limits"):
        for name, value in (found.get(part) or {}).items():
            if not is_qualified(name):
                yield error("resource_name", f"{where}.resources.{part}", f"{name!r} is not a resource name")
            if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None:
                yield error("quantity", f"{where}.resources.{part}.{name}", f"{value!r} is not a quantity", "write it as a string: '8', '64Gi'")
            elif part == "requests" and "/" in name and limits.get(name) != value:
                yield error("overcommit", f"{where}.resources.requests.{name}", f"devices cannot be shared: request {value}, limit {limits.get(name)}",
                            "make them equal")
