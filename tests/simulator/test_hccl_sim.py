"""The stand-in for hccl_test: under a real mpirun, it moves real data and prints the texts of the real programs.

tests/integration/check_collective/test_hccl_perf.py runs every operation.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.integration.check_collective.mpi import CALL_SECONDS, hosts_on_this_machine, mpirun, programs
from tests.lib.project import SIMULATOR, shared

HEADER = "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:"
ROW = re.compile(r"(\d+) +\| (\d+\.\d\d) +\| (\d+\.\d{5}) +\| (\w+)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return programs(tmp_path)


def run(folder: Path, ranks: int, line: str, limit: int = 30, hostfile: Path | None = None, **environment: str) -> tuple[int, str]:
    """Return exit status and standard output of ``mpirun -n RANKS bin/LINE``."""
    program, *arguments = shlex.split(line)
    launch = [mpirun()] + (["-f", str(hostfile)] if hostfile else []) + ["-n", str(ranks), str(folder / "bin" / program)] + arguments
    result = subprocess.run(launch, capture_output=True, text=True, timeout=CALL_SECONDS, check=False, stdin=subprocess.DEVNULL,
                            env={**os.environ, "MPIEXEC_TIMEOUT": str(limit), **environment})
    return result.returncode, result.stdout


def without_numbers(text: str) -> list[str]:
    """Return the lines in a stable order, with measured columns blanked and combined refusals of two ranks separated."""
    apart = re.sub(r"(?<=.)(?=Error: \[)", "\n", text)
    lines = [re.sub(r"(\d+\.\d+|-nan) +\| (\d+\.\d+|-nan) +\|", "T | B |", line) for line in apart.splitlines()]
    return sorted(line for line in lines if line)


def test_no_product_code_is_imported() -> None:
    for path in [*(SIMULATOR / "hccl_sim").glob("*.py"), SIMULATOR / "bin" / "hccl_test_program"]:
        assert "ansible" not in path.read_text(), path.name


def test_exact_layout(folder: Path) -> None:
    status, text = run(folder, 2, "all_reduce_test -b 8K -e 16K -f 2 -n 2 -w 1 -p 2")
    lines = text.splitlines()
    assert status == 0
    assert lines[:2] == ["the minbytes is 8192, maxbytes is 16384, iters is 2, warmup_iters is 1", HEADER]
    assert len(lines) == 4
    for line, size in zip(lines[2:], ("8192", "16384")):
        columns = line.split(" | ")
        assert [len(column) for column in columns] == [17, 14, 20, 7]
        assert (columns[0].rstrip(), columns[3]) == (size, "success")
        assert ROW.fullmatch(line)


@pytest.mark.parametrize("arguments", ["-o prod -d int32", "-o max -d int16", "-o min -d fp64", "-o sum -d uint8", "-d bfp16"])
@pytest.mark.parametrize("operation", ["all_reduce", "reduce", "reduce_scatter"])
def test_reductions(folder: Path, operation: str, arguments: str) -> None:
    status, text = run(folder, 2, f"{operation}_test -b 600 -e 600 -n 1 -w 0 {arguments}")
    assert (status, [check for _, _, _, check in ROW.findall(text)]) == (0, ["success"])


def test_one_rank_without_mpirun(folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI_")}
    result = subprocess.run([folder / "bin" / "all_reduce_test", "-b", "4K", "-e", "4K", "-n", "1"], capture_output=True, text=True, timeout=30,
                            check=False, env=environment)
    assert (result.returncode, [row[3] for row in ROW.findall(result.stdout)]) == (0, ["success"])


def test_large_message(folder: Path) -> None:
    status, text = run(folder, 4, "all_reduce_test -b 1M -e 1M -n 2 -w 0")
    assert (status, [(row[0], row[3]) for row in ROW.findall(text)]) == (0, [("1048576", "success")])


def test_hosts(folder: Path, tmp_path: Path) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("127.77.0.1:2\n127.77.0.2:2\n")
    status, text = run(folder, 4, "all_gather_test -b 4K -e 8K -f 2 -n 1 -w 0", hostfile=hostfile, **hosts_on_this_machine())
    assert (status, [(row[0], row[3]) for row in ROW.findall(text)]) == (0, [("4096", "success"), ("8192", "success")])


@pytest.mark.parametrize(("environment", "status", "lines"), [
    ({"SIM_HCCL_INIT_RETCODE": "7"}, 0, ["hccl interface return err ./common/src/hccl_test_common.cc:901, retcode: 7 "] * 2),
    ({"SIM_HCCL_ROOTINFO_RETCODE": "19"}, 0, [
        "Process 0 HcclGetRootInfo failed, notify other process to exit", "Process 1 received invalid data from root process 0"]),
    ({"SIM_HCCL_OP_RETCODE": "21"}, 0, ["hccl interface return err ./opbase_test/hccl_allreduce_rootinfo_test.cc:149, retcode: 21 "] * 2 + [
        "hccl_op_base execute failed, Detailed logs are stored at the default path: /root/ascend/log/"] * 2),
    ({"SIM_HCCL_ACL_RETCODE": "507033"}, 153, ["This is an error in device_init."] * 2 + [
        "acl interface return err ./common/src/hccl_test_common.cc:864, retcode: 507033."] * 2),
    ({"SIM_HCCL_DEVICES": "0"}, 255, ["Error: The number of device is 0.Check whether the package is correct."] * 2 + [
        "This is an error in check_cmd_line."] * 2),
    ({"HCCL_BUFFSIZE": "abc"}, 0, ["Check whether HCCL_BUFFSIZE is all digit."] * 2 + ["This is an error in get_env."] * 2),
    ({"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "1"}, 0, [
        "8192              | T | B | success", HEADER, "local rank_id 1, check result failed, 8192              | T | B | failed", "total err is 1"]),
])
def test_faults(folder: Path, environment: dict[str, str], status: int, lines: list[str]) -> None:
    found = run(folder, 2, "all_reduce_test -b 8K -e 8K -n 1 -w 0", **environment)
    banner = "the minbytes is 8192, maxbytes is 8192, iters is 1, warmup_iters is 0"
    printed = [line for line in without_numbers(found[1]) if line != banner]
    assert (found[0], printed) == (status, sorted(lines))


def test_hang_and_crash(folder: Path) -> None:
    # The status at the time limit is 255, and with MPICH 5.0.2 sometimes 0.
    text = run(folder, 2, "all_reduce_test -b 8K -e 16K -f 2 -n 1 -w 0", limit=4, SIM_HCCL_HANG="1", SIM_HCCL_RANKS="1")[1]
    assert [row[0] for row in ROW.findall(text)] == ["8192"]
    assert "APPLICATION TIMED OUT" in text
    status, text = run(folder, 2, "all_reduce_test -b 8K -e 8K -n 1 -w 0", SIM_HCCL_CRASH="1", SIM_HCCL_RANKS="1")
    assert status != 0
    # If two ranks exit, MPICH may report either of them; in both cases it prints how the job ended.
    assert "BAD TERMINATION" in text and "EXIT STRING: Segmentation fault (signal 11)" in text, text


def recorded() -> dict[str, dict]:
    return {run["id"]: run for run in map(json.loads, shared("oracle/hccl_test.jsonl").read_text().splitlines())}


@pytest.mark.parametrize("name", [
    "036", "038", "040", "042", "044", "046", "048", "050", "052", "054", "056", "058", "060", "062", "070", "072",
])
def test_refusals_match_the_recorded_runs(folder: Path, name: str) -> None:
    case = recorded()[name]
    environment = dict(item.split("=", 1) for item in case["environment"].split("; ") if item)
    status, text = run(folder, 2, case["command"].split("./bin/")[1], **environment)
    assert (status, without_numbers(text)) == (int(case["exit"]), without_numbers(case["stdout"]))


SHORTENED = ("002", "004", "010", "020")
"""Runs that move much data: one iteration prints the same but for the number of iterations. 006 and others have the default numbers."""


@pytest.mark.parametrize("name", ["002", "004", "006", "008", "010", "012", "014", "018", "020", "024", "026", "028", "032", "110", "120"])
def test_tables_match_the_recorded_runs(folder: Path, name: str) -> None:
    case = recorded()[name]
    ranks = int(case["command"].split("-n ")[1].split()[0])
    line, printed = case["command"].split("./bin/")[1], case["stdout"]
    if name in SHORTENED:
        iterations = re.compile("iters is [0-9]+, warmup_iters is [0-9]+")
        assert iterations.search(printed)
        line, printed = f"{line} -n 1 -w 0", iterations.sub("iters is 1, warmup_iters is 0", printed)
    status, text = run(folder, ranks, line)
    # The number of wrong elements of a collective that never ran depends on the content of the memory.
    found, recorded_lines = (without_numbers(re.sub(r"total err is \d+", "total err is N", body)) for body in (text, printed))
    assert (status, found) == (0, recorded_lines)
