"""Every known error text of nccl-tests and NCCL, and the process list of nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import nvidia_smi
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_errors import find_errors


@pytest.mark.parametrize(("text", "code"), [
    ("Invalid number of GPUs: 8 requested but only 4 were found.", "too_few_gpus"),
    ("invalid option 'Z'\nUSAGE: all_reduce_perf", "invalid_argument"),
    ("invalid size specified for 'minbytes'", "invalid_argument"),
    ("invalid sizes for 'minbytes' and 'maxbytes': 8 > 4", "invalid_argument"),
    ("nRanks 6 is not a power of 2, skipping", "invalid_argument"),
    ("n1: Test CUDA failure common.cu:892 'out of memory'", "cuda_out_of_memory"),
    ("n1: Test CUDA failure common.cu:892 'no CUDA-capable device is detected'", "no_device"),
    ("n1: Test CUDA failure common.cu:892 'invalid device ordinal'", "too_few_gpus"),
    ("n1: Test CUDA failure common.cu:892 'CUDA driver version is insufficient for CUDA runtime version'", "driver_too_old"),
    ("n1: Test CUDA failure common.cu:892 'an illegal memory access was encountered'", "cuda_error"),
    ("n1:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found", "no_interface"),
    ("n1:1:2 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47> with status=12 opcode=0", "ib_completion_error"),
    ("n1:1:2 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<4711> failed : Connection refused", "connection_failed"),
    ("n1: Test NCCL failure common.cu:777 'unhandled system error'", "nccl_system_error"),
    ("n1: Test NCCL failure common.cu:1204 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '", "nccl_cuda_error"),
    ("n1: Test NCCL failure common.cu:1 'remote process exited or there was a network error / '", "nccl_remote_error"),
    ("n1: Test NCCL failure common.cu:1204 'internal error - please report this issue to the NCCL developers / '", "nccl_internal_error"),
    ("n1: Test NCCL failure common.cu:1 'something new / '", "nccl_error"),
    ("n1: Test timeout (60s) common.cu:1", "test_timeout"),
    ("ssh: connect to host n2 port 22: No route to host", "host_unreachable"),
])
def test_each_known_text(text: str, code: str) -> None:
    for found in (find_errors(text), find_errors("", text)):
        assert [error.code for error in found] == [code]
        assert found[0].hint
        assert found[0].message == text.splitlines()[0]


def test_good_output_has_no_errors() -> None:
    assert find_errors("# Out of bounds values : 0 OK\n", "") == []


def test_causes_before_consequences() -> None:
    text = ("n2: Test NCCL failure common.cu:1 'remote process exited or there was a network error / '\n .. n2 pid 1: Test failure common.cu:9\n"
            "n1: Test NCCL failure common.cu:1 'unhandled system error / '\n"
            "n1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n")
    assert [error.code for error in find_errors(text, "[mpiexec@n1] APPLICATION TIMED OUT, TIMEOUT = 6s")] == [
        "ib_completion_error", "nccl_system_error", "nccl_remote_error", "timed_out"]


def smi(folder: Path, script: str) -> str:
    path = folder / "nvidia-smi"
    path.write_text("#!/bin/sh\n" + script + "\n")
    path.chmod(0o755)
    return str(path)


def test_idle_gpus(tmp_path: Path) -> None:
    nvidia_smi.refuse_if_busy(smi(tmp_path, "echo"))
    nvidia_smi.refuse_if_busy(str(tmp_path / "none"))


@pytest.mark.parametrize(("script", "code", "message"), [
    ("echo '12, /usr/bin/python3, x'; echo '13, [N/A]'", "device_busy", "the GPUs are busy: pid 12 (/usr/bin/python3, x), pid 13 ([N/A])"),
    ("echo 'NVIDIA-SMI has failed'; exit 9", "busy_unknown", "nvidia-smi does not report whether the GPUs are busy: NVIDIA-SMI has failed"),
    ("exit 9", "busy_unknown", "nvidia-smi does not report whether the GPUs are busy: it does not answer"),
])
def test_busy_or_unknown_gpus_are_refused(tmp_path: Path, script: str, code: str, message: str) -> None:
    with pytest.raises(HccnError) as caught:
        nvidia_smi.refuse_if_busy(smi(tmp_path, script))
    assert (caught.value.code, caught.value.message) == (code, message)


def test_processes_on_gpus(tmp_path: Path) -> None:
    assert nvidia_smi.compute_processes(smi(tmp_path, "echo '12, /usr/bin/python3'; echo '13, [N/A]'")) == [(12, "/usr/bin/python3"), (13, "[N/A]")]
    assert nvidia_smi.compute_processes(str(tmp_path / "none")) == []


def test_nvidia_smi_that_cannot_be_executed(tmp_path: Path) -> None:
    path = tmp_path / "nvidia-smi"
    path.write_text("")
    with pytest.raises(HccnError) as caught:
        nvidia_smi.refuse_if_busy(str(path))
    assert caught.value.code == "tool_not_executable"
