#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of ssh_trust; the logic is in module_utils/_perf/ssh_trust."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_trust
short_description: Allow one host to log in to other hosts during a run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - C(mpirun) logs in from one host to all others by C(ssh). If there is no key for this, the module creates one for a single run. V(key) creates it on the
    host that logs in, V(present) authorizes it on the other hosts, V(absent) removes both.
  - The private key is created on the host that uses it and never leaves this host. No result, log or command line contains it.
  - The comment of the line in C(authorized_keys) contains the run, its owner, which is the process C(ansible-playbook), and its end. The next call for any run
    removes what a killed run left, if its time is over or its owner has ended. Only runs of the same controller can detect that the owner has ended.
  - If the OpenSSH of the host supports this, the line is restricted to commands and expires.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Except for O(state=key), which creates a new key each time.
options:
  run_id:
    description:
      - Name of the run, up to 64 letters, digits, C(.), C(_) and C(-). New for each run.
    type: str
    required: true
  state:
    description:
      - V(key) creates the key on this host.
      - V(present) authorizes O(public_key) on this host.
      - V(absent) removes the key and the line of the run from this host.
    type: str
    choices: [key, present, absent]
    required: true
  public_key:
    description:
      - The public key, which is RV(public_key) of O(state=key). Required for O(state=present).
    type: str
  seconds:
    description:
      - Maximum duration of the run. The key is not valid after that.
    type: int
    default: 3600
  owner:
    description:
      - Owner of the run, in one word. By default the calling C(ansible-playbook), identified by its machine, pid and start time.
    type: str
  ended:
    description:
      - Runs that have ended. Their keys and lines are removed from this host, too.
    type: list
    elements: str
    default: []
  authorized_keys:
    description:
      - The C(authorized_keys) file of the user of this task.
    type: path
    default: ~/.ssh/authorized_keys
  key_dir:
    description:
      - The folder on the host that logs in, in which a folder for the key is created. Its path must not contain spaces.
    type: path
    default: ~/.ssh
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Create a key for this run
  hccn.cluster.ssh_trust:
    run_id: "{{ run_id }}"
    state: key
  run_once: true
  register: key

- name: Authorize the key on all hosts
  hccn.cluster.ssh_trust:
    run_id: "{{ run_id }}"
    state: present
    public_key: "{{ key.public_key }}"
    seconds: 900
  register: trust

- name: Remove the key
  hccn.cluster.ssh_trust:
    run_id: "{{ run_id }}"
    state: absent
"""

RETURN = r"""
identity:
  description: Path of the private key on this host.
  returned: with O(state=key), outside check mode
  type: str
  sample: /root/.ssh/hccn.cluster-20260104T100000Z-1a2b3c4d/id
public_key:
  description: The public key.
  returned: with O(state=key), outside check mode
  type: str
  sample: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2nq8m1cQ
host_keys:
  description: The public host keys of this host, for C(known_hosts).
  returned: with O(state=present)
  type: list
  elements: str
  sample: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH2ZyZkFz1]
removed:
  description: Runs whose keys or lines were removed from this host.
  returned: always
  type: list
  elements: str
  sample: [20260103T093000Z-5e6f7a8b]
others:
  description: Other runs with keys on this host whose time is not over, with C(run_id) and C(owner).
  returned: always
  type: list
  elements: dict
  sample: []
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import ssh_trust_call


def main() -> None:
    module = AnsibleModule(argument_spec=ssh_trust_call.argument_spec(), required_if=[("state", "present", ("public_key",))], supports_check_mode=True)
    try:
        result = ssh_trust_call.perform(module.params, module.check_mode, time.time())
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())
    except OSError as error:
        module.fail_json(msg="%s: %s" % (error.filename or "a file", error.strerror or error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
