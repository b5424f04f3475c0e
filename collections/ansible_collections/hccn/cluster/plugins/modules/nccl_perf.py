#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs nccl-tests over one host or over several and judges it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_perf
short_description: Measure an NCCL collective over one host or over several
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Runs one program of C(nccl-tests) by C(mpirun), over the GPUs of this host or of several, and returns what it measured as one record, in
    the shape of M(hccn.cluster.hccl_perf).
  - A run counts as good only when there is one row for every size and the summary after them, every result that the program checks was right, as
    many ranks took part as were asked for, and no error stands in the output. A status of 0 alone proves nothing, since it is also that of an
    option that the program does not know.
  - The output of releases 2.9 to 2.20 is read. A sample's own figures are those of the run out of place, its C(in_place) has the others.
  - Bandwidth is in 10^9 bytes per second, as printed. Below 10, where two decimals say little, it is computed from size and time. The bus bandwidth is the
    algorithm bandwidth times, with n ranks, 2(n-1)/n for V(all_reduce), 1 for V(broadcast), V(reduce), V(sendrecv) and V(hypercube), (n-1)/n
    for all others.
  - Where results were wrong, C(nccl-tests) prints the sum over all ranks, and every rank ends with the same line. So the host is named (in C(suspects) of the
    record's C(context)) only where one host alone took part. M(hccn.cluster.hccl_perf) names it always, since each rank of C(hccl_test) says so itself.
    With more hosts, run once more over fewer of them.
  - Nothing is left running, neither after a failure nor when the module itself is killed.
  - C(mpirun) logs in to the other hosts by C(ssh) itself. The user of this task needs to log in to them by key, without a password.
    M(hccn.cluster.ssh_trust) makes it so for a single run.
  - The parser was checked against published output and C(nccl-tests)' source, the way of starting it against a real MPICH and a stand-in for the programs.
    It was not run on GPUs.
requirements:
  - C(nccl-tests), built with C(MPI=1), at the same path on every host
  - MPICH or Open MPI on every host
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._collective
attributes:
  check_mode:
    support: full
    details:
      - Nothing is run except C(mpirun --version). RV(command) and RV(hostfile) show what would be.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: N/A
    details:
      - Every run measures anew, and never reports a change.
options:
  operation:
    description:
      - The collective. V(all_reduce) is C(all_reduce_perf), and so on. V(alltoallv) came with 2.19.
    type: str
    default: all_reduce
    choices: [all_reduce, all_gather, broadcast, reduce, reduce_scatter, alltoall, alltoallv, gather, scatter, sendrecv, hypercube]
  hosts:
    description:
      - The hosts in rank order, by the addresses or names that C(mpirun) is to log in to. MPICH takes names and IPv4 addresses only.
      - Empty stands for this host alone, without C(ssh). With O(log), the hosts and ranks are those that the log itself lists then.
    type: list
    elements: str
    default: []
  ranks_per_host:
    description:
      - Ranks, and so GPUs, on each host.
    type: int
    default: 8
  gpus_per_process:
    description:
      - GPUs that one process works, the C(-g) of the program. Divides O(ranks_per_host).
      - With V(1) there is one process for each GPU. With the value of O(ranks_per_host) there is one for each host.
    type: int
    default: 1
  sizes:
    description:
      - The sizes to measure. Each is O(sizes.factor) times the one before.
      - For all operations except V(all_reduce), V(broadcast), V(reduce) and V(sendrecv) the program moves sizes down to what divides over the ranks.
      - With O(log), the default is to trust the log's own summary, which is printed after the last size only.
    type: dict
    suboptions:
      begin:
        description:
          - The smallest size, in bytes or with V(K), V(M) or V(G).
        type: str
        default: 32M
      end:
        description:
          - The largest size. The last one measured is the largest that is not above it.
        type: str
        default: 512M
      factor:
        description:
          - The factor from one size to the next, 2 or more.
        type: int
        default: 2
  warmup:
    description:
      - Iterations before these, not measured.
    type: int
    default: 5
  data_type:
    description:
      - Data type of the elements. Which ones there are depends on the releases of NCCL and CUDA.
    type: str
    default: float
    choices: [int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, f8e5m2]
  reduction:
    description:
      - What V(all_reduce), V(reduce) and V(reduce_scatter) do. Without effect on the others.
    type: str
    default: sum
    choices: [sum, prod, max, min, avg]
  root:
    description:
      - The root rank of V(broadcast), V(reduce), V(gather) and V(scatter).
    type: int
    default: 0
  check:
    description:
      - Whether the result of every size is verified. The program itself does not verify V(alltoall), V(alltoallv) and V(sendrecv) in place.
    type: bool
    default: true
  nccl_tests_dir:
    description:
      - The folder of C(nccl-tests), which holds C(build/all_reduce_perf) or C(all_reduce_perf), and the others.
      - An absolute path.
      - By default the program is looked for in C(PATH), then in C(/opt/nccl-tests), C(/opt/nccl_tests) and C(/usr/local/nccl-tests) of this host.
    type: path
  environment:
    description:
      - Variables for C(mpirun) and for the ranks. Names that begin with C(NCCL_), C(CUDA_), C(UCX_), C(FI_), C(HYDRA_), C(MPICH_), C(MPIR_), C(OMPI_), C(PMIX_)
        or C(PRTE_), and C(PATH) and C(LD_LIBRARY_PATH).
      - Only those that begin with C(NCCL_) are kept in the record.
      - What a cluster over RoCE usually needs is C(NCCL_SOCKET_IFNAME), the interface by which the ranks find each other, C(NCCL_IB_HCA), the
        RDMA devices to use (C(^mlx5_8) stands for all but that one), C(NCCL_IB_GID_INDEX), the index of the RoCE v2 address, C(NCCL_IB_TC), the
        traffic class that the switches carry without loss, C(NCCL_IB_QPS_PER_CONNECTION), the queue pairs of each connection, for switches that
        spread by flow, and C(NCCL_ALGO), to hold NCCL to one algorithm such as C(Ring).
      - C(NCCL_DEBUG=INFO) adds many lines for each rank, which are left out when the table is read. C(NCCL_TESTS_MIN_BW) makes a run
        fail whose average bus bandwidth is below 90 % of it.
      - The settings of Open MPI have names of their own. C(OMPI_MCA_pml=ob1), C(OMPI_MCA_btl=^openib), C(OMPI_MCA_btl_tcp_if_include=bond0) and
        C(OMPI_MCA_coll_hcoll_enable=0) keep MPI itself off the RDMA devices, C(OMPI_MCA_hwloc_base_binding_policy=none) and
        C(OMPI_MCA_rmaps_base_mapping_policy=slot) are C(-bind-to none -map-by slot).
    type: dict
    default: {}
  nvidia_smi:
    description:
      - Name or path of C(nvidia-smi).
    type: str
    default: nvidia-smi
  allow_busy:
    description:
      - Whether to run although C(nvidia-smi) shows a process that computes on a GPU of this host, or cannot tell. With V(false) the
        run is not started then. A host without C(nvidia-smi), from which only C(mpirun) is started, has no GPU to ask.
      - The GPUs of the other hosts are not looked at.
    type: bool
    default: false
  log:
    description:
      - Judge this output of C(nccl-tests) instead of running it. Standard output and standard error may both be in it.
      - A file that the option C(-J) of C(nccl-tests) 2.17.3 or newer wrote is taken, too. It holds the whole environment of that run, of which
        nothing comes into the record.
      - O(operation) says what was run. O(hosts) and O(ranks_per_host) are needed where the log does not list its devices.
    type: path
seealso:
  - module: hccn.cluster.ssh_trust
  - module: hccn.cluster.hccl_perf
  - plugin: hccn.cluster.volcano_job
    plugin_type: filter
  - plugin: hccn.cluster.mpi_job
    plugin_type: filter
"""

EXAMPLES = r"""
# mpirun -n 8 all_reduce_perf -b 32M -e 512M -f 2 -g 1 -d float -o sum -n 20 -w 5 -c 1
- name: Measure all_reduce over the eight GPUs of this host
  hccn.cluster.nccl_perf:

# mpirun -f hostfile -n 2 timeout -s KILL 660 all_reduce_perf -b 32M -e 512M -f 2 -g 2 ...
- name: Measure all_reduce over two hosts, one process with two GPUs on each
  hccn.cluster.nccl_perf:
    hosts: [10.10.130.22, 10.10.130.21]
    ranks_per_host: 2
    gpus_per_process: 2

- name: Measure large buffers over RoCE, tuned
  hccn.cluster.nccl_perf:
    hosts: "{{ groups['gpu'] | map('extract', hostvars, 'ansible_host') | list }}"
    host_names: "{{ groups['gpu'] }}"
    sizes:
      begin: 32M
      end: 8G
    timeout: 1800
    environment:
      NCCL_SOCKET_IFNAME: bond0
      NCCL_IB_HCA: "^mlx5_8"
      NCCL_IB_GID_INDEX: "3"
      NCCL_IB_TC: "128"
      NCCL_IB_QPS_PER_CONNECTION: "8"
      NCCL_ALGO: Ring
      OMPI_MCA_pml: ob1
      OMPI_MCA_btl: "^openib"
      OMPI_MCA_btl_tcp_if_include: bond0
      OMPI_MCA_coll_hcoll_enable: "0"
      OMPI_MCA_hwloc_base_binding_policy: none
      OMPI_MCA_rmaps_base_mapping_policy: slot
  run_once: true
  register: collective

- name: Show the bus bandwidth of the largest size
  ansible.builtin.debug:
    msg: "{{ collective.measurements[0].samples[-1].busbw_gbyte_s }} GB/s"

- name: Judge the log of a Kubernetes job
  hccn.cluster.nccl_perf:
    log: /var/log/nccl-job.log
"""

RETURN = r"""
measurements:
  description: The record of this run, as a list of one. In check mode the list is empty. Also returned when the module fails.
  returned: success and failure, except for invalid options
  type: list
  elements: dict
  contains:
    id:
      description: Run id, C(collective), operation and attempt, joined by slashes.
      type: str
      sample: 20260102T030405Z-1a2b3c4d/collective/all_reduce/1
    kind:
      description: Always V(collective).
      type: str
      sample: collective
    status:
      description: V(ok), V(failed), or V(not_run) when the ranks could not be started at all.
      type: str
      sample: ok
    hosts:
      description: The hosts that took part, in rank order.
      type: list
      elements: str
      sample: [10.10.130.22, 10.10.130.21]
    ranks:
      description: Number of ranks, which is that of the GPUs.
      type: int
      sample: 16
    samples:
      description: One entry per size, also of a run that failed later. RV(measurements[].samples[].wrong) is there only where values arrived wrong.
      type: list
      elements: dict
      contains:
        wrong:
          description: How many values arrived wrong.
          type: int
          sample: 50
      sample:
        - size_bytes: 1073741824
          iterations: 20
          time_us: 4478.8
          algbw_gbyte_s: 239.74
          busbw_gbyte_s: 449.51
          check: success
          in_place: {time_us: 4463.7, algbw_gbyte_s: 240.55, busbw_gbyte_s: 451.03, check: success}
    error:
      description: What was wrong. RV(measurements[].error.code) is stable.
      type: dict
      contains:
        code:
          description: A word for programs.
          type: str
          sample: nccl_system_error
        message:
          description: What the tool said.
          type: str
          sample: "node-1: Test NCCL failure common.cu:777 'unhandled system error'"
        hint:
          description: What to do.
          type: str
          sample: the host is down, its sshd is not running, or a firewall blocks the connection
    options:
      description: The options that matter for comparing, and the C(NCCL_) variables.
      type: dict
      sample: {begin_bytes: 33554432, end_bytes: 536870912, factor: 2, iterations: 20, warmup: 5, data_type: float, reduction: sum}
slow:
  description: Whether the collective over all hosts, or one of its rails, is slow.
  returned: with O(groups), O(isolate) or O(floor_gbyte_s), when all groups were measured
  type: bool
  sample: true
limit_gbyte_s:
  description: The bus bandwidth below which a group is slow.
  returned: when there is one
  type: float
  sample: 120.4
findings:
  description: What makes it slow, each also as a record of the kind C(finding).
  returned: as RV(slow)
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(group) for hosts that make good ones slow, and V(rail) for a device of all hosts. V(size) says that it is their number alone, V(everywhere) that all
          groups are slow, V(too_few) that there are too few hosts to tell them apart.
      type: str
      sample: group
    hosts:
      description: The hosts.
      type: list
      elements: str
      sample: [node5]
    message:
      description: The finding in one sentence.
      type: str
      sample: "node5: groups with it are slow, other groups are good"
    evidence:
      description: Groups that show it, with their bus bandwidth.
      type: list
      elements: str
      sample: ["slow over node1, node5: 61.2 GB/s", "good over node1, node2, node3, node4: 172 GB/s"]
    device:
      description: The device, of a rail.
      type: int
      sample: 3
    stopped:
      description: Why the search ended before it came to the smallest set.
      type: str
command:
  description: The command line that was run, or would be. Absent with O(log).
  returned: when it could be made
  type: list
  elements: str
  sample: [/usr/bin/mpirun, -n, "8", /opt/nccl-tests/build/all_reduce_perf, -b, 32M]
hostfile:
  description: Content of the host file that would be used. Empty without O(hosts).
  returned: in check mode
  type: str
  sample: "10.10.130.22:8\n10.10.130.21:8\n"
hint:
  description: What to do about invalid options.
  returned: when options are invalid or, in check mode, a tool is missing
  type: str
  sample: write 8K, 64M or 1048576
output:
  description: The end of the program's output, at most 8000 characters.
  returned: when the run was not good
  type: str
  sample: "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: 20 ...\n"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective, collective_call
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import DATA_TYPES, OPERATIONS, REDUCTIONS, NcclOptions


def argument_spec() -> dict:
    return collective_call.argument_spec(
        OPERATIONS, DATA_TYPES, REDUCTIONS, {"begin": "32M", "end": "512M", "warmup": 5, "data_type": "float"},
        gpus_per_process={"type": "int", "default": 1}, nccl_tests_dir={"type": "path"}, nvidia_smi={"type": "str", "default": "nvidia-smi"},
    )


def request(params: dict) -> collective.Request:
    return collective.Request(
        options=NcclOptions(**collective_call.tool_options(params, "gpus_per_process")), folder=params["nccl_tests_dir"] or "",
        smi=params["nvidia_smi"], tool=NCCL_TESTS, **collective_call.request_fields(params))


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    collective_call.call(module, request(module.params))


if __name__ == "__main__":
    main()
