#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action switch_upgrade_lock, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: switch_upgrade_lock
short_description: Lock the state file of switch_upgrade for this run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the role P(hccn.cluster.switch_upgrade#role), so that two runs with the same state file do not switch the same jobs.
  - The lock is the file O(path) with the suffix C(.lock). It names the C(ansible-playbook) process, and lasts until O(state=absent) or the end of this process.
  - A lock of a process that has ended is replaced, if it ran on the same machine and in the same PID namespace. Otherwise the end of the process is not
    visible, and the file must be removed by hand.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that part of the work runs on the controller.
    support: full
    details:
      - It runs entirely on the controller.
  check_mode:
    support: full
    details:
      - Nothing is locked in check mode.
options:
  path:
    description:
      - The state file. Its folder is created if it is missing.
    type: path
    required: true
  state:
    description:
      - V(present) acquires the lock, and fails if another run holds it. V(absent) releases it, if this run holds it.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Runs on the controller.
"""

EXAMPLES = r"""
- name: Lock the state file
  hccn.cluster.switch_upgrade_lock:
    path: "{{ switch_upgrade_state_file }}"
  run_once: true
"""

RETURN = r"""
error:
  description: The error, with C(code), C(message) and C(hint). The code is V(locked) if another run holds the lock.
  returned: on failure
  type: dict
  sample: {code: locked, message: "/root/.hccn.cluster/switch_upgrade.json.lock is held by another run of switch_upgrade", hint: wait until that run has ended}
"""
