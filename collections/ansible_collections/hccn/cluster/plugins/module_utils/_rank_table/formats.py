# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Which format a document has, told from its content alone."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from .view import text_of

HCCL = "hccl"
HCCL_V2 = "hccl_2.0"
GROUP_LIST = "group_list"
GLOBAL = "global"
VLLM_PD = "vllm_pd"
LOCAL_COMM_RES = "local_comm_res"
HETEROGENEOUS = "hccl_1.1"
TOPOLOGY = "topology"
UNKNOWN = ""
"""Nothing of any format is there yet, as in ``{"status": "initializing"}``."""


class Format(NamedTuple):
    """``title``: for a sentence that says what the document is."""

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
_UNKNOWN = Format(UNKNOWN, "no rank table of any known format")


def recognise(document: Mapping[str, Any]) -> Format:
    """The format; UNKNOWN where no key of any is there."""
    for key, found in _BY_KEY:
        if key in document:
            return found
    by_version = _BY_VERSION.get(text_of(document, "version") or "")
    if by_version is not None:
        return by_version
    return _HCCL if "server_list" in document else _UNKNOWN
