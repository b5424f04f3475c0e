# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that measure a collective, whatever the tool."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  host_names:
    description:
      - What the record calls the hosts, one name for each of O(hosts) in the same order. One name where O(hosts) is empty.
      - Give the inventory's names, so that history and report know whose result it is. By default O(hosts), or this host's own name.
    type: list
    elements: str
    default: []
  iterations:
    description:
      - Iterations of which a size's time is the mean.
    type: int
    default: 20
  mpirun:
    description:
      - Name or path of C(mpirun). A bare name is looked up in C(PATH), then in C(/usr/local/mpich/bin) and C(/usr/local/openmpi/bin).
      - MPICH and Open MPI are told apart by what C(mpirun --version) says.
    type: str
    default: mpirun
  timeout:
    description:
      - Seconds that the collective may take. With O(hosts), all of them are asked then how their ranks are, so that a host that hangs is named.
        C(mpirun) ends the ranks on all hosts 8 seconds later. If it does not, it is killed after 15 more.
      - O(check_hosts) may take up to 70 seconds before.
    type: int
    default: 600
  check_hosts:
    description:
      - Whether O(hosts) are looked at first. Each has to take a login by C(ssh) within 5 seconds, and those that do not are named with the reason, where MPICH
        would wait until O(timeout). Then C(printenv) is started on them by C(mpirun), to see that every host starts its processes and that they are where
        they were asked for.
      - The logins are made as C(mpirun) makes them, with the program and options that E(HYDRA_LAUNCHER_EXEC), E(HYDRA_LAUNCHER_EXTRA_ARGS),
        E(OMPI_MCA_plm_rsh_agent) and E(OMPI_MCA_plm_rsh_args) name, and not at all where it starts ranks by a batch system.
    type: bool
    default: true
  run_id:
    description:
      - The first part of the record's id. Records of one run share it.
      - By default made of the time and a random number.
    type: str
  attempt:
    description:
      - The last part of the record's id. Tells runs of the same operation with the same O(run_id) apart.
    type: int
    default: 1
  groups:
    description:
      - Which groups of O(hosts) are measured, each as a record of its own. C(context.group) of the record tells them apart.
      - V(all) is one run over all of them, which is made in any case, and first.
      - V(scaling) also measures the first 2, 4, 8, ... of them.
      - V(rails) also measures one device of each host at a time, the first of all hosts, the second, and so on, with one rank a host.
      - The first group that fails ends it.
    type: list
    elements: str
    choices: [all, scaling, rails]
    default: [all]
  isolate:
    description:
      - Whether to search the hosts that make the collective slow, where it is. Groups of half the hosts are measured, then of the slow half, filled up with
        hosts that are proven good to groups of the same size, until the smallest set is found that is slow with good partners. The largest of O(sizes) is
        measured only.
      - It costs about two groups for each doubling of the hosts. Do it where every pair of hosts is known to be good, since a bad link is found
        faster by P(hccn.cluster.check_fabric#role).
    type: bool
    default: false
  floor_gbyte_s:
    description:
      - Bus bandwidth in 10^9 bytes per second, at the largest size, below which a group is slow. A log is held to it, too.
    type: float
  relative_floor:
    description:
      - Without O(floor_gbyte_s), the share of the best group's bus bandwidth below which a group is slow. The other groups are those of O(groups), and with
        O(isolate) the first two and the last two hosts. Devices of V(rails) are compared with their median.
    type: float
    default: 0.7
  isolate_budget:
    description:
      - How many groups O(isolate) may measure in its search. What is known by then is told.
    type: int
    default: 40
  ssh_identity:
    description:
      - Path of the private key on this host to log in to O(hosts) with, and no other. M(hccn.cluster.ssh_trust) makes one for a single run.
      - By default whatever C(ssh) uses by itself.
    type: path
  ssh_known_hosts:
    description:
      - Lines for C(known_hosts) by which the hosts are known, and no others.
    type: list
    elements: str
    default: []
"""
