# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The version of the CANN toolkit of this host, from the files that its installer writes. Not checked on a host with CANN yet."""

from __future__ import annotations

import glob
import os
import re
from typing import Optional, Sequence

from .._core.words import printable

CANN_HOMES = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
"""Installation folders according to the manual of CANN, newer ones first. $ASCEND_HOME_PATH takes precedence."""

INSTALL_INFO = ("ascend_toolkit_install.info", "*-linux/ascend_toolkit_install.info")
VERSION_CFG = "version.cfg"

_VERSION = re.compile(r"^version=(\S+)\s*$", re.MULTILINE)
_RUNNING = re.compile(r"^toolkit_running_version=\[[^:\]\n]*:([^:\]\s]+)\]", re.MULTILINE)
_MOST_BYTES = 65536
_LONGEST = 64


def cann_version(homes: Sequence[str] = CANN_HOMES) -> Optional[str]:
    """Return the version of the first CANN toolkit in ``homes``, None if there is none or its files cannot be read."""
    for home in homes:
        infos = [path for pattern in INSTALL_INFO for path in sorted(glob.glob(os.path.join(glob.escape(home), pattern)))]
        for path, pattern in [(path, _VERSION) for path in infos] + [(os.path.join(home, VERSION_CFG), _RUNNING)]:
            found = pattern.search(_text(path))
            if found:
                return printable(found.group(1), _LONGEST)
    return None


def _text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
