from __future__ import annotations

import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._perf import packages, preflight

VERSIONS = {"ib_write_bw": "Version: 6.24\n", "iperf3": "iperf 3.18 (cJSON 1.7.15)\n", "mpirun": "HYDRA build details:\n    Version:      4.0.2\n",
            "mpirun.openmpi": "mpirun (Open MPI) 4.1.4\n"}
SIX = ("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat")
OPENEULER = 'NAME="openEuler"\nVERSION="24.03 (LTS)"\nID="openEuler"\nVERSION_ID="24.03"\nPRETTY_NAME="openEuler 24.03 (LTS)"\nANSI_COLOR="0;31"\n'


def says(argv, timeout):
    return Result(tuple(argv), 0, VERSIONS[os.path.basename(argv[0])], "", False, 0.0, 0.1)


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose PATH contains only the programs that the test installs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(OPENEULER)
    monkeypatch.setenv("PATH", str(folder))

    def put(*names):
        for name in names:
            (folder / name).write_text("")
            (folder / name).chmod(0o755)
        return tmp_path

    return put


def found(root, tools, run=says, **options):
    return preflight.inspect({"tools": tools, "packages": {}, "addresses": [], "rdma_device": None, "rdma_port": None, "gid_index": None,
                              "root": str(root), "fail_on": "never", **options}, run)


def test_host_with_all_tools(host):
    root = host("dnf", "iperf3", "mpirun", "mpirun.openmpi", *SIX)
    (root / "etc/libibverbs.d").mkdir()
    (root / "etc/libibverbs.d/mlx5.driver").write_text("driver mlx5\n")
    result = found(root, ["perftest", "iperf3", "mpich", "openmpi", "rdma"], fail_on="error")
    folder = str(root / "bin")
    assert [(tool["name"], tool["found"], tool["path"], tool["version"], tool["lacks"]) for tool in result["tools"]] == [
        ("perftest", True, folder + "/ib_write_bw", "6.24", []), ("iperf3", True, folder + "/iperf3", "3.18", []),
        ("mpich", True, folder + "/mpirun", "4.0.2", []), ("openmpi", True, folder + "/mpirun.openmpi", "4.1.4", []),
        ("rdma", True, str(root / "etc/libibverbs.d"), None, [])]
    assert (result["missing"], result["packages"], result["command"], result["problems"], "failed" in result) == ([], [], [], [], False)
    assert result["distribution"] == {"id": "openEuler", "version": "24.03", "name": "openEuler 24.03 (LTS)"}


@pytest.mark.parametrize("manager, name, command", [
    ("apt-get", "apt", ["apt-get", "install", "--yes", "perftest", "iperf3", "mpich", "openmpi-bin", "rdma-core", "ibverbs-providers"]),
    ("dnf", "dnf", ["dnf", "install", "--assumeyes", "perftest", "iperf3", "mpich", "openmpi", "rdma-core", "libibverbs"]),
    ("yum", "yum", ["yum", "install", "--assumeyes", "perftest", "iperf3", "mpich", "openmpi", "rdma-core", "libibverbs"]),
    (None, None, []),
])
def test_install_command_of_missing_tools(host, manager, name, command):
    root = host(*([manager] if manager else []))
    result = found(root, list(packages.TOOLS))
    assert (result["missing"], result["package_manager"], result["command"]) == (["perftest", "iperf3", "mpich", "openmpi", "rdma"], name, command)
    assert [problem["where"] for problem in result["problems"]] == ["perftest", "iperf3", "mpich", "openmpi", "rdma"]


def test_message_about_missing_tools(host):
    root = host("dnf", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw")
    result = found(root, ["perftest", "iperf3"], fail_on="error")
    assert result["failed"] is True
    assert result["msg"] == "ib_send_lat is not installed (dnf install --assumeyes perftest); iperf3 is not installed (dnf install --assumeyes iperf3)"
    assert result["tools"][0]["version"] == "6.24"
    (root / "bin/dnf").unlink()
    assert found(root, ["iperf3"])["problems"][0]["hint"] == "install iperf3: openEuler 24.03 (LTS) has no supported package manager (apt-get, dnf or yum)"


def test_package_names_of_the_site_take_precedence(host):
    root = host("dnf")
    result = found(root, ["perftest", "iperf3"], packages={"perftest": ["mlnx-perftest", "rdma-core"]})
    assert result["packages"] == ["mlnx-perftest", "rdma-core", "iperf3"]
    assert result["problems"][0]["hint"] == "dnf install --assumeyes mlnx-perftest rdma-core"


def test_mpich_and_openmpi_are_distinguished(host):
    root = host("apt-get", "mpirun")
    assert found(root, ["openmpi", "mpich"])["missing"] == ["openmpi"]


def test_tool_that_does_not_start_has_no_version(host):
    def refuses(argv, timeout):
        raise HccnError("tool_not_executable", "no")

    (tool,) = found(host("iperf3"), ["iperf3"], refuses)["tools"]
    assert (tool["found"], tool["version"]) == (True, None)


def rdma_device(root, state="4: ACTIVE"):
    files = {"link_layer": "Ethernet", "state": state, "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)",
             "gids/3": "0000:0000:0000:0000:0000:ffff:0a00:000b", "gid_attrs/types/3": "RoCE v2", "gid_attrs/ndevs/3": "ens1"}
    port = root / "sys/class/infiniband/mlx5_0/ports/1"
    for name, text in files.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(text + "\n")
    (root / "sys/class/infiniband/mlx5_0/fw_ver").write_text("28.39.2048\n")
    (root / "sys/class/net/ens1").mkdir(parents=True, exist_ok=True)
    (root / "sys/class/net/ens1/mtu").write_text("9000\n")
    verbs = root / "sys/class/infiniband_verbs/uverbs0"
    verbs.mkdir(parents=True)
    (verbs / "ibdev").write_text("mlx5_0\n")
    (root / "dev/infiniband").mkdir(parents=True)
    (root / "dev/infiniband/uverbs0").write_text("")


def test_devices_for_the_addresses_of_perftest(host):
    root = host("dnf", "iperf3", *SIX)
    rdma_device(root)
    devices = found(root, ["perftest"], addresses=["10.0.0.11", "10.0.0.12"])["devices"]
    assert [(device["id"], device["address"], [error["code"] for error in device["errors"]]) for device in devices] == [
        (0, "10.0.0.11", []), (1, "10.0.0.12", ["no_gid"])]
    assert devices[1]["errors"][0] == {
        "topic": "rdma", "code": "no_gid",
        "message": "no RDMA device of this host has a RoCE v2 GID of 10.0.0.12 (available are mlx5_0 port 1 GID 3 (RoCE v2, 10.0.0.11))"}
    assert (devices[0]["rdma"], "rdma" in devices[1]) == (
        {"device": "mlx5_0", "port": 1, "netdev": "ens1", "rate_gbit_s": 200.0, "netdev_mtu": 9000, "active_mtu": 4096, "gid_type": "RoCE v2",
         "driver": None, "firmware": "28.39.2048"}, False)
    assert found(root, ["iperf3"], addresses=["10.9.9.9"])["devices"] == [{"id": 0, "address": "10.9.9.9", "errors": []}]


@pytest.mark.parametrize("options, errors", [
    ({"rdma_device": "mlx5_0", "rdma_port": 1, "gid_index": 3}, []),
    ({"rdma_port": 2}, ["no RDMA device of this host has a port 2 (available are mlx5_0 port 1)"]),
    ({"rdma_device": "mlx5_1"}, ["this host has no RDMA device mlx5_1 (available are mlx5_0)"]),
    ({"gid_index": 4}, ["no RDMA device of this host has 10.0.0.11 at GID index 4 (available are mlx5_0 port 1 GID 3 (RoCE v2, 10.0.0.11))"]),
])
def test_chosen_device_port_and_gid_of_perftest(host, options, errors):
    root = host("dnf", *SIX)
    rdma_device(root)
    (device,) = found(root, ["perftest"], addresses=["10.0.0.11"], **options)["devices"]
    assert [error["message"] for error in device["errors"]] == errors


def test_devices_with_a_port_down_and_a_missing_tool(host):
    root = host("dnf")
    rdma_device(root, "1: DOWN")
    (device,) = found(root, ["perftest"], addresses=["10.0.0.11"])["devices"]
    assert [error["code"] for error in device["errors"]] == ["tool_missing", "port_down"]
    assert device["errors"][0]["message"] == (
        "ib_write_bw, ib_write_lat, ib_read_bw, ib_read_lat, ib_send_bw, ib_send_lat are not installed (dnf install --assumeyes perftest)")


def test_hint_for_a_missing_tool(host):
    host()
    assert packages.hint("perftest") == "install perftest"
    host("yum")
    assert packages.hint("iperf3") == "yum install --assumeyes iperf3"


@pytest.mark.parametrize("text, wanted", [
    ('ID="kylin"\nVERSION_ID="V10"\nPRETTY_NAME="Kylin Linux Advanced Server V10 (Lance)"\n',
     {"id": "kylin", "version": "V10", "name": "Kylin Linux Advanced Server V10 (Lance)"}),
    ("ID=debian\nPRETTY_NAME='Debian GNU/Linux trixie/sid'\n", {"id": "debian", "name": "Debian GNU/Linux trixie/sid"}),
    ("VERSION_ID=\n", {}), ("", {}),
])
def test_parse_os_release(text, wanted):
    assert packages.parse_os_release(text) == wanted


def test_host_without_os_release(tmp_path):
    assert packages.distribution(str(tmp_path)) == {}
