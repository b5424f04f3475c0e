"""hccl_perf: the module under Ansible with a real mpirun, simulated programs and real TCP traffic, without remaining processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.integration.check_collective.mpi import OPERATIONS, carrying, mpirun, programs
from tests.integration.check_collective.site import Site
from tests.lib.hosts import node, set_state
from tests.lib.waiting import happens

HOSTS = ["127.77.0.1", "127.77.0.2"]
QUICK = {"ranks_per_host": 2, "sizes": {"begin": "8K", "end": "32K"}, "iterations": 2, "warmup": 1, "timeout": 30}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, "hccl_perf", hccl_test_dir=str(programs(tmp_path)), **QUICK)


def test_one_host(site: Site) -> None:
    result = site.call()
    record = result["measurements"][0]
    assert result["changed"] is False
    assert (record["id"], record["kind"], record["status"], record["ranks"]) == ("t/collective/all_reduce/1", "collective", "ok", 2)
    assert [(sample["size_bytes"], sample["check"]) for sample in record["samples"]] == [(8192, "success"), (16384, "success"), (32768, "success")]
    for sample in record["samples"]:
        assert sample["algbw_gbyte_s"] == pytest.approx(sample["size_bytes"] / sample["time_us"] / 1000, rel=1e-5)
        assert sample["busbw_gbyte_s"] == pytest.approx(sample["algbw_gbyte_s"], rel=1e-5)
    assert result["command"] == record["command"]
    assert result["command"][:3] == [mpirun(), "-n", "2"]
    assert site.left() == ({}, [])


def test_two_hosts(site: Site) -> None:
    """Under Ansible, whose result is that of the module."""
    result = site.ansible(hosts=HOSTS, environment={"HCCL_BUFFSIZE": 300, "HYDRA_IFACE": "lo"})
    record = result["measurements"][0]
    assert (result["failed"], result["changed"]) == (False, False)
    assert (record["status"], record["hosts"], record["ranks"], len(record["samples"])) == ("ok", HOSTS, 4, 3)
    assert record["samples"][2]["busbw_gbyte_s"] == pytest.approx(1.5 * record["samples"][2]["algbw_gbyte_s"], rel=1e-5)
    assert record["command"][1] == "-f" and record["command"][3:5] == ["-n", "4"]
    assert record["options"]["environment"] == {"HCCL_BUFFSIZE": "300"}
    assert site.left() == ({}, [])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(site: Site, operation: str) -> None:
    result = site.call(operation=operation, ranks_per_host=3, root=1, sizes={"begin": "1000", "end": "70000", "factor": 4})
    record = result["measurements"][0]
    sizes = [1000, 4000, 16000, 64000] if operation in ("all_reduce", "broadcast", "reduce") else [999, 3996, 15984, 63936]
    assert (record["status"], record.get("error")) == ("ok", None)
    assert [(sample["size_bytes"], sample["check"]) for sample in record["samples"]] == [(size, "success") for size in sizes]
    assert record["tool"] == {"name": f"{operation}_test"}


def test_check_mode_runs_nothing(site: Site) -> None:
    result = site.call(_ansible_check_mode=True, hosts=HOSTS, faults={"SIM_SSH_DOWN": " ".join(HOSTS)})
    program = site.options["hccl_test_dir"] + "/bin/all_reduce_test"
    assert result["measurements"] == []
    assert result["command"] == [mpirun(), "-f", "hostfile", "-n", "4", "timeout", "-s", "KILL", "90", program] + (
        "-p 2 -b 8K -e 32K -f 2 -d fp32 -o sum -n 2 -w 1 -c 1".split())
    assert result["hostfile"] == "127.77.0.1:2\n127.77.0.2:2\n"


@pytest.mark.parametrize(("faults", "code", "rows"), [
    ({"SIM_HCCL_INIT_RETCODE": "7"}, "hccl_7", 0),
    ({"SIM_HCCL_ROOTINFO_RETCODE": "19"}, "rootinfo_failed", 0),
    ({"SIM_HCCL_ACL_RETCODE": "507033"}, "acl_507033", 0),
    ({"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "1"}, "check_failed", 3),
    ({"SIM_HCCL_CRASH": "1", "SIM_HCCL_RANKS": "1"}, "rank_crashed", 0),
    ({"SIM_HCCL_DEVICES": "0"}, "no_device", 0),
    ({"SIM_HCCL_DEVICES": "1"}, "invalid_argument", 0),
])
def test_failures(site: Site, faults: dict[str, str], code: str, rows: int) -> None:
    result = site.call(faults=faults)
    record = result["measurements"][0]
    assert result["failed"] is True
    assert (record["status"], record["error"]["code"], len(record.get("samples", []))) == ("failed", code, rows)
    assert result["msg"].startswith(record["error"]["message"])
    assert result["output"]
    assert site.left() == ({}, [])


def test_rank_that_hangs_is_reported(site: Site) -> None:
    result = site.call(hosts=HOSTS, timeout=8, faults={"SIM_HCCL_HANG": "1", "SIM_HCCL_RANKS": "3"})
    record = result["measurements"][0]
    assert (record["status"], record["error"]["code"], [sample["size_bytes"] for sample in record["samples"]]) == ("failed", "timed_out", [8192])
    assert happens(lambda: site.left() == ({}, []))


def test_host_that_is_down_is_reported(site: Site) -> None:
    result = site.call(hosts=HOSTS, timeout=15, faults={"SIM_SSH_DOWN": HOSTS[1]})
    record = result["measurements"][0]
    assert (record["status"], record["error"]["code"]) == ("not_run", "host_unreachable")
    assert record["error"]["message"].endswith(": 127.77.0.2: ssh: connect to host 127.77.0.2 port 22: Connection refused")
    assert happens(lambda: site.left() == ({}, []))


@pytest.mark.parametrize(("options", "message"), [
    ({"sizes": {"begin": "1M", "end": "8K"}}, "sizes: end (8192 bytes) is smaller than begin (1048576 bytes)"),
    ({"sizes": {"end": "64MB"}}, "size '64MB' is not a positive number of bytes with an optional K, M or G"),
    ({"hosts": ["n1", "n1"]}, "hosts[1]: n1 is a duplicate of hosts[0]"),
    ({"environment": {"LD_PRELOAD": "x"}}, "environment: LD_PRELOAD is not allowed"),
])
def test_invalid_options(site: Site, options: dict[str, object], message: str) -> None:
    result = site.call(**options)
    assert (result["failed"], result["msg"]) == (True, message)
    assert "measurements" not in result


def test_missing_tools_leave_a_record(site: Site) -> None:
    assert site.call(mpirun="/nowhere/mpirun")["measurements"][0]["error"]["code"] == "tool_missing"
    record = site.call(hccl_test_dir=str(site.folder / "empty"))["measurements"][0]
    assert (record["status"], record["error"]["code"]) == ("not_run", "hccl_test_missing")


def test_log(site: Site) -> None:
    path = site.folder / "job.log"
    path.write_text("the minbytes is 8192, maxbytes is 8192, iters is 20, warmup_iters is 10\n"
                    "8192              | 40.00          | 0.20480              | success\n")
    assert site.call(log=str(path), sizes=None)["measurements"][0]["status"] == "ok"
    held = site.call(log=str(path), sizes=None, floor_gbyte_s=90000.5)
    assert (held["slow"], held["limit_gbyte_s"], held["findings"], len(held["measurements"])) == (True, 90000.5, [], 1)
    result = site.call(log=str(path), _ansible_check_mode=True, sizes={"end": "16K"})
    assert result["msg"] == ("1 of 2 sizes have no row, the first is 16384 bytes (the program stopped early; the output ends with: "
                             "8192              | 40.00          | 0.20480              | success)")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_module_leaves_no_process(site: Site, number: int) -> None:
    """The module is killed while ranks on two hosts hang in a collective."""
    child = site.start({"SIM_HCCL_HANG": "1", "SIM_HCCL_RANKS": "3"}, hosts=HOSTS, timeout=600)
    try:
        started = happens(lambda: sum("all_reduce_test -p" in line and not ("mpirun" in line or line.startswith("timeout "))
                                    for line in carrying(site.token).values()) == 4)
        running = carrying(site.token)
        child.send_signal(number)
        assert child.wait(10) == -number
        assert started, running
        assert len(running) >= 8, running
        assert happens(lambda: site.left() == ({}, [])), site.left()
    finally:
        child.stdout.close()
        for pid in carrying(site.token):
            os.kill(pid, signal.SIGKILL)


def test_busy_host_is_not_measured(site: Site, tmp_path: Path) -> None:
    npus = node(tmp_path / "npus", devices=2)
    set_state(npus, "1.process=4711:python3:1234")
    refused = site.call(npu_smi=str(npus / "bin/npu-smi"))
    assert refused["msg"] == "device 1 is busy: pid 4711 (python3) (wait for the job to end, or set allow_busy: true)"
    assert [(one["status"], one["error"]["code"]) for one in refused["measurements"]] == [("not_run", "device_busy")]
    one_rank = site.call(npu_smi=str(npus / "bin/npu-smi"), ranks_per_host=1)
    assert [one["status"] for one in one_rank["measurements"]] == ["ok"]
    assert [one["status"] for one in site.call(npu_smi=str(npus / "bin/npu-smi"), allow_busy=True)["measurements"]] == ["ok"]
