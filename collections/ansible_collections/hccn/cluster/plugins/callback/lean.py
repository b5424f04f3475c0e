# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""Keeps the controller's memory small and shared with Ansible's workers, since each task forks it for each host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lean
type: aggregate
short_description: Saves memory and CPU of the controller and its workers
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Ansible forks a worker for each host and task. It shares the controller's memory as long as neither writes to it, and the more the controller holds,
    the more a fork costs.
  - This callback makes workers begin with C(gc.freeze()). A full collection of garbage in a worker writes to every object there is, so the system would
    copy the whole for each worker. A worker's own objects are collected as before, and so are those of the controller. See
    U(https://docs.python.org/3/library/gc.html#gc.freeze). In the playbook C(hccn.cluster.bring_up) with 16 forks, the controller and its workers held
    558 MiB without and 190 MiB with it for 256 hosts, 870 MiB and 247 MiB for 512.
  - It also drops what a role's arguments were validated against, once the result is there. Ansible keeps a copy of the specification, with all of its
    descriptions, for each host until the last one has been validated, 40 to 140 KiB a host, and memory that was taken once is forked from then on. Other
    callbacks that are told of this task later see its arguments without C(argument_spec). Of a validation that failed, everything is kept.
  - It prints nothing and has no options. It holds for all tasks of the process, not only for those of this collection.
requirements:
  - Enable it in C(ansible.cfg), with C(callbacks_enabled = hccn.cluster.lean) below C([defaults]), or with E(ANSIBLE_CALLBACKS_ENABLED).
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
"""

EXAMPLES = r"""
ansible.cfg: |
  [defaults]
  callbacks_enabled = hccn.cluster.results, hccn.cluster.lean
"""

import gc
import os
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.task_result import fields

VALIDATION = "ansible.builtin.validate_argument_spec"


class CallbackModule(CallbackBase):
    """Freezing is set up when it is loaded, which is before the first worker."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hccn.cluster.lean"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # In the child, not before the fork in the parent: that would never collect again what is garbage in it by then.
        os.register_at_fork(after_in_child=gc.freeze)

    def v2_runner_on_ok(self, result: Any) -> None:
        task = fields(result)
        if task.get("action") == VALIDATION:
            # In place: the result's own copy of the task has the same arguments.
            (task.get("args") or {}).pop("argument_spec", None)
