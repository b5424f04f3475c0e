from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device import rdma_checks, rdma_sysfs
from ansible_collections.hccn.cluster.plugins.module_utils._device.rdma_checks import Memlock

ZERO = "0000:0000:0000:0000:0000:0000:0000:0000\n"
LINK_LOCAL = "fe80:0000:0000:0000:0aab:bbff:fecc:dd01\n"
MAPPED = "0000:0000:0000:0000:0000:ffff:0a01:0203\n"
GLOBAL = "fd00:0000:0000:0000:0000:0000:0000:0011\n"

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max locked memory         %s                65536                bytes
"""
STATUS = "Name:\tpython3\nCapPrm:\t000001ffffffffff\nCapEff:\t%s\n"
ROOT, NOBODY, LOCKER = "000001ffffffffff", "0000000000000000", "0000000000004000"


def write(root, path, text):
    file = root.joinpath(*path.split("/"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def add_port(root, device="mlx5_0", port=1, state="4: ACTIVE", physical="5: LinkUp", layer="Ethernet", rate="200 Gb/sec (4X HDR)", gids=()):
    """``gids``: (gid, type, netdev), or None for an unused entry, which cannot be read in /sys and is missing here."""
    folder = "sys/class/infiniband/%s/ports/%d/" % (device, port)
    for name, text in (("state", state), ("phys_state", physical), ("link_layer", layer), ("rate", rate)):
        write(root, folder + name, text + "\n")
    root.joinpath(folder, "gids").mkdir(parents=True, exist_ok=True)
    for index, entry in enumerate(gids):
        write(root, folder + "gids/%d" % index, entry[0] if entry else ZERO)
        if entry:
            write(root, folder + "gid_attrs/types/%d" % index, entry[1] + "\n")
            if entry[2]:
                write(root, folder + "gid_attrs/ndevs/%d" % index, entry[2] + "\n")


def add_verbs(root, device="mlx5_0", number=0, file=True):
    write(root, "sys/class/infiniband_verbs/uverbs%d/ibdev" % number, device + "\n")
    write(root, "sys/class/infiniband_verbs/abi_version", "6\n")
    if file:
        write(root, "dev/infiniband/uverbs%d" % number, "")


def add_adapter(root, device="mlx5_0", driver="mlx5_core", address="0000:4b:00.0", ports=("ens4f0",)):
    pci = root / "sys/devices/pci0000:4a" / address
    for number, netdev in enumerate(ports):
        write(root, "sys/devices/pci0000:4a/%s/net/%s/dev_port" % (address, netdev), "%d\n" % number)
    (pci / "numa_node").write_text("1\n")
    modules = root / "sys/bus/pci/drivers" / driver
    modules.mkdir(parents=True)
    (pci / "driver").symlink_to(modules)
    (root / "sys/class/infiniband" / device / "device").symlink_to(pci)
    write(root, "sys/class/infiniband/%s/fw_ver" % device, "28.39.2048\n")


def rules(result):
    return [(problem["rule"], problem["severity"], problem.get("where")) for problem in result["problems"]]


def look(root, fail_on="never", rdma_device=None, rdma_port=None):
    return rdma_checks.probe({"root": str(root), "fail_on": fail_on, "rdma_device": rdma_device, "rdma_port": rdma_port})


def test_port_of_an_adapter(tmp_path):
    gids = ((LINK_LOCAL, "IB/RoCE v1", "ens4f0"), (LINK_LOCAL, "RoCE v2", "ens4f0"), (MAPPED, "IB/RoCE v1", "ens4f0"), None,
            (MAPPED, "RoCE v2", "ens4f0"), (GLOBAL, "RoCE v2", "ens4f0.100"))
    add_port(tmp_path, gids=gids)
    add_adapter(tmp_path)
    add_verbs(tmp_path)
    write(tmp_path, "sys/class/net/ens4f0/mtu", "9000\n")
    (device,) = look(tmp_path)["rdma_devices"]
    assert [(gid["index"], gid["type"], gid["address"], gid["netdev"]) for gid in device.pop("gids")] == [
        (0, "IB/RoCE v1", None, "ens4f0"), (1, "RoCE v2", None, "ens4f0"), (2, "IB/RoCE v1", "10.1.2.3", "ens4f0"),
        (4, "RoCE v2", "10.1.2.3", "ens4f0"), (5, "RoCE v2", "fd00::11", "ens4f0.100")]
    assert device == {
        "device": "mlx5_0", "port": 1, "netdev": "ens4f0", "state": "ACTIVE", "physical_state": "LinkUp", "rate": "200 Gb/sec (4X HDR)", "rate_gbit_s": 200.0,
        "link_layer": "Ethernet", "driver": "mlx5_core", "firmware": "28.39.2048", "pci_address": "0000:4b:00.0", "numa_node": 1,
        "verbs": "/dev/infiniband/uverbs0", "netdev_mtu": 9000, "active_mtu": 4096}
    assert look(tmp_path)["problems"] == []


@pytest.mark.parametrize(("netdev_mtu", "active"), [(9000, 4096), (4192, 4096), (4191, 2048), (1500, 1024), (1280, 1024), (300, None), (None, None)])
def test_active_mtu_of_roce_follows_from_that_of_the_network_device(netdev_mtu, active):
    """A netdev of 1500 bytes gives 1024, as ibv_devinfo shows it."""
    assert rdma_sysfs.active_mtu(netdev_mtu) == active


def test_software_roce_has_no_adapter(tmp_path):
    add_port(tmp_path, "rxe0", rate="2.5 Gb/sec (1X SDR)", gids=((LINK_LOCAL, "RoCE v2", "eth0"), (MAPPED, "RoCE v2", "eth0")))
    add_verbs(tmp_path, "rxe0")
    write(tmp_path, "sys/class/infiniband/rxe0/fw_ver", "\n")
    (port,) = rdma_sysfs.read_ports(str(tmp_path))
    assert (port.netdev, port.rate_gbit_s, port.driver, port.firmware, port.pci_address, port.numa_node) == ("eth0", 2.5, None, None, None, None)


def test_names_are_sorted_naturally(tmp_path):
    for device, number in (("mlx5_10", 1), ("mlx5_2", 2), ("mlx5_2", 1)):
        add_port(tmp_path, device, number)
    assert [str(port) for port in rdma_sysfs.read_ports(str(tmp_path))] == ["mlx5_2 port 1", "mlx5_2 port 2", "mlx5_10 port 1"]


@pytest.mark.parametrize("device, port, ports, rules_found, message", [
    (None, None, ["mlx5_0 1", "mlx5_0 2", "mlx5_10 1"], [("port_down", "warning", "mlx5_0 port 1")], "mlx5_0 port 1 is DOWN (LinkUp)"),
    (None, 1, ["mlx5_0 1", "mlx5_10 1"], [("port_down", "warning", "mlx5_0 port 1")], "mlx5_0 port 1 is DOWN (LinkUp)"),
    ("mlx5_0", 2, ["mlx5_0 2"], [], None),
    ("mlx5_10", None, ["mlx5_10 1"], [], None),
    ("mlx5_10", 2, [], [("no_rdma_port", "error", "/sys/class/infiniband")], "mlx5_10 has no port 2"),
    ("mlx5_7", None, [], [("no_rdma_device", "error", "/sys/class/infiniband")], "this host has no RDMA device mlx5_7"),
])
def test_device_and_port_limit_the_result(tmp_path, device, port, ports, rules_found, message):
    for name, number, state in (("mlx5_0", 1, "1: DOWN"), ("mlx5_0", 2, "4: ACTIVE"), ("mlx5_10", 1, "4: ACTIVE")):
        add_port(tmp_path, name, number, state=state, layer="InfiniBand")
    for number, name in enumerate(("mlx5_0", "mlx5_10")):
        add_verbs(tmp_path, name, number)
    result = look(tmp_path, "warning", device, port)
    assert ["%s %d" % (entry["device"], entry["port"]) for entry in result["rdma_devices"]] == ports
    assert (rules(result), result.get("msg")) == (rules_found, message)


def test_network_device_without_gids_is_found_by_dev_port(tmp_path):
    add_port(tmp_path, port=2)
    add_adapter(tmp_path, ports=("ens4f0", "ens4f1"))
    (port,) = rdma_sysfs.read_ports(str(tmp_path))
    assert port.netdev == "ens4f1"


def test_network_device_of_software_roce_without_gids_is_its_parent(tmp_path):
    add_port(tmp_path, "rxe0")
    write(tmp_path, "sys/class/infiniband/rxe0/parent", "eth3\n")
    (port,) = rdma_sysfs.read_ports(str(tmp_path))
    assert port.netdev == "eth3"


def test_infiniband_requires_no_gid_with_address(tmp_path):
    add_port(tmp_path, layer="InfiniBand", gids=((MAPPED, "IB/RoCE v1", None),))
    add_verbs(tmp_path)
    result = look(tmp_path)
    assert (result["rdma_devices"][0]["gids"][0]["address"], result["rdma_devices"][0]["netdev"], result["problems"]) == (None, None, [])


@pytest.mark.parametrize("gid, address", [
    (MAPPED.strip(), "10.1.2.3"), (GLOBAL.strip(), "fd00::11"), (LINK_LOCAL.strip(), None), ("", None), ("fe80:0000:xxxx", None),
])
def test_address_of_a_gid(gid, address):
    assert rdma_sysfs.address_of(gid) == address


def test_missing_rdma_core(tmp_path):
    write(tmp_path, "sys/class/net/lo/mtu", "65536\n")
    result = look(tmp_path)
    assert (result["rdma_devices"], rules(result)) == ([], [("driver_missing", "error", "/sys/class/infiniband")])
    assert "mlx5_ib, hns_roce_hw_v2" in result["problems"][0]["hint"]


def test_hint_names_the_kernel_module(tmp_path):
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/drivers/hns3").mkdir(parents=True)
    (tmp_path / "sys/class/net/enp1s0/device").mkdir(parents=True)
    (tmp_path / "sys/class/net/enp1s0/device/driver").symlink_to(tmp_path / "sys/bus/pci/drivers/hns3")
    result = look(tmp_path, "error")
    assert (rules(result), result["failed"]) == ([("no_rdma_device", "error", "/sys/class/infiniband")], True)
    assert result["problems"][0]["hint"] == "enp1s0 is driven by hns3: modprobe hns_roce_hw_v2"
    assert result["msg"] == "no RDMA device is registered below /sys/class/infiniband"


def test_port_that_is_down(tmp_path):
    add_port(tmp_path, state="1: DOWN", physical="3: Disabled")
    add_verbs(tmp_path)
    result = look(tmp_path, "error")
    assert (rules(result), "failed" in result) == ([("port_down", "warning", "mlx5_0 port 1")], False)
    assert result["problems"][0]["message"] == "mlx5_0 port 1 is DOWN (Disabled)"
    assert look(tmp_path, "warning")["msg"] == "mlx5_0 port 1 is DOWN (Disabled)"
    add_port(tmp_path, "mlx5_1", state="1: DOWN", physical="3: Disabled")
    assert look(tmp_path, "warning")["msg"] == "mlx5_0 port 1 is DOWN (Disabled); see problems for 2 more"


def test_port_with_unknown_state(tmp_path):
    (tmp_path / "sys/class/infiniband/hns_0/ports/1").mkdir(parents=True)
    add_verbs(tmp_path, "hns_0")
    result = look(tmp_path)
    assert result["problems"][0]["message"] == "hns_0 port 1 is in an unknown state (link unknown)"
    assert (result["rdma_devices"][0]["state"], result["rdma_devices"][0]["rate_gbit_s"], result["rdma_devices"][0]["gids"]) == (None, None, [])


@pytest.mark.parametrize("gids", [(), ((LINK_LOCAL, "RoCE v2", "ens4f0"), (MAPPED, "IB/RoCE v1", "ens4f0"))])
def test_missing_roce_v2_gid(tmp_path, gids):
    add_port(tmp_path, gids=gids)
    add_verbs(tmp_path)
    assert rules(look(tmp_path)) == [("no_gid", "warning", "mlx5_0 port 1")]


@pytest.mark.parametrize("known", [True, False])
def test_missing_device_file_of_libibverbs(tmp_path, known):
    add_port(tmp_path, gids=((MAPPED, "RoCE v2", "ens4f0"),))
    if known:
        add_verbs(tmp_path, file=False)
    result = look(tmp_path)
    assert (rules(result), result["rdma_devices"][0]["verbs"]) == ([("verbs_missing", "error", "mlx5_0 port 1")], None)


@pytest.mark.parametrize("limit, capabilities, memlock", [
    ("65536", NOBODY, Memlock(65536, True)), ("unlimited", NOBODY, Memlock(None, True)), ("65536", ROOT, Memlock(65536, False)),
    ("65536", LOCKER, Memlock(65536, False)),
])
def test_locked_memory(tmp_path, limit, capabilities, memlock):
    add_port(tmp_path, gids=((MAPPED, "RoCE v2", "ens4f0"),))
    add_verbs(tmp_path)
    write(tmp_path, "proc/self/limits", LIMITS % limit)
    write(tmp_path, "proc/self/status", STATUS % capabilities)
    result = look(tmp_path)
    assert result["memlock"] == {"limit_bytes": memlock.limit_bytes, "enforced": memlock.enforced}
    assert rules(result) == ([("memlock", "warning", None)] if memlock == Memlock(65536, True) else [])
    assert memlock.allows(65536)


def test_unknown_limit_of_locked_memory(tmp_path):
    assert rdma_checks.parse_memlock("Max open files 1024\n", STATUS % ROOT) is None
    assert rdma_checks.read_memlock(str(tmp_path)) is None
    assert rdma_checks.memlock_problems(None, 1 << 40) == []
    assert rdma_checks.memlock_problems(Memlock(4096, True), 8192, "error")[0].message == "this user may lock 4096 bytes of memory, RDMA needs 8192"
