# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The texts that ssh, the launchers (MPICH and Intel MPI with Hydra, Open MPI 4 and 5), MPI and the system print about a collective that fails.

A space in a pattern matches any white space, since Open MPI 5 wraps lines at the width of the terminal. Every repetition is bounded or begins after a fixed
text, so that the search is linear. Named groups: ``host``, ``host_2``: the host at fault; ``proxy``: its place in the host file; ``rank``; ``status``;
``signal``; ``quote``: the part to quote (default: whole lines); ``detail``: a part to add to it.
Sources: runs of the real launchers, the help files of Open MPI and PRRTE, the messages of MPICH, Intel MPI, OpenSSH and UCX.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Dict, NamedTuple, Optional, Pattern, Tuple

from .launch_causes import HOST, LAUNCHER, PROGRAM, RANK, SSH

HYDRA, INTEL, OPEN_MPI, MPI, SYSTEM = "hydra", "intel", "openmpi", "mpi", "system"


class Text(NamedTuple):
    """``printed_by``: a launcher, ssh, MPI or the system. ``fatal``: it is printed only if the run fails. ``hint``: instead of the one of the cause."""

    printed_by: str
    code: str
    pattern: str
    fatal: bool = False
    hint: Optional[str] = None


@lru_cache(maxsize=None)
def compiled(pattern: str) -> Pattern[str]:
    """Return a pattern of this module in the form that searches. Most jobs search for none, and compiling all takes a quarter of a second."""
    return re.compile(re.sub(r" (?![*+?])", lambda _match: r"[ \t\r\n]+", pattern))


_LABEL = r"\[(?:proxy|bstrap):(?:[0-9]+:)?(?P<proxy>[0-9]{1,9})@(?P<host>[^\]\s]{1,253})\]"
_BOX = r"(?:(?!-----)[^\0]){0,1500}?"
"""The rest of a help text of Open MPI, up to its frame."""
_DAEMONS = r"(?:hydra_pmi_proxy|hydra_bstrap_proxy|orted|prted)"
_NAMES = r"(?P<host>[^\s:,()'\"]{1,253})"
_PROCESS = r"\[(?P<host>[\w.-]{1,253}):[0-9]{1,10}(?: *:[0-9]{1,10}){0,2}\]"
"""A process in the lines of Open MPI and UCX."""

DECISIVE: Tuple[Text, ...] = (
    # ssh
    Text(SSH, "hostfile_invalid", r"ssh: Could not resolve hostname (?:\\357\\273\\277|\ufeff)\S*: ", hint="the host file begins with a byte order mark: "
         "save it as plain ASCII"),
    Text(SSH, "hostfile_invalid", r"ssh: Could not resolve hostname (?:[^\s:]{1,253}:[0-9]+|[^\s:]{0,253}\\(?:r|015)|[^\s:]{0,253}(?:slots="
         r"|[,;#=])[^\s:]{0,253}): "),
    Text(SSH, "host_unresolvable", r"ssh: Could not resolve hostname %s:" % _NAMES),
    Text(SSH, "host_unreachable", r"ssh: connect to host (?P<host>\S+) port [0-9]+:"),
    Text(SSH, "host_unreachable", r"Connection timed out during banner exchange"),
    Text(SSH, "ssh_host_key_changed", r"(?P<quote>REMOTE HOST IDENTIFICATION HAS CHANGED!)%sHost key for (?P<host>\S+) has changed" % _BOX),
    Text(SSH, "ssh_host_key_changed", r"REMOTE HOST IDENTIFICATION HAS CHANGED!"),
    Text(SSH, "ssh_host_key", r"No \S+ host key is known for %s and you have requested strict checking" % _NAMES),
    Text(SSH, "ssh_host_key", r"Host key verification failed"),
    Text(SSH, "ssh_key_unusable", r"(?P<quote>UNPROTECTED PRIVATE KEY FILE!)[\s@]+(?P<detail>Permissions [^\n]*)|UNPROTECTED PRIVATE KEY FILE|Load key "
         r"\"?[^\s\"]+\"?: [^\n]+|Bad owner or permissions on \S+/id_\S+"),
    Text(SSH, "ssh_config", r": line [0-9]+: Bad configuration option[^\n]*|[0-9]+ bad configuration options?|Bad owner or permissions on \S+"
         r"|command-line:? line [0-9]+: [^\n]+|no argument after keyword|Missing argument\.|keyword \S+ extra arguments at end of line"
         r"|Can't open user config file [^\n]*"),
    Text(SSH, "ssh_refused", r"(?<!\S)[^\s@:]{1,64}@(?P<host>[^\s:@]{1,253}): Permission denied \([^)\n]*\)"),
    Text(SSH, "ssh_refused", r"Permission denied \((?:publickey|password|keyboard|gssapi|hostbased)"),
    Text(SSH, "ssh_refused", r"Received disconnect from (?P<host>\S+) port [0-9]+:2: Too many authentication failures|Too many authentication failures",
         hint="ssh offers more keys than the host accepts (MaxAuthTries): set ssh_identity, or IdentitiesOnly in ~/.ssh/config"),
    Text(SSH, "ssh_refused", r"(?:kex|ssh)_exchange_identification: ",
         hint="sshd closed the connection before the login: there are too many connections (MaxStartups in sshd_config), or the host blocks the address"),
    Text(SSH, "ssh_refused", r"(?:Received disconnect from|Unable to negotiate with) (?P<host>\S+) port [0-9]+:[^\n]*",
         hint="the host ended the connection for the reason in the line; see also the log of its sshd"),
    Text(SSH, "ssh_refused", r"no matching (?:host key type|cipher|key exchange method|MAC) found[^\n]*|Your (?:account|password) has expired[^\n]*"
         r"|You are required to change your password[^\n]*|Unprivileged users are not permitted to log in yet[^\n]*|Account locked[^\n]*"
         r"|Host (?P<host>\S+) is blocked[^\n]*", hint="the host refuses the login for the reason in the line"),
    Text(SSH, "ssh_shell", r"This account is currently not available|This service allows sftp connections only|shell request failed on channel"
         r"|exec request failed on channel|nologin: [^\n]*"),
    Text(SSH, "ssh_missing", r"execvp error on file (?:\S*/)?(?:ssh|rsh|remsh) \([^)\n]*\)|(?P<quote>MCA parameter \"plm_(?:rsh|ssh)_agent\" was set "
         r"to a path that"
         r" could not be found:)|No available launching agents were found|sh: [^\n]{0,100}\bssh: (?:command )?not found|unable to find a valid launcher"
         r"|\[mpiexec@[^\]\n]{1,253}\] [^\n]{0,200}execvp error on file (?!\S*hydra_)\S+[^\n]*"),
    # Host files
    Text(HYDRA, "hostfile_unreadable", r"unable to open host ?file[^\n]*"),
    Text(INTEL, "hostfile_unreadable", r"no such file, or not a regular file"),
    Text(OPEN_MPI, "hostfile_unreadable", r"unable to open the hostfile|input in flex scanner failed"),
    Text(HYDRA, "hostfile_invalid", r"token \S+ not supported at this time|unable to process token|Unable to convert host file entry to strlist"
         r"|error parsing hostfile|hostfile parsing error|too many hosts listed"),
    Text(OPEN_MPI, "hostfile_invalid", r"(?P<quote>detected a (?:bad parameter|parse error) in the hostfile): \S+ "
         r"(?P<detail>[^\n]+(?:\s+\S+=-?[0-9]+)?)|detected the presence of an illegal character in the"
         r" following node name: node: (?P<host>\S+)|contains multiple definitions of the slot count"),
    Text(OPEN_MPI, "hostfile_invalid", r"no allocated resources for the application:|(?:At least one|Some) of the requested hosts (?:is|are) not "
         r"included in the"
         r" current allocation|hostfile was provided that contains at least one node not present in the allocation"
         r"|No nodes are available for this job|no available nodes allocated to this job|A relative host was (?:specified|improperly specified)",
         hint="the host file is empty, or a batch system does not allow its hosts"),
    Text(OPEN_MPI, "not_enough_slots", r"not enough slots available|All nodes which are allocated for this job are already filled"
         r"|more processes than we can launch"),
    # Options of the launcher
    Text(OPEN_MPI, "root_refused", r"has detected an attempt to run as root"),
    Text(HYDRA, "mpi_version_differs", r"\[(?:proxy|bstrap):(?:unset|[0-9:]+)@(?P<host>[^\]\s]{1,253})\] [^\n]{0,200}unrecognized argument \S+"),
    Text(HYDRA, "mpi_version_differs", _LABEL + r" [^\n]{0,200}version string does not match proxy version"),
    Text(HYDRA, "mpi_version_differs", r"version string does not match proxy version|cannot find proxy with ID [0-9]+|PMI version mismatch[^\n]*"
         r"|bad parameters passed to the proxy"),
    Text(OPEN_MPI, "mpi_version_differs", r"(?P<quote>detected a mismatch in versions between two processes)%sPeer host: (?P<host>\S+)" % _BOX),
    Text(HYDRA, "interface_unknown", r"unable to find (?:IP for )?interface \S+|unable to get (?:network interface|iface) (?:IP|ip)"),
    Text(OPEN_MPI, "interface_unknown", r"None of the TCP networks specified to be included for out-of-band communications could be found: Value given: \S+"
         r"|The specified network is not parseable|No network interfaces were found for out-of-band communications|No sockets were able to be opened"),
    Text(HYDRA, "binding_failed", _LABEL + r" [^\n]{0,200}(?:hwloc_set_cpubind failed[^\n]*|HWLOC failure binding[^\n]*|bind process failed)"),
    Text(HYDRA, "binding_failed", r"error binding (?:to|with) \S+[^\n]*|unrecognized (?:membind policy|directive) \S+|Error parsing I_MPI_PIN_DOMAIN[^\n]*"),
    Text(OPEN_MPI, "binding_failed", r"The specified (?:bindto|bind-to|mapping|mapby|rankby|ranking|binding)\s?\S* directive is not recognized: Directive: \S+"
         r"|A request was made to bind(?: to| that| a process)[^\n]*|[Uu]nrecognized (?:binding|mapping|ranking) policy[^\n]*"
         r"|tried to bind (?:a|memory for a) new process, but[^\n]*|no available cpus on the following node"
         r"|binding policy given is not recognized|Your job failed to map|more cpus per process\(rank\)"),
    Text(HYDRA, "launcher_argument", r"unrecognized (?:argument|launcher|launcher:|RMK:) ?\S*|duplicate (?:setting: \S+|host file or host list setting"
         r"|[a-z\s]{1,40}setting)"
         r"|process count should be > 0|no executable (?:provided|specified)"),
    Text(OPEN_MPI, "launcher_argument", r"Error: unknown option \"[^\"\n]*\"|unrecognized option was included[^\n]*(?: Option: (?P<detail>\S+))?"
         r"|(?P<quote>parameter given to a command line option does not match the expected format: Option: \S+ Param: \S+)"
         r"|No executable was specified|negative number of processes|not able to proceed. Please (?:update|correct) your command line"
         r"|was given an option that expected|listed more than once on the command line|Conflicting requests for timeout"
         r"|Unable to locate the variable file|was unable to open the specified file provided as an option"),
    Text(HYDRA, "launcher_argument", r"error parsing (?:input array|parameters)|argument matching returned error|unable to parse user arguments"),
    # Daemons of MPI on the hosts. The rest of the line is in the language of the host.
    Text(SYSTEM, "mpi_missing", r"hydra_pmi_proxy: No such file|sh: [^\n]{0,300}\b%s['\"\u2019]? ?[:\uff1a]" % _DAEMONS),
    Text(SYSTEM, "mpi_missing", r"\b%s['\"\u2019]?: (?:[Cc]ommand )?not found|(?:[Cc]ommand not found|[Uu]nknown command):? \S*%s" % (_DAEMONS, _DAEMONS)),
    Text(HYDRA, "mpi_missing", r"execvp error on file \S*%s \([^)\n]*\)" % _DAEMONS),
    # Limits and file systems
    Text(SYSTEM, "open_files_limit", _PROCESS + r"[^\n]{0,300}Too many open files"),
    Text(SYSTEM, "open_files_limit", r"Too many open files|ran out of file descriptors%sLocal host: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "open_files_limit", r"(?P<quote>(?:pipe function call failed|system limit exceeded on number of (?:network connections|pipes|file))[^\n]*)"
         r"%sNode: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "process_limit", r"(?P<quote>system limit exceeded on number of processes[^\n]*)%sNode: (?P<host>\S+)" % _BOX),
    Text(SYSTEM, "process_limit", r"fork: (?:retry: )?[^\n]*|[Cc]annot fork[^\n]*|fork error \([^)\n]*\)|pthread_create[^\n]{0,100}(?:failed|unavailable)"
         r"|Resource temporarily unavailable|(?P<quote>pmix_progress_thread_start failed)"),
    Text(SYSTEM, "address_space_limit", r"error while loading shared libraries: \S+?: (?:failed to map segment[^\n]*|cannot (?:allocate|map|apply)[^\n]*)"
         r"|Cannot allocate memory|std::bad_alloc|virtual memory exhausted"),
    Text(SYSTEM, "shm_full", r"dev/shm[^\n]{0,200}No space left on device"),
    Text(SYSTEM, "tmp_unwritable", _PROCESS + r" [^\n]{0,300}"
         r"(?:Read-only file system|No space left on device|Unable to create the sub-directory|mkdir failed)"),
    Text(SYSTEM, "tmp_unwritable", r"Read-only file system|No space left on device|Unable to create the sub-directory[^\n]*"
         r"|call to mkdir was unable to create the desired directory: Directory: \S+ Error: [^\n]*|unable to set a directory to the desired mode: "
         r"Directory: \S+"
         r"|session directory[^\n]{0,100}(?:fail|error|cannot|could not)[^\n]*"),
    # The program
    Text(OPEN_MPI, "program_not_executable", r"system call but failed.%sLocal host: (?P<host>\S+)%s(?P<quote>Error: Permission denied)" % (_BOX, _BOX)),
    Text(OPEN_MPI, "program_invalid", r"system call but failed.%sLocal host: (?P<host>\S+)%s(?P<quote>Error: (?!Permission denied)[^\n]+)" % (_BOX, _BOX)),
    Text(SYSTEM, "program_invalid", r": [0-9]+: Syntax error: [^\n]*|: [0-9]+: [^\n]{0,60}ELF[^\n]{0,60}: not found|cannot execute binary file[^\n]*"
         r"|execvp error on file \S+ \(Exec format error\)"
         r"|Exec format error|cannot execute: required file not found|bad interpreter[^\n]*"),
    Text(HYDRA, "program_not_executable", _LABEL + r" [^\n]{0,200}execvp error on file \S+ \(Permission denied\)"),
    Text(HYDRA, "program_not_executable", r"execvp error on file \S+ \(Permission denied\)"),
    Text(HYDRA, "program_missing", _LABEL + r" [^\n]{0,200}execvp error on file (?![^\n]{0,300}\((?:Permission denied|Exec format error)\))[^\n]*"),
    Text(HYDRA, "program_missing", r"execvp error on file (?![^\n]{0,300}\((?:Permission denied|Exec format error)\))[^\n]*"),
    Text(OPEN_MPI, "working_directory_missing", r"could not (?:find|access|change to) the specified working directory: (?P<quote>Working directory: \S+)"
         r" Node: (?P<host>\S+)"),
    Text(HYDRA, "working_directory_missing", _LABEL + r" [^\n]{0,200}unable to change wdir to \S+[^\n]*"),
    Text(SYSTEM, "working_directory_missing", r"unable to change wdir to \S+[^\n]*|could not (?:find|access|change to) the specified working directory"),
    Text(OPEN_MPI, "program_missing", r"(?P<quote>unable to launch the specified application as it could not (?:find|access)[^\n]*)%sNode: "
         r"(?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "program_missing", r"(?P<quote>unable to find the specified executable file)%sNode: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "program_missing", r"unable to (?:launch|start) the specified application as it could not[^\n]*|could not find the executable "
         r"\"[^\"\n]*\""),
    Text(SYSTEM, "library_version", r": version [`'\u2018][^'\u2019\n]+['\u2019] not found[^\n]*|symbol lookup error: [^\n]*|undefined symbol: \S+"
         r"|relocation error: [^\n]*"),
    Text(SYSTEM, "library_missing", r"error while loading shared libraries: \S+?: ?[^\n]*"),
    # The way back to mpirun
    Text(HYDRA, "hostname_unresolved", _LABEL + r" [^\n]{0,200}(?:getaddrinfo returned error[^\n]*|unable to get (?:host|IP) address for \S+[^\n]*"
         r"|Unable to get host entry for \S+)"),
    Text(MPI, "hostname_unresolved", r"gethostbyname failed, \S+|getaddrinfo returned error[^\n]*|unable to get (?:host|IP) address for \S+[^\n]*"
         r"|Unable to get host entry for \S+|unable to get local host ?name"),
    Text(HYDRA, "launcher_unreachable", r"unable to connect from \"[^\"\n]*\" to \"(?P<host>[^\"\n]*)\"[^\n]*"),
    Text(HYDRA, "launcher_unreachable", r"unable to connect to server (?P<host>\S+) at port [0-9]+"),
    Text(OPEN_MPI, "launcher_unreachable", r"(?P<quote>A process or daemon was unable to complete a TCP connection to another process: Local host: \S+ "
         r"Remote host: (?P<host>\S+))"),
    Text(OPEN_MPI, "launcher_unreachable", r"unable to establish a communication connection to the specified daemon[^\0]{0,100}?target node: (?P<host>\S+)"),
    Text(INTEL, "launcher_unreachable", r"Unable to run bstrap_proxy on (?P<host_2>\S+) \(pid [0-9]+, exit code 768\)"),
    # Components of MPI
    Text(OPEN_MPI, "component_missing", r"(?P<quote>A requested component was not found, or was unable to be opened)%sHost: (?P<host>\S+)"
         r" (?P<detail>Framework: \S+ Component: \S+)" % _BOX),
    Text(OPEN_MPI, "component_missing", r"(?P<quote>No components were able to be opened in the \S+ framework)%sHost: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "component_missing", r"(?P<quote>We were unable to find any usable plugins for the \S+ framework)|PML \S+ cannot be selected"),
    Text(MPI, "component_missing", r"fi_getinfo\(\) failed[^\n]*|no usable transports/devices[^\n]*"),
    # Hosts that did not start, for a reason that the launcher does not report
    Text(OPEN_MPI, "mpi_missing", r"(?P<quote>A daemon failed to report back after being spawned)%sRemote host: (?P<host>\S+) Daemon exit status:"
         r" (?P<status>12[67])\b" % _BOX),
    Text(OPEN_MPI, "ssh_failed", r"(?P<quote>A daemon failed to report back after being spawned)%sRemote host: (?P<host>\S+) Daemon exit status:"
         r" (?P<status>255)\b" % _BOX),
    Text(INTEL, "mpi_missing", r"Unable to run bstrap_proxy on (?P<host>\S+) \(pid [0-9]+, exit code (?:32512|32256)\)"),
    Text(INTEL, "ssh_failed", r"Unable to run bstrap_proxy on (?P<host>\S+) \(pid [0-9]+, exit code 65280\)"),
    Text(INTEL, "ssh_shell", r"Unable to run bstrap_proxy on (?P<host>\S+) \(pid [0-9]+, exit code 256\)",
         hint="the login ended with status 1 before MPI started: check the login shell of the user, and the start files of the shell on this host"),
)
"""They name the cause of a failure. Earlier ones explain later ones."""

LATER: Tuple[Text, ...] = (
    Text(OPEN_MPI, "timed_out", r"(?P<quote>time limit for job execution has been reached): (?P<detail>Timeout: [0-9]+ "
         r"seconds)?[^\0]{0,2000}?Connection to \S+ closed by remote host", True),
    Text(HYDRA, "terminated", r"Sending Ctrl-C to processes as requested", True),
    Text(SSH, "host_lost", r"Connection to (?P<host>\S+) closed by remote host|Timeout, server (?P<host_3>\S+) not responding|client_loop: send "
         r"disconnect: Broken pipe"
         r"|packet_write_wait: Connection to (?P<host_2>\S+) port [0-9]+: Broken pipe", True),
    Text(OPEN_MPI, "host_lost", r"(?P<quote>(?:PRTE|ORTE) has lost communication with a remote daemon)%sRemote daemon: \S+ on node (?P<host>\S+)" % _BOX,
         True),
    Text(OPEN_MPI, "host_lost", r"lost communication with its daemon located on node: hostname: (?P<host>\S+)", True),
    Text(OPEN_MPI, "host_lost", r"critical communication path was lost to:%sNode: (?P<host>\S+)|heartbeat communications from a remote process:"
         r"%sNode: (?P<host_2>\S+)" % (_BOX, _BOX), True),
    Text(OPEN_MPI, "rank_aborted", r"MPI_ABORT was invoked on rank (?P<rank>[0-9]+) in communicator[^\n]*"
         r"(?: with errorcode -?[0-9]+| Proc: \S+ Errorcode: -?[0-9]+)?", True),
    Text(HYDRA, "rank_aborted", r"\(rank (?P<rank>[0-9]+) in comm [0-9]+\): application called MPI_Abort\([^)\n]*\)", True),
    Text(HYDRA, "rank_aborted", r"application called MPI_Abort\([^)\n]*\) - process (?P<rank>[0-9]+)", True),
    Text(HYDRA, "rank_aborted", r"application called MPI_Abort\([^)\n]*\)", True),
    # Signals of a crash, before those with which a launcher ends the other ranks
    Text(INTEL, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+RANK (?P<rank>[0-9]+) PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+KILLED BY SIGNAL: (?P<signal>7)\b[^\n]*", True, "a bus error often means that /dev/shm of this host is full; see also dmesg"),
    Text(INTEL, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+RANK (?P<rank>[0-9]+) PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+KILLED BY SIGNAL: (?P<signal>(?!9\b|15\b|2\b)[0-9]+)[^\n]*", True),
    Text(HYDRA, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+EXIT CODE: (?P<signal>(?!9\b|15\b|2\b)-?[0-9]+)", True),
    Text(OPEN_MPI, "rank_crashed", r"noticed that (?:process|job) rank (?P<rank>[0-9]+) with PID [0-9]+ on node \"?(?P<host>[^\s\"]+)\"? exited on"
         r" signal (?P<signal>(?!9\b|15\b|2\b)[0-9]+)(?: \([^)\n]*\))?", True),
    Text(INTEL, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+RANK (?P<rank>[0-9]+) PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+KILLED BY SIGNAL: (?P<signal>15|2)\b[^\n]*", True),
    Text(MPI, "mpi_error", r"\(rank (?P<rank>[0-9]+) in comm [0-9]+\): Fatal error in (?!(?:internal_|P?MPI_)Init)[^\n]*", True),
    Text(MPI, "mpi_error", r"Fatal error in (?!(?:internal_|P?MPI_)Init)[^\n]*", True),
    Text(OPEN_MPI, "mpi_error", _PROCESS + r" \*\*\* An error occurred in MPI_(?!Init)\w+ [^\n]*reported by process \[[0-9]+,(?P<rank>[0-9]+)\]"
         r"[^\n]*\n[^\n]*\n[^\n]*(?P<quote>MPI_ERR_(?!INTERN)\w+: [^\n]*)", True),
    # Networks between the ranks
    Text(OPEN_MPI, "interface_unknown", r"(?P<quote>An invalid value was given for (?:btl|oob)_tcp_if_\w+)\. This value will be ignored\."
         r" Local host: (?P<host>\S+) (?P<detail>Value: \S+ Message: [^\n]*)"),
    Text(OPEN_MPI, "ranks_unreachable", r"(?P<quote>At least one pair of MPI processes are unable to reach each other)%sis on host: (?P<host>\S+)"
         r" Process 2 \S+ is on host: (?P<host_2>\S+)" % _BOX, True),
    Text(OPEN_MPI, "ranks_unreachable", r"MPI process is unreachable from another|unable to reach each other", True),
    Text(INTEL, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+RANK (?P<rank>[0-9]+) PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+KILLED BY SIGNAL: (?P<signal>9)\b[^\n]*", True, "somebody or something killed this rank: see dmesg of the host (out of memory). "
         "Intel MPI also kills the other ranks of a host if one of them ends with an error: see the first error in the output"),
    Text(HYDRA, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES =\s+PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r" =\s+EXIT CODE: (?P<signal>9)\b", True, "somebody or something killed this rank: see dmesg of the host (out of memory). "
         "If all ranks were killed, their time limit was reached: one rank hangs"),
    Text(OPEN_MPI, "rank_crashed", r"noticed that (?:process|job) rank (?P<rank>[0-9]+) with PID [0-9]+ on node \"?(?P<host>[^\s\"]+)\"? exited on"
         r" signal (?P<signal>9)\b(?: \([^)\n]*\))?", True, "somebody or something killed this rank: see dmesg of the host (out of memory). "
         "If all ranks were killed, their time limit was reached: one rank hangs"),
    Text(MPI, "rank_crashed", _PROCESS + r" +Caught signal (?P<signal>[0-9]+) [^\n]*", True),
    Text(OPEN_MPI, "rank_crashed", _PROCESS + r" Signal: [^\n(]{0,100}\((?P<signal>[0-9]+)\)", True),
    Text(OPEN_MPI, "ranks_unreachable", r"(?P<quote>Open MPI failed to TCP connect to a peer MPI process)%sLocal host: (?P<host>\S+)%s"
         r"(?P<detail>connect\(\) to (?P<host_2>[0-9A-Fa-f.:]+):[0-9]+ failed)" % (_BOX, _BOX)),
    # Init
    Text(MPI, "component_missing", r"UCX +WARN +(?:network device|transport) [^\n]{0,300}is not available[^\n]*"),
    Text(OPEN_MPI, "mpi_init_failed", r"(?P<quote>MPI_INIT failed|PMIx_Init failed|pmix_init failed|orte_init failed|prte_init\S* "
         r"failed)[^\0]{0,600}?-->", True),
    Text(OPEN_MPI, "rank_exited", r"The first process to do so was: (?P<quote>Process name: \[(?:\[[0-9]+,[0-9]+\],|[^\s,\]]*@[0-9]+,)(?P<rank>[0-9]+)\]"
         r" Exit code: (?P<status>-?[0-9]+))", True),
    Text(OPEN_MPI, "rank_exited", r"due to process rank (?P<rank>[0-9]+) with PID [0-9]+ on node (?P<host>\S+) exiting improperly", True),
    Text(OPEN_MPI, "rank_crashed", r"peer process has unexpectedly disconnected%sPeer host: (?P<host>\S+)" % _BOX, True),
    Text(MPI, "ranks_unreachable", _PROCESS + r"[^\n]{0,100}UCX +ERROR +connect\(fd=[0-9]+, dest_addr=(?P<host_2>[0-9A-Fa-f.:]+):[0-9]+\)"
         r" failed[^\n]*"),
    Text(OPEN_MPI, "ranks_unreachable", r"(?P<quote>accepted a TCP connection from what appears to be a another Open MPI process but cannot find a "
         r"corresponding process entry)"
         r"%sLocal host: (?P<host>\S+)" % _BOX, hint="an interface such as docker0 has the same address on several hosts: select another one, for "
         "example with "
         "OMPI_MCA_btl_tcp_if_include in environment"),
    Text(MPI, "ranks_unreachable", r"no active messages transport[^\n]*|[Ff]ailed to connect to remote[^\n]*"),
    Text(OPEN_MPI, "mpi_error", _PROCESS + r" \*\*\* (?P<quote>An error occurred in [^\n]+) [^\n]*reported by process"
         r" \[[0-9]+,(?P<rank>[0-9]+)\]", True),
    Text(MPI, "mpi_init_failed", r"(?:\(rank (?P<rank>[0-9]+) in comm [0-9]+\): )?Fatal error in (?:internal_Init|P?MPI_Init)[^\n]*", True),
    Text(MPI, "mpi_init_failed", r"MPI_Init\([^\n]*\) failed", True),
    Text(OPEN_MPI, "rank_aborted", r"due to process rank (?P<rank>[0-9]+) with PID [0-9]+ on node (?P<host>\S+) calling \"abort\"", True),
    Text(OPEN_MPI, "rank_exited", r"Exit code: (?P<status>-?[1-9][0-9]*)", True),
    # Endings
    Text(INTEL, "hosts_not_started", r"I_MPI_JOB_(?:STARTUP_)?TIMEOUT = [0-9]+ second\(s\): job ending due to startup timeout", True),
    Text(HYDRA, "timed_out", r"APPLICATION TIMED OUT[^\n]*", True),
    Text(INTEL, "timed_out", r"I_MPI_JOB_TIMEOUT = [0-9]+ second\(s\): [^\n]*", True),
    Text(OPEN_MPI, "timed_out", r"(?P<quote>time limit for job execution has been reached): (?P<detail>Timeout: [0-9]+ seconds)", True),
    Text(OPEN_MPI, "timed_out", r"time limit for job execution has been reached", True),
    Text(HYDRA, "rank_crashed", r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES(?: =(?: RANK (?P<rank>[0-9]+))? PID [0-9]+ RUNNING AT (?P<host>\S+)"
         r"(?: = (?:EXIT CODE|KILLED BY SIGNAL): (?P<signal>[0-9]+)[^\n]*)?)?", True),
    Text(OPEN_MPI, "rank_crashed", r"noticed that (?:process|job) rank (?P<rank>[0-9]+) with PID [0-9]+ on node \"?(?P<host>[^\s\"]+)\"? exited on"
         r" signal(?: (?P<signal>[0-9]+))?(?: \([^)\n]*\))?", True),
    Text(INTEL, "host_lost", r"[Dd]ownstream from host (?P<host>\S+) (?:exited (?:abnormally|with status [0-9]+)|was killed by signal [0-9]+[^\n]*)", True),
    Text(SSH, "ssh_refused", r"Connection (?:closed|reset) by (?P<host>\S+) port [0-9]+", hint="sshd closed the connection before the login: see its "
         "log on this host"),
    Text(OPEN_MPI, "shm_full", r"(?P<quote>not enough space for /dev/shm/\S+)%sLocal host: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "shm_full", r"(?P<quote>system call failed during shared memory initialization)%sLocal host: (?P<host>\S+)" % _BOX),
    Text(OPEN_MPI, "daemon_failed", r"(?P<quote>A daemon failed to report back after being spawned)%sRemote host: (?P<host>\S+) Daemon exit status:"
         r" (?P<status>[0-9]+)" % _BOX, True),
    Text(INTEL, "daemon_failed", r"Unable to run bstrap_proxy on (?P<host>\S+) \(pid [0-9]+, exit code [0-9]+\)", True),
    Text(OPEN_MPI, "launch_failed", r"unable to reliably start one or more daemons|[Dd]aemon (?:\(pid [0-9]+\) )?(?:died|has) unexpectedly[^\n]*", True),
    Text(SYSTEM, "launch_failed", r"(?m)^Segmentation fault(?: \(core dumped\))?$", True, "mpirun itself crashed: check the host file (Intel MPI "
         "crashes if it is empty)"),
    Text(OPEN_MPI, "launch_failed", r"(?P<quote>unable to (?:launch|start) the specified application as it encountered an error)%sNode: "
         r"(?P<host>[^\s.]+)" % _BOX, True),
    Text(INTEL, "launch_failed", r"Error setting up the bootstrap proxies", True),
    Text(HYDRA, "launch_failed", r"Launch proxy failed", True),
    Text(HYDRA, "host_lost", r"\[mpiexec@[^\]\s]+\] (?:control_cb|HYD_pmcd_pmiserv_\w+) [^\n]*assert \(!closed\) failed", True),
)
"""Consequences, and texts that explain a failure only if nothing else does."""

HERE = "here"
"""Instead of an origin: causes on the launching host."""
HERE_CODES = ("ssh_key_unusable", "ssh_config", "ssh_missing")

WHERE: Dict[str, Tuple[str, ...]] = {
    HERE: (r"\[mpiexec@(?P<host>[^\]\s]+)\]", r"\[(?P<host>[\w.-]+):[0-9]+\] \[\[INVALID\]"),
    SSH: (r"Remote host: (?P<host>\S+) Daemon exit status", r"Unable to run bstrap_proxy on (?P<host>\S+)",
          r"Connection (?:reset|closed) by (?P<host>\S+) port", r"authenticity of host '(?P<host>[^\s'(]+)", r"Disconnected from (?:authenticating "
          r"user \S+ )?(?P<host>\S+) port"),
    LAUNCHER: (r"Remote host: (?P<host>\S+) Daemon exit status", r"Unable to run bstrap_proxy on (?P<host>\S+)"),
    HOST: (r"RUNNING AT (?P<host>\S+)", r"\[(?P<host>[\w.-]+):[0-9]+\] PMIX ERROR", r"Unable to run bstrap_proxy on (?P<host>\S+)",
           r"Remote host: (?P<host>\S+) Daemon exit status", r"Local host: (?P<host>\S+)", r"\[(?P<host>[\w.-]{1,253}):[0-9]+\] \[\[",
           r"/(?:ompi|prte)\.(?P<host>[A-Za-z][\w-]{0,62})\.[0-9]+"),
    PROGRAM: (r"on node (?P<host>\S+) exited", r"Process name: \[(?:\[[0-9]+,[0-9]+\],|[^\s,\]]*@[0-9]+,)(?P<rank>[0-9]+)\]", r"Node: (?P<host>\S+)",
              r"RUNNING AT (?P<host>\S+)", r"Remote host: (?P<host>\S+) Daemon exit status"),
    RANK: (r"on node (?P<host>\S+) exited", r"RUNNING AT (?P<host>\S+)"),
}
"""By the origin of a cause: where its host may be found if its own text does not contain it, the most certain first."""
