"""Complete runs of a collective with a fake mpirun whose output is set by the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective import Request
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions

HYDRA = "HYDRA build details:\n    Version:                                 4.1.3\n"
OPEN_MPI = "mpirun (Open MPI) 4.1.5\n"
BANNER = "the minbytes is 8192, maxbytes is 16384, iters is 5, warmup_iters is 1\n"
TABLE = "8192 | 40.00 | 0.20480 | success\n16384 | 50.00 | 0.32768 | success\n"
OPTIONS = CollectiveOptions(ranks_per_host=2, end="16K", iterations=5, warmup=1)
SCRIPT = """#!/bin/sh
cd "${0%/*}"
[ "$1" = --version ] && { cat version; exit 0; }
case "$*" in *printenv*) cat placement; cat trouble >&2; exit 1 ;; esac
echo "$*" > arguments
echo "$MPIEXEC_TIMEOUT $HCCL_BUFFSIZE $LD_LIBRARY_PATH" > environment
[ "$2" = -f ] || [ "$1" != -f ] || cat "$2" > hostfile
cat output
exit "$(cat status)"
"""
SSH = """#!/bin/sh
echo "$*" >> "${0%/*}/logins"
while [ "${1#-}" != "$1" ]; do case "$1" in -[io]) shift ;; esac; shift; done
grep "^$1 " "${0%/*}/refused" | cut -d" " -f2- >&2 && grep -q "^$1 " "${0%/*}/refused" && exit 255
exit 0
"""
"""A login to a host succeeds, unless the file "refused" has a line with the host and the error message of ssh."""


class Fake:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mpi" / "bin"
        self.folder.mkdir(parents=True)
        self.path = self.folder / "mpirun"
        self.path.write_text(SCRIPT)
        self.path.chmod(0o755)
        self.write(version=HYDRA, placement="n1\nn1\nn2\nn2\n", trouble="", output=BANNER + TABLE, status="0")
        self.ssh = self.folder / "ssh"
        self.ssh.write_text(SSH)
        self.ssh.chmod(0o755)
        self.write(refused="", logins="")
        self.hccl_test = folder / "cann" / "tools" / "hccl_test"
        (self.hccl_test / "bin").mkdir(parents=True)
        program = self.hccl_test / "bin" / "all_reduce_test"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def request(self, **changes: object) -> Request:
        whole = {"options": OPTIONS, "folder": str(self.hccl_test), "mpirun": str(self.path), "timeout": 20, "run_id": "r1"}
        whole.update(changes)
        return Request(**whole)  # type: ignore[arg-type]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    for name in [name for name in os.environ if name.startswith("HCCL_")] + ["ASCEND_HOME_PATH", "LD_LIBRARY_PATH"]:
        monkeypatch.delenv(name, raising=False)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    made = Fake(tmp_path)
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", str(made.ssh))
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", str(made.ssh))
    return made


def left(fake: Fake) -> "list[str]":
    return sorted(path.name for path in (fake.folder.parents[1] / "tmp").iterdir())


def test_run_on_one_host(fake: Fake) -> None:
    outcome = collective.run(fake.request())
    record = outcome.record
    program = str(fake.hccl_test / "bin" / "all_reduce_test")
    assert record["command"] == [str(fake.path), "-n", "2", program] + (
        "-p 2 -b 8K -e 16K -f 2 -d fp32 -o sum -n 5 -w 1 -c 1".split())
    assert fake.read("arguments").split() == record["command"][1:]
    assert fake.read("environment").split() == ["20"]
    assert {key: value for key, value in record.items() if key not in ("command", "started_at", "duration_s")} == {
        "schema": "hccn.cluster/measurement/1", "id": "r1/collective/all_reduce/1", "kind": "collective", "status": "ok",
        "tool": {"name": "all_reduce_test"}, "operation": "all_reduce", "measure": "bandwidth", "hosts": [os.uname().nodename], "ranks": 2,
        "options": {"ranks_per_host": 2, "data_type": "fp32", "check": True, "reduction": "sum", "begin_bytes": 8192, "end_bytes": 16384,
                    "factor": 2, "iterations": 5, "warmup": 1, "root": 0, "timeout_s": 20, "mpi": "mpich 4.1.3"},
        "samples": [
            {"size_bytes": 8192, "iterations": 5, "check": "success", "time_us": 40.0, "algbw_gbyte_s": 0.2048, "busbw_gbyte_s": 0.2048},
            {"size_bytes": 16384, "iterations": 5, "check": "success", "time_us": 50.0, "algbw_gbyte_s": 0.32768, "busbw_gbyte_s": 0.32768},
        ],
    }
    assert record["duration_s"] >= 0 and record["started_at"].endswith("Z")
    assert outcome.result() == {"changed": False, "measurements": [record], "command": record["command"]}
    assert (outcome.failed, outcome.sentence, outcome.warnings) == (False, "", ())
    assert left(fake) == []


def test_run_on_two_hosts(fake: Fake) -> None:
    environment = {"HCCL_BUFFSIZE": "512", "HYDRA_IFACE": "eth0", "LD_LIBRARY_PATH": "/mine"}
    (fake.path.parents[1] / "lib").mkdir()
    (fake.hccl_test.parents[1] / "lib64").mkdir()
    record = collective.run(fake.request(hosts=("n1", "n2"), environment=environment, attempt=3)).record
    assert record["command"][1] == "-f" and record["command"][3:10] == ["-n", "4", "timeout", "-s", "KILL", "80", str(fake.hccl_test / "bin/all_reduce_test")]
    assert fake.read("hostfile") == "n1:2\nn2:2\n"
    assert fake.read("environment").split() == [
        "28", "512", "/mine:%s:%s" % (fake.path.parents[1] / "lib", fake.hccl_test.parents[1] / "lib64")]
    assert (record["id"], record["hosts"], record["ranks"], record["status"]) == ("r1/collective/all_reduce/3", ["n1", "n2"], 4, "ok")
    assert record["options"]["environment"] == {"HCCL_BUFFSIZE": "512"}
    assert record["samples"][0]["busbw_gbyte_s"] == 0.3072
    assert left(fake) == []


def test_inherited_hccl_variables_are_recorded(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCCL_CONNECT_TIMEOUT", "300")
    assert collective.run(fake.request()).record["options"]["environment"] == {"HCCL_CONNECT_TIMEOUT": "300"}


def test_run_with_open_mpi(fake: Fake) -> None:
    fake.write(version=OPEN_MPI, placement=" Data for node: n1\tNum slots: 2\tMax slots: 0\tNum procs: 2\n Data for node: n2\tNum procs: 2\n")
    command = collective.run(fake.request(hosts=("n1", "n2"), environment={"HCCL_BUFFSIZE": "512"})).record["command"]
    launcher = command[:command.index("-p") - 1]
    assert [word for word in launcher[3:] if word != "--allow-run-as-root"] == ["-x", "HCCL_BUFFSIZE", "-x", "HCCN_CLUSTER_GUARD", "-n", "4",
                                                                                      "timeout", "-s", "KILL", "80"]
    assert launcher[:2] == [str(fake.path), "--hostfile"]


def test_failure_of_the_launcher_names_who_failed_and_where(fake: Fake) -> None:
    """The rank is found by its number, and the host has the name that the request gives it."""
    fake.write(output="Abort(2) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 2) - process 2\n", status="2")
    record = collective.run(fake.request(hosts=("n1", "n2"), names=("npu1", "npu2"))).record
    assert (record["error"]["code"], record["error"]["origin"], record["context"]) == ("rank_aborted", "rank", {"suspects": ["npu2"]})
    assert record["error"]["message"] == (
        "npu2: Abort(2) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 2) - process 2")


def test_failed_run_returns_error_and_output(fake: Fake) -> None:
    fake.write(output=BANNER + "hccl interface return err ./a.cc:1, retcode: 7 \n")
    outcome = collective.run(fake.request())
    assert outcome.failed
    assert outcome.record["status"] == "failed"
    assert outcome.record["error"]["code"] == "hccl_7"
    assert outcome.sentence.startswith("hccl interface returned 7 (resource unavailable) at ./a.cc:1 (check every host")
    assert outcome.result()["output"] == (BANNER + "hccl interface return err ./a.cc:1, retcode: 7").strip()
    assert "samples" not in outcome.record


def test_error_without_a_hint(fake: Fake) -> None:
    fake.write(output=BANNER + TABLE + "this failed\n")
    assert collective.run(fake.request()).sentence == "this failed"


def test_output_is_bounded(fake: Fake) -> None:
    fake.write(output="word " * 20000 + "\nend\n")
    found = collective.run(fake.request())
    assert 65000 < len(found.output) <= 65536 + 10 and found.output.endswith(" word \nend")
    assert 4000 < len(found.record["error"]["output"]) <= 4096 + 10 and found.record["error"]["output"].endswith(" word \nend")


def test_warnings_of_the_program_are_returned(fake: Fake) -> None:
    warning = "Warning: The calculation result overflows, No verification is performed."
    fake.write(output=BANNER + warning + "\n" + TABLE.replace("success", "NULL"))
    outcome = collective.run(fake.request())
    assert (outcome.failed, outcome.warnings) == (False, (warning,))


def test_all_hosts_that_refuse_the_login_are_named(fake: Fake) -> None:
    fake.write(refused="n2 ssh: connect to host n2 port 22: Connection refused\nn4 Host key verification failed.\n")
    record = collective.run(fake.request(hosts=("n1", "n2", "n3", "n4"), names=("a", "b", "c", "d"))).record
    assert (record["status"], record["error"]["code"], record["context"]) == ("not_run", "host_unreachable", {"suspects": ["b", "d"]})
    assert record["error"]["message"] == (
        "2 of 4 hosts accept no login from %s: n2: ssh: connect to host n2 port 22: Connection refused; "
        "n4: Host key verification failed." % os.uname().nodename)
    assert not (fake.folder / "arguments").exists()
    assert left(fake) == []


def test_identity_and_known_hosts_are_passed_to_ssh(fake: Fake) -> None:
    made = collective.plan(fake.request(hosts=("n1", "n2"), identity="/k/id", known_hosts=("n1 ssh-ed25519 AAAA",), environment={
        "HYDRA_LAUNCHER_EXTRA_ARGS": "-p 2222"}), "/t/hosts")
    assert made.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] == (
        "-p 2222 -i /k/id -o IdentitiesOnly=yes -o UserKnownHostsFile=/t/hosts-known -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes")
    assert collective.run(fake.request(hosts=("n1", "n2"), identity="/k/id", known_hosts=("n1 ssh-ed25519 AAAA",))).record["status"] == "ok"
    assert "-i /k/id" in fake.read("logins")
    assert left(fake) == []


def test_host_that_blocks_a_run_is_found_while_the_run_hangs(fake: Fake) -> None:
    """There are two hosts with two ranks each. While mpirun waits, the second host reports that one of its ranks is stopped."""
    fake.ssh.write_text("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift 2; done\n[ \"$1\" = n1 ] && echo 'rank 0 S'\n"
                        "case \"$1$2\" in n1*) echo 'rank 1 S' ;; *probe*) echo 'rank 2 S'; echo 'rank 3 T' ;; esac\n")
    fake.path.write_text(SCRIPT.replace("cat output\n", "cat output; sleep 2; echo '[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 9s' >&2\n"))
    fake.write(output=BANNER, status="255")
    record = collective.run(fake.request(hosts=("n1", "n2"), names=("a", "b"), timeout=1)).record
    assert (record["status"], record["error"]["code"], record["context"]) == ("failed", "timed_out", {"suspects": ["b"]})
    assert record["error"]["message"] == "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 9s; b: rank 3 is stopped by a signal"
    assert left(fake) == []


def test_the_host_of_a_wrong_result_is_named(fake: Fake) -> None:
    fake.write(output=BANNER + TABLE + "local rank_id 3, check result failed, 8192 | 40.00 | 0.2 | failed\n")
    record = collective.run(fake.request(hosts=("n1", "n2"), names=("a", "b"))).record
    assert (record["error"]["code"], record["context"]) == ("check_failed", {"suspects": ["b"]})
    assert record["error"]["message"] == "check result failed on rank 3 for 8192 bytes, on b"


def test_a_good_run_is_not_followed_by_logins(fake: Fake) -> None:
    assert collective.run(fake.request(hosts=("n1", "n2"))).record["status"] == "ok"
    assert [line.split()[-1] for line in fake.read("logins").splitlines()] == ["true'", "true'"]


def test_host_without_ranks(fake: Fake) -> None:
    fake.write(placement="n1\nn1\n", trouble="ssh: connect to host n2 port 22: No route to host\n[mpiexec@n1] Launch proxy failed.\n")
    outcome = collective.run(fake.request(hosts=("n1", "n2")))
    assert (outcome.record["status"], outcome.record["error"]["code"]) == ("not_run", "host_unreachable")
    assert "No route to host" in outcome.output
    assert not (fake.folder / "arguments").exists()
    assert left(fake) == []


def test_hosts_that_do_not_start_ranks_in_time(fake: Fake) -> None:
    fake.write(placement="n1\nn1\n", trouble="[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 60s\n")
    error = collective.run(fake.request(hosts=("n1", "n2"))).record["error"]
    assert error["code"] == "hosts_not_started"
    assert error["message"] == "not all ranks started in time: every host should have 2, but n2 has 0"


def test_ranks_on_wrong_hosts(fake: Fake) -> None:
    fake.write(placement="n1\n" * 4)
    error = collective.run(fake.request(hosts=("n1", "n2"))).record["error"]
    assert error["code"] == "placement_mismatch"
    assert error["message"] == "the ranks were not placed as requested: every host should have 2, but n1 has 4, n2 has 0"


def test_many_hosts_without_ranks(fake: Fake) -> None:
    fake.write(placement="n1\nn1\n")
    message = collective.run(fake.request(hosts=tuple("n%d" % number for number in range(1, 9)))).record["error"]["message"]
    assert message.endswith("n2 has 0, n3 has 0, n4 has 0, n5 has 0, n6 has 0 and 2 more")


def test_launcher_that_does_not_report_hosts(fake: Fake) -> None:
    fake.write(placement="")
    assert collective.run(fake.request(hosts=("n1", "n2"))).record["status"] == "ok"


def test_placement_check_can_be_disabled(fake: Fake) -> None:
    fake.write(placement="elsewhere\n")
    assert collective.run(fake.request(hosts=("n1", "n2"), check_hosts=False)).record["status"] == "ok"


def test_missing_mpirun(fake: Fake) -> None:
    outcome = collective.run(fake.request(mpirun="/nowhere/mpirun"))
    assert (outcome.record["status"], outcome.record["error"]["code"]) == ("not_run", "tool_missing")
    assert outcome.result() == {"changed": False, "measurements": [outcome.record]}


def test_mpirun_in_the_path_of_the_environment(fake: Fake) -> None:
    assert collective.plan(fake.request(mpirun="mpirun", environment={"PATH": str(fake.folder)})).launcher.path == str(fake.path)


def test_mpirun_that_cannot_be_started(fake: Fake) -> None:
    made = collective.plan(fake.request())
    fake.path.write_text("#!/nowhere/sh\n")
    with pytest.raises(HccnError) as caught:
        collective.find_launcher(fake.request())
    assert caught.value.code == "tool_missing"
    assert made.launcher.version == "4.1.3"


def test_mpirun_that_is_removed_before_the_run(fake: Fake) -> None:
    fake.path.write_text(SCRIPT.replace("cat version;", "cat version; rm mpirun;"))
    record = collective.run(fake.request()).record
    assert (record["status"], record["error"]["code"]) == ("not_run", "tool_missing")
    assert record["command"][0] == str(fake.path)


def test_missing_hccl_test(fake: Fake) -> None:
    with pytest.raises(HccnError) as caught:
        collective.plan(fake.request(folder="", environment={"ASCEND_HOME_PATH": "/nowhere/cann"}))
    assert caught.value.code == "hccl_test_missing"
    assert caught.value.message.startswith(
        "no such program: /nowhere/cann/tools/hccl_test/bin/all_reduce_test, /usr/local/Ascend/cann/tools/hccl_test/bin/all_reduce_test, ")


def test_hccl_test_of_the_environment(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(fake.hccl_test.parents[1]))
    assert collective.plan(fake.request(folder="")).folder == str(fake.hccl_test)


def test_hccl_test_on_the_other_hosts_only(fake: Fake) -> None:
    request = fake.request(hosts=("n1", "n2"), folder="/nowhere/hccl_test")
    assert "/nowhere/hccl_test/bin/all_reduce_test" in collective.plan(request).argv
    assert collective.run(request).record["status"] == "ok"


def test_plan_of_check_mode(fake: Fake) -> None:
    made = collective.plan(fake.request(hosts=("n1", "n2")))
    assert made.argv[:5] == (str(fake.path), "-f", "hostfile", "-n", "4")
    assert made.hostfile == "n1:2\nn2:2\n"
    assert made.placement_argv[5:] == ("printenv", "PMI_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "MPICH_INTERFACE_HOSTNAME")


@pytest.mark.parametrize(("changes", "message"), [
    ({"timeout": 0}, "timeout is 0 seconds, it must be 1 or more"),
    ({"hosts": ("n1", "n1")}, "hosts[1]: n1 is a duplicate of hosts[0]"),
    ({"identity": "id"}, "ssh_identity is 'id', it must be an absolute path without spaces"),
    ({"hosts": ("fd00::1",)}, "hosts[0]: the host file of MPICH cannot contain an IPv6 address (fd00::1)"),
    ({"environment": {"LD_PRELOAD": "x"}}, "environment: LD_PRELOAD is not allowed"),
    ({"options": CollectiveOptions(root=2, ranks_per_host=2)}, "root is 2, but the ranks are 0 to 1"),
])
def test_invalid_requests_are_rejected(fake: Fake, changes: "dict[str, object]", message: str) -> None:
    with pytest.raises(InputError) as caught:
        collective.run(fake.request(**changes))
    assert caught.value.message == message
    assert left(fake) == []


def test_log_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("# mpirun -n 2 ./bin/all_gather_test\n" + BANNER + TABLE)
    request = Request(CollectiveOptions("all_gather", ranks_per_host=2), run_id="r2")
    record = collective.judge_log_file(request, str(path), sizes_given=False).record
    assert (record["status"], record["id"], record["ranks"]) == ("ok", "r2/collective/all_gather/1", 2)
    assert record["options"] == {
        "ranks_per_host": 2, "data_type": "fp32", "check": True, "begin_bytes": 8192, "end_bytes": 16384, "iterations": 5, "warmup": 1,
    }
    assert record["samples"][0] == {
        "size_bytes": 8192, "iterations": 5, "check": "success", "time_us": 40.0, "algbw_gbyte_s": 0.2048, "busbw_gbyte_s": 0.1024}
    assert not {"command", "started_at", "duration_s", "error"} & set(record)


def test_log_is_judged_by_given_sizes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(BANNER + TABLE)
    outcome = collective.judge_log_file(Request(CollectiveOptions(end="32K")), str(path), sizes_given=True)
    assert outcome.record["error"]["message"] == "1 of 3 sizes have no row, the first is 32768 bytes"
    assert outcome.output == (BANNER + TABLE).strip()


def test_log_without_a_banner(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("bash: orted: command not found\n")
    record = collective.judge_log_file(Request(CollectiveOptions()), str(path), sizes_given=False).record
    assert record["error"]["code"] == "mpi_missing"
    assert "iterations" not in record["options"]


def test_unreadable_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        collective.judge_log_file(Request(CollectiveOptions()), str(tmp_path / "none"), sizes_given=False)
    monkeypatch.setattr(collective.process, "OUTPUT_LIMIT", 10)
    path = tmp_path / "log"
    path.write_text("x" * 11)
    with pytest.raises(InputError, match="has more than 10 bytes"):
        collective.judge_log_file(Request(CollectiveOptions()), str(path), sizes_given=False)


def test_run_id() -> None:
    assert collective.new_run_id(0)[:17] == "19700101T000000Z-"
    assert len({collective.new_run_id(0) for number in range(20)}) == 20


def test_record_contains_the_names_of_the_hosts(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(BANNER + TABLE)
    request = Request(CollectiveOptions(ranks_per_host=1), hosts=("10.0.0.1", "10.0.0.2"), names=("n1", "n2"))
    assert collective.judge_log_file(request, str(path), sizes_given=False).record["hosts"] == ["n1", "n2"]


def test_number_of_names_must_match_the_hosts(fake: Fake) -> None:
    with pytest.raises(InputError, match="host_names has 1 names for 2 hosts"):
        collective.run(fake.request(hosts=("n1", "n2"), names=("n1",)))
    assert left(fake) == []
