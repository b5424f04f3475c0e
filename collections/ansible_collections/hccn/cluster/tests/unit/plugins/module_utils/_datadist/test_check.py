"""Each rule of datadist_check, with an otherwise correct plan of two hosts."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import check, host_rules, link_codes

MAPPED = {"containers": [{"container": "c" * 64, "pid": 7, "command": "python3", "devices": [0], "state": "mapped", "remedy": None}], "problems": []}


def npu(device, address, tls=False, link="up"):
    return {"id": device, "address": address, "link": link, "tls": {"enabled": tls}}


def cluster(number, role, host, device, port=26000, **more):
    return dict({"cluster": number, "role": role, "host": host, "device": device, "ip_infos": [{"ip": "192.0.2.%s" % host[1], "port": port}],
                 "local_comm_res": ""}, **more)


def plan(**more):
    """p1 and d2 are A3 servers of four NPUs each; cluster 1 prefills on p1, cluster 2 decodes on d2."""
    return dict({
        "clusters": [cluster(1, "prefill", "p1", 0), cluster(2, "decode", "d2", 0)], "calls": None, "timeout_ms": 1000,
        "nodes": {host: {"product": "A3", "devices": [npu(device, "192.168.%s.%d" % (host[1], device)) for device in range(4)]} for host in ("p1", "d2")},
        "mounts": {"p1": copy.deepcopy(MAPPED), "d2": copy.deepcopy(MAPPED)}, "ports": {}, "products": {}, "probe": None, "fail_on": "never"}, **more)


def problems_of(params):
    return [(problem["rule"], problem["severity"], problem["host"], problem["device"]) for problem in check.check(params)["problems"]]


def messages(params):
    return [problem["message"] for problem in check.check(params)["problems"]]


def test_valid_plan_has_no_problems():
    assert check.check(plan()) == {"problems": [], "planned": {"clusters": 2, "devices": 2, "calls": 1, "links": 1}, "products": {
        "p1": {"product": "A3", "supported": "yes"}, "d2": {"product": "A3", "supported": "yes"}}}


@pytest.mark.parametrize("board, named, supported, rules", [
    ("A3", None, "yes", []),
    ("A2", None, "unknown", [("product_unknown", "error", "p1", 0)]),
    (None, None, "unknown", [("product_unknown", "error", "p1", 0)]),
    ("950", None, "unknown", [("product_unknown", "error", "p1", 0)]),
    ("A2", "800I A2", "yes", []),
    ("A2", "A200I A2 Box", "yes", []),
    ("A2", "A2 training", "no", [("product", "error", "p1", 0)]),
    ("910A", None, "no", [("product", "error", "p1", 0)]),
    ("310P", None, "no", [("product", "error", "p1", 0)]),
])
def test_products(board, named, supported, rules):
    params = plan(products={"p1": named} if named else {})
    params["nodes"]["p1"]["product"] = board
    assert problems_of(params) == rules
    assert check.check(params)["products"]["p1"]["supported"] == supported


def test_unknown_product_is_rejected():
    with pytest.raises(InputError, match="products: 'A9' of host p1 is none of A3, 800I A2"):
        check.check(plan(products={"p1": "A9"}))


def test_link_and_address():
    params = plan()
    params["nodes"]["p1"]["devices"][0].update(link="down", address=None)
    params["nodes"]["d2"]["devices"][0].update(link=None)
    assert problems_of(params) == [("address", "error", "p1", 0), ("link", "error", "p1", 0), ("link", "error", "d2", 0)]
    found = check.check(params)["problems"][1]
    assert found["message"] == "the link of NPU 0 of p1 is down"
    assert "tls_state enabled" in found["hint"] and "your choice" in found["hint"]
    params = plan()
    params["nodes"]["d2"]["devices"][0]["address"] = "192.168.1.0"
    assert messages(params) == ["NPU 0 of d2 has the same address 192.168.1.0 as NPU 0 of p1"]


def test_npu_without_a_result_is_a_problem():
    params = plan()
    params["nodes"].pop("d2")
    assert problems_of(params) == [("product_unknown", "error", "d2", 0), ("device_unknown", "error", "d2", 0)]


def test_tls_must_be_equal_on_planned_npus():
    params = plan(clusters=[cluster(1, "prefill", "p1", 0), cluster(3, "prefill", "p1", 2, 26001), cluster(2, "decode", "d2", 0)], timeout_ms=2000)
    params["nodes"]["p1"]["devices"][1]["tls"]["enabled"] = True
    assert problems_of(params) == []
    params["nodes"]["p1"]["devices"][2]["tls"]["enabled"] = True
    assert problems_of(params) == [("tls", "error", "p1", 2)]
    found = check.check(params)["problems"][0]
    assert found["message"] == "TLS is on on NPU 2 of p1 and off on the 2 others: they cannot link"
    assert found["hint"] == "make it equal on all, with hccn.cluster.tls (tls_state: disabled to follow the others)"
    for host in ("p1", "d2"):
        for device in params["nodes"][host]["devices"]:
            device["tls"]["enabled"] = True
    assert problems_of(params) == []
    params["nodes"]["d2"]["devices"][0]["tls"] = {"enabled": None, "reason": "would_write"}
    assert problems_of(params) == [("tls_unknown", "error", "d2", 0)]


@pytest.mark.parametrize("state, severity", [("missing", "error"), ("stale", "error"), ("unreadable", "error"), ("copy", "warning")])
def test_hccn_conf_in_containers(state, severity):
    params = plan()
    params["mounts"]["p1"]["containers"][0].update(state=state, remedy="recreate the container")
    assert problems_of(params) == [("hccn_conf_" + state, severity, "p1", 0)]
    found = check.check(params)["problems"][0]
    assert (found["where"], found["hint"]) == ("container cccccccccccc pid 7 (python3)", "recreate the container")
    params["clusters"][0]["local_comm_res"] = '{"version": "1.3"}'
    assert problems_of(params) == []


def test_hccn_conf_of_other_containers_and_of_the_host():
    params = plan(mounts={"p1": copy.deepcopy(MAPPED)})
    params["mounts"]["p1"]["containers"][0].update(state="stale", devices=[3])
    params["mounts"]["p1"]["problems"] = [{"rule": "host_conf_missing", "message": "/etc/hccn.conf is not there", "hint": "make it"}]
    assert problems_of(params) == [("hccn_conf", "error", "p1", 0), ("hccn_conf_unknown", "warning", "d2", 0)]


@pytest.mark.parametrize("timeout, tls, rules", [
    (200, False, []), (199, False, [("timeout", "warning", "d2", 0)]), (1999, True, [("timeout", "warning", "d2", 0)]), (2000, True, [])])
def test_timeouts(timeout, tls, rules):
    params = plan(timeout_ms=timeout)
    for host in ("p1", "d2"):
        params["nodes"][host]["devices"][0]["tls"]["enabled"] = tls
    assert problems_of(params) == rules


def many(count):
    """A decode cluster on one NPU and ``count`` prefill clusters on the other host."""
    return [cluster(number, "prefill", "p1", number % 4, 30000 + number) for number in range(1, count + 1)] + [cluster(1000, "decode", "d2", 0)]


def test_links_of_a_device():
    assert problems_of(plan(clusters=many(512))) == []
    params = plan(clusters=many(513))
    assert problems_of(params) == [("links_a_device", "error", "d2", 0)]
    assert check.check(params)["planned"] == {"clusters": 514, "devices": 5, "calls": 33, "links": 513}
    assert messages(params) == ["513 links are planned on NPU 0 of d2: the limit is 512 (LLM_PARAM_INVALID, Link num is over limit)"]
    params["clusters"][-1]["local_comm_res"] = '{"version": "1.3"}'
    assert problems_of(params) == []
    params["clusters"][-1]["local_comm_res"] = '{"version": "1.0", "status": "completed", "server_list": []}'
    assert ("links_a_device", "error", "d2", 0) in problems_of(params)


def test_link_counts_once_regardless_of_the_initiator():
    both = [{"cluster": 2, "remotes": [1], "timeout_ms": 1000}, {"cluster": 1, "remotes": [2], "timeout_ms": 1000}]
    assert check.check(plan(calls=both))["planned"]["links"] == 1


@pytest.mark.parametrize("count, rules", [(16, []), (17, [("clusters_a_call", "error", "d2", 0)])])
def test_clusters_of_a_call(count, rules):
    assert problems_of(plan(clusters=many(17), calls=[{"cluster": 1000, "remotes": list(range(1, count + 1)), "timeout_ms": 1000}])) == rules


def test_one_ip_info_per_cluster():
    two = [{"ip": "192.0.2.1", "port": 1}, {"ip": "192.0.2.1", "port": 2}]
    params = plan(clusters=[cluster(1, "prefill", "p1", 0, ip_infos=two), cluster(2, "decode", "d2", 0, ip_infos=[])])
    assert messages(params) == ["cluster 1 has 2 ip_infos, but needs exactly one", "cluster 2 has 0 ip_infos, but needs exactly one"]
    params["clusters"][1]["local_comm_res"] = '{"version": "1.3"}'
    assert messages(params) == ["cluster 1 has 2 ip_infos, but needs exactly one"]


def test_dies_of_one_npu_cannot_link():
    params = plan(clusters=[cluster(1, "prefill", "p1", 2), cluster(2, "decode", "p1", 3, 26001)])
    assert problems_of(params) == [("sibling_dies", "error", "p1", 3)]
    params["nodes"]["p1"]["product"] = "A2"
    params["products"] = {"p1": "800I A2"}
    assert problems_of(params) == []
    assert problems_of(plan(clusters=[cluster(1, "prefill", "p1", 1), cluster(2, "decode", "p1", 2, 26001)])) == []
    assert problems_of(plan(clusters=[cluster(1, "prefill", "p1", 1), cluster(2, "decode", "p1", 1, 26001)])) == [("same_device", "error", "p1", 1)]


def test_used_and_duplicate_ports_are_problems():
    params = plan(clusters=[cluster(1, "prefill", "p1", 0), cluster(3, "prefill", "p1", 1), cluster(2, "decode", "d2", 0)],
                  ports={"p1": {"probed": [{"ip": "192.0.2.1", "port": 26000, "state": "used"}]},
                         "d2": {"probed": [{"ip": "192.0.2.2", "port": 26000, "state": "no_address"}]}})
    assert problems_of(params) == [("port_used", "error", "p1", 0), ("port_no_address", "error", "d2", 0), ("port_twice", "error", "p1", 1)]


def test_invalid_local_comm_res_is_a_problem():
    params = plan()
    params["clusters"][0]["local_comm_res"] = '{"version": "1.3", "endpoint_list": [{"protocol": "pigeon", "comm_id": "1", "placement": "device"}]}'
    assert problems_of(params) == [("local_comm_res.required_keys", "warning", "p1", 0), ("local_comm_res.choices", "error", "p1", 0)]


@pytest.mark.parametrize("change, message", [
    ({"clusters": []}, "clusters is empty"),
    ({"nodes": None}, "clusters requires nodes, the results"),
    ({"clusters": [cluster(1, "prefill", "p1", 0)] * 2}, "the cluster 1 is listed twice"),
    ({"clusters": [cluster(-1, "prefill", "p1", 0)]}, "ids must be 0 or more"),
    ({"clusters": [cluster(1, "prefill", "p1", 0, 70000)]}, "is not an ip with a port from 1 to 65535"),
    ({"calls": [{"cluster": 2, "remotes": [9], "timeout_ms": 1}]}, "there is no cluster 9"),
    ({"calls": [{"cluster": 2, "remotes": [2], "timeout_ms": 1}]}, "must not be empty or contain the calling cluster or duplicates"),
    ({"calls": [{"cluster": 2, "remotes": [], "timeout_ms": 1}]}, "must not be empty or contain the calling cluster or duplicates"),
])
def test_invalid_plans_are_rejected(change, message):
    with pytest.raises(InputError, match=message):
        check.check(plan(**change))


def test_failure_message():
    params = plan(fail_on="error", timeout_ms=100)
    assert "failed" not in check.check(params)
    assert check.check(dict(params, fail_on="warning"))["msg"] == (
        "1 problem, the first: the timeout of cluster 2 is 100 ms: 200 ms or more are recommended (raise timeout_ms)")
    params["nodes"]["p1"]["devices"][0]["link"] = "down"
    assert check.check(params)["msg"].startswith("2 problems, the first: the link of NPU 0 of p1 is down (repair the link")


def test_status_codes_are_explained():
    assert link_codes.explain("LLM_ALREADY_LINK") == {"code": 0x5010B008, "name": "LLM_ALREADY_LINK", "meaning": "already linked"}
    assert link_codes.explain("LLM_NEW") == {"name": "LLM_NEW", "meaning": "see LLMStatusCode in the manual of LLM-DataDist"}
    assert host_rules.SUPPORTED == ("A3", "800I A2", "A200I A2 Box")
