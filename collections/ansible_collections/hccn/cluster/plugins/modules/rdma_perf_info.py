#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of rdma_perf_info; the logic is in module_utils/_fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_perf_info
short_description: Progress and results of an RDMA run on this host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the journal of a run that M(hccn.cluster.rdma_perf) has started on this host, while it goes on or afterwards.
  - A run whose runner died is V(failed), with the measurements that it had made.
  - Without O(run_id) it returns which run is at work on this host, whoever began it, or waits until none is.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  run_id:
    description:
      - Name of the run. Without it, whichever is at work on this host.
      - Required with O(fabric).
    type: str
  state_dir:
    description:
      - Folder of the journals, as given to M(hccn.cluster.rdma_perf).
    type: path
    default: /var/lib/hccn.cluster
  wait:
    description:
      - Seconds to wait for the end of the run on this host. The run's state is returned then, whatever it is.
      - Without O(run_id), seconds to wait until no run is at work on this host. That holds nothing, so another run may begin first.
      - A playbook asks every ten seconds meanwhile. A host that does not answer within 30 seconds more is unreachable.
    type: float
    default: 0
  fabric:
    description:
      - Whether to return RV(fabric) and no measurements. O(wait) then waits for the end of the run on all hosts.
    type: bool
    default: false
  all_started:
    description:
      - With O(fabric), whether the run was started on all hosts that could be reached. Those that nobody has met a little later are then given up, rather
        than after the C(meeting_timeout) of M(hccn.cluster.rdma_perf).
    type: bool
    default: false
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.fabric_progress
notes:
  - The module does not fail for what was measured. Judge that with M(hccn.cluster.fabric_verdict).
"""

EXAMPLES = r"""
- name: How far is it?
  hccn.cluster.rdma_perf_info:
    run_id: 20260104-1
  register: rdma

- name: Wait for the results, ten minutes at the most
  hccn.cluster.rdma_perf_info:
    run_id: 20260104-1
    wait: 600
  register: rdma

- name: Wait until nobody measures on the host, ten minutes at the most
  hccn.cluster.rdma_perf_info:
    wait: 600
  register: other
"""

RETURN = r"""
run_id:
  description: The run.
  returned: with O(run_id), and when a run is at work on this host
  type: str
  sample: 20260104-1
holder:
  description:
    - Which run is at work on this host, as far as it is known. C(run_id), C(pid) of its runner, C(user) who began it and C(controller), the address from which
      that user came by ssh, and C(since).
  returned: without O(run_id), when RV(state) is V(running)
  type: dict
  sample: {run_id: 20260104-1, pid: 4711, user: ops, controller: 192.0.2.7, since: "2026-01-04T10:00:00.000Z"}
state:
  description:
    - V(running), V(finished), V(failed) when the runner could not end its part, V(unknown) when this host has no such run.
    - Without O(run_id) V(running), or V(idle) when no run is at work on this host.
  returned: success
  type: str
  sample: finished
progress:
  description: C(pairs_total), C(pairs_done) and C(pairs_failed) of the pairs that this host measures, and C(seconds) since its start.
  returned: success, with O(run_id)
  type: dict
  sample: {pairs_total: 16, pairs_done: 9, pairs_failed: 0, seconds: 17.5}
measurements:
  description: The records so far, in the order of the plan, as M(hccn.cluster.rdma_perf) returns them.
  returned: always
  type: list
  elements: dict
not_returned:
  description: Numbers of pairs by status that are in the journal only, since a result has 256 kB at the most.
  returned: when there are any
  type: dict
odd_lines:
  description: Number of lines in the journal that are not as M(hccn.cluster.rdma_perf) writes them. They are left out, with a warning.
  returned: when there are any
  type: int
alive:
  description: Whether the runner of this host is there.
  returned: with O(fabric)
  type: bool
fabric:
  description:
    - How far all hosts are, as they have told this one, a reporter of the run. None where it is not, or has heard nothing yet.
    - C(hosts), C(hosts_heard), C(hosts_over) and C(hosts_silent) are numbers of hosts, C(silent) names some of the last. C(pairs_done) and C(pairs_failed) are
      those of all, C(round) is where half of the hosts are, C(slowest) the slowest measurement so far. C(over) tells that nobody is at work any more,
      C(age) how many seconds ago all this was written.
  returned: with O(fabric)
  type: dict
  sample:
    hosts: 64
    hosts_heard: 64
    hosts_over: 0
    hosts_silent: 0
    silent: []
    pairs_done: 340
    pairs_failed: 2
    round: 12
    slowest: {value: 50.2, unit: Gbit/s, source: n3 npu 1, target: n7 npu 1}
    seconds: 96.1
    over: false
    age: 0.7
error:
  description: Why the run failed as a whole, with C(code), C(message) and C(hint).
  returned: when RV(state) is V(failed)
  type: dict
  sample: {code: runner_died, message: "the runner died during the run: 9 of 16 pairs are in the journal"}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import results
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import DEFAULT_STATE_DIR


def look(module: AnsibleModule) -> dict:
    params = module.params
    state_dir, run_id, wait_s = params["state_dir"], params["run_id"], params["wait"]
    if params["fabric"]:
        return results.wait_for_all_hosts(state_dir, run_id, wait_s, params["all_started"] and not module.check_mode)
    return results.wait_for_host(state_dir, wait_s) if run_id is None else results.wait_for_run(state_dir, run_id, wait_s)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str"},
            "state_dir": {"type": "path", "default": DEFAULT_STATE_DIR},
            "wait": {"type": "float", "default": 0},
            "fabric": {"type": "bool", "default": False},
            "all_started": {"type": "bool", "default": False},
        },
        required_if=[("fabric", True, ("run_id",))],
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, **look(module))
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), run_id=module.params["run_id"], measurements=[])


if __name__ == "__main__":
    main()
