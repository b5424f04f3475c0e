# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The status codes of LLM-DataDist and their meaning.

Source: hicann/hixl docs/zh/api/cpp/LLM-DataDist-error-code.md and docs/zh/api/python/LLMStatusCode.md.
"""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple


class LinkCode(NamedTuple):
    value: int
    meaning: str
    hint: str = ""


_NETWORK = "check links, addresses and equal TLS settings of both sides with hccn.cluster.datadist_check"

CODES: Mapping[str, LinkCode] = {
    "LLM_SUCCESS": LinkCode(0, "done"),
    "LLM_WAIT_PROC_TIMEOUT": LinkCode(0x5010B001, "the process did not answer in time"),
    "LLM_KV_CACHE_NOT_EXIST": LinkCode(0x5010B002, "there is no such KV cache"),
    "LLM_PARAM_INVALID": LinkCode(0x5010B005, "a parameter is invalid, or there are more than 512 links on the card", "see the log of LLM-DataDist"),
    "LLM_NOT_YET_LINK": LinkCode(0x5010B007, "not linked"),
    "LLM_ALREADY_LINK": LinkCode(0x5010B008, "already linked"),
    "LLM_LINK_FAILED": LinkCode(0x5010B009, "the link failed", _NETWORK),
    "LLM_UNLINK_FAILED": LinkCode(0x5010B00A, "unlinking failed", _NETWORK),
    "LLM_NOTIFY_PROMPT_UNLINK_FAILED": LinkCode(0x5010B00B, "the prefill side could not be notified of the unlink", "unlink on the prefill side, too"),
    "LLM_CLUSTER_NUM_EXCEED_LIMIT": LinkCode(0x5010B00C, "more than 16 clusters in one call"),
    "LLM_PROCESSING_LINK": LinkCode(0x5010B00D, "a link or unlink is in progress", "try again later"),
    "LLM_DEVICE_OUT_OF_MEMORY": LinkCode(0x5010B00E, "the NPU has no memory left"),
    "LLM_EXIST_LINK": LinkCode(0x5010B018, "links still exist", "unlink first"),
    "LLM_FEATURE_NOT_ENABLED": LinkCode(0x5010B019, "the feature was not enabled at the start"),
    "LLM_TIMEOUT": LinkCode(0x5010B01A, "not done in time", "raise timeout_ms: 200 ms or more, with TLS 2000 ms or more"),
    "LLM_LINK_BUSY": LinkCode(0x5010B01B, "the link is busy"),
    "LLM_OUT_OF_MEMORY": LinkCode(0x5010B01C, "no memory left"),
}

LINKED = ("LLM_SUCCESS", "LLM_ALREADY_LINK")
"""An existing link is not a failure."""
UNLINKED = ("LLM_SUCCESS", "LLM_NOT_YET_LINK")


def explain(name: str) -> Dict[str, object]:
    """Return ``name`` and ``meaning`` of a status and, if known, ``code`` and ``hint``."""
    found = CODES.get(name)
    if found is None:
        return {"name": name, "meaning": "see LLMStatusCode in the manual of LLM-DataDist"}
    explanation: Dict[str, object] = {"code": found.value, "name": name, "meaning": found.meaning}
    if found.hint:
        explanation["hint"] = found.hint
    return explanation
