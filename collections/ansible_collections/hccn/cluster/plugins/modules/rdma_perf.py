#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of rdma_perf; the logic is in module_utils/_fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_perf
short_description: Measure RDMA between the NPUs of this host and other hosts according to a pair plan
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Measures the pairs of a pair plan that concern this host. The filter P(hccn.cluster.pair_plan#filter) makes the plan. Run the module on all hosts of the
    plan with the same plan and key.
  - The hosts coordinate over TCP. A server is started before its client. Both NPUs are reset before and after each test, even if the tool crashed.
    A pair starts when both of its NPUs are free. No host waits for all others.
  - Each pair and the whole run have a deadline. The deadline of a pair is four times its expected duration, and at most O(pair_timeout).
  - A host or NPU that did not answer two partners is suspended, and the hosts inform each other about it. After all other pairs, a host that is known to be
    good tries it again. If it answers, all its pairs are measured, otherwise they are C(not_run) with C(peer_suspended).
  - With O(tool=roce_test), the module checks before each reset and each test whether the NPU is busy, unless O(allow_busy=true). If a job has started on the
    NPU, the pair is C(not_run) with C(device_busy), and the NPU is not reset. The result of the check is valid for one second and for all NPUs of the host,
    so C(npu-smi info) runs at most once a second. Each pair also runs C(hccn_tool -qp_info) once at its responder and twice at its initiator.
  - With O(tool=perftest) and O(tool=iperf3), the module checks the RDMA devices in the same way, with O(tool=iperf3) those that have the addresses in
    O(plan). An RDMA device is busy if a process of the host has its device file open (C(/proc/PID/fd)), or if it has connected queue pairs of a process
    (C(rdma resource), which also shows those of other containers). Queue pairs of the kernel and of C(ibacm) do not count. If the user is not root and
    C(rdma) is not installed, every device is refused.
  - With O(tool=roce_test), the addresses of the NPUs are read again after a failed pair. If an address differs from the plan, another run is changing the
    host, and the pair is C(not_run) with C(address_changed), which is not a failure of its link.
  - A guard in a separate process ends all tools and resets the NPUs if the runner is killed, even by SIGKILL. If the guard is killed, too, the next call on
    the host cleans up.
  - Only one run at a time can measure on a host. If another run is active, the module fails with C(host_in_use), reports which run it is, who started it and
    when, and does not change the host. The lock is in O(state_dir), where other users cannot take it, and is released when the process of the run ends.
    M(hccn.cluster.rdma_perf_info) without a run waits until the host is free.
  - Each result is written to a journal in O(state_dir) at once. M(hccn.cluster.rdma_perf_info) reads it during and after the run.
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
      - Plan and options are checked, and RV(commands) contains the commands that would be run. Nothing is started.
  diff_mode:
    support: N/A
    details:
      - A measurement does not change anything permanently.
  idempotent:
    support: partial
    details:
      - A run is measured once. A O(run_id) that was already used is rejected. O(state=absent) is idempotent.
options:
  run_id:
    description:
      - Name of the run, the same on all hosts and new for each run. It is part of the ids of all measurements.
      - Up to 64 letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  state:
    description:
      - V(present) measures the pairs of the plan.
      - V(absent) ends a run on this host. Its runner and all its tools are killed, and its NPUs are reset. It does nothing if the run has already ended.
        NPUs on which a job has started in the meantime are not reset.
      - If the run is active in another container of the host, whose processes are not visible, V(absent) fails and does not change anything.
    type: str
    choices: [present, absent]
    default: present
  plan:
    description:
      - The pair plan, with C(hosts) and C(rounds), or C(schedule) instead of the rounds. Pairs in C(rounds) that do not concern this host may be
        omitted. The output of P(hccn.cluster.packed_plan#filter), which has a tenth of the size, is also accepted.
      - Required for O(state=present).
      - A pair in C(rounds) may have its own C(options), C(qps) or, except for V(roce_test), C(source_port), to measure a bad pair again on another path
        through the fabric.
      - The path of a pair with its own C(source_port) is traced after its test by a few UDP packets with that source port, the destination port 4791 and
        increasing hop limits. This applies to V(perftest) over RoCE and IPv4, for the bandwidth of C(write) or C(send) in one direction.
    type: dict
  host:
    description:
      - Name of this host in the plan. Use C(inventory_hostname).
      - Required for O(state=present).
    type: str
  key:
    description:
      - Secret of this run, 32 hexadecimal digits, the same on all hosts. Programs without the key cannot take part.
      - Required for O(state=present).
    type: str
  tool:
    description:
      - The tool that measures. V(roce_test) is C(hccn_tool -roce_test), which runs perftest on the NPUs.
      - V(perftest) is linux-rdma/perftest on the RDMA devices of the hosts. V(iperf3) measures TCP between the same addresses, as a baseline.
      - The addresses in O(plan) are those of the NPUs for V(roce_test), and of the RDMA or network devices of the hosts for the other tools.
    type: str
    choices: [roce_test, perftest, iperf3]
    default: roce_test
  rdma_device:
    description:
      - RDMA device of this host for V(perftest), such as V(mlx5_0). By default the device with the address in O(plan). The other tools refuse it.
    type: str
  rdma_port:
    description:
      - Port of the RDMA device for V(perftest), as for C(ib_write_bw -i). By default the port with the address in O(plan). The other tools refuse it.
      - Required if the host has several InfiniBand ports, unless O(rdma_device) names a device with a single port, since no address identifies an
        InfiniBand port.
    type: int
    choices: [1, 2]
  cpu_governor:
    description:
      - V(performance) sets the frequency governor of the CPUs during the run. The old value is restored in any case, at the latest by the next call on the
        host. V(keep) does not change it.
      - On a host without a frequency governor, such as most virtual machines, none is set, and a warning says so.
    type: str
    choices: [keep, performance]
    default: keep
  bidirectional:
    description:
      - Measure bandwidth in both directions at once, and return the sum. Latency cannot be measured so.
    type: bool
    default: false
  resume:
    description:
      - Earlier run to resume, a O(run_id), or V(last) for the run that was started last on the host. Pairs that it measured successfully are not measured
        again; their records are taken over. All other pairs of O(plan) are measured, also those that the plan of the earlier run did not have.
      - A pair is the same if its NPUs and their addresses are the same. The earlier run must have the same options and be at most seven days old, otherwise
        the module fails with the error code C(resume_refused). A host without such a run measures all pairs.
      - Measurements that the earlier run itself took over are measured again if they are older than seven days.
    type: str
  reporters:
    description:
      - Hosts of the plan to which all hosts report their progress, for M(hccn.cluster.fabric_progress). Set the same hosts on all hosts, preferably two in case
        one fails.
      - With O(wait=false), a reporter listens until all hosts have finished, or have been silent for a while. Its host is in use until all hosts that have
        started have finished. After that, the next call on the host ends the reporter.
    type: list
    elements: str
    default: []
  context:
    description:
      - Facts about this host and its devices, for C(context) of the measurements.
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
          - Line rate of all devices in Gbit/s, or a dictionary by device id. A measurement contains the line rate of its slower side.
          - V(perftest) reads it from RDMA devices that are hardware.
        type: raw
  root:
    description:
      - Folder that contains C(sys) and C(proc), such as C(/host) in a container into which those of the host are mounted.
    type: path
    default: /
  operation:
    description:
      - The RDMA operation. For V(iperf3), data flows from the source to the target, with V(read) from the target to the source.
      - V(write) is the default because it reaches the line rate of a healthy link with one queue pair. The data of V(read) is limited by the number of
        outstanding read requests of a queue pair. On an InfiniBand link of 400 Gbit/s, perftest reports 392 Gbit/s for V(write), 391 for V(send) and 329
        for V(read) with one queue pair. Published thresholds refer to V(write). Between NPUs, V(write) and V(read) reach the same bandwidth.
      - Use V(read) with several O(qps) to measure what an application reaches that reads.
    type: str
    choices: [write, read, send]
    default: write
  measure:
    description:
      - The quantity to measure.
    type: str
    choices: [bandwidth, latency]
    default: bandwidth
  size:
    description:
      - Size of a message, in bytes or with V(K), V(M) or V(G) for powers of 1024. V(roce_test) accepts 1 to 874736000 bytes, V(perftest) up to 2147483647,
        V(iperf3) up to 1M.
      - V(all) measures all powers of two from 2 bytes to 8M. V(iperf3) refuses it.
      - The default of the tools is 65536 bytes for bandwidth and 2 bytes for latency.
    type: str
  iterations:
    description:
      - Number of messages of a test for each queue pair. V(roce_test) accepts 5 to 20000, V(perftest) 5 to 100000000. V(iperf3) refuses it. Without this
        option and O(duration), the default of the tool is used.
    type: int
  duration:
    description:
      - Duration of a test in seconds, instead of O(iterations). V(roce_test) accepts 1 to 500, the other tools up to 86400.
    type: int
  qps:
    description:
      - Number of queue pairs, with V(iperf3) of parallel TCP streams. V(roce_test) accepts 1 to 100, V(perftest) up to 16384, V(iperf3) up to 128. Latency is
        measured with one.
    type: int
  mtu:
    description:
      - RDMA MTU of the test. By default the MTU of the port. V(iperf3) refuses it.
    type: int
    choices: [256, 512, 1024, 2048, 4096]
  gid_index:
    description:
      - Index of the GID to use, 0 to 5 with V(roce_test), 0 to 64 with V(perftest). V(iperf3) refuses it. By default V(roce_test) selects a GID, and
        V(perftest) uses the RoCE v2 GID of the address in O(plan), or none on InfiniBand.
    type: int
  traffic_class:
    description:
      - Traffic class of the packets, 0 to 255, which is four times the DSCP value. Use the class that is lossless on the switches. V(iperf3) refuses it.
    type: int
  source_port:
    description:
      - Source port of the packets, so that all measurements of a pair take the same path through the fabric. Without it, the tool or the device chooses a port
        for each test.
      - V(perftest) accepts 49152 to 65535 from release 23.10 on. It sets the flow label from which the driver of the card computes the port.
      - V(iperf3) accepts 1024 to 65535. Parallel streams have the following ports.
      - V(roce_test) refuses it. A port of an NPU, C(roce_port) of M(hccn.cluster.device_network), applies to all its traffic, and C(hccn_tool) keeps it in
        C(hccn.conf). One for a pair of addresses applies to the jobs between them, too. So neither is changed for a measurement.
    type: int
  parallel:
    description:
      - V(rails) measures with all NPUs of a host at the same time, V(none) with one after another. Use the same value on all hosts.
    type: str
    choices: [rails, none]
    default: rails
  server_start_delay:
    description:
      - Seconds between the start of a server and its client for V(roce_test), since the host cannot see when an NPU starts to listen.
        The servers of the other tools are detected when they listen.
      - A client that finds no server is started once more after the same time.
    type: float
    default: 4
  pair_timeout:
    description:
      - Maximum duration of a pair in seconds, from when both of its NPUs are free. By default 60, or twice O(duration), or twice the time that the
        data of the test takes at 10 Gbit/s, whichever is longest.
      - The limit is lower if less time is expected. The expected time follows from O(duration), or from O(size), O(iterations) and O(qps) at 1 Gbit/s, plus
        twice O(server_start_delay). The limit is four times the expected time, and at least 10 seconds.
    type: float
  meeting_timeout:
    description:
      - Seconds from its own start that this host waits for the runners of its partners. After that, it gives them up after a few attempts.
      - It should cover the time that Ansible needs to start the module on all hosts.
    type: float
    default: 120
  wait:
    description:
      - Whether the module waits until this host has measured its pairs, and returns the measurements.
      - With V(false), the runner continues in the background. Use this if there are more hosts than Ansible has forks, since hosts that wait for each
        other must all be running.
      - With V(true), a host that stops answering is only detected by the keepalive of ssh. With other connections, set the keyword C(timeout) of the task.
    type: bool
    default: true
  state_dir:
    description:
      - Folder of the journals, with one folder per run.
    type: path
    default: /var/lib/hccn.cluster
  purge:
    description:
      - With O(state=absent), also remove the journal of the run.
    type: bool
    default: false
  fail_on:
    description:
      - When the module fails, after all pairs were tried. V(any) if a pair failed that this host measures, V(all) if every NPU that measures has
        a failed pair, V(none) never because of failed pairs. All measurements are returned in any case.
    default: any
seealso:
  - module: hccn.cluster.rdma_perf_info
  - module: hccn.cluster.fabric_progress
  - module: hccn.cluster.fabric_verdict
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
notes:
  - The traffic of a test disturbs jobs on the same NPUs. Use hosts without jobs.
  - For each host, O(plan) contains a C(control_address) and a C(control_port), which the other hosts must be able to reach over TCP.
  - Tested with the simulator, whose output is compared with recorded runs of the real C(hccn_tool) front end. Not tested on NPUs yet.
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

- name: Measure the second port of a card with eight queue pairs, 500,000 messages of 64 KiB each
  hccn.cluster.rdma_perf:
    run_id: "{{ run_id }}"
    plan: "{{ plan }}"
    host: "{{ inventory_hostname }}"
    key: "{{ key }}"
    tool: perftest
    rdma_device: mlx5_0
    rdma_port: 2
    size: 64K
    qps: 8
    iterations: 500000

- name: Cancel a run
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
    - V(finished) if this host has measured its pairs, V(running) if the runner continues in the background, V(failed) if the runner failed.
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
    - In C(context), C(failed_end) is the side with the cause of a failure, if it is known, and C(routers) are the addresses of the routers on the path of
      the pair, if it was traced.
    - With more than 200 pairs, rows of kind C(matrix) are returned instead, one for each NPU as source, with the values in the order of C(hosts) and three
      digits each. In addition, there are full records of at most 100 pairs that are not V(ok). C(failed) and C(not_run) of a row contain the other such pairs
      by error code, as indices into C(hosts). The journal on the host contains all records.
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
  description: Number of pairs by status that are in the journal only, since a result is limited to 256 kB.
  returned: when there are any
  type: dict
odd_lines:
  description: Number of malformed lines in the journal, which are ignored with a warning.
  returned: when there are any
  type: int
commands:
  description: Command lines of the servers and clients that this host would run, in the order of the plan.
  returned: in check mode
  type: list
  elements: list
error:
  description: Why the run failed as a whole, with C(code), C(message) and C(hint).
  returned: when the run failed as a whole
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device.device_session import ALLOW_BUSY, options
from ansible_collections.hccn.cluster.plugins.module_utils._fabric import session
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.journal import DEFAULT_STATE_DIR
from ansible_collections.hccn.cluster.plugins.module_utils._perf import perftest_options, roce_test_tool


def main() -> None:
    spec = options(
        "any",
        run_id={"type": "str", "required": True},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        plan={"type": "dict"},
        host={"type": "str"},
        key={"type": "str", "no_log": True},
        tool={"type": "str", "choices": list(perftest_options.TOOLS), "default": perftest_options.ROCE_TEST},
        rdma_device={"type": "str"},
        rdma_port={"type": "int", "choices": [1, 2]},
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
        source_port={"type": "int"},
        parallel={"type": "str", "choices": ["rails", "none"], "default": "rails"},
        server_start_delay={"type": "float", "default": roce_test_tool.SERVER_START_SECONDS},
        pair_timeout={"type": "float"},
        meeting_timeout={"type": "float", "default": 120},
        wait={"type": "bool", "default": True},
        state_dir={"type": "path", "default": DEFAULT_STATE_DIR},
        purge={"type": "bool", "default": False},
        allow_busy=ALLOW_BUSY,
    )
    module = AnsibleModule(argument_spec=spec, required_if=[("state", "present", ("plan", "host", "key"))], supports_check_mode=True)
    # Without the plan, which every host would otherwise send back: 340 KB with 10,000 hosts.
    invocation = {"module_args": {name: value for name, value in module.params.items() if name != "plan"}}
    try:
        result = session.perform(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), run_id=module.params["run_id"], measurements=[], invocation=invocation)
    module.exit_json(invocation=invocation, **result)


if __name__ == "__main__":
    main()
