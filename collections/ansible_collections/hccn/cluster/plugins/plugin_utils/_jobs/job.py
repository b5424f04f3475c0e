# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The settings of a Kubernetes job for a collective: the checked variables of the user, with the defaults of the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._perf import hccl_test_tool, mpirun, nccl_tests_tool
from ...module_utils._perf.collective_tool import CollectiveOptions
from ...module_utils._perf.collective_tool import Tool
from ...module_utils._perf.hccl_test_tool import HCCL_TEST
from ...module_utils._perf.nccl_tests_tool import NCCL_TESTS
from ...module_utils._perf.nccl_tests_tool import NcclOptions
from .settings import ASCEND, ASCEND_MOUNTS, PodSettings, dictionary, typed

TOOLS: dict[str, Tool] = {"hccl_test": HCCL_TEST, "nccl_tests": NCCL_TESTS}
RESOURCES = {"hccl_test": ASCEND, "nccl_tests": "nvidia.com/gpu"}

_OPTION_KEYS = ("operation", "ranks_per_host", "iterations", "warmup", "data_type", "reduction", "root", "check")
_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "hccl_test": {"operation": hccl_test_tool.OPERATIONS, "data_type": hccl_test_tool.DATA_TYPES, "reduction": hccl_test_tool.REDUCTIONS},
    "nccl_tests": {"operation": nccl_tests_tool.OPERATIONS, "data_type": nccl_tests_tool.DATA_TYPES, "reduction": nccl_tests_tool.REDUCTIONS},
}
_PER_HOST = "HCCL_IF_IP"


@dataclass(frozen=True, kw_only=True)
class Job(PodSettings):
    """``options`` are those of the collective. The other fields are documented in the filters."""

    options: CollectiveOptions
    tool: str = "hccl_test"
    tool_dir: str = ""
    replicas: int = 0
    mpi: str = mpirun.MPICH
    mpirun: str = "mpirun"
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 600
    start_timeout: int = 300
    ssh_port: int = 0
    sshd: str = "/usr/sbin/sshd"
    rank_table: bool = False
    keep_seconds: int = 3600

    @property
    def program(self) -> Tool:
        return TOOLS[self.tool]

    @property
    def ranks(self) -> int:
        return self.options.ranks_per_host * self.replicas

    @property
    def processes_per_host(self) -> int:
        return self.program.processes_per_host(self.options)

    @property
    def deadline(self) -> int:
        """Seconds after which Kubernetes ends a pod."""
        return self.start_timeout + self.timeout + 60


def read(given: Any) -> Job:
    """Return the settings of a job. Raises InputError for unknown keys, wrong types and invalid values."""
    values = dictionary(given, "the job")
    tool = values.get("tool", "hccl_test")
    if tool not in TOOLS:
        raise InputError(f"tool is {tool!r}", "valid values are {}".format(" and ".join(TOOLS)))
    known = {one.name: one for one in fields(Job) if one.name != "options"}
    extra = ("gpus_per_process",) if tool == "nccl_tests" else ()
    unknown = sorted(set(values) - set(known) - set(_OPTION_KEYS + extra + ("sizes",)))
    if unknown:
        every = sorted([*known, *_OPTION_KEYS, *extra, "sizes"])
        raise InputError(f"unknown keys: {', '.join(unknown)}", f"valid keys are {', '.join(every)}")
    if not values.get("image"):
        raise InputError("image is missing", "give an image that contains sshd, {} and {}".format(values.get("mpi", mpirun.MPICH), tool))
    options = _options(values, tool, extra)
    plain = {name: typed(name, values[name], str(one.type)) for name, one in known.items() if name in values}
    return _completed(Job(options=options, **plain))


def _options(values: Mapping[str, Any], tool: str, extra: tuple[str, ...]) -> CollectiveOptions:
    kind = NcclOptions if tool == "nccl_tests" else CollectiveOptions
    types = {one.name: str(one.type) for one in fields(kind)}
    sizes = values.get("sizes", {})
    if not isinstance(sizes, Mapping) or set(sizes) - {"begin", "end", "factor"}:
        raise InputError("sizes must be a dictionary with begin, end and factor")
    given = {**{name: values[name] for name in _OPTION_KEYS + extra if name in values}, **sizes}
    return kind(**{name: typed(name, value, types[name]) for name, value in given.items()})


def _completed(job: Job) -> Job:
    """Return the job with the defaults that depend on other variables. Raises InputError for invalid values."""
    if job.nodes and job.replicas not in (0, len(job.nodes)):
        raise InputError(f"replicas is {job.replicas}, but nodes has {len(job.nodes)} names", "omit replicas")
    if len(set(job.nodes)) != len(job.nodes):
        raise InputError("nodes has a duplicate")
    defaults: dict[str, Any] = {"replicas": job.replicas or len(job.nodes)}
    if defaults["replicas"] < 1:
        raise InputError("the number of pods is unknown: neither nodes nor replicas is given", "give one of them")
    defaults["resource"] = job.resource or RESOURCES[job.tool]
    defaults["devices_per_pod"] = job.devices_per_pod or job.options.ranks_per_host
    defaults["ssh_port"] = job.ssh_port or (2222 if job.host_network else 22)
    defaults["mounts"] = job.mounts or (ASCEND_MOUNTS if job.tool == "hccl_test" else ())
    if job.tool == "nccl_tests" and not job.security_context:
        defaults["security_context"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    whole = Job(**{**{one.name: getattr(job, one.name) for one in fields(Job)}, **defaults})
    _validate(whole)
    return whole


def _validate(job: Job) -> None:
    if job.mpi not in (mpirun.MPICH, mpirun.OPENMPI):
        raise InputError(f"mpi is {job.mpi!r}", "valid values are mpich and openmpi")
    for name in ("timeout", "start_timeout", "devices_per_pod", "ssh_port"):
        if getattr(job, name) < 1:
            raise InputError(f"{name} is {getattr(job, name)}, it must be 1 or more")
    for name in ("mpirun", "sshd"):
        if not getattr(job, name) or getattr(job, name).startswith("-"):
            raise InputError(f"{name} is {getattr(job, name)!r}, which is not a program")
    if job.tool_dir and not job.tool_dir.startswith("/"):
        raise InputError(f"tool_dir is {job.tool_dir!r}, it must be an absolute path")
    for name, words in _WORDS[job.tool].items():
        if getattr(job.options, name) not in words:
            raise InputError(f"{name} is {getattr(job.options, name)}, which {job.tool} does not support", f"valid values are {', '.join(words)}")
    job.program.validate(job.options, job.ranks)
    mpirun.check_environment(job.environment, job.program.variables)
    if _PER_HOST in job.environment:
        raise InputError(f"environment: {_PER_HOST} would give all ranks the address of one host", "give HCCL_SOCKET_IFNAME, or host_network")
