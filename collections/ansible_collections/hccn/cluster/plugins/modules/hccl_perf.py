#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of hccl_perf; the logic is in module_utils/_perf."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hccl_perf
short_description: Measure an HCCL collective over one host or over several
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Runs a program of C(hccl_test) with C(mpirun) over the NPUs of one or several hosts, and returns its measurements as one record.
  - The exit status of C(hccl_test) is 0 even for failed communicators, failed collectives and wrong results. A run is only good if there is one row for
    every size, every result was checked and correct on every rank, and the output contains no error.
  - Bandwidth is computed from size and time, in 10^9 bytes per second, since old builds print GiB/s under the heading GB/s.
    The bus bandwidth is the algorithm bandwidth times the factor of C(nccl-tests), so that the values of both tools are comparable. With n ranks, the factor is
    2(n-1)/n for V(all_reduce), 1 for V(broadcast) and V(reduce), and (n-1)/n for all others.
  - The manual of C(hccl_test) requires limits of 65535 for many ranks (open files, C(net.core.somaxconn), C(net.ipv4.tcp_max_syn_backlog)). The limits are
    read when the logins are checked before the run, and hosts with lower limits are named in a warning.
  - No process remains, neither after a failure nor if the module itself is killed.
  - C(mpirun) logs in to the other hosts by C(ssh). The user of this task must be able to log in to them by key, without a password.
    M(hccn.cluster.ssh_trust) sets this up for a single run.
requirements:
  - C(hccl_test) built at the same path on every host
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
      - The collective to measure. V(all_reduce) is the program C(all_reduce_test), and so on.
    type: str
    default: all_reduce
    choices:
      - all_reduce
      - all_gather
      - all_gatherv
      - broadcast
      - reduce
      - reduce_scatter
      - reduce_scatterv
      - scatter
      - alltoall
      - alltoallv
      - alltoallvc
  hosts:
    description:
      - The hosts in rank order, as addresses or names to which C(mpirun) logs in. MPICH accepts names and IPv4 addresses only.
      - If empty, the collective runs on this host only, without C(ssh).
      - On Atlas A3, the hosts of one super pod must be adjacent in the list.
    type: list
    elements: str
    default: []
  ranks_per_host:
    description:
      - Number of ranks, and so of NPUs, on each host. It is passed to the program as C(-p).
    type: int
    default: 8
  sizes:
    description:
      - The sizes to measure. Each is O(sizes.factor) times the previous one.
      - The size of V(all_gather), V(reduce_scatter) and V(scatter) is the total size of the parts of all ranks.
        For all operations except V(all_reduce), V(broadcast) and V(reduce), the program rounds sizes down to a multiple of the number of ranks.
      - With O(log), the default are the sizes in the first lines of the log.
    type: dict
    suboptions:
      begin:
        description:
          - The smallest size, in bytes or with V(K), V(M) or V(G).
        type: str
        default: 8K
      end:
        description:
          - The largest size. The last measured size is the largest one that does not exceed it.
        type: str
        default: 64M
      factor:
        description:
          - The factor from one size to the next, 2 or more.
        type: int
        default: 2
  warmup:
    description:
      - Number of iterations before the measured ones.
    type: int
    default: 10
  data_type:
    description:
      - Data type of the elements. The supported types depend on the product.
    type: str
    default: fp32
    choices: [int8, int16, int32, fp16, fp32, int64, uint64, uint8, uint16, uint32, fp64, bfp16, int128, hif8, fp8e4m3, fp8e5m2, fp8e8m0]
  reduction:
    description:
      - The reduction of the reducing operations. Any other than V(sum) is refused for operations without a reduction.
    type: str
    default: sum
    choices: [sum, prod, max, min]
  root:
    description:
      - The root rank of V(broadcast), V(reduce) and V(scatter). For all operations, this rank prints the table.
    type: int
    default: 0
  check:
    description:
      - Verify the result of every size on every rank.
      - If the program cannot verify a result because the numbers would overflow, the run is good, and the module returns a warning.
    type: bool
    default: true
  hccl_test_dir:
    description:
      - The folder of C(hccl_test), which contains C(bin/all_reduce_test) and the other programs, as an absolute path. It is the working directory of the
        programs.
      - By default the first of C($ASCEND_HOME_PATH/tools/hccl_test), C(/usr/local/Ascend/cann/tools/hccl_test) and
        C(/usr/local/Ascend/ascend-toolkit/latest/tools/hccl_test) that contains the program on this host.
    type: path
  environment:
    description:
      - Environment variables for C(mpirun) and the ranks. Allowed are names that begin with C(HCCL_), C(ASCEND_), C(UCX_), C(FI_), C(HYDRA_), C(MPICH_),
        C(MPIR_), C(OMPI_), C(PMIX_) or C(PRTE_), and C(PATH) and C(LD_LIBRARY_PATH).
      - The C(lib) folders of MPI, CANN and the driver are appended to C(LD_LIBRARY_PATH) if they exist on this host.
      - The record only contains variables that begin with C(HCCL_).
    type: dict
    default: {}
  npu_smi:
    description:
      - Name or path of C(npu-smi). A bare name is looked up in C(PATH), then in C(/usr/local/sbin) and C(/usr/local/bin).
    type: str
    default: npu-smi
  allow_busy:
    description:
      - Run even if C(npu-smi) reports a process on one of the participating NPUs of this host, or cannot report this. With V(false), the
        run is not started then, and the error names device and pid. A host without NPUs, on which only C(mpirun) is started, is not checked.
      - The module does not check the NPUs of the other hosts. The role P(hccn.cluster.check_collective#role) checks the NPUs of all hosts first.
    type: bool
    default: false
  log:
    description:
      - File with the output of C(hccl_test) to judge, instead of running it. It may contain standard output and standard error.
      - Set O(operation), O(hosts) and O(ranks_per_host) to those of the run. They are needed for the bus bandwidth.
    type: path
seealso:
  - module: hccn.cluster.ssh_trust
  - module: hccn.cluster.nccl_perf
  - module: hccn.cluster.rdma_perf
  - plugin: hccn.cluster.volcano_job
    plugin_type: filter
  - plugin: hccn.cluster.mpi_job
    plugin_type: filter
"""

EXAMPLES = r"""
# mpirun -n 8 /usr/local/Ascend/cann/tools/hccl_test/bin/all_reduce_test -p 8 -b 8K -e 64M -f 2 -d fp32 -o sum -n 20 -w 10 -c 1
- name: Measure all_reduce over the eight NPUs of this host
  hccn.cluster.hccl_perf:

# mpirun -f hostfile -n 16 timeout -s KILL 660 .../all_reduce_test -p 8 -b 8K -e 64M -f 2 -d fp32 -o sum ...   with the host file
# 10.10.130.22:8
# 10.10.130.21:8
- name: Measure all_reduce over two hosts
  hccn.cluster.hccl_perf:
    hosts:
      - 10.10.130.22
      - 10.10.130.21
    environment:
      HCCL_SOCKET_IFNAME: "=eth0"
      HCCL_BUFFSIZE: "2048"
  register: collective

- name: Show the bus bandwidth of the largest size
  ansible.builtin.debug:
    msg: "{{ collective.measurements[0].samples[-1].busbw_gbyte_s }} GB/s"

- name: Measure all_gather of larger buffers over all hosts of the group, from its first host
  hccn.cluster.hccl_perf:
    operation: all_gather
    hosts: "{{ groups['npu'] | map('extract', hostvars, 'ansible_host') | list }}"
    sizes:
      begin: 64M
      end: 4G
    mpirun: /usr/local/mpich/bin/mpirun
    environment:
      HYDRA_LAUNCHER_EXTRA_ARGS: "-p 2222"
    timeout: 1800
  run_once: true

- name: Judge the log of a Kubernetes job
  hccn.cluster.hccl_perf:
    log: /var/log/hccl-job.log
    hosts: [node-a, node-b]
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
      description: Number of ranks.
      type: int
      sample: 16
    samples:
      description: One entry per size, also for a run that failed later. Sizes without a measured time have no bandwidth.
      type: list
      elements: dict
      sample:
        - size_bytes: 67108864
          iterations: 20
          time_us: 2630.2
          algbw_gbyte_s: 25.5147
          busbw_gbyte_s: 47.8401
          check: success
    error:
      description: The error. RV(measurements[].error.code) is stable, for example V(hccl_7) for the return code 7 of HCCL, and V(EI0016) for its error number.
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
          sample: host_unreachable
        message:
          description: The error message of the tool.
          type: str
          sample: "ssh: connect to host 10.10.130.21 port 22: No route to host"
        hint:
          description: What to do.
          type: str
          sample: the host is down, its sshd is not running, or a firewall blocks the connection
    options:
      description: The options that are relevant for comparisons, and the C(HCCL_) variables.
      type: dict
      sample: {begin_bytes: 8192, end_bytes: 67108864, factor: 2, iterations: 20, warmup: 10, data_type: fp32, reduction: sum}
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
  sample: [/usr/local/mpich/bin/mpirun, -n, "8", /usr/local/Ascend/cann/tools/hccl_test/bin/all_reduce_test, -p, "8"]
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
  sample: "the minbytes is 8192, maxbytes is 67108864, iters is 20, warmup_iters is 10\n..."
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective, collective_call
from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_test_tool import DATA_TYPES, OPERATIONS, REDUCTIONS
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions


def argument_spec() -> dict:
    return collective_call.argument_spec(
        OPERATIONS, DATA_TYPES, REDUCTIONS, {"begin": "8K", "end": "64M", "warmup": 10, "data_type": "fp32"},
        hccl_test_dir={"type": "path"}, npu_smi={"type": "str", "default": "npu-smi"},
    )


def request(params: dict) -> collective.Request:
    return collective.Request(
        options=CollectiveOptions(**collective_call.tool_options(params)), folder=params["hccl_test_dir"] or "", smi=params["npu_smi"],
        **collective_call.request_fields(params))


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    collective_call.call(module, request(module.params))


if __name__ == "__main__":
    main()
