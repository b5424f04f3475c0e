from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.devices import of_devices
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line


def npu(number: int, **changed):
    return {"id": number, "address": f"10.78.2.{10 + number}", "netmask": "255.255.255.0", "link": "up", "errors": [], **changed}


def told(*devices, **more) -> list:
    found = of_devices("npu3", {"devices": list(devices), "product": "A2", **more}, "bring_up")
    assert {one.stage for one in found} <= {"bring_up"}
    return [f"{one.cause} {one.severity} {one.component.name}: {one.message}" for one in found]


def error(code: str, message: str, topic: str = "address", **more):
    return {"topic": topic, "code": code, "message": message, **more}


def test_good_npus_have_no_findings() -> None:
    assert told(npu(0), npu(1)) == []


def test_a_missing_tool_is_the_hosts() -> None:
    result = {"failed": True, "msg": "m", "devices": [],
              "error": {"code": "tool_missing", "message": "/opt/nowhere/hccn_tool is not there", "hint": "install the driver, or give its path"}}
    [found] = of_devices("npu3", result, "bring_up")
    assert line(found) == ("failed npu3: /opt/nowhere/hccn_tool is not there -> Install the driver on npu3, or set hccn_tool and npu_smi to the paths of "
                           "the tools")
    assert (found.cause, found.hosts, found.evidence) == ("tool_missing", ("npu3",), ("install the driver, or give its path",))


@pytest.mark.parametrize(("code", "cause"), [
    ("no_device", "no_such_device"), ("timeout", "tool_failed"), ("permission_denied", "tool_failed"), ("invalid_input", "failed_task"),
    ("of_a_newer_release", "tool_failed"),
])
def test_other_failures_of_a_host(code: str, cause: str) -> None:
    [found] = of_devices("n1", {"failed": True, "error": {"code": code, "message": "it failed"}}, "check_fabric")
    assert (found.cause, found.message, found.component, found.stage) == (cause, "it failed", ("host", "n1"), "check_fabric")


def test_a_host_without_an_answer() -> None:
    assert [line(one) for one in of_devices("n1", None, "bring_up")] == [
        "unknown n1: there is no result of this host -> ansible-playbook hccn.cluster.check_fabric"]
    assert [line(one) for one in of_devices("n1", {"unreachable": True, "msg": "No route to host"}, "bring_up")] == [
        "failed n1: Ansible did not reach it: No route to host -> ansible n1 -m ansible.builtin.ping -vvv"]
    assert of_devices("n1", {"skipped": True, "changed": False}, "bring_up") == []
    [found] = of_devices("n1", {"failed": True, "msg": "MODULE FAILURE"}, "bring_up")
    assert (found.cause, found.message) == ("failed_task", "Read the NPUs: MODULE FAILURE")


@pytest.mark.parametrize("result", ["text", 3, [], {}, {"devices": "all"}, {"devices": {"0": {}}}])
def test_an_odd_answer_is_not_understood(result: object) -> None:
    [found] = of_devices("n1", result, "bring_up")
    assert (found.cause, found.severity, found.component.name) == ("answer_not_understood", "unknown", "n1")


def test_odd_npus_cost_the_others_nothing() -> None:
    odd = [None, 7, {"id": True}, {"id": -1}, {"id": "0"}, npu(0, link="down"), npu(0)]
    assert told(*odd) == ["answer_not_understood unknown npu3: 6 of the NPUs in its answer have no id of their own",
                          "link_down failed npu3 NPU 0: the link is down"]
    assert told(npu(0, errors="no", conf=3, tls=[], link=["down"], unread=5, ports={}, address=["10.0.0.1"])) == [
        "address_invalid failed npu3 NPU 0: its address \"['10.0.0.1']\" is no IP address"]
    assert told(npu(0, errors=[None, {}, {"code": 5, "topic": ["x"], "message": {"a": 1}}])) == ["tool_failed failed npu3 NPU 0: it has an error"]


def test_an_error_of_all_npus_is_one() -> None:
    npus = [npu(number, address=None, errors=[error("no_passwd_entry", "hccn_tool printed nothing (exit code 234)", "address", hint="no passwd entry"),
                                              error("no_passwd_entry", "hccn_tool printed nothing (exit code 234)", "link")]) for number in range(8)]
    assert told(*npus) == ["tool_failed failed npu3 NPUs 0-7: address, link: hccn_tool printed nothing (exit code 234)"]
    [found] = of_devices("npu3", {"devices": npus}, "bring_up")
    assert (found.evidence, len(found.devices)) == (("no passwd entry",), 8)


def test_an_error_that_names_the_npu_is_one_for_all_of_them() -> None:
    npus = [npu(number, errors=[error("timeout", f"no answer within 30 s: hccn_tool -i {number} -ip -g")]) for number in (0, 1, 3)]
    assert told(*npus) == ["tool_failed failed npu3 NPUs 0-1, 3: address: no answer within 30 s: hccn_tool -i N -ip -g"]
    assert told(*[npu(number, errors=[error("tool_missing", f"npu-smi does not show device {number}", "processes")]) for number in (8, 9)]) == [
        "tool_missing failed npu3 NPUs 8-9: processes: npu-smi does not show device N"]


def test_errors_of_the_result_name_their_npus() -> None:
    assert told(npu(0), npu(1), npu(2), errors=[error("device_absent", "The device is not exist!", devices=[1, 2, "3", None])]) == [
        "no_such_device failed npu3 NPUs 1-2: address: The device is not exist!"]


def test_what_is_worth_knowing_only() -> None:
    assert told(npu(0, errors=[error("device_failed", "Command execute failed!", "lldp"), error("unsupported_on_product", "not supported", "health")])) == [
        "device_error note npu3 NPU 0: lldp: Command execute failed!", "tool_failed note npu3 NPU 0: health: not supported"]


def test_codes_of_errors_of_npus() -> None:
    codes = {"device_not_ready": "device_error", "no_final_newline": "conf_problem", "device_busy": "busy_npu", "invalid_device": "no_such_device",
             "unexpected_output": "tool_failed"}
    assert {code: told(npu(0, errors=[error(code, "m", "tls")]))[0].split()[0] for code in codes} == codes


def test_links() -> None:
    assert told(npu(0, link="down"), npu(1), npu(5, link="down")) == ["link_down failed npu3 NPUs 0, 5: the link is down"]
    partial = npu(0, link="partial", ports=[{"port": 4, "link": "up"}, {"port": 5, "link": "down"}, {"port": 6}])
    [found] = of_devices("npu3", {"devices": [partial]}, "bring_up")
    assert (found.severity, found.message, found.evidence) == ("degraded", "the link is up in part: some of its ports or lanes are down",
                                                               ("NPU 0 port 5: down",))
    assert told(npu(0, link="unknown")) == ["link_down unknown npu3 NPU 0: hccn_tool does not know whether the link is up"]
    assert told(npu(0, link=None)) == []


def test_addresses() -> None:
    assert told(npu(0, address=None), npu(1, address="10.0.0.999"), npu(2)) == [
        "address_not_set failed npu3 NPU 0: it has no address", "address_invalid failed npu3 NPU 1: its address '10.0.0.999' is no IP address"]
    assert told(npu(0, address=None, unread=["address"])) == []
    assert told({"id": 0, "link": "up"}) == []
    assert told(npu(0, address=None, errors=[error("device_failed", "Command execute failed!")])) == [
        "device_error failed npu3 NPU 0: address: Command execute failed!"]


def test_hccn_conf_says_something_else() -> None:
    conf = {"address": "10.78.2.10", "netmask": "255.255.255.0"}
    assert told(npu(0, address="10.78.2.99", conf=conf)) == [
        "conf_differs degraded npu3 NPU 0: the device has 10.78.2.99, hccn.conf has 10.78.2.10: the next reboot sets the latter"]
    assert told(npu(0, conf=conf)) == []
    assert told(npu(0, mtu=9000, conf={**conf, "mtu": "1500"})) == [
        "conf_differs degraded npu3 NPU 0: the device has the MTU 9000, hccn.conf has 1500: the next reboot sets the latter"]
    assert told(npu(0, mtu=9000, conf={**conf, "mtu": 9000})) == []
    assert told(npu(0, mtu=9000, conf=conf)) == []


def test_hccn_conf_does_not_have_what_the_device_has() -> None:
    assert told(npu(0, gateway="10.78.2.1", conf={"netmask": "255.255.255.0"})) == [
        "conf_differs degraded npu3 NPU 0: the device has 10.78.2.10, hccn.conf has none: it is lost at the next reboot",
        "conf_differs degraded npu3 NPU 0: the device has the gateway 10.78.2.1, hccn.conf has none: it is lost at the next reboot"]
    assert told(npu(0, address=None, gateway="10.78.2.1", conf={})) == ["address_not_set failed npu3 NPU 0: it has no address"]
    assert told(npu(0, conf={"address": None, "netmask": None})) == []


@pytest.mark.parametrize(("device", "conf", "differs"), [
    (True, False, True), (False, "1", True), (True, 1, False), (False, "0", False), (None, 1, False), (True, None, False), (True, "yes", False),
])
def test_the_tls_flag_of_hccn_conf(device: object, conf: object, differs: bool) -> None:
    found = told(npu(0, tls={"enabled": device}, conf={"address": "10.78.2.10", "netmask": "255.255.255.0", "tls_enabled": conf}))
    assert bool(found) is differs


def test_tls_in_words() -> None:
    assert told(npu(0, tls={"enabled": False}, conf={"address": "10.78.2.10", "netmask": "255.255.255.0", "tls_enabled": True})) == [
        "conf_differs degraded npu3 NPU 0: the device has TLS off, hccn.conf has on: the next reboot sets the latter"]


def test_differences_of_several_npus_are_one_for_each_option() -> None:
    conf = {"netmask": "255.255.255.0"}
    npus = [npu(number, conf={**conf, "address": f"10.78.9.{number}"}) for number in (0, 1)]
    [found] = of_devices("npu3", {"devices": npus}, "bring_up")
    assert found.component.name == "npu3 NPUs 0-1"
    assert found.message == "the device has 10.78.2.10, hccn.conf has 10.78.9.0: the next reboot sets the latter (NPU 0, the others alike)"
    assert found.evidence == ("NPU 0: the device has 10.78.2.10, hccn.conf has 10.78.9.0: the next reboot sets the latter",
                              "NPU 1: the device has 10.78.2.11, hccn.conf has 10.78.9.1: the next reboot sets the latter")
    assert told(*[npu(number, mtu=1500, conf={**conf, "address": f"10.78.2.{10 + number}", "mtu": 9000}) for number in (0, 1)]) == [
        "conf_differs degraded npu3 NPUs 0-1: the device has the MTU 1500, hccn.conf has 9000: the next reboot sets the latter"]


def test_what_a_host_says_is_made_printable() -> None:
    [found] = of_devices("n1", {"devices": [npu(0, errors=[error("x", "a\x1b[2Jb\n" + "c " * 5000)])]}, "bring_up")
    assert found.message.startswith("address: a?[2Jb?c c")
    assert len(found.message) <= 2000
