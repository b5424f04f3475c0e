"""Who failed, by the texts of ssh, MPICH, Open MPI and Intel MPI, also wrapped, tagged and in other releases than the recorded ones."""

from __future__ import annotations

import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_causes import CAUSES, CONSEQUENCES, ORIGINS, origin_of
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_failure import LaunchError, Place, decisive, first_words, hosts_of, later
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_texts import DECISIVE, LATER

FRAME = "-" * 74 + "\n"


def box(text: str) -> str:
    return FRAME + text + "\n" + FRAME


def first(text: str) -> LaunchError:
    return (decisive(text) + later(text))[0]


def verdict(text: str) -> "tuple[str, str, list[str | None], list[int | None]]":
    """Return code, origin, hosts and ranks."""
    error = first(text)
    return error.code, origin_of(error.code), [place.host for place in error.places], [place.rank for place in error.places]


@pytest.mark.parametrize(("text", "expected"), [
    # ssh
    ("ssh: Could not resolve hostname n7: Name or service not known\nssh: Could not resolve hostname n8: Name or service not known",
     ("host_unresolvable", "ssh", ["n7", "n8"], [None, None])),
    ("ssh: connect to host n7 port 22: Permission denied", ("host_unreachable", "ssh", ["n7"], [None])),
    ("hpc@n7.site: Permission denied (publickey,gssapi-with-mic,password).", ("ssh_refused", "ssh", ["n7.site"], [None])),
    ("Unable to negotiate with 10.0.0.7 port 22: no matching host key type found. Their offer: ssh-rsa", ("ssh_refused", "ssh", ["10.0.0.7"], [None])),
    ("kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.7 port 22", ("ssh_refused", "ssh", ["10.0.0.7"], [None])),
    ("Load key \"/home/u/.ssh/id_rsa\": invalid format\nu@n7: Permission denied (publickey).", ("ssh_key_unusable", "ssh", [], [])),
    ("Bad owner or permissions on /home/u/.ssh/config", ("ssh_config", "ssh", [], [])),
    ("sh: 1: ssh: not found", ("ssh_missing", "ssh", [], [])),
    ("[mpiexec@n1] HYDU_create_process (launch.c:73): execvp error on file ssh (No such file or directory)", ("ssh_missing", "ssh", ["n1"], [None])),
    ("Connection closed by 10.0.0.7 port 22\n[mpiexec@n1] ui_cmd_cb (pmci.c:51): Launch proxy failed.", ("ssh_refused", "ssh", ["10.0.0.7"], [None])),
    ("The authenticity of host 'n7 (10.0.0.7)' can't be established.\nHost key verification failed.", ("ssh_host_key", "ssh", ["n7"], [None])),
    ("This service allows sftp connections only.", ("ssh_shell", "ssh", [], [])),
    # Host files
    ("[mpiexec@n1] HYDU_process_mfile_token (args.c:301): token max_slots not supported at this time", ("hostfile_invalid", "launcher", [], [])),
    (box("Open RTE detected a parse error in the hostfile:\n    hosts\nIt occured on line number 3 on token 5:\n    ]"),
     ("hostfile_invalid", "launcher", [], [])),
    ("ssh: Could not resolve hostname n1:8: Name or service not known", ("hostfile_invalid", "launcher", [], [])),
    ("ssh: Could not resolve hostname n1\\r: Name or service not known", ("hostfile_invalid", "launcher", [], [])),
    (box("There are no allocated resources for the application:\n  ./p\nthat match the requested mapping:\n  hostfile: hosts"),
     ("hostfile_invalid", "launcher", [], [])),
    # Daemons
    (box("A daemon failed to report back after being spawned. This could\nbe due to several factors\n\n  Local host:    n1\n  Remote host:   n2\n"
         "  Daemon exit status: 126\n"), ("mpi_missing", "launcher", ["n2"], [None])),
    (box("A daemon failed to report back after being spawned. This could\nbe due to several factors\n\n  Local host:    n1\n  Remote host:   n2\n"
         "  Daemon exit status: 1\n"), ("daemon_failed", "host", ["n2"], [None])),
    ("[mpiexec@n1] Error: Unable to run bstrap_proxy on n2 (pid 4, exit code 32512)", ("mpi_missing", "launcher", ["n2"], [None])),
    ("[mpiexec@n1] Error: Unable to run bstrap_proxy on n2 (pid 4, exit code 139)", ("daemon_failed", "host", ["n2"], [None])),
    ("zsh:1: command not found: orted", ("mpi_missing", "launcher", [], [])),
    ("hydra_pmi_proxy: Command not found.", ("mpi_missing", "launcher", [], [])),
    (box("Open MPI detected a mismatch in versions between two processes.  This\ntypically means that you executed mpirun\n\n  Local host:  n1\n"
         "  Peer host:   n2\n"), ("mpi_version_differs", "launcher", ["n2"], [None])),
    # Hosts
    ("[proxy:0:1@n2] HYDU_sock_get_hostent (sock.c:1): unable to get host address for n1 (2)", ("hostname_unresolved", "host", ["n2"], [None])),
    ("[n2:00031] opal_os_dirpath_create: Error: Unable to create the sub-directory (/tmp/ompi.n2.0) of (/tmp/ompi.n2.0/pid.31), mkdir failed [28]",
     ("tmp_unwritable", "host", ["n2"], [None])),
    ("A call to mkdir was unable to create the desired directory:\n\n  Directory: /tmp/ompi.n2.0\n  Error:     Read-only file system",
     ("tmp_unwritable", "host", ["n2"], [None])),
    ("[n2:31] mmap of /dev/shm/x failed: No space left on device", ("shm_full", "host", [], [])),
    ("bash: fork: retry: Resource temporarily unavailable", ("process_limit", "host", [], [])),
    (box("mpirun was unable to launch the specified application as it could not change to the specified working directory:\n\n"
         "Working directory: /data/job\nNode: n2\n\nwhile attempting to start process rank 8."), ("working_directory_missing", "host", ["n2"], [None])),
    (box("ORTE has lost communication with its daemon located on node:\n\n  hostname:  n2\n"), ("host_lost", "host", ["n2"], [None])),
    ("packet_write_wait: Connection to 10.0.0.2 port 22: Broken pipe", ("host_lost", "host", ["10.0.0.2"], [None])),
    ("Timeout, server n2 not responding.", ("host_lost", "host", ["n2"], [None])),
    (box("mpirun was unable to launch the specified application as it encountered an error:\n\n"
         "Error: system limit exceeded on number of processes that can be started\nNode: n2\n\nwhile attempting to start process rank 3."),
     ("process_limit", "host", ["n2"], [None])),
    # Programs
    (box("prterun was unable to find the specified executable file, and therefore did\nnot launch the job.\n\n   Node:       n2\n   Executable: ./p"),
     ("program_missing", "program", ["n2"], [None])),
    (box("Open MPI tried to fork a new process via the \"execve\" system call but\nfailed.  Open MPI checks many things.\n\n  Local host:        n2\n"
         "  Application name:  ./p\n  Error:             Exec format error"), ("program_invalid", "program", ["n2"], [None])),
    ("bash: ./p: cannot execute binary file: Exec format error", ("program_invalid", "program", [], [])),
    # Ranks. Open MPI 5 wraps lines at the width of the terminal.
    (box("prterun noticed that process rank 12 with PID 52 on\nnode n2 exited\non signal 9\n(Killed)."), ("rank_crashed", "rank", ["n2"], [12])),
    ("[1,3]<stderr>:" + FRAME + "[1,3]<stderr>:MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n[1,3]<stderr>:with errorcode 2.",
     ("rank_aborted", "rank", [None], [3])),
    (box("mpirun has exited due to process rank 5 with PID 9 on\nnode n2 exiting improperly. There are three reasons this could occur:"),
     ("rank_exited", "rank", ["n2"], [5])),
    ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 0 PID 1 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 (Killed)\n====\n\n====\n"
     "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 9 PID 2 RUNNING AT n2\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n",
     ("rank_crashed", "rank", ["n2"], [9])),
    ("Abort(1) on node 4 (rank 4 in comm 0): Fatal error in PMPI_Allreduce: Other MPI error, error stack:", ("mpi_error", "rank", [None], [4])),
    # Time
    ("I_MPI_JOB_STARTUP_TIMEOUT = 60 second(s): job ending due to startup timeout", ("hosts_not_started", "time", [], [])),
    (box("The user-provided time limit for job execution has been\nreached:\n\n  Timeout: 14 seconds"), ("timed_out", "time", [], [])),
])
def test_who_failed(text: str, expected: object) -> None:
    assert verdict(text) == expected
    assert verdict("Welcome to n9\n" + text + "\nbye\n") == expected


def test_message_quotes_the_text_and_names_the_host() -> None:
    daemon = box("A daemon failed to report back after being spawned.\n  Remote host:   n2\n  Daemon exit status: 255")
    assert first("Host key verification failed.\n" + daemon).message == "n2: Host key verification failed."
    component = box("A requested component was not found, or was unable to be opened.  This\nmeans\n\nHost:      n2\nFramework: btl\nComponent: roce")
    assert first(component).message == (
        "n2: A requested component was not found, or was unable to be opened (Framework: btl Component: roce)")
    names = "".join("ssh: connect to host n%d port 22: No route to host\n" % number for number in range(9))
    assert first(names).message == "n0, n1, n2, n3, n4 and 4 more: ssh: connect to host n0 port 22: No route to host"


def test_host_that_prints_another_name_of_itself() -> None:
    error = first("[cn-12:34   :0] event_set.c:111  UCX  ERROR epoll_create() failed: Too many open files\n"
                  "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 34 RUNNING AT 10.0.0.12\n")
    assert (error.code, error.places) == ("open_files_limit", (Place("10.0.0.12"),))
    named = Place("cn-12", proxy=1)
    assert hosts_of([named], ["npu1", "npu2"], ["10.0.0.11", "10.0.0.12"], 8) == ("npu2",)
    assert hosts_of([Place("cn-12", rank=8)], ["npu1", "npu2"], ["10.0.0.11", "10.0.0.12"], 8) == ("npu2",)
    assert hosts_of([Place("n2.site.example")], ["npu1", "npu2"], ["n1", "n2"], 8) == ("npu2",)
    assert hosts_of([Place("elsewhere"), Place(rank=99), Place()], ["npu1"], ["n1"], 8) == ("elsewhere",)


def test_cause_before_consequence() -> None:
    text = "ssh: connect to host n2 port 22: Connection refused\n[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s\n"
    assert [error.code for error in decisive(text)] == ["host_unreachable"]
    assert [error.code for error in later(text)] == ["timed_out"]
    abort = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
    lost = box("WARNING: Open MPI failed to TCP connect to a peer MPI process.\n  Local host: n1\n  Message:    connect() to 10.0.0.2:1024 failed")
    assert [error.code for error in later(lost + abort)] == ["rank_aborted", "ranks_unreachable"]


def test_unknown_text_is_quoted_without_frames_and_noise() -> None:
    text = "Warning: Permanently added 'n2' (ED25519) to the list of known hosts.\n"
    text += box("Something new happened to the job.\nMore about it.") + "cluster.env not found\n"
    assert first_words("", text) == ("Something new happened to the job.", "cluster.env not found")
    assert first_words("the minbytes is 8, maxbytes is 8, iters is 1, warmup_iters is 1\n8 | 1.0 | 1.0 | success\n", "") == ()


def test_table_is_consistent() -> None:
    codes = {text.code for text in DECISIVE + LATER}
    assert codes <= set(CAUSES)
    assert set(CONSEQUENCES) <= set(CAUSES)
    assert {cause.origin for cause in CAUSES.values()} == set(ORIGINS)


@pytest.mark.parametrize("text", ["a" * 900000, "[n2:1] " * 90000, "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES = " * 9000,
                                  "hostname x: " * 60000, "a@b" * 200000, "\n" * 900000])
def test_search_takes_linear_time(text: str) -> None:
    started = time.monotonic()
    decisive(text)
    later(text)
    first_words(text, "")
    assert time.monotonic() - started < 60
