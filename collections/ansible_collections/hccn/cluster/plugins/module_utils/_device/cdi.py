# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The CDI spec (Container Device Interface) that maps hccn.conf into a container: one file, one device, one read-only mount."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Optional

from .._core.errors import HccnError

FILE = "hccn-cluster-hccn-conf.json"
"""Name of the spec file. Runtimes read every *.json and *.yaml of the folder, so the name only has to be unique."""

KIND = "hccn.cluster/conf"
DEVICE = "hccn-conf"
NAME = "%s=%s" % (KIND, DEVICE)
"""The value of ``--device`` for docker and podman."""

VERSION = "0.3.0"
"""The first released version of the specification. Newer runtimes support it, and no later feature is used (SPEC.md, released versions)."""

_MODE = 0o644
_FOLDER_MODE = 0o755
_MAX_BYTES = 1024 * 1024


def document(path: str, container_path: str) -> Dict[str, Any]:
    """Return the spec. In version 0.3.0 a mount has no ``type``, so the option ``bind`` makes it a bind mount."""
    mount = {"hostPath": path, "containerPath": container_path, "options": ["ro", "nosuid", "nodev", "bind"]}
    return {"cdiVersion": VERSION, "kind": KIND, "devices": [{"name": DEVICE, "containerEdits": {"mounts": [mount]}}]}


def text(path: str, container_path: str) -> str:
    """Return the content of the spec file."""
    return json.dumps(document(path, container_path), indent=2) + "\n"


def read(spec: str) -> Optional[str]:
    """Return the content of the file, None if it does not exist. Raises HccnError ``cdi_unreadable``."""
    try:
        with open(spec, "rb") as stream:
            return stream.read(_MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HccnError("cdi_unreadable", "%s: %s" % (spec, error.strerror), "run as root (become: true)") from None


def write(spec: str, content: str) -> None:
    """Write the file atomically, and create its folder. Raises HccnError ``cdi_unwritable``."""
    try:
        _make_folder(os.path.dirname(spec))
        _replace(spec, content)
    except OSError as error:
        raise HccnError("cdi_unwritable", "%s: %s" % (spec, error.strerror), "run as root (become: true)") from None


def _make_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chmod(folder, _FOLDER_MODE)


def _replace(spec: str, content: str) -> None:
    # The temporary name does not end like a spec, so that a runtime that watches the folder does not read an incomplete file.
    descriptor, temporary = tempfile.mkstemp(prefix=".hccn-conf-", dir=os.path.dirname(spec))
    try:
        with os.fdopen(descriptor, "w") as stream:
            os.fchmod(stream.fileno(), _MODE)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, spec)
    except OSError:
        os.unlink(temporary)
        raise


def remove(spec: str) -> None:
    """Remove the file, but not its folder. Raises HccnError ``cdi_unwritable``."""
    try:
        os.unlink(spec)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise HccnError("cdi_unwritable", "%s: %s" % (spec, error.strerror), "run as root (become: true)") from None
