"""Judge recorded launches of MPICH, Open MPI and Intel MPI that fail. The expectations are derived from the cause, the host at fault and the outcome that each
recording states, not from the product."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective import Request, judge_log
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions, FinishedRun, Judged
from ansible_collections.hccn.cluster.plugins.module_utils._perf.hccl_test_tool import HCCL_TEST
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_causes import CAUSES, ORIGINS, origin_of
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_failure import hosts_of
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions
from tests.lib.project import shared

# Cause of the recording: (code, who failed).
VERDICTS = {
    "binding": ("binding_failed", "launcher"), "component_missing": ("component_missing", "launcher"), "dev_shm_full": ("shm_full", "host"),
    "firewall_launcher": ("launcher_unreachable", "host"), "firewall_ranks": ("ranks_unreachable", "host"), "firewall_ssh": ("host_unreachable", "ssh"),
    "host_key_changed": ("ssh_host_key_changed", "ssh"), "host_key_unknown": ("ssh_host_key", "ssh"), "host_lost": ("host_lost", "host"),
    "hostfile_empty": ("placement_mismatch", "launcher"), "hostfile_missing": ("hostfile_unreadable", "launcher"),
    "hostfile_slots": ("hostfile_invalid", "launcher"), "hostfile_syntax": ("hostfile_invalid", "launcher"),
    "launcher_argument": ("launcher_argument", "launcher"), "library_broken": ("library_missing", "program"),
    "library_missing": ("library_missing", "program"), "library_version": ("library_version", "program"), "link_lost": ("timed_out", "time"),
    "misplaced": ("placement_mismatch", "launcher"), "mpi_error": ("mpi_error", "rank"), "mpi_missing": ("mpi_missing", "launcher"),
    "mpi_not_in_path": ("mpi_missing", "launcher"), "mpi_version_differs": ("mpi_version_differs", "launcher"),
    "no_path_between_hosts": ("ranks_unreachable", "host"), "no_route": ("host_unreachable", "ssh"), "no_such_user": ("ssh_refused", "ssh"),
    "not_enough_slots": ("not_enough_slots", "launcher"), "oom_kill": ("rank_crashed", "rank"), "own_name": ("hostname_unresolved", "host"),
    "profile_breaks_environment": ("host_lost", "host"), "profile_exits": ("timed_out", "time"), "program_broken": ("program_invalid", "program"),
    "program_missing": ("program_missing", "program"), "program_not_executable": ("program_not_executable", "program"),
    "rank_abort": ("rank_aborted", "rank"), "rank_exit": ("rank_exited", "rank"), "rank_signal": ("rank_crashed", "rank"),
    "ssh_blocked": ("ssh_refused", "ssh"), "ssh_config": ("ssh_config", "ssh"), "ssh_forced_command": ("hosts_not_started", "time"),
    "ssh_key_permissions": ("ssh_key_unusable", "ssh"), "ssh_missing": ("ssh_missing", "ssh"), "ssh_permission_denied": ("ssh_refused", "ssh"),
    "ssh_too_many_keys": ("ssh_refused", "ssh"), "sshd_down": ("host_unreachable", "ssh"), "terminated": ("timed_out", "time"),
    "timeout": ("timed_out", "time"), "tmp_read_only": ("daemon_failed", "host"), "ulimit_nofile": ("open_files_limit", "host"),
    "ulimit_nproc": ("process_limit", "host"), "ulimit_v": ("address_space_limit", "host"), "unresolvable": ("host_unresolvable", "ssh"),
    "working_directory": ("working_directory_missing", "host"), "wrong_architecture": ("program_invalid", "program"),
    "wrong_interface": ("interface_unknown", "launcher"), "wrong_shell": ("ssh_shell", "ssh"),
}
# Intel MPI does not pass on what ssh prints, only that it failed.
INTEL = dict.fromkeys(("unresolvable", "firewall_ssh", "sshd_down"), ("ssh_failed", "ssh"))
SSH_REFUSED, TIMED_OUT, NO_OUTPUT = ("ssh_refused", "ssh"), ("timed_out", "time"), ("no_output", "launcher")
# Recordings whose text shows less, or something else, than their cause.
TEXTS = {
    "impi/dev-shm-full": ("rank_crashed", "rank"),  # only the bus error is printed
    "impi/firewall-between-ranks": TIMED_OUT, "mpich4/firewall-drops-call-home": TIMED_OUT,  # packets are dropped silently
    "impi/firewall-drops-call-home": ("hosts_not_started", "time"),
    "impi/rank-exits-6-before-init": NO_OUTPUT, "mpich4/slots-not-a-number": NO_OUTPUT, "ompi5/prte-interface-unknown": NO_OUTPUT,  # nothing is printed
    "impi/rank-exits-7-after-finalize": TIMED_OUT,  # the status is not printed, since the other ranks hang
    "mpich4/processes-low": TIMED_OUT, "mpich4/shell-false": TIMED_OUT, "mpich5/program-empty-on-one": TIMED_OUT,  # only the limit is printed
    "mpich5/profile-exits-silent": ("launch_failed", "launcher"),
    "mpich5/sigint-mpirun": ("terminated", "time"),  # mpirun prints that it passes on Ctrl-C
    "ompi4/bind-overload": ("not_enough_slots", "launcher"), "ompi5/slots-zero": ("not_enough_slots", "launcher"),
    "ompi4/btl-tcp-same-address-docker": ("ranks_unreachable", "host"),
    "ompi5/program-not-executable-on-one": ("program_missing", "program"),  # the same text as for a missing program
    "ompi5/rank-limit-reached": ("rank_crashed", "rank"),  # the rank is killed by its own limit, as by anybody else
    "ompi5/shell-missing": SSH_REFUSED,  # sshd refuses the login
}
# The table is of the first host only, with status 0.
MISPLACED = ("placement_mismatch", "launcher")
# Recordings whose text contains a host at fault that is not at fault in this text.
OTHER_HOSTS = {
    "ompi5/rank-limit-reached": "the rank of another host reached its limit first",
    "ompi5/link-lost-mid-run": "the line is of the session of the recording",
}
TABLE = re.compile(r"^#.*$|^ *[0-9]+ .*$", re.MULTILINE)
LABEL = re.compile(r"\[mpiexec@[^\]]*\]")


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shared(f"samples/{name}.jsonl").read_text().splitlines()]


def tool_and_options(case: dict[str, Any]) -> tuple[Any, Any, int]:
    """Return the tool, its options and the number of ranks of a recorded command line."""
    hosts = len(case["hosts"])
    requested = re.search(r" -n (\d+)", case["command"])
    ranks = (int(requested.group(1)) if requested else 0) or hosts
    given = {"begin": "8K", "end": "64M", "ranks_per_host": max(1, -(-ranks // hosts)), "check": False}
    if "all_reduce_test" in case["command"]:
        return HCCL_TEST, CollectiveOptions(**given), given["ranks_per_host"] * hosts
    return NCCL_TESTS, NcclOptions(**given), given["ranks_per_host"] * hosts


def judged(case: dict[str, Any]) -> Judged:
    tool, options, ranks = tool_and_options(case)
    return tool.judge_run(FinishedRun(case["stdout"], case["stderr"], case["exit_status"]), options, ranks)


def hosts_at_fault(case: dict[str, Any], verdict: Judged) -> tuple[str, ...]:
    _tool, options, _ranks = tool_and_options(case)
    return hosts_of(getattr(verdict.error, "places", ()), case["hosts"], case["hosts"], options.ranks_per_host)


def expected(case: dict[str, Any]) -> tuple[str, str] | None:
    if case["outcome"] == "success":
        return None
    name = case["case"].removeprefix("mpi2/")
    if case["outcome"] == "wrong":
        return MISPLACED
    return TEXTS.get(name) or (INTEL.get(case["cause"]) if case["launcher"] == "intelmpi" else None) or VERDICTS[case["cause"]]


def named_in_text(case: dict[str, Any]) -> set[str]:
    """Return the hosts at fault that the output contains outside of the table and of the label of mpirun."""
    text = LABEL.sub("", TABLE.sub("", case["stdout"]) + "\n" + case["stderr"])
    return {host for host in (case["guilty"] or "").split(",") if host and re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", text)}


def test_every_launch_has_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    found, wanted = {}, {}
    recorded = cases("mpi-launch-2")
    for case in recorded:
        error = judged(case).error
        found[case["case"]] = (error.code, origin_of(error.code)) if error else None
        wanted[case["case"]] = expected(case)
    assert found == wanted
    assert set(TEXTS) <= {case["case"].removeprefix("mpi2/") for case in recorded}
    with capsys.disabled():
        good = sum(verdict is None for verdict in found.values())
        print(f"\nlaunchers: {len(recorded)} recorded launches judged, {good} of them good, {len({one[0] for one in found.values() if one})} causes")


def test_every_host_at_fault_that_the_text_has_is_named() -> None:
    missing, checked = {}, 0
    for case in cases("mpi-launch-2"):
        verdict = judged(case)
        if verdict.error is None or case["case"].removeprefix("mpi2/") in OTHER_HOSTS:
            continue
        named = named_in_text(case)
        checked += len(named)
        if not named <= set(hosts_at_fault(case, verdict)):
            missing[case["case"]] = (named, hosts_at_fault(case, verdict), verdict.error.message)
    assert missing == {}
    assert checked >= 59


def test_every_verdict_quotes_the_output() -> None:
    """A verdict contains at least one line of the output, or says that there is none, or that the run was stopped."""
    for case in cases("mpi-launch-2"):
        error = judged(case).error
        if error is None or case["outcome"] == "wrong":
            continue
        text = " ".join((case["stdout"] + "\n" + case["stderr"]).replace("=", " ").split())
        words = re.split(r"; the output also says: | \(|\): ", error.message)
        quoted = any(part.partition(": ")[2][:40].strip() in text or part[:40].strip() in text for part in words if len(part) > 8)
        assert quoted or "gave no reason" in error.message or "was stopped" in error.message or "the table is complete" in error.message, case["case"]


def test_logs_are_judged_like_runs() -> None:
    """The status of a log is unknown, so a rank that fails silently after a whole table is not seen. Everything else is."""
    differing = {}
    for case in cases("mpi-launch-2"):
        tool, options, _ranks = tool_and_options(case)
        request = Request(options, hosts=tuple(case["hosts"]), tool=tool, run_id="t")
        record = judge_log(request, case["stdout"] + case["stderr"], sizes_given=True).record
        code = record.get("error", {}).get("code")
        wanted = (expected(case) or (None,))[0]
        if code != wanted:
            differing[case["case"].removeprefix("mpi2/")] = (wanted, code)
    assert differing == {
        "impi/rank-exits-6-before-init": ("no_output", "no_table"), "mpich4/slots-not-a-number": ("no_output", "no_table"),
        "ompi5/prte-interface-unknown": ("no_output", "no_table"),
        "impi/rank-returns-4": ("rank_exited", None), "mpich4/rank-returns-5": ("rank_exited", None), "mpich5/rank-returns-7": ("rank_exited", None),
        "ompi5/rank-returns-1": ("rank_exited", None),
        "impi/sigterm-mpirun": ("timed_out", "rank_crashed"), "ompi5/sigterm-mpirun": ("timed_out", "rows_missing"),
    }


def test_records_name_host_and_origin() -> None:
    case = next(case for case in cases("mpi-launch-2") if case["case"] == "mpi2/ompi4/rank-exits-4")
    tool, options, _ranks = tool_and_options(case)
    request = Request(options, hosts=tuple(case["hosts"]), names=("npu1", "npu2"), tool=tool, run_id="t")
    record = judge_log(request, case["stdout"] + case["stderr"], sizes_given=True).record
    assert (record["error"]["code"], record["error"]["origin"], record["context"]["suspects"]) == ("rank_exited", "rank", ["npu2"])
    assert record["error"]["message"].startswith("npu2: worker-1: Test failure common.cu:404 (Process name: [[44241,1],1] Exit code: 4")


# Of the first series, whose recordings have no field for the cause: (code, hosts at fault), by the name of the case and its note.
FIRST_SERIES = {
    "mpich/bad-option": ("launcher_argument", ()), "mpich/command-exits-nonzero-on-one": ("rank_exited", ()),
    "mpich/host-link-lost-mid-run": ("no_output", ()), "mpich/host-name-unknown": ("host_unresolvable", ("nosuchhost",)),
    "mpich/host-unreachable-mpiexec-timeout": ("host_unreachable", ("absent",)), "mpich/hostfile-missing": ("hostfile_unreadable", ()),
    "mpich/login-refused": ("ssh_refused", ("h2",)), "mpich/mpi-missing-on-one": ("mpi_missing", ()),
    "mpich/program-missing": ("program_missing", ("h1", "h2")),
    "mpich/program-not-executable-on-one": ("program_not_executable", ("h2",)), "mpich/rank-crashes": ("rank_crashed", ("h2",)),
    "mpich/rank-killed": ("rank_crashed", ("h2",)), "mpich/timeout-sigterm": ("timed_out", ()), "mpich/wrong-interface": ("ranks_unreachable", ()),
    "openmpi/command-exits-nonzero": ("rank_exited", ("h2",)), "openmpi/host-key-unknown": ("ssh_host_key", ()),
    "openmpi/host-lost-mid-run": ("host_lost", ("h2",)), "openmpi/host-silent": ("timed_out", ()),
    "openmpi/host-unreachable": ("host_unreachable", ("absent",)),
    "openmpi/hostfile-missing": ("hostfile_unreadable", ()), "openmpi/login-refused": ("ssh_refused", ("h2",)),
    "openmpi/mpi-missing-on-one": ("mpi_missing", ()), "openmpi/program-missing-on-one": ("program_missing", ("h2",)),
    "openmpi/rank-aborts": ("rank_aborted", ("h2",)), "openmpi/rank-exits-nonzero": ("rank_exited", ("h2",)), "openmpi/root-not-allowed": ("root_refused", ()),
    "openmpi/timeout-sigterm": ("timed_out", ()), "openmpi/wrong-btl": ("ranks_unreachable", ("h2", "h1")),
}


@pytest.mark.parametrize("tool", [HCCL_TEST, NCCL_TESTS], ids=["hccl_test", "nccl-tests"])
def test_first_series(tool: Any) -> None:
    found = {}
    for case in cases("mpi-real"):
        if case["exit_status"] == 0:
            continue
        hosts = re.findall(r"^\S+", case.get("hostfile", "h1\nh2\n"), re.MULTILINE)
        options = CollectiveOptions(ranks_per_host=1, check=False) if tool is HCCL_TEST else NcclOptions(ranks_per_host=1, check=False)
        error = tool.judge_run(FinishedRun(case["stdout"], case["stderr"], case["exit_status"]), options, len(hosts)).error
        found[case["case"].removeprefix("mpi/")] = (error.code, hosts_of(getattr(error, "places", ()), hosts, hosts, 1))
    assert found == FIRST_SERIES


def test_every_code_has_an_origin_and_a_hint() -> None:
    assert {cause.origin for cause in CAUSES.values()} == set(ORIGINS)
    assert [code for code, cause in CAUSES.items() if not cause.hint or not cause.meaning.endswith(".")] == []
