# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""Reduce the memory that the controller and its workers hold in runs over many hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: controller_memory
type: aggregate
short_description: Save memory and CPU of the controller and its workers in large inventories
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Takes effect from the first play at which the inventory, within C(--limit), has at least 200 hosts. In smaller inventories it does nothing.
  - Ansible forks a worker for each host and task. The worker shares the controller's memory as long as neither of them writes to it, and the more memory
    the controller holds, the more a fork costs.
  - This callback calls C(gc.freeze()) at the start of each worker. Otherwise, a full garbage collection in a worker writes to every existing object, so that
    the system copies all of the controller's memory for each worker. Objects that the worker creates are still collected, and so are those of the
    controller. See U(https://docs.python.org/3/library/gc.html#gc.freeze). With 256 hosts this hardly saves memory; with more, its effect was not measured.
  - It also removes large arguments from the results of two tasks, C(argument_spec) from the validation of a role's variables, and C(plan) from
    M(hccn.cluster.rdma_perf). Ansible keeps the arguments of each host until the last host has ended the task, and the more it holds, the more every fork
    costs. A specification has 40 to 140 KiB with all of its descriptions, and a plan of 10,000 hosts has 340 KB, 3 GB for all of them. Callbacks that
    receive the result later see the arguments without these. Results of failed tasks are not changed.
  - It prints nothing and has no options. It applies to all tasks of the process, not only to those of this collection.
requirements:
  - Enable it in C(ansible.cfg), with C(callbacks_enabled = hccn.cluster.controller_memory) below C([defaults]), or with E(ANSIBLE_CALLBACKS_ENABLED).
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
"""

EXAMPLES = r"""
ansible.cfg: |
  [defaults]
  callbacks_enabled = hccn.cluster.results, hccn.cluster.controller_memory
"""

import gc
import os
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.task_result import fields

LEAST_HOSTS = 200
"""Below this number of hosts the savings do not justify changing every fork."""
LARGE = {"ansible.builtin.validate_argument_spec": "argument_spec", "hccn.cluster.rdma_perf": "plan"}
"""The argument to remove, by action."""


class CallbackModule(CallbackBase):
    """Do nothing until a play starts with LEAST_HOSTS hosts in the inventory. A fork handler cannot be removed, so it stays active from then on."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hccn.cluster.controller_memory"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._active = False

    def v2_playbook_on_play_start(self, play: Any) -> None:
        # Restrictions are the hosts of the play or of its batch; the memory of a worker grows with all hosts.
        if not self._active and len(play.get_variable_manager()._inventory.get_hosts(ignore_restrictions=True)) >= LEAST_HOSTS:
            self._active = True
            # In the child: if the parent froze before the fork, it would keep whatever is garbage at that moment.
            os.register_at_fork(after_in_child=gc.freeze)

    def v2_runner_on_ok(self, result: Any) -> None:
        task = fields(result)
        if self._active and task.get("action") in LARGE:
            # In place: the result's own copy of the task has the same arguments.
            (task.get("args") or {}).pop(LARGE[task["action"]], None)
