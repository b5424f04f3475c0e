from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import Assembly, HostAddresses, TableOptions, assemble, exclusion_message
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Server


def device(number, address, *errors):
    return {"id": number, "address": address, "netmask": "255.255.255.0", "link": "up", "errors": list(errors)}


def node(*devices, **more):
    return dict({"changed": False, "failed": False, "product": "A2", "dialect": "910", "devices": list(devices)}, **more)


def pod(server_index, number, super_pod_id=0, sdid=None):
    """The topic super_pod of a device."""
    return {"sdid": sdid or server_index << 22 | number // 2 << 18 | number % 2 << 16 | number, "super_pod_size": 384, "super_pod_id": super_pod_id,
            "server_index": server_index}


def a3(server_index, addresses, super_pod_id=0, **more):
    """A host of A3 in a super pod."""
    devices = [dict(device(number, address), super_pod=pod(server_index, number, super_pod_id)) for number, address in enumerate(addresses)]
    return node(*devices, product="A3", **more)


def assembled(nodes, wanted=("all",), **wishes) -> Assembly:
    return assemble(nodes, lambda host: HostAddresses("id-of-" + host), TableOptions(devices=wanted, **wishes), expand)


def messages(found: Assembly):
    return [(problem.severity, problem.host, problem.message) for problem in found.problems]


def test_hosts_keep_their_order_and_devices_are_sorted():
    found = assembled({"n2": node(device(10, "192.168.2.10"), device("2", "192.168.2.2")), "n1": node(device(0, "192.168.1.1"))})
    assert found == Assembly((Server("n2", "id-of-n2", (Device(2, "192.168.2.2"), Device(10, "192.168.2.10"))),
                              Server("n1", "id-of-n1", (Device(0, "192.168.1.1"),))), (), "A2")
    assert found.hosts == ("n2", "n1")


def test_a_subset_of_the_devices():
    nodes = {"n1": node(*(device(number, "192.168.1.%d" % number) for number in range(1, 9)))}
    assert [found.id for found in assembled(nodes, ["6-7", "1"]).servers[0].devices] == [1, 6, 7]


@pytest.mark.parametrize("result, reasons", [
    (None, ["no result of device_info: unreachable, or not in that play"]),
    (InputError("not in the inventory"), ["not in the inventory"]),
    ("{{ npu }}", ["the result does not have the format of device_info"]),
    ({"unreachable": True, "msg": "no route to host"}, ["unreachable"]),
    ({"skipped": True}, ["device_info was skipped"]),
    ({"failed": True, "msg": "hccn_tool is missing"}, ["device_info failed: hccn_tool is missing"]),
    ({"failed": True}, ["device_info failed: no reason given"]),
    ({"changed": False}, ["the result has no devices"]),
    (node(), ["has no devices"]),
    (node({"address": "192.168.1.1"}), ["a device has no id: None"]),
    (node("eth0"), ["a device has no id: None"]),
    (node(device(1, "192.168.1.1"), device(1, "192.168.1.2")), ["device 1 appears twice"]),
    (node(device(0, None), device(1, "192.168.1.1"), device(2, "")), ["device 0 has no address", "device 2 has no address"]),
    (node(device(0, None, {"topic": "address", "code": "timeout", "message": "hccn_tool did not answer"})), ["device 0: hccn_tool did not answer"]),
    (node(device(0, "192.168.1.1", {"code": "device_failed", "message": "the device failed"})), ["device 0: the device failed"]),
    (node(device(0, "192.168.1.1", "the device failed")), ["device 0: the device failed"]),
    (node(device(0, "192.168.1.1"), failed=True, msg="1 of 2 devices failed"), []),
])
def test_an_unusable_host_is_a_problem(result, reasons):
    found = assembled({"n1": result, "n2": node(device(0, "192.168.2.1"))})
    assert [problem.message for problem in found.problems] == reasons
    assert found.hosts == (("n2",) if reasons else ("n1", "n2"))


def test_a_missing_device_is_a_problem():
    found = assembled({"n1": node(device(0, "192.168.1.1"))}, ["0-1"])
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "error", "host": "n1", "device": 1, "message": "has no device 1"}]


@pytest.mark.parametrize("errors", [1.5, "broken", {"topic": "address"}])
def test_malformed_errors_are_a_problem(errors):
    found = assembled({"n1": node(dict(device(0, "192.168.1.1"), errors=errors)), "n2": node(device(0, "192.168.2.1"))})
    assert messages(found) == [("error", "n1", "device 0: its errors are not a list")]


def test_errors_of_other_topics_are_warnings():
    found = assembled({"n1": node(device(3, "192.168.1.1", {"topic": "link", "code": "timeout", "message": "no answer"}))})
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "warning", "host": "n1", "device": 3, "message": "device 3: no answer"}]
    assert found.servers == (Server("n1", "id-of-n1", (Device(3, "192.168.1.1"),)),)


def test_a_host_without_a_server_id_is_a_problem():
    def server_id(host):
        raise InputError("no server_id", "set one")

    found = assemble({"n1": node(device(0, "192.168.1.1"))}, server_id, TableOptions(), expand)
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "error", "host": "n1", "message": "no server_id", "hint": "set one"}]


@pytest.mark.parametrize("products, product", [(["A2", "A2"], "A2"), (["A2", "A3"], None), (["A2", None], "A2"), ([None, None], None)])
def test_the_product_is_known_if_all_hosts_agree(products, product):
    nodes = {"n%d" % index: node(device(0, "192.168.%d.1" % index), product=name) for index, name in enumerate(products)}
    assert assembled(nodes).product == product


def test_all_unusable_hosts_are_in_one_message():
    nodes = {"n1": None, "n2": node(device(0, "192.168.2.1"), device(5, None), device(6, None)), "n3": node(device(0, "192.168.3.1")), "n4": None,
             "n5": {"unreachable": True}, "n6": node(device(0, "192.168.6.1", {"topic": "tls", "message": "no"}))}
    found = assembled(nodes)
    assert exclusion_message(found.problems, len(nodes)) == (
        "4 of 6 hosts cannot be in the rank table: n1, n4 (no result of device_info: unreachable, or not in that play); "
        "n2 (device 5 has no address, device 6 has no address); n5 (unreachable)")


def test_a_table_without_hosts_is_refused():
    with pytest.raises(InputError, match="no hosts are given"):
        assembled({})


def test_an_invalid_device_option_is_refused():
    with pytest.raises(InputError, match="'eth0' is neither an id"):
        assembled({"n1": None}, ["eth0"])


def test_devices_of_single_hosts():
    nodes = {name: node(*(device(number, "192.168.1.%d" % number) for number in range(1, 9))) for name in ("n1", "n2")}
    found = assembled(nodes, ["1-2"], host_devices={"n2": ["8"]})
    assert [[device.id for device in server.devices] for server in found.servers] == [[1, 2], [8]]


def test_addresses_of_a_host():
    place = HostAddresses("192.0.2.1", "198.51.100.1", "10.244.0.1")
    server, = assemble({"n1": node(device(0, "192.168.1.1"))}, lambda _host: place, TableOptions(), expand).servers
    assert (server.server_id, server.host_ip, server.container_ip) == place


@pytest.mark.parametrize("wishes, version", [
    ({}, "1.2"), ({"version": "1.0"}, "1.0"), ({"format": "global"}, "1.2"), ({"format": "mindie"}, "1.2"), ({"format": "vllm_pd"}, "1.2"),
    ({"format": "local_comm_res", "version": "1.3"}, "1.3"),
])
def test_versions_in_a_super_pod(wishes, version):
    assert assembled({"n1": a3(9, ["192.168.1.1"])}, **wishes).version == version


def test_super_pods():
    found = assembled({"n1": a3(9, ["192.168.1.1", "192.168.2.1"]), "n2": a3(40, ["192.168.1.2", "192.168.2.2"], 1)})
    assert found == Assembly((
        Server("n1", "id-of-n1", (Device(0, "192.168.1.1", 37748736), Device(1, "192.168.2.1", 37814273)), super_pod_id="0"),
        Server("n2", "id-of-n2", (Device(0, "192.168.1.2", 167772160), Device(1, "192.168.2.2", 167837697)), super_pod_id="1")), (), "A3", "1.2")


def test_version_1_0_has_no_keys_of_super_pods():
    server, = assembled({"n1": a3(9, ["192.168.1.1"])}, version="1.0").servers
    assert (server.super_pod_id, server.devices) == (None, (Device(0, "192.168.1.1"),))


def test_version_1_2_outside_super_pods_is_a_problem():
    result = node(dict(device(0, "192.168.1.1"), super_pod=pod(1023, 0)), product="A3")
    assert (assembled({"n1": result}).version, assembled({"n1": result}).problems) == ("1.0", ())
    found = assembled({"n1": result}, version="1.2")
    assert messages(found) == [("error", "n1", "device 0 is not in a super pod")]


def test_an_unread_super_pod_causes_a_warning():
    found = assembled({"n1": node(device(0, "192.168.1.1"), product="A3")})
    assert found.version == "1.0"
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "warning", "hint": "gather super_pod with device_info",
                                         "message": "the topic super_pod was not gathered, so the table assumes hosts outside a super pod"}]


def test_hosts_without_a_usable_super_pod_are_problems():
    outside = node(dict(device(0, "192.168.1.2"), super_pod=None), product="A3")
    broken = node(dict(device(0, "192.168.1.3"), super_pod=None, errors=[{"topic": "super_pod", "message": "npu-smi did not answer"}]), product="A3")
    unread = node(device(0, "192.168.1.4"), product="A3")
    torn = a3(9, ["192.168.1.5", "192.168.1.6"])
    torn["devices"][1]["super_pod"]["super_pod_id"] = 3
    found = assembled({"n1": a3(9, ["192.168.1.1"]), "n2": outside, "n3": broken, "n4": unread, "n5": torn})
    assert messages(found) == [
        ("error", "n2", "device 0 is not in a super pod"), ("error", "n3", "device 0: npu-smi did not answer"),
        ("error", "n4", "the super pod of device 0 was not read: gather super_pod"), ("error", "n5", "its devices are in several super pods: 0, 3")]


def test_devices_without_an_address_inside_one_super_pod():
    found = assembled({"n1": a3(9, ["192.168.1.1", None])})
    assert found.servers[0].devices[1] == Device(1, None, 37814273)
    assert messages(found) == [
        ("warning", "n1", "device 1 has no address: HCCL can do without one inside a super pod, unless RoCE is forced")]


def test_devices_without_an_address_between_super_pods():
    found = assembled({"n1": a3(9, [None]), "n2": a3(9, ["192.168.1.2"], 1)})
    assert messages(found) == [("error", "n1", "device 0 has no address: HCCL requires one between super pods")]


def test_super_pod_errors_of_other_products_are_ignored():
    error = {"topic": "super_pod", "message": "npu-smi printed something unknown"}
    assert assembled({"n1": node(dict(device(0, "192.168.1.1", error), super_pod=None))}).problems == ()


def test_the_vllm_connector_links_a3_over_virtual_nics():
    result = a3(23, [None, "192.168.1.2"])
    result["devices"][0]["errors"] = [{"topic": "address", "message": "no answer"}]
    result["devices"][1]["vnic"] = {"link": "up", "address": "192.23.3.198", "netmask": "255.255.0.0"}
    server, = assembled({"n1": result}, format="vllm_pd").servers
    assert [(device.address, device.sdid) for device in server.devices] == [("192.23.2.199", 96468992), ("192.23.3.198", 96534529)]
    server, = assembled({"n1": node(device(0, "192.168.1.1"))}, format="vllm_pd").servers
    assert (server.devices, server.super_pod_id) == ((Device(0, "192.168.1.1"),), None)


LEVEL = {"net_layer": 0, "net_instance_id": "az0-rack0", "net_type": "TOPO_FILE_DESC", "net_attr": "",
         "rank_addr_list": [{"addr_type": "EID", "addr": "000000000000000000100000dfdf0020", "ports": ["0/4"], "plane_id": "plane0"}]}


def test_version_2_0_contains_the_given_addresses():
    levels = {"n1": {"rank_list": [{"rank_id": 7, "device_id": 1, "local_id": 1, "level_list": [LEVEL]}, {"device_id": "0", "level_list": [LEVEL]}]}}
    found = assembled({"n1": node(device(0, None), device(1, None), product="950")}, levels=levels)
    assert (found.version, found.problems) == ("2.0", ())
    assert found.servers[0].devices == (Device(0, more={"level_list": [LEVEL]}), Device(1, more={"local_id": 1, "level_list": [LEVEL]}))


@pytest.mark.parametrize("levels, wanted, message", [
    ({}, ["all"], "version 2.0 requires the addresses of the network layers, which no tool reports: set the option levels"),
    ({"n1": []}, ["all"], "version 2.0 requires the addresses of the network layers, which no tool reports: set the option levels"),
    ({"n1": [{"device_id": 0, "level_list": [LEVEL]}]}, ["0-1"], "levels has no device 1"),
    ({"n1": [{"device_id": 3, "level_list": [LEVEL]}]}, ["all"], "has no device 3"),
    ({"n1": [{"device_id": 0}]}, ["all"], "levels: device 0 has no level_list"),
    ({"n1": [{"level_list": [LEVEL]}]}, ["all"], "a device has no device_id: None"),
])
def test_version_2_0_requires_addresses(levels, wanted, message):
    assert messages(assembled({"n1": node(device(0, None), product="950")}, wanted, levels=levels)) == [("error", "n1", message)]


@pytest.mark.parametrize("wishes, message", [
    ({"format": "global"}, "format global has no version for Ascend 950"),
    ({"format": "vllm_pd"}, "format vllm_pd has no version for Ascend 950"),
    ({"format": "global", "version": "2.0"}, "format global has no version 2.0: give 1.0, 1.2, or auto"),
])
def test_unsupported_versions_are_refused(wishes, message):
    with pytest.raises(InputError, match=message):
        assembled({"n1": node(device(0, "192.168.1.1"), product="950")}, **wishes)
