# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of hccn_conf_mount: check whether the running containers with NPUs see the hccn.conf of the host."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core.errors import HccnError, InputError
from .._core.problems import Problem, as_dicts, fails
from .._core.procfs import read_text
from .._core.words import printable
from . import cdi, conf_file, container_files, containers

MAX_PIDS = 100
"""Maximum number of pids that are listed for a container, to keep the result small. All processes are counted."""

_VOLUME = "hccn-conf"
_NO_RUNTIME_MOUNTS = "ascend-docker-runtime mounts neither hccn.conf nor hccn_tool"
_GONE = (FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True)
class HostFile:
    """The hccn.conf of the host. ``missing`` is the problem if it cannot be mounted."""

    identity: Tuple[int, int]
    content: bytes
    missing: Optional[Problem] = None


@dataclass(frozen=True)
class ContainerResult:
    """The result for a container. ``state`` is mapped, missing, copy, stale or unreadable."""

    container: containers.Container
    pid: int
    command: str
    state: str
    read_only: Optional[bool]
    remedy: Optional[str]
    problem: Optional[Problem]

    def as_dict(self) -> Dict[str, Any]:
        """Return an element of ``containers``."""
        one = self.container
        return {
            "container": one.container, "runtime": one.runtime, "pod_uid": one.pod_uid, "pid": self.pid, "command": self.command,
            "pids": list(one.pids[:MAX_PIDS]), "processes": len(one.pids), "devices": list(one.devices),
            "state": self.state, "read_only": self.read_only, "remedy": self.remedy,
        }


@dataclass(frozen=True)
class MountPaths:
    """The paths of hccn.conf on the host and in the container."""

    path: str
    container_path: str

    @classmethod
    def checked(cls, path: str, container_path: str) -> "MountPaths":
        """Return the normalised paths. Raises InputError for paths that a container engine does not accept."""
        return cls(_checked("path", path), _checked("container_path", container_path))

    @property
    def docker_args(self) -> List[str]:
        return ["-v", "%s:%s:ro" % (self.path, self.container_path)]

    @property
    def pod_volume(self) -> Dict[str, Any]:
        """Return the entries to add to ``volumes`` of a pod and to ``volumeMounts`` of each of its containers."""
        return {
            "volumes": [{"name": _VOLUME, "hostPath": {"path": self.path, "type": "File"}}],
            "volumeMounts": [{"name": _VOLUME, "mountPath": self.container_path, "readOnly": True}],
        }

    def recreation_remedy(self, one: containers.Container) -> str:
        """Return the remedy for a container that was created without the mount."""
        if one.pod_uid:
            return "add the returned pod_volume to the manifest of the pod and recreate the pod"
        if one.runtime in ("lxc", "unknown"):
            return "mount %s of the host read-only at %s in the container and restart it" % (self.path, self.container_path)
        return "recreate the container with %s" % " ".join(self.docker_args)

    def restart_remedy(self, one: containers.Container) -> str:
        """Return the remedy for a container that mounts an older file."""
        how = "delete the pod so that it is recreated" if one.pod_uid else "restart the container"
        return "%s, which then mounts the current file; hccn.cluster.hccn_conf edits the file in place, so that later changes need no restart" % how


def _checked(name: str, path: str) -> str:
    if not path.startswith("/"):
        raise InputError("%s: %r is not an absolute path" % (name, path))
    if any(character == ":" or not character.isprintable() for character in path):
        raise InputError("%s: %r contains a colon or a control character, which docker -v does not accept" % (name, path))
    return os.path.normpath(path)


def host_file(path: str) -> HostFile:
    """Read the file of the host. Raises HccnError ``conf_unreadable`` or ``conf_too_large``."""
    try:
        entry = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return HostFile((0, 0), b"", Problem(
            "host_conf_missing", "error", "%s does not exist on the host: docker -v would create a folder of that name, and a pod would not start" % path,
            where=path, hint="create it first, with hccn.cluster.hccn_conf and create: true"))
    except OSError as error:
        raise HccnError("conf_unreadable", "%s: %s" % (path, error.strerror), "run as root (become: true)") from None
    if not stat.S_ISREG(entry.st_mode):
        return HostFile((0, 0), b"", Problem(
            "host_conf_no_file", "error", "%s of the host is not a regular file; docker -v creates a folder if the file is missing" % path,
            where=path, hint="remove it, then create the file with hccn.cluster.hccn_conf and create: true"))
    text = conf_file.read(path) or ""
    return HostFile((entry.st_dev, entry.st_ino), text.encode("utf-8", "surrogateescape"))


def _where(one: containers.Container, pid: int, command: str) -> str:
    name = one.container[:12] if len(one.container) == 64 else one.container
    pod = " of pod %s" % one.pod_uid if one.pod_uid else ""
    return "container %s%s pid %d (%s)" % (name, pod, pid, command)


def _classify(seen: Optional[container_files.ContainerFile], host: HostFile, paths: MountPaths, one: containers.Container) -> Tuple[str, str, str]:
    """Return state, message and remedy. The latter two are empty for a mapped file."""
    path = paths.container_path
    if seen is None:
        return "missing", "%s does not exist: %s" % (path, _NO_RUNTIME_MOUNTS), paths.recreation_remedy(one)
    same = host.missing is None and (seen.device, seen.inode) == host.identity
    if not seen.regular:
        return "unreadable", "%s is not a regular file; docker -v creates a folder if the file is missing on the host" % path, paths.recreation_remedy(one)
    if not seen.readable:
        remedy = "make the host's file readable for every user: chmod 0644 %s" % paths.path if same else paths.recreation_remedy(one)
        return "unreadable", "the user of the process may not read %s" % path, remedy
    if same:
        return "mapped", "", ""
    if host.missing is None and seen.content == host.content:
        return "copy", "%s is a copy of the host's file and does not follow its changes" % path, paths.recreation_remedy(one)
    if seen.mounted or not seen.links:
        message = "%s is an older file: the host's %s was replaced (by rename) or removed after the container had started" % (path, paths.path)
        return "stale", message, paths.restart_remedy(one)
    return "stale", "%s is a file of the container whose content differs from the host's %s" % (path, paths.path), paths.recreation_remedy(one)


_RULES = {"missing": ("conf_not_mapped", "error"), "copy": ("conf_copied", "warning"), "stale": ("conf_stale", "error"),
          "unreadable": ("conf_unreadable", "error")}


def _inspect(one: containers.Container, pid: int, host: HostFile, paths: MountPaths, proc: str) -> Optional[container_files.ContainerFile]:
    """Return the file, None if the path does not exist. Raises FileNotFoundError or ProcessLookupError if the process has ended, and OSError."""
    process = "%s/%d" % (proc, pid)
    root = os.open(process + "/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.readlink(process + "/ns/mnt") != one.namespace:
            raise ProcessLookupError  # the pid now belongs to another process
        try:
            return container_files.inspect(process, proc + "/self", root, paths.container_path, host.identity, len(host.content))
        except (FileNotFoundError, NotADirectoryError):
            os.readlink(process + "/ns/mnt")  # fails if not the file but the process is missing
            return None
    finally:
        os.close(root)


def _probe_process(one: containers.Container, pid: int, host: HostFile, paths: MountPaths, proc: str) -> ContainerResult:
    """Probe a container through one of its processes. Raises FileNotFoundError or ProcessLookupError if the process has ended."""
    seen = None
    command = printable(read_text("%s/%d/comm" % (proc, pid)).rstrip("\n"))
    try:
        seen = _inspect(one, pid, host, paths, proc)
        state, message, remedy = _classify(seen, host, paths, one)
    except _GONE:
        raise
    except OSError as error:
        state, message = "unreadable", "%s could not be inspected: %s" % (paths.container_path, error.strerror)
        remedy = "run as root (become: true)" if isinstance(error, PermissionError) else "check what is mounted there"
    problem = None
    if state in _RULES:
        rule, severity = _RULES[state]
        problem = Problem(rule, severity, message, where=_where(one, pid, command), hint=remedy)
    return ContainerResult(one, pid, command, state, seen.read_only if seen else None, remedy or None, problem)


def probe(one: containers.Container, host: HostFile, paths: MountPaths, proc: str) -> Optional[ContainerResult]:
    """Probe a container through the first of its processes that still exists. Return None if all have ended."""
    for pid in one.pids:
        try:
            return _probe_process(one, pid, host, paths, proc)
        except _GONE:
            continue
    return None


def _uninspected_processes(scan: containers.Scan) -> List[Problem]:
    if not scan.uninspected and not scan.hidden:
        return []
    message = "%d of %d processes could not be inspected" % (len(scan.uninspected), scan.processes)
    if scan.uninspected:
        message += ": pid %s%s" % (", ".join(map(str, scan.uninspected[:3])), " and more" if len(scan.uninspected) > 3 else "")
    if scan.hidden:
        message += "; /proc does not list processes of other users"
    message += ". Their containers are not in the result"
    return [Problem("processes_unseen", "warning", message, where="/proc", hint="run as root (become: true)")]


def _declare(params: Mapping[str, Any], paths: MountPaths, check_mode: bool) -> Dict[str, Any]:
    """Write or remove the CDI spec as requested. Return ``changed``, ``cdi_spec``, ``cdi_state`` and ``diff``."""
    spec = os.path.join(_checked("cdi_dir", params["cdi_dir"]), cdi.FILE)
    before, wanted = cdi.read(spec), cdi.text(paths.path, paths.container_path)
    after = {"present": wanted, "absent": None}.get(params["state"], before)
    if after != before and not check_mode:
        if after is None:
            cdi.remove(spec)
        else:
            cdi.write(spec, after)
    return {"changed": after != before, "cdi_spec": spec, "cdi_state": "absent" if before is None else "current" if before == wanted else "different",
            "diff": {"before_header": spec, "after_header": spec, "before": before or "", "after": after or ""}}


def _sentence(problems: Sequence[Problem]) -> str:
    first = problems[0]
    return "%d problem(s) with hccn.conf in containers, the first: %s: %s (%s)" % (len(problems), first.where, first.message, first.hint)


def manage(params: Mapping[str, Any], check_mode: bool, proc: str = "/proc", dev: str = "/dev") -> Dict[str, Any]:
    """Return the values of hccn_conf_mount, with ``failed`` and ``msg`` by ``fail_on``. Raises HccnError."""
    paths = MountPaths.checked(params["path"], params["container_path"])
    host = host_file(paths.path)
    scan = containers.scan(proc, dev)
    probed = (probe(one, host, paths, proc) for one in scan.containers)
    results = [result for result in probed if result is not None]
    problems = [host.missing] if host.missing else []
    problems += [result.problem for result in results if result.problem]
    problems += _uninspected_processes(scan)
    refused = params["state"] == "present" and host.missing is not None
    values = _declare(dict(params, state=None) if refused else params, paths, check_mode)
    values.update(
        containers=[result.as_dict() for result in results], problems=as_dicts(problems),
        docker_args=paths.docker_args, pod_volume=paths.pod_volume, cdi_device=cdi.NAME,
    )
    if refused:
        values.update(failed=True, msg="the CDI spec was not written, since containers with its device could not start: %s" % _sentence(problems[:1]))
    elif fails(problems, params["fail_on"]):
        values.update(failed=True, msg=_sentence(problems))
    return values
