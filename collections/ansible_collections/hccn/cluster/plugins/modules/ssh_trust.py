#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of ssh_trust; the logic is in module_utils/_perf/ssh_trust."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_trust
short_description: Let one host log in to the others for the time of one run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - C(mpirun) logs in from one host to all others by C(ssh). Where no key for that exists, this module makes one for a single run. V(key) makes it on the
    host that logs in, V(present) lets it in on the others, V(absent) takes both away again.
  - The private key is made where it is used and never leaves that host. It stands in no result, log or command line.
  - The comment of the line in C(authorized_keys) names the run, its owner, which is the C(ansible-playbook) at work, and its end. What a killed run left is
    taken away by the next call for any run, as soon as its time is over or its owner is seen to be gone. The latter is seen by runs of the same controller.
  - Where the host's OpenSSH knows it, the line is restricted to commands and expires by itself.
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
      - Except for O(state=key), which makes a new key each time.
options:
  run_id:
    description:
      - Name of the run, up to 64 letters, digits, C(.), C(_) and C(-). New for each run.
    type: str
    required: true
  state:
    description:
      - V(key) makes the key on this host.
      - V(present) lets O(public_key) in on this host.
      - V(absent) removes whatever this host has of the run, the key or the line or both.
    type: str
    choices: [key, present, absent]
    required: true
  public_key:
    description:
      - The public key, as RV(public_key) of O(state=key). Required for O(state=present).
    type: str
  seconds:
    description:
      - How long the run may take. The key is worth nothing after that.
    type: int
    default: 3600
  owner:
    description:
      - Who the run is of, in one word. By default the C(ansible-playbook) that calls, by its machine, pid and start.
    type: str
  ended:
    description:
      - Runs that are known to be over. What they left on this host is removed, too.
    type: list
    elements: str
    default: []
  authorized_keys:
    description:
      - The file of the user of this task in which C(sshd) looks for keys.
    type: path
    default: ~/.ssh/authorized_keys
  key_dir:
    description:
      - The folder on the host that logs in, in which the key gets a folder of its own. Its path holds no blanks.
    type: path
    default: ~/.ssh
seealso:
  - module: hccn.cluster.hccl_perf
  - module: hccn.cluster.nccl_perf
"""

EXAMPLES = r"""
- name: Make a key for this run
  hccn.cluster.ssh_trust:
    run_id: "{{ run_id }}"
    state: key
  run_once: true
  register: key

- name: Let it in
  hccn.cluster.ssh_trust:
    run_id: "{{ run_id }}"
    state: present
    public_key: "{{ key.public_key }}"
    seconds: 900
  register: trust

- name: Take it away
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
  description: The public keys of this host's own C(sshd), for C(known_hosts).
  returned: with O(state=present)
  type: list
  elements: str
  sample: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH2ZyZkFz1]
removed:
  description: Runs of which something was removed here.
  returned: always
  type: list
  elements: str
  sample: [20260103T093000Z-5e6f7a8b]
others:
  description: Further runs whose keys are here, with C(run_id) and C(owner). Their time is not over.
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
