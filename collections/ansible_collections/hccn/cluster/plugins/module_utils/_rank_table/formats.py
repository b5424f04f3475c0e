# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The formats of rank tables: how a document is recognized, how each format is read and written, and which version a cluster gets."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError, ParseError
from . import global_table, hccl, local_comm_res, rank_list, vllm_pd
from .json_fields import text_of
from .model import Model

HCCL = "hccl"
HCCL_V2 = "hccl_2.0"
GROUP_LIST = "group_list"
GLOBAL = "global"
VLLM_PD = "vllm_pd"
LOCAL_COMM_RES = "local_comm_res"
HETEROGENEOUS = "hccl_1.1"
TOPOLOGY = "topology"
UNKNOWN = ""
"""The document has no key of any format yet, as in ``{"status": "initializing"}``."""


class Format(NamedTuple):
    """``title`` describes the document in messages."""

    name: str
    title: str


_BY_KEY = (
    ("server_group_list", Format(GLOBAL, "a global rank table (server_group_list), which MindIE-Motor reads")),
    ("prefill_device_list", Format(VLLM_PD, "a prefill and decode table of the vLLM connector")),
    ("decode_device_list", Format(VLLM_PD, "a prefill and decode table of the vLLM connector")),
    ("group_list", Format(GROUP_LIST, "an old group_list table, which HCCL reads on 910A only")),
    ("rank_list", Format(HCCL_V2, "a table of version 2.0 (rank_list), which HCCL reads on Ascend 950 only")),
    ("peer_list", Format(TOPOLOGY, "a topology file of Ascend 950")),
    ("endpoint_list", Format(LOCAL_COMM_RES, "a local_comm_res of HIXL")),
)
_BY_VERSION = {
    "1.1": Format(HETEROGENEOUS, "a heterogeneous table of version 1.1"),
    "1.3": Format(LOCAL_COMM_RES, "a local_comm_res of HIXL"),
    "2.0": Format(HCCL_V2, "a table of version 2.0, which HCCL reads on Ascend 950 only"),
}
_HCCL = Format(HCCL, "a table with server_list, which HCCL and MindIE-LLM read")
_UNKNOWN = Format(UNKNOWN, "not a rank table of any known format")


def recognise(document: Mapping[str, Any]) -> Format:
    """Return the format of a document, by its content alone; UNKNOWN if it has no key of any format."""
    for key, found in _BY_KEY:
        if key in document:
            return found
    by_version = _BY_VERSION.get(text_of(document, "version") or "")
    if by_version is not None:
        return by_version
    return _HCCL if "server_list" in document else _UNKNOWN


AUTO = "auto"


class Writer(NamedTuple):
    """``versions`` can be written, the first by default. ``readers`` are those by whose rules a written table is checked."""

    versions: Tuple[str, ...]
    build: Callable[[Model], Dict[str, Any]]
    readers: Tuple[str, ...]


def _hccl(model: Model) -> Dict[str, Any]:
    return rank_list.build(model) if model.version == rank_list.VERSION else hccl.build(model)


def _mindie(model: Model) -> Dict[str, Any]:
    """Build a table of HCCL with a container_ip for each server. A container on the host's network has the address of its host.

    Source: Ascend/MindIE-LLM docs/zh/user_guide/user_manual/rank_table_file_configuration.md.
    """
    groups = tuple(group._replace(servers=tuple(
        server if server.container_ip else server._replace(container_ip=server.server_id) for server in group.servers)) for group in model.groups)
    return hccl.build(model._replace(groups=groups))


WRITERS: Mapping[str, Writer] = {
    "hccl": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION, rank_list.VERSION), _hccl, ("hccl",)),
    "global": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION), global_table.build, ("mindie_motor",)),
    "mindie": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION), _mindie, ("hccl", "mindie_llm")),
    "vllm_pd": Writer((vllm_pd.VERSION,), vllm_pd.build, ("vllm",)),
    "local_comm_res": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION, local_comm_res.ENDPOINT_VERSION), local_comm_res.build, ("hixl",)),
}

VERSIONS = tuple(dict.fromkeys(version for writer in WRITERS.values() for version in writer.versions))

_READ: Mapping[str, Callable[[Mapping[str, Any]], Model]] = {
    HCCL: hccl.read,
    HCCL_V2: rank_list.read,
    GROUP_LIST: hccl.read_group_list,
    GLOBAL: global_table.read,
    VLLM_PD: vllm_pd.read,
    LOCAL_COMM_RES: local_comm_res.read,
}


def read(document: Mapping[str, Any]) -> Model:
    """Return the model of a table of any format. Raises ParseError for other documents."""
    found = recognise(document)
    if found.name not in _READ:
        raise ParseError("this is %s" % found.title)
    return _READ[found.name](document)


def build(name: str, model: Model) -> Dict[str, Any]:
    """Return the document of a format. Raises InputError for a model that the format cannot represent."""
    return WRITERS[name].build(model)


def version_of(name: str, wanted: str, products: Iterable[Optional[str]], in_super_pod: bool) -> str:
    """Return the version to write. ``products`` are those of the hosts; ``in_super_pod`` is True if any host is known to be in a super pod.

    Raises InputError for a version that the format does not have, and for NPUs that the format does not support.
    """
    versions: Sequence[str] = WRITERS[name].versions
    if wanted != AUTO:
        if wanted not in versions:
            raise InputError("format %s has no version %s: give %s, or auto" % (name, wanted, ", ".join(versions)))
        return wanted
    known = {product for product in products if product}
    if known == {"950"}:
        newest = versions[-1]
        if newest not in (rank_list.VERSION, local_comm_res.ENDPOINT_VERSION):
            raise InputError("format %s has no version for Ascend 950" % name)
        return newest
    if hccl.SUPER_POD_VERSION in versions and in_super_pod and known <= {"A3"}:
        return hccl.SUPER_POD_VERSION
    return versions[0]
