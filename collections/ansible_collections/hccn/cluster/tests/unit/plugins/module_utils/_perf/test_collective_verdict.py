"""How a collective ended: who failed comes before the table and the status, for both tools."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions, FinishedRun
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_verdict import by_status, ending, explained, relevant
from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_test_tool import HCCL_TEST
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_causes import origin_of
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_failure import LaunchError, of_code
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions

HCCL_TABLE = "the minbytes is 8192, maxbytes is 8192, iters is 20, warmup_iters is 10\n8192 | 20.04 | 0.40876 | success\n"
NCCL_TABLE = """# nThread 1 nGpus 1 minBytes 8192 maxBytes 8192 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid     11 on         n1 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid     12 on         {second} device  0 [0x0f] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        8192          2048     float     sum      -1    20.04    0.41    0.41      0    20.04    0.41    0.41      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.41
"""
FRAME = "-" * 74 + "\n"
EXIT_CODE = FRAME + """prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-n1-42@1,1]
   Exit code:    3
""" + FRAME
ABORT = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode %d.\n"
KILLED = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 9 RUNNING AT n2\n=   EXIT CODE: %d\n"


def verdict(stdout: str = "", stderr: str = "", rc: "int | None" = 0, timed_out: bool = False, nccl: bool = True) -> "tuple[str, str] | None":
    finished = FinishedRun(stdout, stderr, rc, timed_out)
    if nccl:
        error = NCCL_TESTS.judge_run(finished, NcclOptions(begin="8K", end="8K", ranks_per_host=1), 2).error
    else:
        error = HCCL_TEST.judge_run(finished, CollectiveOptions(begin="8K", end="8K", ranks_per_host=1), 2).error
    return (error.code, origin_of(error.code)) if error else None


@pytest.mark.parametrize(("stderr", "rc", "expected"), [
    (ABORT % 7, 7, ("rank_aborted", "rank")),
    (ABORT % 2, 2, ("rank_aborted", "rank")),
    ("Open RTE was unable to open the hostfile:\n    hosts\n", 1, ("hostfile_unreadable", "launcher")),
    ("Open RTE detected a bad parameter in the hostfile:\n    hosts\nThe slots parameter is less than 0:\n    slots=-1\n", 1, ("hostfile_invalid", "launcher")),
    (EXIT_CODE, 3, ("rank_exited", "rank")),
    ("Connection to n2 closed by remote host.\n", 255, ("host_lost", "host")),
    ("[mpiexec@n1] HYDU_create_process (launch.c:73): execvp error on file /usr/bin/ssh (Permission denied)\n", 255, ("ssh_missing", "ssh")),
    ("", 7, ("rank_exited", "rank")),
    ("", 139, ("rank_crashed", "rank")),
    ("", 255, ("no_output", "launcher")),
    ("", 124, ("timed_out", "time")),
    ("n2: Test failure common.cu:403\n", 255, ("rank_exited", "rank")),
    ("n1: Test NCCL failure common.cu:1204 'unhandled system error / '\n .. n1 pid 5: Test failure common.cu:915\n" + EXIT_CODE, 3,
     ("nccl_system_error", "program")),
])
def test_who_failed_is_decided_before_the_status(stderr: str, rc: int, expected: "tuple[str, str]") -> None:
    assert verdict(stderr=stderr, rc=rc) == expected


def test_good_table() -> None:
    good = NCCL_TABLE.format(second="n2")
    noise = "Host key verification failed.\nThere is not enough space for /dev/shm/vader_segment.n2\n  Local host:  n2\n"
    assert verdict(good) is None
    assert verdict(good, noise) is None
    assert verdict(HCCL_TABLE, noise, nccl=False) is None
    assert verdict(good + noise, rc=None) is None


def test_whole_table_does_not_hide_a_failure() -> None:
    good = NCCL_TABLE.format(second="n2")
    assert verdict(good, EXIT_CODE, 3) == ("rank_exited", "rank")
    assert verdict(good + EXIT_CODE, rc=None) == ("rank_exited", "rank")
    assert verdict(good, rc=4) == ("rank_exited", "rank")
    crash = "prterun noticed that process rank 1 with PID 5 on node n2 exited on\nsignal 11 (Segmentation fault).\n"
    assert verdict(good, crash, 139) == ("rank_crashed", "rank")


def test_status_zero_is_not_enough() -> None:
    lost = "PRTE has lost communication with a remote daemon.\n\n  HNP daemon   : [p@0,0] on node n1\n  Remote daemon: [p@0,1] on node n2\n"
    assert verdict(NCCL_TABLE.format(second="n2").partition("        8192")[0], lost) == ("host_lost", "host")
    assert verdict(NCCL_TABLE.format(second="n1")) == ("placement_mismatch", "launcher")


@pytest.mark.parametrize("nccl", [True, False])
def test_ranks_that_are_ended_at_the_limit_did_not_crash(nccl: bool) -> None:
    assert verdict(KILLED % 15, rc=-15, timed_out=True, nccl=nccl) == ("timed_out", "time")
    assert verdict(KILLED % 15, rc=124, nccl=nccl) == ("timed_out", "time")
    assert verdict("[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s\n" + KILLED % 9, rc=255, nccl=nccl) == ("timed_out", "time")
    assert verdict(KILLED % 11, rc=124, nccl=nccl) == ("rank_crashed", "rank")
    assert verdict(KILLED % 15, rc=255, nccl=nccl) == ("rank_crashed", "rank")


def test_unknown_text_is_quoted() -> None:
    error = NCCL_TESTS.judge_run(FinishedRun("", FRAME + "A new kind of failure happened.\nMore.\n" + FRAME, 213), NcclOptions(ranks_per_host=1), 2).error
    assert (error.code, error.message) == ("no_table", "the output contains no row of the result table; the output also says: A new kind of failure happened.")
    timed_out = of_code("timed_out", "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s")
    assert explained(timed_out, ("cluster.env not found",)).message == timed_out.message + "; the output also says: cluster.env not found"
    assert explained(timed_out, ()) is timed_out
    known = HccnError("hccl_7", "m")
    assert explained(known, ("x",)) is known


def test_parts() -> None:
    warning = LaunchError("shm_full", "m", "h", fatal=False)
    crash = LaunchError("rank_crashed", "m", "h", signal=9)
    assert relevant([warning], True, 0) == []
    assert relevant([warning], True, None) == []
    assert relevant([warning], True, 1) == relevant([warning], False, 0) == [warning]
    assert relevant([warning, crash], True, None) == [warning, crash]
    assert ending([crash, of_code("timed_out", "t")], 255, False, "x").code == "timed_out"
    assert ending([], 0, False, "x") is None
    assert by_status(0, False, True, ()) is None
    assert by_status(3, False, False, ()) is None
    assert by_status(-8, False, True, ()).message == "mpirun was ended by signal 8 and gave no reason"
