# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.problems import as_dicts
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.assemble import Assembly, Device, Server, assemble, sentence


def device(number, address, *errors):
    return {"id": number, "address": address, "netmask": "255.255.255.0", "link": "up", "errors": list(errors)}


def node(*devices, **more):
    return dict({"changed": False, "failed": False, "product": "A2", "dialect": "910", "devices": list(devices)}, **more)


def assembled(nodes, wanted=("all",)) -> Assembly:
    return assemble(nodes, lambda host: "id-of-" + host, wanted, expand)


def test_hosts_in_the_order_given_and_devices_by_number():
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
    ("{{ npu }}", ["the result is no dictionary as device_info returns it"]),
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
def test_a_host_that_does_not_fit(result, reasons):
    found = assembled({"n1": result, "n2": node(device(0, "192.168.2.1"))})
    assert [problem.message for problem in found.problems] == reasons
    assert found.hosts == (("n2",) if reasons else ("n1", "n2"))


def test_a_device_that_a_host_does_not_have():
    found = assembled({"n1": node(device(0, "192.168.1.1"))}, ["0-1"])
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "error", "host": "n1", "device": 1, "message": "has no device 1"}]


def test_errors_beside_the_address_are_warnings():
    found = assembled({"n1": node(device(3, "192.168.1.1", {"topic": "link", "code": "timeout", "message": "no answer"}))})
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "warning", "host": "n1", "device": 3, "message": "device 3: no answer"}]
    assert found.servers == (Server("n1", "id-of-n1", (Device(3, "192.168.1.1"),)),)


def test_a_host_without_an_address_of_its_own():
    def server_id(host):
        raise InputError("no server_id", "set one")

    found = assemble({"n1": node(device(0, "192.168.1.1"))}, server_id, ["all"], expand)
    assert as_dicts(found.problems) == [{"rule": "node", "severity": "error", "host": "n1", "message": "no server_id", "hint": "set one"}]


@pytest.mark.parametrize("products, product", [(["A2", "A2"], "A2"), (["A2", "A3"], None), (["A2", None], "A2"), ([None, None], None)])
def test_the_product_where_it_is_one(products, product):
    nodes = {"n%d" % index: node(device(0, "192.168.%d.1" % index), product=name) for index, name in enumerate(products)}
    assert assembled(nodes).product == product


def test_all_hosts_that_do_not_fit_in_one_sentence():
    nodes = {"n1": None, "n2": node(device(0, "192.168.2.1"), device(5, None), device(6, None)), "n3": node(device(0, "192.168.3.1")), "n4": None,
             "n5": {"unreachable": True}, "n6": node(device(0, "192.168.6.1", {"topic": "tls", "message": "no"}))}
    found = assembled(nodes)
    assert sentence(found.problems, len(nodes)) == (
        "4 of 6 hosts cannot be in the rank table: n1, n4 (no result of device_info: unreachable, or not in that play); "
        "n2 (device 5 has no address, device 6 has no address); n5 (unreachable)")


def test_no_hosts():
    with pytest.raises(InputError, match="no hosts are given"):
        assembled({})


def test_a_device_option_that_is_none():
    with pytest.raises(InputError, match="'eth0' is neither an id"):
        assembled({"n1": None}, ["eth0"])
