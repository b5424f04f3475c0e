# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The format of history files: names and lines. Writer and reader share only this module.

The file of a run is ``<folder>/YYYY/MM/DD/<utc>-<run id>.jsonl``, with the suffix ``.part`` until the run is over, and ``.gz`` once it is compressed.
Its lines are the header (schema hccn.cluster/history/1), records (each with its schema) and events, and the end line.
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
# Records with this prefix are kept, whichever tool or later version of the collection made them.
KEPT_SCHEMAS = "hccn.cluster/"
DEFAULT_FOLDER = "~/.local/share/hccn.cluster/history"
DROPPED = "dropped"
"""The kind of event for rejected records; the other events are failures."""
PART = ".part"
GZIP = ".gz"
# Environment variables by which the callback passes the location of the history to tasks of the same run.
FILE_VARIABLE = "HCCN_RESULTS_FILE"
FOLDER_VARIABLE = "HCCN_RESULTS_DIR"
PATH_VARIABLE = "HCCN_RESULTS_PATH"
LOST_VARIABLE = "HCCN_RESULTS_LOST"
"""Set to the reason when the callback has stopped writing this run."""

PAGES = "reports"
PAGE_FORMATS = {"html": "html", "md": "md", "json": "json", "prom": "prom", "jsonl": "jsonl", "baseline": "yml"}
"""The formats of the action report, with the suffix of the default file name."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
STAMP = "%Y%m%dT%H%M%SZ"
"""The start time in the name of a file, in UTC. It sorts by time."""
_FILE_NAME = re.compile(r"(\d{8}T\d{6}Z)-(.+?)\.jsonl(\.part|\.gz)?")
_SCHEMA = re.compile(r"(.+/\d+)(?:\.\d+)*")


class HistoryError(HccnError):
    """A history file or folder cannot be written, read or found."""


def new_run_id() -> str:
    """Return a run id of the current time and 64 random bits, unique over all controllers."""
    return f"{int(time.time()):x}-{secrets.token_hex(8)}"


def is_run_id(text: str) -> bool:
    """Return True if ``text`` is valid in a file name: up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit."""
    return _RUN_ID.fullmatch(text) is not None


def part_path(folder: Path, started_at: str, run_id: str) -> Path:
    """Return the path of an unfinished run that started at ``started_at`` (RFC 3339 in UTC)."""
    year, month, day = started_at[:10].split("-")
    stamp = re.sub(r"[-:]|\.\d+", "", started_at)
    return folder / year / month / day / f"{stamp}-{run_id}.jsonl{PART}"


def final_path(part: Path) -> Path:
    """Return the final path of a .part file."""
    return part.with_name(part.name[: -len(PART)])


def page_path(folder: Path, run_id: str, page_format: str) -> Path:
    """Return the path of a page of a run. Runs with the same id share their pages."""
    return folder / PAGES / f"{run_id}.{PAGE_FORMATS[page_format]}"


def split_name(name: str) -> tuple[str, str, bool] | None:
    """Return start time (compact UTC), run id and whether the file is a .part, None if ``name`` is not the file name of a run."""
    match = _FILE_NAME.fullmatch(name)
    return (match.group(1), match.group(2), match.group(3) == PART) if match else None


def major(schema: Any) -> str:
    """Return a schema without its minor version, which only adds keys (``hccn.cluster/history/1`` for 1.2); an empty text for anything else."""
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return match.group(1) if match else ""


def line(entry: dict[str, Any]) -> bytes:
    """Return an entry as a line of the file. NaN becomes null; a value without a JSON type, such as a vaulted one, becomes a note."""
    try:
        text = _json(entry)
    except ValueError:
        text = _json(_finite(entry))
    return text.encode("utf-8", "replace") + b"\n"


def encoded(text: str) -> bytes:
    """Return a text as it occurs in a line."""
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
