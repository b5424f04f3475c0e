#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of rdma_perf; the logic is in module_utils/_fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_perf
short_description: Measure RDMA between the NPUs of this host and those of others, by a pair plan
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Works this host's part of a pair plan, as P(hccn.cluster.pair_plan#filter) makes it. Run it on all hosts of the plan with the same plan and key.
  - The hosts meet over TCP. A server is started before its client, both NPUs are reset before and after each test, also when the tool died.
    A pair starts when both of its ends are free. No host waits for all others.
  - Each pair has a deadline, and so has the run. It is four times what the pair is expected to take, and O(pair_timeout) at the most.
  - A host or NPU that had no answer for two partners is left out for the time being, and the others tell each other so. When all else is measured, one
    that is proven good tries it again. If there is an answer, all its pairs are measured after all, otherwise the rest is C(not_run) with
    C(peer_suspended).
  - With O(tool=roce_test) an NPU is asked about before each reset and each test, unless O(allow_busy=true). Where a job has started on it, the pair is
    C(not_run) with C(device_busy), and the NPU is not reset. An answer may be one second old and serves all NPUs of the host, so however many pairs there
    are, C(npu-smi info) runs at most once a second. Each pair adds one C(hccn_tool -qp_info) at its responder and two at its initiator.
  - With O(tool=roce_test) a pair that failed is asked whether its NPUs still have the addresses of the plan. Where one has another, another run changes the
    host, and the pair is C(not_run) with C(address_changed), which says nothing about its link.
  - A guard, which is a process of its own, ends all tools and resets the NPUs when the runner dies, also by SIGKILL. What is left where the guard was
    killed, too, the next call on the host puts right.
  - One run measures on a host at a time. A run that meets another one there fails with C(host_in_use), says which run it is, who began it and when, and
    leaves the host as it is. The lock is in O(state_dir), where other users cannot take it, and goes with the process of the run, however that ends.
    M(hccn.cluster.rdma_perf_info) without a run waits until the host is free.
  - Results are written to a journal in O(state_dir) pair by pair. M(hccn.cluster.rdma_perf_info) reads them, also while the run goes on.
    Journals are removed after seven days.
extends_documentation_fragment:
  - hccn.cluster._devices
  - hccn.cluster._devices.conf
  - hccn.cluster._devices.busy
  - hccn.cluster._attributes
  - hccn.cluster._attributes.devices_group
attributes:
  check_mode:
    support: full
    details:
      - Plan and options are checked, and RV(commands) tells what would be run. Nothing is started.
  diff_mode:
    support: N/A
    details:
      - A measurement leaves nothing changed.
  idempotent:
    support: partial
    details:
      - A run is measured once. The same O(run_id) is refused the second time. O(state=absent) is idempotent.
options:
  run_id:
    description:
      - Name of the run, the same on all hosts and new for each run. It is part of the ids of all measurements.
      - Up to 64 letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  state:
    description:
      - V(present) works the plan.
      - V(absent) ends a run on this host. Its runner and all its tools are killed, its NPUs are reset. It does nothing where the run is over.
        NPUs on which a job has started meanwhile are not reset.
      - A run that is at work in another container of the host, whose processes cannot be seen, is left alone, and V(absent) fails.
    type: str
    choices: [present, absent]
    default: present
  plan:
    description:
      - The pair plan, with C(hosts) and C(rounds), or C(schedule) in place of the rounds. Pairs in C(rounds) that do not concern this host may be left
        out. Or what P(hccn.cluster.packed_plan#filter) made of it, which is a tenth to send.
      - Required for O(state=present).
      - A pair in C(rounds) may have C(options) of its own, C(qps) or, for V(iperf3), C(source_port). What was bad is measured again by another way through
        the fabric like that.
    type: dict
  host:
    description:
      - Name of this host in the plan. Give C(inventory_hostname).
      - Required for O(state=present).
    type: str
  key:
    description:
      - Secret of this run, 32 hexadecimal digits, the same on all hosts. What does not know it cannot take part.
      - Required for O(state=present).
    type: str
  tool:
    description:
      - What measures. V(roce_test) is C(hccn_tool -roce_test), perftest on the NPUs themselves.
      - V(perftest) is linux-rdma/perftest on the RDMA devices of the hosts, V(iperf3) is TCP between the same addresses, a baseline.
      - The addresses of O(plan) are those of the NPUs, or of the hosts' RDMA or network devices.
    type: str
    choices: [roce_test, perftest, iperf3]
    default: roce_test
  rdma_device:
    description:
      - RDMA device of this host for V(perftest), such as V(mlx5_0). By default that which holds the address in O(plan).
    type: str
    default: auto
  cpu_governor:
    description:
      - V(performance) sets the CPU's frequency governor for the time of the run. It is put back whatever happens, at the latest by the next call on the
        host. V(keep) leaves it.
    type: str
    choices: [keep, performance]
    default: keep
  bidirectional:
    description:
      - Measure bandwidth in both directions at once. The sum of both is told.
    type: bool
    default: false
  resume:
    description:
      - Run that this one goes on with, a O(run_id) or V(last) for that which began last on the host. What it has measured well is taken over and not
        measured again.
      - It must be of the same plan with the same options and at most seven days old, else the module fails. A host without such a run measures all.
      - What that run has taken over itself from one before, and is older, is measured again.
    type: str
  reporters:
    description:
      - Hosts of the plan that all others tell how far they are, for M(hccn.cluster.fabric_progress). Give the same to all hosts, best two of them, should one
        die.
      - With O(wait=false) a reporter goes on listening until all others are over, or were silent for a while. Its host is in use until all that have begun
        are over, then the next call on the host ends it.
    type: list
    elements: str
    default: []
  context:
    description:
      - What is known of this host and its devices, for C(context) of the measurements.
    type: dict
    suboptions:
      product:
        description: Product name.
        type: str
      driver:
        description: Version of the driver.
        type: str
      firmware:
        description: Version of the firmware.
        type: str
      leaf:
        description: Leaf switch of all devices, or a dictionary by device id.
        type: raw
      line_rate_gbit_s:
        description:
          - Line rate of all devices in Gbit/s, or a dictionary by device id. A measurement tells that of its slower end.
          - V(perftest) reads it off the RDMA devices where these are hardware.
        type: raw
  root:
    description:
      - Folder below which C(sys) and C(proc) are, such as C(/host) in a container that sees the host's there.
    type: path
    default: /
  operation:
    description:
      - The RDMA operation.
    type: str
    choices: [write, read, send]
    default: write
  measure:
    description:
      - What is measured.
    type: str
    choices: [bandwidth, latency]
    default: bandwidth
  size:
    description:
      - Size of a message, in bytes or with V(K), V(M) or V(G) for powers of 1024. C(roce_test) takes 1 to 874736000 bytes.
      - V(all) measures all powers of two from 2 bytes to 8M.
      - Without it the tool decides, 65536 bytes for bandwidth and 2 for latency.
    type: str
  iterations:
    description:
      - Messages of one test, 5 to 20000. Without it and O(duration) the tool decides.
    type: int
  duration:
    description:
      - Seconds of one test, 1 to 500, in place of O(iterations).
    type: int
  qps:
    description:
      - Queue pairs, 1 to 100. Latency is measured with one.
    type: int
  mtu:
    description:
      - RDMA MTU of the test. Without it the port's.
    type: int
    choices: [256, 512, 1024, 2048, 4096]
  gid_index:
    description:
      - GID of the port to use, 0 to 5 with V(roce_test), 0 to 64 with V(perftest). Without it V(roce_test) decides, and V(perftest) uses that of RoCE v2
        with the address in O(plan).
    type: int
  traffic_class:
    description:
      - Traffic class of the packets, 0 to 255, four times the DSCP value. Use the one that the switches treat as lossless.
    type: int
  parallel:
    description:
      - V(rails) lets the NPUs of a host measure at the same time, V(none) one after the other. Use the same on all hosts.
    type: str
    choices: [rails, none]
    default: rails
  server_start_delay:
    description:
      - Seconds between the start of a server and that of its client, for V(roce_test). Nothing on the host shows when an NPU has begun to listen.
        The other tools' servers are seen to listen.
      - A client that finds no server is tried once more after the same time.
    type: float
    default: 4
  pair_timeout:
    description:
      - Seconds that one pair may take at the most once both of its ends are free.
      - It is less where less is expected, by O(duration), or O(size), O(iterations) and O(qps) at 1 Gbit/s, and twice O(server_start_delay). Four times
        as much is allowed, and 10 seconds at the least.
    type: float
    default: 60
  meeting_timeout:
    description:
      - Seconds that this host waits for the runners of its partners, from its own start on. Later it gives them up after a few tries.
      - Let it cover the time that Ansible needs to reach all hosts.
    type: float
    default: 120
  wait:
    description:
      - Whether the module waits for the end of this host's part and returns its measurements.
      - With V(false) the runner goes on in the background. Do so when there are more hosts than Ansible has forks, since hosts that wait for each
        other must all be there.
      - With V(true), a host that stops answering is found out by the keepalive of ssh only. With other connections, set the keyword C(timeout) of the task.
    type: bool
    default: true
  state_dir:
    description:
      - Folder of the journals, one folder a run.
    type: path
    default: /var/lib/hccn.cluster
  purge:
    description:
      - With O(state=absent), also remove the journal of the run.
    type: bool
    default: false
  fail_on:
    description:
      - When the module fails, after all pairs were tried. V(any) when a pair of an NPU failed that this host measures, V(all) when every such NPU has
        a failed pair, V(none) not for that reason. All measurements are returned in any case.
    default: any
seealso:
  - module: hccn.cluster.rdma_perf_info
  - module: hccn.cluster.fabric_progress
  - module: hccn.cluster.fabric_verdict
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
notes:
  - Test traffic disturbs jobs on the same NPUs. Use hosts that are free.
  - On each host O(plan) names a C(control_address) and a C(control_port), which the other hosts must reach over TCP.
  - Proven on the simulator, whose answers are compared with recorded runs of the real C(hccn_tool) front end. Not run on NPUs yet.
"""

EXAMPLES = r"""
- name: Measure every host with two others, in the background
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    operation: write
    size: 2M
    duration: 5
    wait: false

- name: Collect the results, at the latest after ten minutes
  hccn.cluster.rdma_perf_info:
    run_id: "{{ run_id }}"
    wait: 600
  register: rdma

- name: Measure only what an interrupted run has not measured
  hccn.cluster.rdma_perf:
    run_id: "{{ new_run_id }}"
    resume: last
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    wait: false

- name: Measure between the RDMA devices of the hosts, with the CPU at full speed
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    tool: perftest
    duration: 5
    cpu_governor: performance

- name: End a run before its time
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    state: absent
"""

RETURN = r"""
run_id:
  description: The run.
  returned: always
  type: str
  sample: 20260104-1
state:
  description:
    - V(finished) when this host's part is over, V(running) when it goes on in the background, V(failed) when the runner could not end its part.
  returned: with O(state=present), outside check mode
  type: str
  sample: finished
progress:
  description: C(pairs_total), C(pairs_done) and C(pairs_failed) of the pairs that this host measures, and C(seconds) since its start.
  returned: with O(state=present), outside check mode
  type: dict
  sample: {pairs_total: 16, pairs_done: 16, pairs_failed: 0, seconds: 31.2}
measurements:
  description:
    - One record for each pair of which this host is the source, in the order of the plan.
    - In C(context), C(failed_end) tells at which end a failure is known to lie.
    - With more than 200 pairs, rows of kind C(matrix) instead, one for each NPU as source, with the values by C(hosts), three digits each. Beside them
      there are full records of what is not V(ok), 100 at the most. C(failed) and C(not_run) of a row name the others by the code of the error, as places in
      C(hosts). The journal on the host keeps all.
  returned: always
  type: list
  elements: dict
  sample:
    - schema: hccn.cluster/measurement/1
      id: 20260104-1/p0001/forward/1
      kind: rdma
      status: ok
      tool: {name: ib_write_bw}
      operation: write
      measure: bandwidth
      source: {host: n1, device: 0, address: 10.0.0.10}
      target: {host: n2, device: 0, address: 10.0.0.11}
      options: {size_bytes: 2097152, duration_s: 5}
      context: {round: 1, rail: 0}
      samples:
        - {size_bytes: 2097152, iterations: 55640, bandwidth_gbit_s: 195.98}
      command: [hccn_tool, -i, "0", -roce_test, ib_write_bw, -s, "2097152", -D, "5", address, 10.0.0.11, -tcp]
      started_at: "2026-01-04T10:00:00.000Z"
      duration_s: 12.1
not_returned:
  description: Numbers of pairs by status that are in the journal only, since a result has 256 kB at the most.
  returned: when there are any
  type: dict
odd_lines:
  description: Number of lines in the journal that are not as M(hccn.cluster.rdma_perf) writes them. They are left out, with a warning.
  returned: when there are any
  type: int
commands:
  description: The command lines that this host would run, servers and clients, in the order of the plan.
  returned: in check mode
  type: list
  elements: list
error:
  description: Why the run failed as a whole, with C(code), C(message) and C(hint).
  returned: when it did
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device.device_session import ALLOW_BUSY, options
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import request, session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import DEFAULT_STATE_DIR
from ansible_collections.hccn.cluster.plugins.module_utils._perf import roce_test_tool


def main() -> None:
    spec = options(
        "any",
        run_id={"type": "str", "required": True},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        plan={"type": "dict"},
        host={"type": "str"},
        key={"type": "str", "no_log": True},
        tool={"type": "str", "choices": list(request.TOOLS), "default": request.ROCE_TEST},
        rdma_device={"type": "str", "default": request.AUTO},
        cpu_governor={"type": "str", "choices": ["keep", "performance"], "default": "keep"},
        bidirectional={"type": "bool", "default": False},
        resume={"type": "str"},
        reporters={"type": "list", "elements": "str", "default": []},
        context={"type": "dict", "options": {
            "product": {"type": "str"}, "driver": {"type": "str"}, "firmware": {"type": "str"}, "leaf": {"type": "raw"},
            "line_rate_gbit_s": {"type": "raw"}}},
        root={"type": "path", "default": "/"},
        operation={"type": "str", "choices": list(roce_test_tool.OPERATIONS), "default": "write"},
        measure={"type": "str", "choices": list(roce_test_tool.MEASURES), "default": "bandwidth"},
        size={"type": "str"},
        iterations={"type": "int"},
        duration={"type": "int"},
        qps={"type": "int"},
        mtu={"type": "int", "choices": list(roce_test_tool.MTUS)},
        gid_index={"type": "int"},
        traffic_class={"type": "int"},
        parallel={"type": "str", "choices": ["rails", "none"], "default": "rails"},
        server_start_delay={"type": "float", "default": roce_test_tool.SERVER_START_SECONDS},
        pair_timeout={"type": "float", "default": 60},
        meeting_timeout={"type": "float", "default": 120},
        wait={"type": "bool", "default": True},
        state_dir={"type": "path", "default": DEFAULT_STATE_DIR},
        purge={"type": "bool", "default": False},
        allow_busy=ALLOW_BUSY,
    )
    module = AnsibleModule(argument_spec=spec, required_if=[("state", "present", ("plan", "host", "key"))], supports_check_mode=True)
    try:
        result = session.perform(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), run_id=module.params["run_id"], measurements=[])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
