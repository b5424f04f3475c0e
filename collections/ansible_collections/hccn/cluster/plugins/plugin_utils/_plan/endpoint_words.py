# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The words for what a tool measures: NPUs with roce_test, else ports of network cards.

Records and the diagnosis call both NPUs. Texts are put into these words where they are displayed.
"""

from __future__ import annotations

import re

from ...module_utils._perf.perftest_options import ROCE_TEST

_CHINESE = r"\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef"
_PORTS = (
    (re.compile(rf"(?<=[{_CHINESE}]) ?NPU ?(?=[{_CHINESE}])"), "端口"),
    (re.compile(r"\b([Aa])n NPU\b(?!-)"), r"\1 port"),
    (re.compile(r"^NPU(s?)(?= )"), r"Port\1"),
    (re.compile(r"(?<![\w.-])NPU(s?)(?![\w-])"), r"port\1"),
)


def of_ports(text: str) -> str:
    """Return a text about NPUs in the words for hosts without any: ``n1 port 0``, ``2 ports are slow``."""
    for pattern, replacement in _PORTS:
        text = pattern.sub(replacement, text)
    return text


def in_words_of(tool: str, text: str) -> str:
    """Return a text about NPUs in the words for what this tool measures."""
    return text if tool == ROCE_TEST else of_ports(text)
