"""Runs of nccl-tests: the search for the program, the command, and the record."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective, nccl_tests_tool
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions

OUTPUT = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 5 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid   1 on a device  0 [0x0f] G
#  Rank  1 Group  0 Pid   2 on a device  1 [0x10] G
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
1048576 262144 float sum -1 52.43 20.00 20.00 0 50.00 20.97 20.97 0
2097152 524288 float sum -1 104.86 20.00 20.00 0 100.00 20.97 20.97 0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 20.485
"""
OPTIONS = NcclOptions(ranks_per_host=2, begin="1M", end="2M", iterations=5, warmup=1)


@pytest.fixture
def request_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> collective.Request:
    """A request with an mpirun that prints OUTPUT, and the program in a separate folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(nccl_tests_tool, "CUDA_LIBRARIES", (str(tmp_path / "cuda"),))
    (tmp_path / "output").write_text(OUTPUT)
    for name, text in {"mpirun": "case $1 in --version) echo '(Open MPI) 4.1.5';; *) cat %s/output;; esac" % tmp_path, "all_reduce_perf": "exit 1"}.items():
        (tmp_path / name).write_text("#!/bin/sh\n%s\n" % text)
        (tmp_path / name).chmod(0o755)
    return collective.Request(OPTIONS, folder=str(tmp_path), mpirun=str(tmp_path / "mpirun"), run_id="r", smi="/nowhere/nvidia-smi", tool=NCCL_TESTS,
                              environment={"NCCL_IB_TC": "128", "OMPI_MCA_pml": "ob1"})


def test_record_of_a_run(request_here: collective.Request) -> None:
    record = collective.run(request_here).record
    command = [word for word in record["command"] if word != "--allow-run-as-root"]
    assert command[1:] == ["--oversubscribe", "-x", "NCCL_IB_TC", "-n", "2", request_here.folder + "/all_reduce_perf"] + (
        "-b 1M -e 2M -f 2 -g 1 -d float -o sum -n 5 -w 1 -c 1".split())
    assert record["options"] == {
        "ranks_per_host": 2, "data_type": "float", "check": True, "reduction": "sum", "begin_bytes": 1048576, "end_bytes": 2097152, "factor": 2,
        "iterations": 5, "warmup": 1, "root": 0, "timeout_s": 600, "mpi": "openmpi 4.1.5", "environment": {"NCCL_IB_TC": "128"}}
    assert (record["status"], record["ranks"], record["tool"]) == ("ok", 2, {"name": "all_reduce_perf"})
    assert record["samples"][0] == {"size_bytes": 1048576, "iterations": 5, "check": "success", "time_us": 52.43, "algbw_gbyte_s": 20.0, "busbw_gbyte_s": 20.0,
                                    "in_place": {"check": "success", "time_us": 50.0, "algbw_gbyte_s": 20.97, "busbw_gbyte_s": 20.97}}


WRONG = OUTPUT.replace(" 0\n# Out of bounds values : 0 OK", " 3\n# Out of bounds values : 3 FAILED")


def test_wrong_result_names_the_host_only_if_it_is_the_only_one(request_here: collective.Request) -> None:
    """The program prints the sum of the wrong values of all ranks."""
    assert WRONG != OUTPUT
    Path(request_here.folder, "output").write_text(WRONG)
    record = collective.run(dataclasses.replace(request_here, names=("n1",))).record
    assert (record["error"]["code"], record["error"]["message"], record["context"]) == (
        "check_failed", "3 value(s) were wrong for 2097152 bytes, in place, on n1", {"suspects": ["n1"]})
    assert "prints the sum of all ranks" in record["error"]["hint"]
    log = collective.judge_log(dataclasses.replace(request_here, hosts=("a", "b")), WRONG, sizes_given=True).record
    assert (log["error"]["code"], log.get("context")) == ("check_failed", None)


def test_missing_ranks_are_an_error(request_here: collective.Request) -> None:
    Path(request_here.folder, "output").write_text(OUTPUT.replace("#  Rank  1 Group  0 Pid   2 on a device  1 [0x10] G\n", ""))
    assert collective.run(request_here).record["error"]["message"] == "1 ranks took part, but 2 were requested"


def test_program_in_the_path(request_here: collective.Request) -> None:
    found = collective.find_program(collective.Request(OPTIONS, environment={"PATH": request_here.folder}, tool=NCCL_TESTS))
    assert found == request_here.folder + "/all_reduce_perf"


def test_missing_program() -> None:
    with pytest.raises(HccnError) as caught:
        collective.find_program(collective.Request(OPTIONS, folder="/nowhere", tool=NCCL_TESTS))
    assert (caught.value.code, caught.value.message) == ("nccl_tests_missing", "no such program: /nowhere/build/all_reduce_perf, /nowhere/all_reduce_perf")


def test_variables_of_the_other_tool_are_rejected() -> None:
    with pytest.raises(InputError, match="HCCL_BUFFSIZE is not allowed"):
        collective.validate(collective.Request(OPTIONS, environment={"HCCL_BUFFSIZE": "200"}, tool=NCCL_TESTS))


def test_log_with_omitted_sizes_has_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("#\n# Reducing maxBytes to 2097152 due to memory limitation\n" + OUTPUT)
    outcome = collective.judge_log_file(collective.Request(OPTIONS, tool=NCCL_TESTS), str(path), sizes_given=False)
    assert (outcome.failed, outcome.record["hosts"]) == (False, ["a"])
    assert outcome.warnings == ("the memory of the GPU allows at most 2097152 bytes, so larger sizes were not measured",)
