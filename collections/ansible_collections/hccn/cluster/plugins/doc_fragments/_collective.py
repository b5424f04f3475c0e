# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that measure a collective, independent of the tool."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  host_names:
    description:
      - Names of the hosts in the record, one for each of O(hosts) in the same order, or one name if O(hosts) is empty.
      - Use the names of the inventory, so that history and report can assign the results. By default O(hosts), or the name of this host.
    type: list
    elements: str
    default: []
  iterations:
    description:
      - Number of measured iterations. The time of a size is their mean.
    type: int
    default: 20
  mpirun:
    description:
      - Name or path of C(mpirun). A bare name is looked up in C(PATH), then in C(/usr/local/mpich/bin) and C(/usr/local/openmpi/bin).
      - MPICH and Open MPI are distinguished by C(mpirun --version).
    type: str
    default: mpirun
  timeout:
    description:
      - Maximum duration of the collective in seconds. After that, the ranks are probed on all of O(hosts), so that the error names a host that hangs.
        C(mpirun) ends the ranks on all hosts 8 seconds later. If it does not, it is killed after another 15 seconds.
      - O(check_hosts) may take up to 70 seconds before that.
    type: int
    default: 600
  check_hosts:
    description:
      - Check O(hosts) first. Each must accept a login by C(ssh) within 5 seconds, otherwise the error names the host and the reason, while MPICH alone
        would wait until O(timeout). Then C(mpirun) starts C(printenv) on the hosts, to check that every host starts the requested number of processes.
      - The logins use the same program and options as C(mpirun), which are set by E(HYDRA_LAUNCHER_EXEC), E(HYDRA_LAUNCHER_EXTRA_ARGS),
        E(OMPI_MCA_plm_rsh_agent) and E(OMPI_MCA_plm_rsh_args). They are not checked if C(mpirun) starts ranks by a batch system.
    type: bool
    default: true
  run_id:
    description:
      - The first part of the id of the record. All records of a run have the same.
      - By default generated from the time and a random number.
    type: str
  attempt:
    description:
      - The last part of the id of the record. It distinguishes runs of the same operation with the same O(run_id).
    type: int
    default: 1
  groups:
    description:
      - The groups of O(hosts) to measure. Each group has its own record, with the group in C(context.group).
      - V(all) is one run over all hosts. It is always measured, as the first group.
      - V(scaling) also measures the first 2, 4, 8, ... hosts.
      - V(rails) also measures one device of each host at a time, the first device of all hosts, then the second, and so on, with one rank per host.
      - If a group fails, the following groups are not measured.
    type: list
    elements: str
    choices: [all, scaling, rails]
    default: [all]
  isolate:
    description:
      - Search for the hosts that make a slow collective slow. The search measures groups of half of the hosts, then parts of the slow half, filled up with
        hosts that are known to be good to groups of the same size, until it finds the smallest set that is slow with good partners. Only the largest of
        O(sizes) is measured.
      - The search measures about two groups for each doubling of the number of hosts. Use it if every pair of hosts is known to be good, since
        P(hccn.cluster.check_fabric#role) finds a bad link faster.
    type: bool
    default: false
  floor_gbyte_s:
    description:
      - Bus bandwidth in 10^9 bytes per second at the largest size, below which a group is slow. It also applies to a log.
    type: float
  relative_floor:
    description:
      - Without O(floor_gbyte_s), the share of the best group's bus bandwidth below which a group is slow. The other groups are those of O(groups), and with
        O(isolate) the first two and the last two hosts. Devices of V(rails) are compared with their median.
    type: float
    default: 0.7
  isolate_budget:
    description:
      - Maximum number of groups that O(isolate) may measure in its search. The result then contains what was found so far.
    type: int
    default: 40
  ssh_identity:
    description:
      - Path of the private key on this host for the logins to O(hosts). No other key is used. M(hccn.cluster.ssh_trust) creates a key for a single run.
      - By default the keys that C(ssh) uses itself.
    type: path
  ssh_known_hosts:
    description:
      - Lines in the format of C(known_hosts) with the host keys of O(hosts). No other host keys are accepted.
    type: list
    elements: str
    default: []
"""
