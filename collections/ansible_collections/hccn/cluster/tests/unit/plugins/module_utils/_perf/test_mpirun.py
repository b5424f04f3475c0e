"""Command lines and host files of both launchers."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import mpirun
from ansible_collections.hccn.cluster.plugins.module_utils._perf.mpirun import Launcher

MPICH = Launcher("/m/mpirun", "mpich", "5.0.2")
OPEN = Launcher("/o/mpirun", "openmpi", "4.1.5")
PROGRAM = ["/t/bin/all_reduce_test", "-p", "8"]


@pytest.mark.parametrize(("text", "flavour", "version"), [
    ("HYDRA build details:\n    Version:                                 3.2.1\n    Release Date: x\n", "mpich", "3.2.1"),
    ("mpirun (Open MPI) 4.1.5\n\nReport bugs to http://www.open-mpi.org/community/help/\n", "openmpi", "4.1.5"),
    ("mpirun.openmpi (OpenRTE) 4.1.4\n", "openmpi", "4.1.4"),
    ("Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005\n", "mpich", "2021.11"),
])
def test_parse_version(text: str, flavour: str, version: str) -> None:
    assert mpirun.parse_version("/x/mpirun", text) == Launcher("/x/mpirun", flavour, version)


def test_unknown_version() -> None:
    with pytest.raises(HccnError) as caught:
        mpirun.parse_version("/x/mpirun", "mpirun 1.0")
    assert caught.value.code == "unknown_mpi"


def test_candidates() -> None:
    assert mpirun.candidates("/x/mpirun", "/a") == ["/x/mpirun"]
    assert mpirun.candidates("mpirun", "/a::/b") == ["/a/mpirun", "/b/mpirun", "/usr/local/mpich/bin/mpirun", "/usr/local/openmpi/bin/mpirun"]


@pytest.mark.parametrize(("flavour", "hosts", "message"), [
    ("mpich", ["10.0.0.1", "fd00::1"], "hosts[1]: the host file of MPICH cannot contain an IPv6 address (fd00::1)"),
    ("openmpi", ["a b"], "hosts[0]: 'a b' is not a host name or address"),
    ("openmpi", [""], "hosts[0]: '' is not a host name or address"),
    ("mpich", ["-x"], "hosts[0]: '-x' is not a host name or address"),
    ("mpich", ["n1", "n2", "n1"], "hosts[2]: n1 is a duplicate of hosts[0]"),
])
def test_invalid_hosts_are_rejected(flavour: str, hosts: "list[str]", message: str) -> None:
    with pytest.raises(InputError) as caught:
        mpirun.check_hosts(flavour, hosts)
    assert caught.value.message == message


def test_valid_hosts() -> None:
    mpirun.check_hosts("mpich", ["10.0.0.1", "node-2.example", "n"])
    mpirun.check_hosts("openmpi", ["fd00::1"])


def test_variables_of_others_are_rejected() -> None:
    mpirun.check_environment({"HCCL_BUFFSIZE": "1", "PATH": "/a", "LD_LIBRARY_PATH": "/b", "HYDRA_IFACE": "eth0", "UCX_TLS": "tcp"}, ("HCCL_", "ASCEND_"))
    with pytest.raises(InputError, match="environment: LD_PRELOAD is not allowed"):
        mpirun.check_environment({"LD_PRELOAD": "x"}, ("HCCL_", "ASCEND_"))
    with pytest.raises(InputError, match="environment: MPIEXEC_TIMEOUT is not allowed"):
        mpirun.check_environment({"MPIEXEC_TIMEOUT": "1"}, ("HCCL_", "ASCEND_"))


def test_recorded_variables() -> None:
    assert mpirun.recorded({"HYDRA_LAUNCHER_EXTRA_ARGS": "-i key", "HCCL_SOCKET_IFNAME": "eth", "PATH": "/a", "HCCL_BUFFSIZE": "200"}, "HCCL_") == {
        "HCCL_BUFFSIZE": "200", "HCCL_SOCKET_IFNAME": "eth",
    }


def test_hostfile() -> None:
    assert mpirun.hostfile_text("mpich", ["10.0.0.1", "10.0.0.2"], 8) == "10.0.0.1:8\n10.0.0.2:8\n"
    assert mpirun.hostfile_text("openmpi", ["n1", "n2"], 4) == "n1 slots=4\nn2 slots=4\n"


def test_mpich_command() -> None:
    assert mpirun.command(MPICH, 8, PROGRAM) == ["/m/mpirun", "-n", "8", "/t/bin/all_reduce_test", "-p", "8"]
    assert mpirun.command(MPICH, 16, PROGRAM, "/h", True, ["HCCL_BUFFSIZE"], True) == [
        "/m/mpirun", "-f", "/h", "-n", "16", "/t/bin/all_reduce_test", "-p", "8",
    ]


def test_openmpi_command() -> None:
    assert mpirun.command(OPEN, 8, PROGRAM) == ["/o/mpirun", "--oversubscribe", "-n", "8", "/t/bin/all_reduce_test", "-p", "8"]
    assert mpirun.command(OPEN, 16, PROGRAM, "/h", True, ["PATH", "HCCL_BUFFSIZE", "OMPI_MCA_btl"], True) == [
        "/o/mpirun", "--hostfile", "/h", "--allow-run-as-root", "--display-map", "-x", "HCCL_BUFFSIZE", "-x", "PATH", "-n", "16",
        "/t/bin/all_reduce_test", "-p", "8",
    ]


def test_time_limit() -> None:
    assert mpirun.timeout_environment(90) == {"MPIEXEC_TIMEOUT": "90"}
    assert mpirun.limited(90) == ["timeout", "-s", "KILL", "150"]


def test_placement_of_mpich() -> None:
    assert mpirun.placement_argv() == ["printenv", "PMI_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "MPICH_INTERFACE_HOSTNAME"]
    placement = mpirun.parse_placement("mpich", "n1\nn1\nn9\n", ["n1", "n2"])
    assert placement == {"n1": 2, "n2": 0, "n9": 1}
    assert mpirun.misplaced(placement, ["n1", "n2"], 2) == [("n2", 0), ("n9", 1)]


def test_placement_of_openmpi() -> None:
    text = " Data for node: n1\tNum slots: 2\tMax slots: 0\tNum procs: 2\n \tProcess OMPI jobid: [1,1] App: 0 Process rank: 0\n"
    placement = mpirun.parse_placement("openmpi", text + text + text.replace("n1", "n2"), ["n1", "n2"])
    assert placement == {"n1": 2, "n2": 2}
    assert mpirun.misplaced(placement, ["n1", "n2"], 2) == []
