# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The base class of actions that run on the controller and need no connection."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from .preload import preload

preload()


class ControllerAction(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Run in check mode too, never asynchronously, and transfer no files."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
