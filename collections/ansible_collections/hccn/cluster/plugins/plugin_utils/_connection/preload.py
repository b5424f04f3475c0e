# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Import the plugins of the collection that tasks on hosts need, once, in the process of ansible-playbook.

Ansible forks a process per task and host. Each of them would compile and import the action of host modules again and, as soon as a task uses one filter of
the collection, all files of that folder. ansible-playbook imports a controller action, and with it this module, before it forks for the first task.
"""

from __future__ import annotations

import importlib
import pkgutil

PLUGINS = __name__.partition(".plugin_utils.")[0]


def preload() -> None:
    """Import the action of host modules, and all filters and lookups."""
    importlib.import_module(f"{PLUGINS}.action.bounded")
    for kind in ("filter", "lookup"):
        package = importlib.import_module(f"{PLUGINS}.{kind}")
        for module in pkgutil.iter_modules(package.__path__, f"{PLUGINS}.{kind}."):
            importlib.import_module(module.name)
