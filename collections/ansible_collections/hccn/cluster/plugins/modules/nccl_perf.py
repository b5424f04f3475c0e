#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of nccl_perf; the logic is in module_utils/_perf."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_perf
short_description: Measure an NCCL collective over one host or over several
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Runs a program of C(nccl-tests) with C(mpirun) over the GPUs of one or several hosts, and returns its measurements as one record, in
    the form of M(hccn.cluster.hccl_perf).
  - A run is only good if there is one row for every size and the summary after them, every result that the program checks was correct, the requested number
    of ranks took part, and the output contains no error. The status is not sufficient, since the program also exits with 0 for an unknown option.
  - The output of releases 2.9 to 2.20 is supported. The values of a sample are those out of place, and its C(in_place) contains those in place.
  - Bandwidth is in 10^9 bytes per second as printed. Below 10, where two decimals are not precise enough, it is computed from size and time. The bus bandwidth
    is the algorithm bandwidth times a factor. With n ranks, the factor is 2(n-1)/n for V(all_reduce), 1 for V(broadcast), V(reduce), V(sendrecv) and
    V(hypercube), and (n-1)/n for all others.
  - If results were wrong, C(nccl-tests) prints the sum over all ranks, and all ranks print the same line. So the host is named (in C(suspects) of C(context) of
    the record) only if a single host took part. M(hccn.cluster.hccl_perf) always names it, since each rank of C(hccl_test) reports its own results.
    With several hosts, repeat the run with fewer hosts to find the faulty one.
  - No process remains, neither after a failure nor if the module itself is killed.
  - C(mpirun) logs in to the other hosts by C(ssh). The user of this task must be able to log in to them by key, without a password.
    M(hccn.cluster.ssh_trust) sets this up for a single run.
  - The parser was tested with published output and the source of C(nccl-tests), the start of the ranks with a real MPICH and a simulator of the programs.
    The module was not tested on GPUs.
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
      - Only C(mpirun --version) is run. RV(command) and RV(hostfile) are what would be run and used.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: N/A
    details:
      - Every call measures again, and never reports a change.
options:
  operation:
    description:
      - The collective to measure. V(all_reduce) is the program C(all_reduce_perf), and so on. V(alltoallv) needs 2.19 or newer.
    type: str
    default: all_reduce
    choices: [all_reduce, all_gather, broadcast, reduce, reduce_scatter, alltoall, alltoallv, gather, scatter, sendrecv, hypercube]
  hosts:
    description:
      - The hosts in rank order, as addresses or names to which C(mpirun) logs in. MPICH accepts names and IPv4 addresses only.
      - If empty, the collective runs on this host only, without C(ssh). With O(log), hosts and ranks are then those that the log lists.
    type: list
    elements: str
    default: []
  ranks_per_host:
    description:
      - Number of ranks, and so of GPUs, on each host.
    type: int
    default: 8
  gpus_per_process:
    description:
      - Number of GPUs per process, the option C(-g) of the program. It must divide O(ranks_per_host).
      - With V(1) there is one process per GPU. With the value of O(ranks_per_host) there is one process per host.
    type: int
    default: 1
  sizes:
    description:
      - The sizes to measure. Each is O(sizes.factor) times the previous one.
      - For all operations except V(all_reduce), V(broadcast), V(reduce) and V(sendrecv), the program rounds sizes down to a multiple of the number of ranks.
      - With O(log), a log is complete by default if it has a summary, which the program prints after the last size.
    type: dict
    suboptions:
      begin:
        description:
          - The smallest size, in bytes or with V(K), V(M) or V(G).
        type: str
        default: 32M
      end:
        description:
          - The largest size. The last measured size is the largest one that does not exceed it.
        type: str
        default: 512M
      factor:
        description:
          - The factor from one size to the next, 2 or more.
        type: int
        default: 2
  warmup:
    description:
      - Number of iterations before the measured ones.
    type: int
    default: 5
  data_type:
    description:
      - Data type of the elements. The supported types depend on the releases of NCCL and CUDA.
    type: str
    default: float
    choices: [int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, f8e5m2]
  reduction:
    description:
      - The reduction of V(all_reduce), V(reduce) and V(reduce_scatter). Any other than V(sum) is refused for operations without a reduction.
    type: str
    default: sum
    choices: [sum, prod, max, min, avg]
  root:
    description:
      - The root rank of V(broadcast), V(reduce), V(gather) and V(scatter). Any other than V(0) is refused for the other operations.
    type: int
    default: 0
  check:
    description:
      - Verify the result of every size. The program does not verify V(alltoall), V(alltoallv) and V(sendrecv) in place.
    type: bool
    default: true
  nccl_tests_dir:
    description:
      - The folder of C(nccl-tests), which contains C(build/all_reduce_perf) or C(all_reduce_perf), and the other programs.
      - An absolute path.
      - By default the program is searched for in C(PATH), then in C(/opt/nccl-tests), C(/opt/nccl_tests) and C(/usr/local/nccl-tests) of this host.
    type: path
  environment:
    description:
      - Environment variables for C(mpirun) and the ranks. Allowed are names that begin with C(NCCL_), C(CUDA_), C(UCX_), C(FI_), C(HYDRA_), C(MPICH_),
        C(MPIR_), C(OMPI_), C(PMIX_) or C(PRTE_), and C(PATH) and C(LD_LIBRARY_PATH).
      - The record only contains variables that begin with C(NCCL_).
      - A cluster with RoCE usually needs C(NCCL_SOCKET_IFNAME), the interface by which the ranks find each other, C(NCCL_IB_HCA), the
        RDMA devices to use (C(^mlx5_8) selects all others), C(NCCL_IB_GID_INDEX), the index of the RoCE v2 address, C(NCCL_IB_TC), the
        lossless traffic class of the switches, C(NCCL_IB_QPS_PER_CONNECTION), the number of queue pairs of each connection, for switches that
        balance load by flow, and C(NCCL_ALGO), to restrict NCCL to one algorithm such as C(Ring).
      - C(NCCL_DEBUG=INFO) adds many lines for each rank, which the parser ignores. With C(NCCL_TESTS_MIN_BW), a run fails
        if its average bus bandwidth is below 90 % of the value.
      - Options of Open MPI are set by variables. C(OMPI_MCA_pml=ob1), C(OMPI_MCA_btl=^openib), C(OMPI_MCA_btl_tcp_if_include=bond0) and
        C(OMPI_MCA_coll_hcoll_enable=0) prevent that MPI itself uses the RDMA devices. C(OMPI_MCA_hwloc_base_binding_policy=none) and
        C(OMPI_MCA_rmaps_base_mapping_policy=slot) correspond to C(-bind-to none -map-by slot).
    type: dict
    default: {}
  nvidia_smi:
    description:
      - Name or path of C(nvidia-smi).
    type: str
    default: nvidia-smi
  allow_busy:
    description:
      - Run even if C(nvidia-smi) reports a compute process on a GPU of this host, or cannot report this. With V(false), the
        run is not started then. A host without C(nvidia-smi), on which only C(mpirun) is started, is not checked.
      - The module does not check the GPUs of the other hosts.
    type: bool
    default: false
  log:
    description:
      - File with the output of C(nccl-tests) to judge, instead of running it. It may contain standard output and standard error.
      - A file written by the option C(-J) of C(nccl-tests) 2.17.3 or newer is also accepted. It contains the whole environment of that run, which is
        not included in the record.
      - Set O(operation) to that of the run. O(hosts) and O(ranks_per_host) are needed if the log does not list its devices.
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
  description: A list with the record of this run, which is empty in check mode. Also returned if the module fails.
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
      description: V(ok), V(failed), or V(not_run) if the ranks could not be started.
      type: str
      sample: ok
    hosts:
      description: The hosts that took part, in rank order.
      type: list
      elements: str
      sample: [10.10.130.22, 10.10.130.21]
    ranks:
      description: Number of ranks, which is the number of GPUs.
      type: int
      sample: 16
    samples:
      description: One entry per size, also for a run that failed later. RV(measurements[].samples[].wrong) is only present if values were wrong.
      type: list
      elements: dict
      contains:
        wrong:
          description: Number of wrong values.
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
      description: The error. RV(measurements[].error.code) is stable.
      type: dict
      contains:
        origin:
          description:
            - Who failed. V(launcher) is C(mpirun) with its daemons, options and host file; V(ssh) the login to a host; V(program) the program that was started;
              V(rank) one of its processes; V(host) a host, its network or its limits; V(time) that the run was ended from outside or by its time limit. The
              hosts are in C(suspects) of C(context), if the output names them.
          type: str
          sample: ssh
        code:
          description: Machine-readable code of the error.
          type: str
          sample: nccl_system_error
        message:
          description: The error message of the tool.
          type: str
          sample: "node-1: Test NCCL failure common.cu:777 'unhandled system error'"
        hint:
          description: What to do.
          type: str
          sample: the host is down, its sshd is not running, or a firewall blocks the connection
    options:
      description: The options that are relevant for comparisons, and the C(NCCL_) variables.
      type: dict
      sample: {begin_bytes: 33554432, end_bytes: 536870912, factor: 2, iterations: 20, warmup: 5, data_type: float, reduction: sum}
slow:
  description: Whether the collective over all hosts, or one of its rails, is slow.
  returned: with O(groups), O(isolate) or O(floor_gbyte_s), if all groups were measured
  type: bool
  sample: true
limit_gbyte_s:
  description: The bus bandwidth below which a group is slow.
  returned: if there is a limit
  type: float
  sample: 120.4
findings:
  description: The causes of a slow collective, each also as a record of the kind C(finding).
  returned: as RV(slow)
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(group) for hosts that make groups of good hosts slow, V(rail) for the same device of all hosts, V(size) if the number of hosts alone is the cause,
          V(everywhere) if all groups are slow, V(too_few) if there are too few hosts to distinguish them.
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
      description: Groups that support the finding, with their bus bandwidth.
      type: list
      elements: str
      sample: ["slow over node1, node5: 61.2 GB/s", "good over node1, node2, node3, node4: 172 GB/s"]
    device:
      description: The device of a finding about a rail.
      type: int
      sample: 3
    stopped:
      description: Why the search ended before it found the smallest set.
      type: str
command:
  description: The command line that was run or would be run. Absent with O(log).
  returned: if the tools were found
  type: list
  elements: str
  sample: [/usr/bin/mpirun, -n, "8", /opt/nccl-tests/build/all_reduce_perf, -b, 32M]
hostfile:
  description: Content of the host file that would be used, empty without O(hosts).
  returned: in check mode
  type: str
  sample: "10.10.130.22:8\n10.10.130.21:8\n"
hint:
  description: What to do about invalid options.
  returned: if options are invalid or, in check mode, a tool is missing
  type: str
  sample: write 8K, 64M or 1048576
output:
  description: The end of the output of the program, at most 8000 characters.
  returned: if the run failed
  type: str
  sample: "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: 20 ...\n"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective, collective_call
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import DATA_TYPES, NCCL_TESTS, OPERATIONS, REDUCTIONS, NcclOptions


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
