# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The location of the history for a task. The callback of this run sets it in the environment, else the user does."""

from __future__ import annotations

import os
from pathlib import Path

from .format import DEFAULT_FOLDER, FILE_VARIABLE, FOLDER_VARIABLE, LOST_VARIABLE, PATH_VARIABLE


def absolute(path: str | Path) -> Path:
    """Return an absolute path; relative ones start from the working directory of ansible-playbook."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def folder(given: str | None) -> Path:
    """Return the folder of the history: ``given``, else that of this run, else that of the environment, else the default."""
    return absolute(given or os.environ.get(FOLDER_VARIABLE) or os.environ.get(PATH_VARIABLE) or DEFAULT_FOLDER)


def this_run() -> Path | None:
    """Return the file to which the callback writes this run, None if the callback is not enabled."""
    path = os.environ.get(FILE_VARIABLE)
    return Path(path) if path else None


def lost() -> str:
    """Return the reason why the callback has stopped writing this run, an empty text if it has not."""
    return os.environ.get(LOST_VARIABLE, "")
