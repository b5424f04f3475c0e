from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.devices import of_devices
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.screen import line


def npu(number: int, **changed):
    return {"id": number, "address": f"10.78.2.{10 + number}", "netmask": "255.255.255.0", "link": "up", "errors": [], **changed}


def summaries(*devices, **more) -> list:
    found = of_devices("npu3", {"devices": list(devices), "product": "A2", **more}, "bring_up")
    assert {one.stage for one in found} <= {"bring_up"}
    return [f"{one.cause} {one.severity} {one.component.name}: {one.message}" for one in found]


def error(code: str, message: str, topic: str = "address", **more):
    return {"topic": topic, "code": code, "message": message, **more}


def test_good_npus_have_no_findings() -> None:
    assert summaries(npu(0), npu(1)) == []


def test_a_missing_tool_is_a_finding_of_the_host() -> None:
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
def test_error_codes_of_a_host_determine_the_cause(code: str, cause: str) -> None:
    [found] = of_devices("n1", {"failed": True, "error": {"code": code, "message": "it failed"}}, "check_fabric")
    assert (found.cause, found.message, found.component, found.stage) == (cause, "it failed", ("host", "n1"), "check_fabric")


def test_a_host_without_a_result_is_not_measured_or_unreachable() -> None:
    assert [line(one) for one in of_devices("n1", None, "bring_up")] == [
        "unknown n1: the host returned no result -> ansible-playbook hccn.cluster.check_fabric"]
    assert [line(one) for one in of_devices("n1", {"unreachable": True, "msg": "No route to host"}, "bring_up")] == [
        "failed n1: Ansible did not reach it: No route to host -> ansible n1 -m ansible.builtin.ping -vvv"]
    assert of_devices("n1", {"skipped": True, "changed": False}, "bring_up") == []
    [found] = of_devices("n1", {"failed": True, "msg": "MODULE FAILURE"}, "bring_up")
    assert (found.cause, found.message) == ("failed_task", "Read the NPUs: MODULE FAILURE")


@pytest.mark.parametrize("result", ["text", 3, [], {}, {"devices": "all"}, {"devices": {"0": {}}}])
def test_a_malformed_answer_is_not_understood(result: object) -> None:
    [found] = of_devices("n1", result, "bring_up")
    assert (found.cause, found.severity, found.component.name) == ("answer_not_understood", "unknown", "n1")


def test_malformed_npus_do_not_affect_the_others() -> None:
    odd = [None, 7, {"id": True}, {"id": -1}, {"id": "0"}, npu(0, link="down"), npu(0)]
    assert summaries(*odd) == ["answer_not_understood unknown npu3: 6 of the NPUs in its answer have no id, or one that occurs twice",
                               "link_down failed npu3 NPU 0: the link is down"]
    assert summaries(npu(0, errors="no", conf=3, tls=[], link=["down"], unread=5, ports={}, address=["10.0.0.1"])) == [
        "address_invalid failed npu3 NPU 0: its address \"['10.0.0.1']\" is not an IP address"]
    assert summaries(npu(0, errors=[None, {}, {"code": 5, "topic": ["x"], "message": {"a": 1}}])) == ["tool_failed failed npu3 NPU 0: it has an error"]


def test_the_same_error_of_all_npus_is_one_finding() -> None:
    npus = [npu(number, address=None, errors=[error("no_passwd_entry", "hccn_tool printed nothing (exit code 234)", "address", hint="no passwd entry"),
                                              error("no_passwd_entry", "hccn_tool printed nothing (exit code 234)", "link")]) for number in range(8)]
    assert summaries(*npus) == ["tool_failed failed npu3 NPUs 0-7: address, link: hccn_tool printed nothing (exit code 234)"]
    [found] = of_devices("npu3", {"devices": npus}, "bring_up")
    assert (found.evidence, len(found.devices)) == (("no passwd entry",), 8)


def test_errors_that_differ_in_the_device_number_are_one_finding() -> None:
    npus = [npu(number, errors=[error("timeout", f"no answer within 30 s: hccn_tool -i {number} -ip -g")]) for number in (0, 1, 3)]
    assert summaries(*npus) == ["tool_failed failed npu3 NPUs 0-1, 3: address: no answer within 30 s: hccn_tool -i N -ip -g"]
    assert summaries(*[npu(number, errors=[error("tool_missing", f"npu-smi does not show device {number}", "processes")]) for number in (8, 9)]) == [
        "tool_missing failed npu3 NPUs 8-9: processes: npu-smi does not show device N"]


def test_errors_of_the_result_name_their_npus() -> None:
    assert summaries(npu(0), npu(1), npu(2), errors=[error("device_absent", "The device is not exist!", devices=[1, 2, "3", None])]) == [
        "no_such_device failed npu3 NPUs 1-2: address: The device is not exist!"]


def test_errors_of_informative_topics_are_notes() -> None:
    errors = [error("device_failed", "Command execute failed!", "lldp"), error("unsupported_on_product", "not supported", "health")]
    assert summaries(npu(0, errors=errors)) == [
        "device_error note npu3 NPU 0: lldp: Command execute failed!", "tool_failed note npu3 NPU 0: health: not supported"]


def test_error_codes_of_npus_determine_the_cause() -> None:
    codes = {"device_not_ready": "device_error", "no_final_newline": "conf_problem", "device_busy": "busy_npu", "invalid_device": "no_such_device",
             "unexpected_output": "tool_failed"}
    assert {code: summaries(npu(0, errors=[error(code, "m", "tls")]))[0].split()[0] for code in codes} == codes


def test_links_that_are_not_up_are_findings() -> None:
    assert summaries(npu(0, link="down"), npu(1), npu(5, link="down")) == ["link_down failed npu3 NPUs 0, 5: the link is down"]
    partial = npu(0, link="partial", ports=[{"port": 4, "link": "up"}, {"port": 5, "link": "down"}, {"port": 6}])
    [found] = of_devices("npu3", {"devices": [partial]}, "bring_up")
    assert (found.severity, found.message, found.evidence) == ("degraded", "the link is partly up: some of its ports or lanes are down",
                                                               ("NPU 0 port 5: down",))
    assert summaries(npu(0, link="unknown")) == ["link_down unknown npu3 NPU 0: hccn_tool does not report whether the link is up"]
    assert summaries(npu(0, link=None)) == []


def test_missing_and_invalid_addresses_are_findings() -> None:
    assert summaries(npu(0, address=None), npu(1, address="10.0.0.999"), npu(2)) == [
        "address_not_set failed npu3 NPU 0: it has no address", "address_invalid failed npu3 NPU 1: its address '10.0.0.999' is not an IP address"]
    assert summaries(npu(0, address=None, unread=["address"])) == []
    assert summaries({"id": 0, "link": "up"}) == []
    assert summaries(npu(0, address=None, errors=[error("device_failed", "Command execute failed!")])) == [
        "device_error failed npu3 NPU 0: address: Command execute failed!"]


def test_hccn_conf_with_another_value_is_a_finding() -> None:
    conf = {"address": "10.78.2.10", "netmask": "255.255.255.0"}
    assert summaries(npu(0, address="10.78.2.99", conf=conf)) == [
        "conf_differs degraded npu3 NPU 0: the device has 10.78.2.99, hccn.conf has 10.78.2.10, which the next reboot sets"]
    assert summaries(npu(0, conf=conf)) == []
    assert summaries(npu(0, mtu=9000, conf={**conf, "mtu": "1500"})) == [
        "conf_differs degraded npu3 NPU 0: the device has the MTU 9000, hccn.conf has 1500, which the next reboot sets"]
    assert summaries(npu(0, mtu=9000, conf={**conf, "mtu": 9000})) == []
    assert summaries(npu(0, mtu=9000, conf=conf)) == []


def test_values_missing_in_hccn_conf_are_findings() -> None:
    assert summaries(npu(0, gateway="10.78.2.1", conf={"netmask": "255.255.255.0"})) == [
        "conf_differs degraded npu3 NPU 0: the device has 10.78.2.10, hccn.conf has none: it is lost at the next reboot",
        "conf_differs degraded npu3 NPU 0: the device has the gateway 10.78.2.1, hccn.conf has none: it is lost at the next reboot"]
    assert summaries(npu(0, address=None, gateway="10.78.2.1", conf={})) == ["address_not_set failed npu3 NPU 0: it has no address"]
    assert summaries(npu(0, conf={"address": None, "netmask": None})) == []


@pytest.mark.parametrize(("device", "conf", "differs"), [
    (True, False, True), (False, "1", True), (True, 1, False), (False, "0", False), (None, 1, False), (True, None, False), (True, "yes", False),
])
def test_the_tls_flag_is_compared_with_hccn_conf(device: object, conf: object, differs: bool) -> None:
    found = summaries(npu(0, tls={"enabled": device}, conf={"address": "10.78.2.10", "netmask": "255.255.255.0", "tls_enabled": conf}))
    assert bool(found) is differs


def test_tls_differences_are_reported_as_on_and_off() -> None:
    assert summaries(npu(0, tls={"enabled": False}, conf={"address": "10.78.2.10", "netmask": "255.255.255.0", "tls_enabled": True})) == [
        "conf_differs degraded npu3 NPU 0: the device has TLS off, hccn.conf has on, which the next reboot sets"]


def test_differences_of_several_npus_are_one_finding_per_option() -> None:
    conf = {"netmask": "255.255.255.0"}
    npus = [npu(number, conf={**conf, "address": f"10.78.9.{number}"}) for number in (0, 1)]
    [found] = of_devices("npu3", {"devices": npus}, "bring_up")
    assert found.component.name == "npu3 NPUs 0-1"
    assert found.message == "the device has 10.78.2.10, hccn.conf has 10.78.9.0, which the next reboot sets (NPU 0, the others alike)"
    assert found.evidence == ("NPU 0: the device has 10.78.2.10, hccn.conf has 10.78.9.0, which the next reboot sets",
                              "NPU 1: the device has 10.78.2.11, hccn.conf has 10.78.9.1, which the next reboot sets")
    assert summaries(*[npu(number, mtu=1500, conf={**conf, "address": f"10.78.2.{10 + number}", "mtu": 9000}) for number in (0, 1)]) == [
        "conf_differs degraded npu3 NPUs 0-1: the device has the MTU 1500, hccn.conf has 9000, which the next reboot sets"]


def test_texts_of_hosts_are_made_printable() -> None:
    [found] = of_devices("n1", {"devices": [npu(0, errors=[error("x", "a\x1b[2Jb\n" + "c " * 5000)])]}, "bring_up")
    assert found.message.startswith("address: a?[2Jb?c c")
    assert len(found.message) <= 2000
