# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Where the history lies for a task: what the callback of this run says in the environment, else what the user set."""

from __future__ import annotations

import os
from pathlib import Path

from .format import DEFAULT_FOLDER, FILE_VARIABLE, FOLDER_VARIABLE, LOST_VARIABLE, PATH_VARIABLE


def absolute(path: str | Path) -> Path:
    """A relative path begins where ansible-playbook was called."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def folder(given: str | None) -> Path:
    """The folder of the history: ``given``, else that of this run, else that of the environment, else the default."""
    return absolute(given or os.environ.get(FOLDER_VARIABLE) or os.environ.get(PATH_VARIABLE) or DEFAULT_FOLDER)


def this_run() -> Path | None:
    """The file to which the callback writes this run."""
    path = os.environ.get(FILE_VARIABLE)
    return Path(path) if path else None


def lost() -> str:
    """Return why the callback keeps nothing more of this run; empty while it does."""
    return os.environ.get(LOST_VARIABLE, "")
