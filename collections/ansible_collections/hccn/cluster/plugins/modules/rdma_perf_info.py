#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of rdma_perf_info; the logic is in module_utils/_fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_perf_info
short_description: Read progress and results of an RDMA run on this host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the journal of a run that M(hccn.cluster.rdma_perf) has started on this host, during the run or afterwards.
  - A run whose runner crashed is V(failed), with the measurements that it had finished.
  - Without O(run_id), the module returns which run is active on this host, regardless of who started it, or waits until no run is active.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
options:
  run_id:
    description:
      - Name of the run. By default the run that is active on this host.
      - Required with O(fabric).
    type: str
  state_dir:
    description:
      - Folder of the journals, as given to M(hccn.cluster.rdma_perf).
    type: path
    default: /var/lib/hccn.cluster
  wait:
    description:
      - Seconds to wait for the end of the run on this host. After that, the state of the run is returned, even if it is V(running).
      - Without O(run_id), seconds to wait until no run is active on this host. This does not reserve the host, so another run may start first.
      - While waiting, the action polls the host every ten seconds. A host that does not answer within another 30 seconds is unreachable.
    type: float
    default: 0
  fabric:
    description:
      - Return RV(fabric) and no measurements. O(wait) then waits for the end of the run on all hosts.
    type: bool
    default: false
  all_started:
    description:
      - With O(fabric), announce that the run was started on all reachable hosts. Hosts that no other host has connected to shortly after that are given up
        at once, and not only after the C(meeting_timeout) of M(hccn.cluster.rdma_perf).
    type: bool
    default: false
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.fabric_progress
notes:
  - The module does not fail because of failed measurements. Evaluate them with M(hccn.cluster.fabric_verdict).
"""

EXAMPLES = r"""
- name: Read the progress of a run
  hccn.cluster.rdma_perf_info:
    run_id: 20260104-1
  register: rdma

- name: Wait at most ten minutes for the results
  hccn.cluster.rdma_perf_info:
    run_id: 20260104-1
    wait: 600
  register: rdma

- name: Wait at most ten minutes until no run is active on the host
  hccn.cluster.rdma_perf_info:
    wait: 600
  register: other
"""

RETURN = r"""
run_id:
  description: The run.
  returned: with O(run_id), and when a run is active on this host
  type: str
  sample: 20260104-1
holder:
  description:
    - The run that is active on this host, with C(run_id), C(pid) of its runner, C(user) who started it, C(controller), the address from which this user
      logged in by ssh, and C(since), as far as they are known.
  returned: without O(run_id), when RV(state) is V(running)
  type: dict
  sample: {run_id: 20260104-1, pid: 4711, user: ops, controller: 192.0.2.7, since: "2026-01-04T10:00:00.000Z"}
last_run:
  description:
    - The run that was started last on this host, without confirmation runs, with C(run_id) and C(started_at), in seconds since the epoch by the clock of the
      host.
  returned: without O(run_id), when RV(state) is V(idle) and there is such a run
  type: dict
  sample: {run_id: 20260104-1, started_at: 1767520800.5}
state:
  description:
    - V(running), V(finished), V(failed) if the runner failed, or V(unknown) if this host has no such run.
    - Without O(run_id), V(running), or V(idle) if no run is active on this host.
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
  description: Number of pairs by status that are in the journal only, since a result is limited to 256 kB.
  returned: when there are any
  type: dict
odd_lines:
  description: Number of malformed lines in the journal, which are ignored with a warning.
  returned: when there are any
  type: int
alive:
  description: Whether the runner of this host is running.
  returned: with O(fabric)
  type: bool
fabric:
  description:
    - The progress of all hosts, as reported to this host. None if this host is not a reporter of the run, or has not received a report yet.
    - C(hosts), C(hosts_heard), C(hosts_over) and C(hosts_silent) are numbers of hosts, and C(silent) lists some of the silent ones. C(pairs_done) and
      C(pairs_failed) count the pairs of all hosts, C(round) is the round that half of the hosts have reached, C(slowest) is the slowest measurement so far.
      C(over) is true if no host is measuring any more, C(age) is the age of these values in seconds.
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
    slowest: {value: 50.2, unit: Gbit/s, source: n3 NPU 1, target: n7 NPU 1}
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


def read(module: AnsibleModule) -> dict:
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
        module.exit_json(changed=False, **read(module))
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), run_id=module.params["run_id"], measurements=[])


if __name__ == "__main__":
    main()
