# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What a history file looks like: names, modes, lines. Writer and reader agree on nothing else.

A run is ``<folder>/YYYY/MM/DD/<utc>-<run id>.jsonl``, with ``.part`` behind it until the run is over, and ``.gz`` once it is old. Line by line: the header
(schema hccn.cluster/history/1), then records (each with a schema of its own) and events, at last the end line.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import time
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core import record
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

SCHEMA = "hccn.cluster/history/1"
RECORD_SCHEMA = record.SCHEMA
# Everything whose schema starts so is kept, whatever tool or later version of the collection made it.
KEPT_SCHEMAS = "hccn.cluster/"
DEFAULT_FOLDER = "~/.local/share/hccn.cluster/history"
DROPPED = "dropped"
"""The event of records that are not kept; the other events are failures."""
PART = ".part"
GZIP = ".gz"
# How the callback tells tasks of the same run where their history is.
FILE_VARIABLE = "HCCN_RESULTS_FILE"
FOLDER_VARIABLE = "HCCN_RESULTS_DIR"
PATH_VARIABLE = "HCCN_RESULTS_PATH"
LOST_VARIABLE = "HCCN_RESULTS_LOST"
"""Why nothing more of this run is kept, once that is so."""

PAGES = "reports"
PAGE_FORMATS = {"html": "html", "md": "md", "json": "json", "prom": "prom", "jsonl": "jsonl", "baseline": "yml"}
"""What the action report makes of a run: by format, how a file is called where its path is not given."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE_NAME = re.compile(r"(\d{8}T\d{6}Z)-(.+?)\.jsonl(\.part|\.gz)?")
_SCHEMA = re.compile(r"(.+/\d+)(?:\.\d+)*")


class HistoryError(HccnError):
    """A history file or folder that cannot be written, read or found."""


def new_run_id() -> str:
    """The time and 64 random bits, so that no two controllers make the same."""
    return f"{int(time.time()):x}-{secrets.token_hex(8)}"


def is_run_id(text: str) -> bool:
    """Can ``text`` be a part of a file name: letters, digits, ``._-``, at most 64, no leading dot or dash?"""
    return _RUN_ID.fullmatch(text) is not None


def part_path(folder: Path, started_at: str, run_id: str) -> Path:
    """Where a run that started at ``started_at`` (RFC 3339 in UTC) is written."""
    year, month, day = started_at[:10].split("-")
    stamp = re.sub(r"[-:]|\.\d+", "", started_at)
    return folder / year / month / day / f"{stamp}-{run_id}.jsonl{PART}"


def final_path(part: Path) -> Path:
    """The name of a .part when its run is over."""
    return part.with_name(part.name[: -len(PART)])


def page_path(folder: Path, run_id: str, page_format: str) -> Path:
    """Where a page of a run lies. A run that has the id of an earlier one has its page, too."""
    return folder / PAGES / f"{run_id}.{PAGE_FORMATS[page_format]}"


def split_name(name: str) -> tuple[str, str, bool] | None:
    """``(utc, run id, is it a .part)`` of a file name, None for any other file."""
    match = _FILE_NAME.fullmatch(name)
    return (match.group(1), match.group(2), match.group(3) == PART) if match else None


def major(schema: Any) -> str:
    """``hccn.cluster/history/1`` of 1, 1.2 and so on: what a reader must know; later minor versions only add keys. Empty for what is no schema."""
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return match.group(1) if match else ""


def line(entry: dict[str, Any]) -> bytes:
    """One line of the file. A value that JSON does not have is not kept: no NaN, no foreign type (a vaulted value is one)."""
    try:
        text = _json(entry)
    except ValueError:
        text = _json(_finite(entry))
    return text.encode("utf-8", "replace") + b"\n"


def written(text: str) -> bytes:
    """A text as it stands in a line."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def _json(entry: Any) -> str:
    return json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_foreign)


def _foreign(value: object) -> str:
    return f"(not kept: {type(value).__name__})"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
