# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Every format that is read or written: its versions, who reads it, and which version a cluster gets."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import InputError, ParseError
from . import formats, global_table, group_list, hccl, local_comm_res, mindie, rank_list, vllm_pd
from .model import Model

AUTO = "auto"


class Writer(NamedTuple):
    """``versions``: what can be written, by itself the first. ``readers``: by whose rules a written table is checked."""

    versions: Tuple[str, ...]
    build: Callable[[Model], Dict[str, Any]]
    readers: Tuple[str, ...]


def _hccl(model: Model) -> Dict[str, Any]:
    return rank_list.build(model) if model.version == rank_list.VERSION else hccl.build(model)


WRITERS: Mapping[str, Writer] = {
    "hccl": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION, rank_list.VERSION), _hccl, ("hccl",)),
    "global": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION), global_table.build, ("mindie_motor",)),
    "mindie": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION), mindie.build, ("hccl", "mindie_llm")),
    "vllm_pd": Writer((vllm_pd.VERSION,), vllm_pd.build, ("vllm",)),
    "local_comm_res": Writer((hccl.VERSION, hccl.SUPER_POD_VERSION, local_comm_res.ENDPOINT_VERSION), local_comm_res.build, ("hixl",)),
}

VERSIONS = tuple(dict.fromkeys(version for writer in WRITERS.values() for version in writer.versions))

READ: Mapping[str, Callable[[Mapping[str, Any]], Model]] = {
    formats.HCCL: hccl.read,
    formats.HCCL_V2: rank_list.read,
    formats.GROUP_LIST: group_list.read,
    formats.GLOBAL: global_table.read,
    formats.VLLM_PD: vllm_pd.read,
    formats.LOCAL_COMM_RES: local_comm_res.read,
}


def read(document: Mapping[str, Any]) -> Model:
    """The model of a table of any format. Raises ParseError for what is no such table."""
    found = formats.recognise(document)
    if found.name not in READ:
        raise ParseError("this is %s" % found.title)
    return READ[found.name](document)


def build(name: str, model: Model) -> Dict[str, Any]:
    """The document of a format. Raises InputError for a model that the format cannot hold."""
    return WRITERS[name].build(model)


def version_of(name: str, wanted: str, products: Iterable[Optional[str]], in_super_pod: bool) -> str:
    """The version to write. ``products``: those of the hosts; ``in_super_pod``: is any of them known to be in one?

    Raises InputError for a version that the format does not have, and for NPUs that no version of it is for.
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
