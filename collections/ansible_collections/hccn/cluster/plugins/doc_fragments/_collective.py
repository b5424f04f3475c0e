# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that measure a collective, whatever the tool."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  host_names:
    description:
      - Names of the hosts in the record, one for each of O(hosts) in the same order. One name if O(hosts) is empty.
      - Use the names of the inventory, so that history and report can assign the result to its hosts. By default O(hosts), or the name of this host.
    type: list
    elements: str
    default: []
  iterations:
    description:
      - Number of timed iterations for each size. The reported time is their mean.
    type: int
    default: 20
  mpirun:
    description:
      - Name or path of C(mpirun). A bare name is looked up in C(PATH), then in C(/usr/local/mpich/bin) and C(/usr/local/openmpi/bin).
      - MPICH and Open MPI are distinguished by the output of C(mpirun --version).
    type: str
    default: mpirun
  timeout:
    description:
      - Timeout of the collective in seconds. When it expires, the state of the ranks on all O(hosts) is queried, so that the error names a host that
        hangs. C(mpirun) ends the ranks on all hosts 8 seconds later. If it does not, it is killed after 15 more seconds.
      - O(check_hosts) may take up to 70 seconds before that.
    type: int
    default: 600
  check_hosts:
    description:
      - Whether to check O(hosts) first. Each host must accept a login by C(ssh) within 5 seconds. The error names the hosts that do not, with the reason,
        while MPICH would wait until O(timeout). Then C(mpirun) starts C(printenv) on the hosts, to check that every host starts its processes and that
        they run on the requested hosts.
      - The logins are made in the same way as by C(mpirun), with the program and options of E(HYDRA_LAUNCHER_EXEC), E(HYDRA_LAUNCHER_EXTRA_ARGS),
        E(OMPI_MCA_plm_rsh_agent) and E(OMPI_MCA_plm_rsh_args). No login is made if C(mpirun) starts the ranks by a batch system.
    type: bool
    default: true
  run_id:
    description:
      - First part of the record's id, which the records of one run share.
      - By default it is made of the time and a random number.
    type: str
  attempt:
    description:
      - Last part of the record's id. It distinguishes runs of the same operation with the same O(run_id).
    type: int
    default: 1
  groups:
    description:
      - Groups of O(hosts) to measure. Each group becomes one record and is identified by C(context.group) of the record.
      - V(all) measures all hosts in one run. This run is always made, and made first.
      - V(scaling) also measures the first 2, 4, 8, ... hosts.
      - V(rails) also measures one device of each host at a time, the first device of all hosts, then the second, and so on, with one rank on each host.
      - The measurement stops at the first group that fails.
    type: list
    elements: str
    choices: [all, scaling, rails]
    default: [all]
  isolate:
    description:
      - Whether to search for the hosts that slow the collective down, if it is slow. The search measures groups of half the hosts, then halves of the slow
        half, each filled up to the same size with hosts that are known to be good, until it has found the smallest set that is slow with good partners.
        Only the largest of O(sizes) is measured.
      - The search takes about two groups for each doubling of the number of hosts. Use it when every pair of hosts is known to be good.
        P(hccn.cluster.check_fabric#role) finds a bad link faster.
    type: bool
    default: false
  floor_gbyte_s:
    description:
      - Bus bandwidth in 10^9 bytes per second, at the largest size, below which a group is slow. It also applies to a log.
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
