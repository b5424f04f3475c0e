"""nccl_perf: the module with a real mpirun, simulated programs with the formats of several releases, and real TCP traffic."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.integration.check_collective.mpi import NCCL_OPERATIONS, carrying, mpirun, nccl_programs
from tests.integration.check_collective.site import Site
from tests.lib.waiting import happens

HOSTS = ["127.77.0.1", "127.77.0.2"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, "nccl_perf", nccl_tests_dir=str(nccl_programs(tmp_path)), nvidia_smi="/nowhere/nvidia-smi", ranks_per_host=2,
                sizes={"begin": "8K", "end": "32K"}, iterations=2, warmup=1, timeout=30)


def test_two_hosts_under_ansible(site: Site) -> None:
    environment = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_TC": 128, "HYDRA_IFACE": "lo"}
    result = site.ansible(hosts=HOSTS, host_names=["g1", "g2"], environment=environment)
    record = result["measurements"][0]
    assert (record["id"], record["kind"], record["status"], record["hosts"]) == ("t/collective/all_reduce/1", "collective", "ok", ["g1", "g2"])
    assert (record["ranks"], record["tool"]) == (4, {"name": "all_reduce_perf", "version": "2.19.6"})
    assert record["options"]["environment"] == {"NCCL_IB_TC": "128", "NCCL_SOCKET_IFNAME": "lo"}
    assert [(sample["size_bytes"], sample["iterations"], sample["check"]) for sample in record["samples"]] == [
        (8192, 2, "success"), (16384, 2, "success"), (32768, 2, "success")]
    for sample in record["samples"]:
        for way in (sample, sample["in_place"]):
            assert way["algbw_gbyte_s"] == pytest.approx(sample["size_bytes"] / way["time_us"] / 1000, rel=1e-5)
            assert way["busbw_gbyte_s"] == pytest.approx(1.5 * way["algbw_gbyte_s"], rel=1e-5)
    program = site.options["nccl_tests_dir"] + "/build/all_reduce_perf"
    assert result["command"][3:] == ["-n", "4", "timeout", "-s", "KILL", "90", program] + "-b 8K -e 32K -f 2 -g 1 -d float -o sum -n 2 -w 1 -c 1".split()
    assert site.left() == ({}, [])


@pytest.mark.parametrize("operation", NCCL_OPERATIONS)
def test_operations(site: Site, operation: str) -> None:
    root = {"root": 1} if operation in ("broadcast", "reduce", "gather", "scatter") else {}
    record = site.call(operation=operation, ranks_per_host=3, **root, sizes={"begin": "1000", "end": "20000", "factor": 4})["measurements"][0]
    sizes = [1000, 4000, 16000] if operation in ("all_reduce", "broadcast", "reduce") else [960, 3984, 15984]
    assert (record["status"], record.get("error")) == ("ok", None)
    assert [sample["size_bytes"] for sample in record["samples"]] == sizes
    assert {sample["in_place"]["check"] for sample in record["samples"]} == {"NULL" if operation.startswith("alltoall") else "success"}


@pytest.mark.parametrize("release", ["2.11", "2.13", "2.14.1", "2.17.2"])
def test_releases(site: Site, release: str) -> None:
    assert site.call({"SIM_NCCL_VERSION": release}, operation="all_gather")["measurements"][0]["status"] == "ok"


@pytest.mark.parametrize(("faults", "code", "rows"), [
    ({"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "1"}, "check_failed", 3),
    ({"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "1", "SIM_NCCL_VERSION": "2.11"}, "check_failed", 3),
    ({"SIM_NCCL_FAILURE": "unhandled system error", "SIM_HCCL_RANKS": "0,1"}, "nccl_system_error", 0),
    ({"SIM_NCCL_GPUS": "1"}, "too_few_gpus", 0),
    ({"SIM_NCCL_ALONE": "1"}, "ranks_alone", 6),
])
def test_failures(site: Site, faults: dict[str, str], code: str, rows: int) -> None:
    result = site.call(faults, timeout=10)
    record = result["measurements"][0]
    assert (result["failed"], record["status"], record["error"]["code"], len(record.get("samples", []))) == (True, "failed", code, rows)
    assert happens(lambda: site.left() == ({}, []))


def test_bandwidth_below_the_floor(site: Site) -> None:
    record = site.call(environment={"NCCL_TESTS_MIN_BW": "1000000"})["measurements"][0]
    assert (record["status"], record["error"]["code"]) == ("failed", "low_bandwidth")


def test_log_lines_of_nccl_inside_a_row(site: Site) -> None:
    record = site.call({"SIM_NCCL_CHATTY": "1"})["measurements"][0]
    assert (record["status"], len(record["samples"])) == ("ok", 3)


def test_one_process_for_two_gpus(site: Site) -> None:
    result = site.call(hosts=HOSTS, gpus_per_process=2)
    assert (result["measurements"][0]["status"], result["measurements"][0]["ranks"]) == ("ok", 4)
    assert result["command"][3:5] == ["-n", "2"]
    planned = site.call(_ansible_check_mode=True, hosts=HOSTS, gpus_per_process=2)
    assert planned["hostfile"] == "127.77.0.1:1\n127.77.0.2:1\n"


def test_rank_that_hangs_is_reported(site: Site) -> None:
    record = site.call({"SIM_HCCL_HANG": "1", "SIM_HCCL_RANKS": "3"}, hosts=HOSTS, timeout=8)["measurements"][0]
    assert (record["status"], record["error"]["code"], [sample["size_bytes"] for sample in record["samples"]]) == ("failed", "timed_out", [8192])
    assert happens(lambda: site.left() == ({}, []))


def test_killed_module_leaves_no_process(site: Site) -> None:
    child = site.start({"SIM_HCCL_HANG": "1", "SIM_HCCL_RANKS": "3"}, hosts=HOSTS, timeout=600)
    try:
        started = happens(lambda: sum("all_reduce_perf -b" in line and not ("mpirun" in line or line.startswith("timeout "))
                                    for line in carrying(site.token).values()) == 4)
        child.send_signal(signal.SIGKILL)
        assert child.wait(10) == -signal.SIGKILL
        assert started
        assert happens(lambda: site.left() == ({}, [])), site.left()
    finally:
        child.stdout.close()
        for pid in carrying(site.token):
            os.kill(pid, signal.SIGKILL)


def test_json_file_has_the_record_without_environment(site: Site) -> None:
    path = site.folder / "out.json"
    program = site.options["nccl_tests_dir"] + "/build/all_reduce_perf"
    argv = [mpirun(), "-n", "2", program, *"-b 8K -e 16K -f 2 -n 2".split(), "-J", str(path)]
    site.run(argv, SECRET="do-not-keep")
    assert "SECRET=do-not-keep" in path.read_text()
    result = site.call(log=str(path), sizes=None)
    record = result["measurements"][0]
    assert (record["status"], record["ranks"], [sample["size_bytes"] for sample in record["samples"]]) == ("ok", 2, [8192, 16384])
    assert "do-not-keep" not in json.dumps(result)


def test_busy_gpus_are_not_measured(site: Site) -> None:
    smi = site.folder / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '4711, python3'\n")
    smi.chmod(0o755)
    refused = site.call(nvidia_smi=str(smi))
    assert refused["msg"] == "the GPUs are busy: pid 4711 (python3) (wait for the job to end, or set allow_busy: true)"
    assert [(one["status"], one["error"]["code"]) for one in refused["measurements"]] == [("not_run", "device_busy")]
    assert site.call(nvidia_smi=str(smi), allow_busy=True)["measurements"][0]["status"] == "ok"
