# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The causes of a collective that did not run to its end, as far as the launcher, ssh and MPI report them: who failed, what it means, and what to do."""

from __future__ import annotations

from typing import Dict, NamedTuple

LAUNCHER, SSH, PROGRAM, RANK, HOST, TIME = "launcher", "ssh", "program", "rank", "host", "time"
ORIGINS: Dict[str, str] = {
    LAUNCHER: "``mpirun`` or its daemons, or their options and host file",
    SSH: "the login to a host",
    PROGRAM: "the program of ``hccl_test`` or ``nccl-tests``",
    RANK: "a process of the program that had started",
    HOST: "a host, its network, or one of its limits",
    TIME: "the run was ended from outside or by its time limit",
}
"""Who failed: the values of ``origin``."""


class Cause(NamedTuple):
    """``origin``: one of ORIGINS. ``hint``: what to do, unless a text has its own hint."""

    origin: str
    meaning: str
    hint: str


SEE_OUTPUT = "see the output for the reason"
"""The end of hints that ``tool_output.with_last_line`` replaces."""
PASSWORDLESS_HINT = "the user who runs mpirun must be able to log in by key, without a password"
_TIMED_OUT_HINT = "one rank hangs or cannot be reached; check the links and leftover processes on every host, or raise timeout"

CAUSES: Dict[str, Cause] = {
    "host_unresolvable": Cause(SSH, "The name of a host does not resolve.", "use addresses, or make the name resolvable on the launching host"),
    "host_unreachable": Cause(SSH, "ssh cannot connect to a host.", "the host is down, its sshd is not running, or a firewall blocks the connection"),
    "ssh_host_key": Cause(SSH, "The host key is not known.", "add the host key to known_hosts of the user who runs mpirun"),
    "ssh_host_key_changed": Cause(SSH, "The host key is not the one in known_hosts.",
                                  "find out why the key has changed, then replace it in known_hosts (ssh-keygen -R HOST)"),
    "ssh_refused": Cause(SSH, "The host refuses the login.", PASSWORDLESS_HINT),
    "ssh_key_unusable": Cause(SSH, "ssh cannot use its private key.", "the key file must belong to the user who runs mpirun, and only this user may read it"),
    "ssh_config": Cause(SSH, "ssh rejects its configuration.", "correct ~/.ssh/config of the user who runs mpirun, or the options in ssh_config"),
    "ssh_shell": Cause(SSH, "The login shell of the user does not run commands.", "give the user a login shell such as /bin/bash on every host"),
    "ssh_missing": Cause(SSH, "The launching host has no usable ssh.", "install the client of OpenSSH on the launching host, and make it executable"),
    "ssh_failed": Cause(SSH, "ssh to a host failed, and the launcher does not report why.",
                        "run ssh to this host as the same user, which prints the reason: " + PASSWORDLESS_HINT),
    "host_silent": Cause(SSH, "A host does not answer.", "the host accepts connections but does not answer: it hangs, or its login shell waits for something"),
    "login_failed": Cause(SSH, "The login fails for another reason, which is quoted.", "log in to this host by ssh as the same user to see the reason"),
    "device_busy": Cause(HOST, "A device is busy.", "wait for the job to end, or set allow_busy: true"),
    "busy_unknown": Cause(HOST, "It is unknown whether a device is busy.", "run npu-smi info or nvidia-smi on this host"),
    "tool_missing": Cause(LAUNCHER, "There is no ``mpirun``.", "install MPICH or Open MPI, or set mpirun to its path"),
    "unknown_mpi": Cause(LAUNCHER, "``mpirun`` is of an unknown MPI.", "set mpirun to the program of MPICH, Intel MPI or Open MPI"),
    "root_refused": Cause(LAUNCHER, "``mpirun`` does not run as root.", "give --allow-run-as-root"),
    "hostfile_unreadable": Cause(LAUNCHER, "The host file cannot be read.", "the host file must exist and be readable"),
    "hostfile_invalid": Cause(LAUNCHER, "The host file cannot be parsed, or names no usable host.",
                              "MPICH and Intel MPI expect lines such as host:8, Open MPI expects host slots=8; save the file as plain ASCII"),
    "not_enough_slots": Cause(LAUNCHER, "More ranks were requested than the hosts have slots.", "more ranks were requested than the host file has slots"),
    "launcher_argument": Cause(LAUNCHER, "``mpirun`` rejects an argument.", "this mpirun does not support an argument; set mpirun to the right program"),
    "binding_failed": Cause(LAUNCHER, "The ranks cannot be bound to cores as requested.", "correct or remove the options and variables of binding"),
    "interface_unknown": Cause(LAUNCHER, "A host lacks the network interface or network that MPI is to use.",
                               "name an interface that every host has, for example with HYDRA_IFACE or OMPI_MCA_btl_tcp_if_include in environment"),
    "mpi_missing": Cause(LAUNCHER, "The daemon of MPI does not start on a host.",
                         "install the same MPI on every host, in the PATH of non-login shells; leftover test processes can also be the cause"),
    "mpi_version_differs": Cause(LAUNCHER, "The hosts have different releases of MPI.", "install the same release of the same MPI on every host"),
    "component_missing": Cause(LAUNCHER, "MPI lacks a component or a network device that was requested.",
                               "correct the variables that select components and devices (OMPI_MCA_*, UCX_*, FI_*) in environment, or install the component"),
    "launcher_unreachable": Cause(HOST, "A host cannot connect back to ``mpirun``.",
                                  "allow connections between all hosts on all ports, or limit the ports (MPIR_CVAR_CH3_PORT_RANGE, I_MPI_PORT_RANGE)"),
    "daemon_failed": Cause(HOST, "The daemon of MPI ended on a host before it reported back.",
                           "on this host, check that /tmp is writable and has space, the limits of processes, and the start files of the shell"),
    "launch_failed": Cause(LAUNCHER, "A host did not start its ranks, and the launcher does not report why.",
                           "a host did not start its ranks: check that this user can log in to every host by ssh without a password"),
    "working_directory_missing": Cause(HOST, "The working directory does not exist on a host.", "create the folder on every host"),
    "hostname_unresolved": Cause(HOST, "A host cannot resolve its own name, or that of the launching host.",
                                 "add the host's own name with its address to its /etc/hosts"),
    "tmp_unwritable": Cause(HOST, "A temporary folder is full or read-only.", "free space in /tmp of this host, mount it writable, or set TMPDIR"),
    "shm_full": Cause(HOST, "The shared memory of a host is full.", "remove leftover files in /dev/shm of this host, or enlarge it (containers: --shm-size)"),
    "open_files_limit": Cause(HOST, "The limit of open files is too low.", "raise ulimit -n for logins on this host (/etc/security/limits.conf)"),
    "process_limit": Cause(HOST, "The limit of processes is too low.", "raise ulimit -u for logins on this host, or the limit of the container (pids.max)"),
    "address_space_limit": Cause(HOST, "Memory cannot be allocated.", "raise ulimit -v and ulimit -l for logins on this host, or the limit of the container"),
    "program_missing": Cause(PROGRAM, "The program does not exist on a host.", "build the program at the same path on every host, and make it executable"),
    "program_not_executable": Cause(PROGRAM, "The program may not be executed.", "make the program executable on every host (chmod +x, no noexec mount)"),
    "program_invalid": Cause(PROGRAM, "The program cannot be executed on this architecture, or its file is damaged.",
                             "build the program for the architecture of this host"),
    "library_missing": Cause(PROGRAM, "A library cannot be loaded.",
                             "add the libraries of MPI and of the program to LD_LIBRARY_PATH on every host, with the option environment"),
    "library_version": Cause(PROGRAM, "A library is of another release than the program needs.", "install the same release of the libraries on every host"),
    "host_lost": Cause(HOST, "The connection to a host was lost during the run.",
                       "check whether the host is up (power, dmesg, link); if no rank had started, check the PATH that its shell start files set"),
    "ranks_unreachable": Cause(HOST, "Ranks of two hosts cannot connect to each other.",
                               "check firewall and routes between the hosts, and select the network of MPI, for example with UCX_NET_DEVICES in environment"),
    "rank_aborted": Cause(RANK, "A rank called MPI_Abort.", "see the first error in the output of this rank"),
    "rank_exited": Cause(RANK, "A rank ended with another status than 0.", "see the first error in the output of this rank"),
    "rank_crashed": Cause(RANK, "A rank crashed or was killed.",
                          "a rank was killed or crashed: see dmesg and the logs of the program on the host that the line names. If several ranks ended, the "
                          "first cause may be on another host, and the EXIT STRING of mpirun describes the end of the whole job"),
    "mpi_error": Cause(RANK, "An MPI call failed.", "the program and its MPI do not fit together, or a connection was lost; see the first error of this rank"),
    "mpi_init_failed": Cause(RANK, "MPI_Init failed.",
                             "MPI could not connect its ranks: select the network, for example with UCX_NET_DEVICES or HYDRA_IFACE in environment"),
    "hosts_not_started": Cause(TIME, "Not all ranks had started when the time limit was reached.",
                               "a host does not answer ssh, its login starts something else, or it cannot connect back to mpirun (firewall)"),
    "timed_out": Cause(TIME, "The time limit was reached.", _TIMED_OUT_HINT),
    "terminated": Cause(TIME, "The run was ended by a signal from outside.", "find out who ended it: an operator, a batch system or a time limit"),
    "placement_mismatch": Cause(LAUNCHER, "The ranks are not on the hosts that were requested.",
                                "check whether a batch system or a default host file overrides the host file"),
    "no_output": Cause(LAUNCHER, "``mpirun`` failed without any output.",
                       "run the command by hand with more output: -verbose (MPICH), -v (Intel MPI), --debug-daemons (Open MPI)"),
    "no_table": Cause(PROGRAM, "The output contains no result, and no known error.", SEE_OUTPUT),
    "rows_missing": Cause(PROGRAM, "The table of results breaks off.", "the program stopped early; " + SEE_OUTPUT),
    "summary_missing": Cause(PROGRAM, "The summary after the table is missing.",
                             "the program stopped early, or the log is truncated; " + SEE_OUTPUT),
}

CONSEQUENCES = ("timed_out", "terminated", "hosts_not_started", "rank_crashed", "rank_aborted", "rank_exited", "daemon_failed", "launch_failed", "no_output")
"""Codes of errors that are consequences of others and do not name a cause."""


def origin_of(code: str) -> str:
    """Return who failed. All codes that are not in CAUSES are those of the program."""
    return CAUSES[code].origin if code in CAUSES else PROGRAM
