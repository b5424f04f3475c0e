"""Every known error text, alone and together with its consequences."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_errors import find_errors
from ansible_collections.hccn.cluster.plugins.module_utils._perf.tool_output import timed_out_error

BAD = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 4711 RUNNING AT node2
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
"""


@pytest.mark.parametrize(("text", "code", "message"), [
    ("ssh: Could not resolve hostname node9: Name or service not known\r\n", "host_unresolvable",
     "ssh: Could not resolve hostname node9: Name or service not known"),
    ("ssh: connect to host 10.0.0.9 port 2222: Connection timed out", "host_unreachable",
     "ssh: connect to host 10.0.0.9 port 2222: Connection timed out"),
    ("Host key verification failed.", "ssh_host_key", "Host key verification failed."),
    ("Permission denied, please try again.\nroot@node2: Permission denied (publickey,password).", "ssh_refused",
     "root@node2: Permission denied (publickey,password)."),
    ("Received disconnect from 10.0.0.2 port 22:2: Too many authentication failures", "ssh_refused",
     "Received disconnect from 10.0.0.2 port 22:2: Too many authentication failures"),
    ("kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.2 port 22", "ssh_refused",
     "10.0.0.2: kex_exchange_identification: Connection closed by remote host"),
    ("ssh_exchange_identification: read: Connection reset by peer", "ssh_refused", "ssh_exchange_identification: read: Connection reset by peer"),
    ("mpirun has detected an attempt to run as root.", "root_refused", "mpirun has detected an attempt to run as root."),
    ("[mpiexec@n1] HYDU_parse_hostfile (args.c:319): unable to open host file: hosts", "hostfile_unreadable",
     "[mpiexec@n1] HYDU_parse_hostfile (args.c:319): unable to open host file: hosts"),
    ("Open RTE was unable to open the hostfile:\n    hosts", "hostfile_unreadable", "Open RTE was unable to open the hostfile:"),
    ("There are not enough slots available in the system to satisfy the 16", "not_enough_slots",
     "There are not enough slots available in the system to satisfy the 16"),
    ("bash: line 1: /opt/mpich/bin/hydra_pmi_proxy: No such file or directory", "mpi_missing",
     "bash: line 1: /opt/mpich/bin/hydra_pmi_proxy: No such file or directory"),
    ("bash: orted: command not found", "mpi_missing", "bash: orted: command not found"),
    ("bash: line 1: prted: command not found", "mpi_missing", "bash: line 1: prted: command not found"),
    ("bash: orted\uff1a\u672a\u627e\u5230\u547d\u4ee4", "mpi_missing", "bash: orted\uff1a\u672a\u627e\u5230\u547d\u4ee4"),
    ("bash: /opt/mpich/bin/hydra_pmi_proxy: \u6ca1\u6709\u90a3\u4e2a\u6587\u4ef6\u6216\u76ee\u5f55", "mpi_missing",
     "bash: /opt/mpich/bin/hydra_pmi_proxy: \u6ca1\u6709\u90a3\u4e2a\u6587\u4ef6\u6216\u76ee\u5f55"),
    ("[proxy:0:1@n2] HYDU_create_process (launch.c:73): execvp error on file ./t (Permission denied)", "program_not_executable",
     "[proxy:0:1@n2] HYDU_create_process (launch.c:73): execvp error on file ./t (Permission denied)"),
    ("mpirun was unable to launch the specified application as it could not access", "program_missing",
     "mpirun was unable to launch the specified application as it could not access"),
    ("[mpiexec@n1] match_arg (args.c:163): unrecognized argument hostfile", "launcher_argument",
     "[mpiexec@n1] match_arg (args.c:163): unrecognized argument hostfile"),
    ('mpirun: Error: unknown option "--no-such-option"\nType \'mpirun --help\' for usage.', "launcher_argument",
     'mpirun: Error: unknown option "--no-such-option"'),
    ("An unrecognized option was included on the mpirun command line:\n\n  Option: --x", "launcher_argument",
     "An unrecognized option was included on the mpirun command line: Option: --x"),
    ("./all_reduce_test: error while loading shared libraries: libhccl.so: cannot open shared object file", "library_missing",
     "./all_reduce_test: error while loading shared libraries: libhccl.so: cannot open shared object file"),
    ("MPID_nem_tcp_init(379)..................: gethostbyname failed, node-1 (errno 2)", "hostname_unresolved",
     "MPID_nem_tcp_init(379)..................: gethostbyname failed, node-1 (errno 2)"),
    ("Check whether HCCL_BUFFSIZE is 0 or too big.", "invalid_environment", "Check whether HCCL_BUFFSIZE is 0 or too big."),
    ("Error: The number of device is 0.Check whether the package is correct.", "no_device",
     "Error: The number of device is 0.Check whether the package is correct."),
    ("non-option ARGV-elements: x ", "invalid_argument", "non-option ARGV-elements: x"),
    ("invalid option \nTry [-h --help] for more information.", "invalid_argument", "invalid option"),
    ("Error: [-d,--datatype] is invalid, Use", "invalid_argument", "Error: [-d,--datatype] is invalid, Use"),
    ("[ERROR] HCCL(1,t): EI0009: transport", "EI0009", "[ERROR] HCCL(1,t): EI0009: transport"),
    ("[ERROR] HCCL: EI9999 new", "EI9999", "[ERROR] HCCL: EI9999 new"),
    ('Value Disable for config "tls" is invalid.', "EI0016", 'Value Disable for config "tls" is invalid.'),
    ("rank[0] device ip family[2] is not same as others[10].", "EI0001", "rank[0] device ip family[2] is not same as others[10]."),
    ("[Wait][LinkEstablish]wait socket establish timeout, role[1]", "EI0006", "[Wait][LinkEstablish]wait socket establish timeout, role[1]"),
    ("[TaskExecStage][HeartbeatAbnormal][ROCE CQE ERROR]cqe error status[12]", "roce_cqe_error",
     "[TaskExecStage][HeartbeatAbnormal][ROCE CQE ERROR]cqe error status[12]"),
    ("Process 0 HcclGetRootInfo failed, notify other process to exit", "rootinfo_failed",
     "Process 0 HcclGetRootInfo failed, notify other process to exit"),
    ("acl interface return err ./c.cc:7, retcode: 507033.", "acl_507033", "acl interface returned 507033 at ./c.cc:7"),
    ("hccl interface return err ./c.cc:9, retcode: 7 ", "hccl_7", "hccl interface returned 7 (resource unavailable) at ./c.cc:9"),
    ("hccl interface return err ./c.cc:9, retcode: 4242 ", "hccl_4242", "hccl interface returned 4242 at ./c.cc:9"),
    ("Fatal error in internal_Init: Other MPI error", "mpi_init_failed", "Fatal error in internal_Init: Other MPI error"),
    ("[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s", "timed_out", "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s"),
    ("The user-provided time limit for job execution has been reached:", "timed_out",
     "The user-provided time limit for job execution has been reached:"),
    (BAD, "rank_crashed", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES PID 4711 RUNNING AT node2 EXIT CODE: 9"),
    ("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "rank_crashed", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
    ("mpirun noticed that process rank 1 with PID 0 on node n2 exited on signal 11 (Segmentation fault).", "rank_crashed",
     "mpirun noticed that process rank 1 with PID 0 on node n2 exited on signal 11 (Segmentation fault)."),
    ("[mpiexec@n1] ui_cmd_cb (pmci.c:51): Launch proxy failed.", "launch_failed", "[mpiexec@n1] ui_cmd_cb (pmci.c:51): Launch proxy failed."),
    ("A daemon (pid 8) died unexpectedly with status 127", "launch_failed", "A daemon (pid 8) died unexpectedly with status 127"),
])
def test_each_known_text(text: str, code: str, message: str) -> None:
    for error in (find_errors(text)[0], find_errors("", text)[0], find_errors("rank 1 says: hello " + text)[0]):
        assert error.code == code
        assert error.hint != ""
    assert find_errors(text)[0].message == message
    assert [found.code for found in find_errors(text)] == [code]


def test_good_output_has_no_errors() -> None:
    assert find_errors("the minbytes is 8192, maxbytes is 8192, iters is 20, warmup_iters is 10\n", "") == []


def test_causes_before_consequences() -> None:
    text = BAD + "hccl interface return err ./c.cc:9, retcode: 7 \nProcess 1 received invalid data from root process 0\n" + "EI0006\nEI0016\nEI0006\n"
    stderr = "ssh: connect to host n2 port 22: No route to host\n[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s\n"
    assert [error.code for error in find_errors(text, stderr)] == [
        "host_unreachable", "EI0006", "EI0016", "rootinfo_failed", "hccl_7", "rank_crashed", "timed_out",
    ]


def test_each_return_code_is_reported_once() -> None:
    text = "acl interface return err a:1, retcode: 207001.\n"
    text += "hccl interface return err b:2, retcode: 207001 \nhccl interface return err c:3, retcode: 207001 \n"
    found = find_errors(text)
    assert [error.code for error in found] == ["acl_207001", "hccl_207001"]
    assert found[1].message == "hccl interface returned 207001 (out of device memory) at b:2"


def test_long_lines_are_cut() -> None:
    message = find_errors("x" * 1000 + " EI0014 " + "y" * 1000)[0].message
    assert message.startswith("EI0014 yyy")
    assert len(message) == 300


def test_timed_out_error() -> None:
    assert timed_out_error("1 of 2").as_dict() == {
        "code": "timed_out", "message": "1 of 2",
        "hint": "one rank hangs or cannot be reached; check the links and leftover processes on every host, or raise timeout",
    }
