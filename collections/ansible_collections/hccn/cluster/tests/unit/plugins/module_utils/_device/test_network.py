from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, InputError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, conf_file, hccn_tool, host, network, npu_smi, device_session
from ansible_collections.hccn.cluster.plugins.module_utils._device.parse_npu_smi import Chip

HEAD = "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"
IDLE = HEAD + "| No running processes found in NPU 0       |\n"
AT_WORK = HEAD + "| 1       0                 | 4711          | python3                  | 19502                   |\n"
OK = (0, "Cmd executed successfully!\n", "")
REFUSED = (1, "", "Command execute failed!\n")
NOT_WRITTEN = (4, "", "Write configurations to config file failed. User configurations cannot be persisted! pls check cmd run permission.\n")
LINES = """address_N=10.78.1.1N
netmask_N=255.255.255.0
gateway_N=10.78.1.1
IPv6gateway_N=fd00::1
route_address_20.0.0.0_netmask_255.0.0.0_N=gateway_10.78.1.7
"""
TEXT = LINES.replace("N", "0") + LINES.replace("N", "1")

SETS = {
    "-ip -s": ("address", "netmask"), "-gateway -s": ("gateway",), "-netdetect -s": ("netdetect",), "-mtu -s": ("mtu",),
    "-ip -inet6 -s": ("IPv6address", "IPv6netmask"), "-gateway -inet6 -s": ("IPv6gateway",), "-netdetect -inet6 -s": ("IPv6netdetect",),
    "-udp -s": ("roce_port",), "-pfc -s": ("bitmap",), "-prio_tc -s": ("prio_tc",), "-shaping -s": ("bw_limit",),
}
"""Commands, and the keys of hccn.conf under which the simulated devices store their values."""


class Npus:
    """Two devices with one hccn.conf. ``broken``: replacement output by (device, words). ``deaf``: commands that report success without effect."""

    def __init__(self, path):
        self.path = path
        self.values = {device: {"address": "10.78.1.1%d" % device, "netmask": "255.255.255.0", "gateway": "10.78.1.1", "mtu": "1500"}
                       for device in (0, 1)}
        self.classes = {device: {} for device in (0, 1)}
        self.broken = {}
        self.deaf = set()
        self.calls = []
        self.table = IDLE

    def __call__(self, argv, timeout):
        device, words = int(argv[2]), " ".join(argv[3:])
        self.calls.append((device, words))
        output = self.broken.get((device, words))
        rc, stdout, stderr = output or (OK if words in self.deaf else self.answer(device, argv[3:]))
        return Result(tuple(argv), rc, stdout, stderr, False, 0.0, 0.1)

    def npu_smi(self, argv, timeout):
        self.calls.append((0, "npu-smi info"))
        return Result(tuple(argv), 0, self.table, "", False, 0.0, 0.1)

    def answer(self, device, arguments):
        words, has = " ".join(arguments), self.values[device]
        if words.endswith(" -g"):
            return self.query(words, has, self.classes[device])
        if words.startswith("-dscp_to_tc"):
            self.classes[device][arguments[3]] = arguments[5]
            self.keep(device, "dscp_tc", "".join("%s:%s," % entry for entry in self.classes[device].items()))
            return OK
        command = words[:words.index(" -s ") + 3]
        given = arguments[arguments.index("-s") + 1:]
        for key, value in zip(SETS[command], ["-1"] if given == ("auto",) else given[1::2]):
            has[key] = value
            self.keep(device, key, value)
        if command == "-ip -s" and not has["address"].startswith("10.78.1."):
            has["gateway"] = None
            self.drop(lambda setting: setting.device == device and (setting.key in ("gateway", "IPv6gateway") or setting.key.startswith("route")))
        if command == "-gateway -s":
            self.drop(lambda setting: setting.device == device and setting.key == "IPv6gateway")
        return OK

    def query(self, words, has, classes):
        if words == "-ip -g":
            return (0, "ipaddr:%s\nnetmask:%s\n" % (has["address"], has["netmask"]), "") if has["address"] else (
                13, "", "Get ipconf failed, because no ip was preset there!\n")
        if words == "-gateway -g":
            return (0, "default gateway:%s, Iface:eth0\n" % has["gateway"], "") if has["gateway"] else (
                2, "", "Get gateway failed, because no gateway was preset there!\n")
        if words == "-gateway -inet6 -g":
            return 0, "gateway:%s\n" % has.get("IPv6gateway", "fd00::1"), ""
        if words == "-ip -inet6 -g":
            return 0, "ipv6_address:%s\nprefix_length:%s\n" % (has.get("IPv6address", "fd00::7"), has.get("IPv6netmask", "64")), ""
        if words == "-dscp_to_tc -g":
            return 0, "dscp      tc\n" + "".join("%4d%8s\n" % (dscp, classes.get(str(dscp), "0")) for dscp in range(64)), ""
        if words == "-udp -g":
            port = has.get("roce_port", "-1")
            return 0, "udp_port:Unknown\nstatus:auto\n" if port == "-1" else "udp_port:%s\nstatus:custom\n" % port, ""
        rows = {key: has.get(key, "0,0,0,0,0,0,0,0").replace(",", " ") for key in ("bitmap", "prio_tc")}
        return 0, {"-netdetect -g": "netdetect addr: %s\n" % has.get("netdetect", "0.0.0.0"), "-mtu -g": "mtu:%s\n" % has["mtu"],
                   "-netdetect -inet6 -g": "netdetect addr: %s\n" % has.get("IPv6netdetect", "::"),
                   "-pfc -g": "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    %s\n" % rows["bitmap"],
                   "-prio_tc -g": "Priority mapping:\npriority   0 1 2 3 4 5 6 7\nTC         %s\n" % rows["prio_tc"],
                   "-shaping -g": "bw_limit[%s Mbps], bw_max[200000 Mbps], bw_cur[1 Mbps]\n" % has.get("bw_limit", "0"),
                   "-qp_info -g": "total_qp_count: 0\n"}[words], ""

    def keep(self, device, key, value):
        self.drop(lambda setting: (setting.device, setting.key) == (device, key))
        self.path.write_text(self.path.read_text() + "%s_%d=%s\n" % (key, device, value))

    def drop(self, gone):
        lines = [line for line in self.path.read_text().splitlines(True)
                 if not (conf.parse_line(line) and gone(conf.parse_line(line)))]
        self.path.write_text("".join(lines))

    @property
    def sets(self):
        return [call for call in self.calls if " -s " in call[1]]


@pytest.fixture
def npus(tmp_path, monkeypatch):
    path = tmp_path / "hccn.conf"
    path.write_text(TEXT)
    fake = Npus(path)
    fake.host = host.Host((0, 1), "A2", "Ascend 910B4", (Chip(0, 0, 0), Chip(1, 0, 1)))

    def start(params):
        tool = hccn_tool.HccnTool("hccn_tool", 5, fake, lambda pause: None)
        return device_session.Session(tool, fake.host, host.expand(params["devices"], (0, 1)), str(path), npu_smi.NpuSmi("/x/npu-smi", fake.npu_smi))

    monkeypatch.setattr(device_session, "start", start)
    return fake


def configure(*config, check_mode=False, devices=("all",), fail_on="any", allow_busy=False):
    params = {"devices": list(devices), "config": list(config), "fail_on": fail_on, "allow_busy": allow_busy}
    return network.configure(device_session.start(params), params, check_mode)


SAME = {"address": "10.78.1.10", "netmask": "255.255.255.0", "gateway": "10.78.1.1"}
MOVE = {"id": 0, "address": "10.79.1.10", "netmask": "255.255.255.0", "gateway": "10.79.1.1"}
FULL = {"id": 1, "netdetect": "10.78.1.1", "mtu": 4200, "ipv6_address": "fd00::8", "ipv6_prefix": 48, "ipv6_gateway": "fd00::9",
        "ipv6_netdetect": "fd00::9", "roce_port": "5000", "pfc": [0, 0, 0, 0, 1, 0, 0, 0], "dscp_to_tc": {34: 1, 33: 2},
        "prio_tc": [0, 0, 0, 0, 2, 0, 0, 0], "shaping": 100000}


def test_nothing_is_set_if_device_and_file_match(npus):
    result = configure(dict(SAME, id=0))
    as_it_is = dict(SAME, persistent=SAME)
    assert result == {"devices": [{"id": 0, "before": as_it_is, "after": as_it_is, "changed": False, "errors": []}], "commands": [], "previous": [],
                      "side_effects": [], "changed": False, "diff": []}
    assert npus.sets == []


def test_only_requested_options_are_read(npus):
    configure({"id": 0, "mtu": 1500}, check_mode=True)
    assert npus.calls == [(0, "-mtu -g"), (0, "-qp_info -g"), (0, "npu-smi info")]


def test_value_missing_in_the_file_is_set_again(npus):
    result = configure({"id": 0, "mtu": 1500})
    assert npus.sets == [(0, "-mtu -s size 1500")]
    assert result["devices"][0]["before"] == {"mtu": 1500, "persistent": {"mtu": None}}
    assert result["devices"][0]["after"] == {"mtu": 1500, "persistent": {"mtu": 1500}}
    assert (result["changed"], result["previous"]) == (True, [{"id": 0, "mtu": 1500}])


def test_options_are_set_in_a_safe_order(npus):
    result = configure(FULL)
    assert [words for _device, words in npus.sets] == [
        "-netdetect -s address 10.78.1.1", "-mtu -s size 4200", "-ip -inet6 -s ipv6_address fd00::8 prefix_length 48",
        "-gateway -inet6 -s ipv6_gateway fd00::9", "-netdetect -inet6 -s ipv6_address fd00::9", "-udp -s port 5000", "-pfc -s bitmap 0,0,0,0,1,0,0,0",
        "-dscp_to_tc -s dscp 33 tc 2", "-dscp_to_tc -s dscp 34 tc 1", "-prio_tc -s map 0,0,0,0,2,0,0,0", "-shaping -s bw_limit 100000"]
    assert result["commands"][1] == ["hccn_tool", "-i", "1", "-mtu", "-s", "size", "4200"]
    device = result["devices"][0]
    after = {key: value for key, value in dict(FULL, roce_port=5000, dscp_to_tc={"33": 2, "34": 1}).items() if key != "id"}
    assert (device["after"], device["errors"]) == (dict(after, persistent=after), [])
    assert device["before"]["netdetect"] is None and device["before"]["dscp_to_tc"] == {"33": 0, "34": 0}
    # options that were not set or are outside the limits (shaping 0) cannot be restored
    assert result["previous"] == [{"id": 1, "mtu": 1500, "ipv6_address": "fd00::7", "ipv6_prefix": 64, "ipv6_gateway": "fd00::1", "roce_port": "auto",
                                   "pfc": [0] * 8, "dscp_to_tc": {"33": 0, "34": 0}, "prio_tc": [0] * 8}]
    assert configure(FULL)["changed"] is False


def test_only_differing_options_are_set(npus):
    configure(dict(SAME, id=0, netdetect="10.78.1.1"))
    assert npus.sets == [(0, "-netdetect -s address 10.78.1.1")]


def test_roce_port_auto(npus):
    npus.values[0]["roce_port"] = "5000"
    assert configure({"id": 0, "roce_port": "auto"})["devices"][0]["after"] == {"roce_port": "auto", "persistent": {"roce_port": "auto"}}
    assert npus.sets == [(0, "-udp -s auto")]


def test_only_differing_dscp_values_are_set(npus):
    configure({"id": 0, "dscp_to_tc": {"33": 2, "34": 1}})
    npus.calls.clear()
    result = configure({"id": 0, "dscp_to_tc": {"33": 2, "34": 3, "35": 0}})
    assert npus.sets == [(0, "-dscp_to_tc -s dscp 34 tc 3"), (0, "-dscp_to_tc -s dscp 35 tc 0")]
    assert result["devices"][0]["after"]["persistent"] == {"dscp_to_tc": {"33": 2, "34": 3, "35": 0}}


@pytest.mark.parametrize("key, value, option, wanted", [
    ("dscp_tc", "odd,33:x,", "dscp_to_tc", {"33": 1}), ("bitmap", "0,0", "pfc", [0, 0, 0, 1, 0, 0, 0, 0]), ("bitmap", "x", "pfc", [0] * 8),
    ("mtu", "many", "mtu", 4200), ("netdetect", "0.0.0.0", "netdetect", "10.78.1.1"),
    ("IPv6netmask", "x", "ipv6_prefix", 64),
])
def test_invalid_values_in_the_file_are_replaced(npus, key, value, option, wanted):
    npus.path.write_text("address_0=10.78.1.10\nnetmask_0=255.255.255.0\nIPv6address_0=fd00::7\n%s_0=%s\n" % (key, value))
    more = {"ipv6_address": "fd00::7"} if option == "ipv6_prefix" else {}
    result = configure(dict({"id": 0, option: wanted}, **more))
    assert (result["changed"], result["devices"][0]["errors"], result["devices"][0]["after"]["persistent"][option]) == (True, [], wanted)


def test_new_network_removes_gateway_and_routes(npus):
    result = configure({key: MOVE[key] for key in ("id", "address", "netmask")})
    device = result["devices"][0]
    assert device["before"]["gateway"] == "10.78.1.1"
    assert (device["after"]["gateway"], device["after"]["persistent"]["gateway"], device["changed"]) == (None, None, True)
    assert (device["before"]["ipv6_gateway"], device["after"]["ipv6_gateway"], device["after"]["persistent"]["ipv6_gateway"]) == ("fd00::1", "fd00::1", None)
    assert result["previous"] == [dict(SAME, ipv6_gateway="fd00::1", id=0)]
    assert [(one["device"], one["key"], one["value"], one["cause"]) for one in result["side_effects"]] == [
        (0, "gateway_0", "10.78.1.1", "hccn_tool -ip -s"), (0, "IPv6gateway_0", "fd00::1", "hccn_tool -ip -s"),
        (0, "route_address_20.0.0.0_netmask_255.0.0.0_0", "gateway_10.78.1.7", "hccn_tool -ip -s")]


def test_ipv6_gateway_that_a_new_network_removes_is_put_back(npus):
    """hccn_tool removes every line with the text gateway_0=."""
    move = {key: MOVE[key] for key in ("id", "address", "netmask")}
    predicted = configure(move, check_mode=True)
    done = configure(move)
    assert [predicted[key] for key in ("devices", "previous", "commands", "diff")] == [done[key] for key in ("devices", "previous", "commands", "diff")]
    assert "IPv6gateway_0" not in npus.path.read_text()
    back = configure(*done["previous"])
    assert (back["changed"], back["devices"][0]["errors"]) == (True, [])
    assert "IPv6gateway_0=fd00::1\n" in npus.path.read_text()


@pytest.mark.parametrize("held, after", [("fd01::1", ("fd01::1", None)), ("fd00:8::1", ("fd00:8::1", "fd00:8::1"))])
def test_ipv6_address_replays_the_gateway_of_the_file(npus, held, after):
    """A gateway outside the new prefix leaves the file but not the device; one inside is sent to the device."""
    npus.path.write_text("IPv6gateway_0=%s\n" % held)
    npus.values[0]["IPv6gateway"] = "fd01::1"
    result = configure({"id": 0, "ipv6_address": "fd00:8::2", "ipv6_prefix": 48}, check_mode=True)
    device = result["devices"][0]["after"]
    assert (device["ipv6_gateway"], device["persistent"]["ipv6_gateway"]) == after
    again = configure({"id": 0, "ipv6_address": "fd00:8::2", "ipv6_prefix": 48, "ipv6_gateway": "fd00:8::1"}, check_mode=True)
    assert len(again["commands"]) == (2 if held == "fd01::1" else 1)


@pytest.mark.parametrize("line, option, code", [
    ("gateway_0=10.78.1.1\r\n", {"gateway": "10.78.1.2"}, "conf_problem"), ("gateway_0=here\n", {"gateway": "10.78.1.2"}, "conf_problem"),
    ("send_arp_status_0=2\n", {"address": "10.78.1.20", "netmask": "255.255.255.0"}, "conf_problem"),
    ("send_arp_period_0=0\n", {"address": "10.78.1.20", "netmask": "255.255.255.0"}, "conf_problem"),
    ("", {"address": "192.168.1.5", "netmask": "255.255.255.0"}, "address_conflict"),
    ("", {"address": "192.168.2.5", "netmask": "255.255.0.0"}, "address_conflict")])
@pytest.mark.parametrize("check_mode", [True, False])
def test_change_that_the_tool_would_refuse_is_foreseen(npus, line, option, code, check_mode):
    npus.path.write_text("address_0=10.78.1.10\nnetmask_0=255.255.255.0\n" + line)
    result = configure(dict({"id": 0}, **option), check_mode=check_mode)
    assert ([error["code"] for error in result["devices"][0]["errors"]], result["changed"], npus.sets) == ([code], False, [])


@pytest.mark.parametrize("server_index, code", [(3, ["address_conflict"]), (1023, [])])
def test_reserved_address_of_an_a3_host_depends_on_its_super_pod(npus, server_index, code):
    npus.host = host.Host((0, 1), "A3", "Ascend910", (Chip(0, 0, 0), Chip(0, 1, 1)))
    npus.table = "SDID : 1\nSuper Pod Size : 384\nSuper Pod ID : 1\nServer Index : %d\n" % server_index + IDLE
    result = configure({"id": 0, "address": "192.50.1.10", "netmask": "255.255.255.0"}, check_mode=True)
    assert [error["code"] for error in result["devices"][0]["errors"]] == code


def test_device_that_is_not_ready_is_asked_once(npus):
    asked = []

    def slow(argv, timeout):
        if argv[2] == "0":
            asked.append(argv)
            return Result(tuple(argv), -9, "", "", True, 0.0, 3.0)
        return Npus.__call__(npus, argv, timeout)

    tool = hccn_tool.HccnTool("hccn_tool", 3, slow, lambda pause: None)
    ports = network.probe(tool, {0: {"mtu": 1500, "netdetect": "10.78.1.1", "roce_port": "auto"}, 1: {"mtu": 1500}}, TEXT)
    assert len(asked) == 1
    assert [(error["code"], error["topic"]) for error in ports[0].errors] == [("timeout", "netdetect"), ("timeout", "mtu"), ("timeout", "roce_port")]
    assert ports[0].errors[1]["message"] == "not asked, since device 0 did not answer the query before"
    assert (ports[1].errors, ports[1].current) == ([], {"mtu": 1500})


def test_gateway_is_read_again_after_the_address(npus):
    result = configure(MOVE)
    assert npus.sets == [(0, "-ip -s address 10.79.1.10 netmask 255.255.255.0"), (0, "-gateway -s gateway 10.79.1.1")]
    assert (result["devices"][0]["errors"], npus.values[0]["gateway"]) == ([], "10.79.1.1")
    assert [one["key"] for one in result["side_effects"]] == ["IPv6gateway_0", "route_address_20.0.0.0_netmask_255.0.0.0_0"]
    back = configure(*result["previous"])
    assert (back["changed"], npus.values[0]["address"], npus.values[0]["gateway"]) == (True, "10.78.1.10", "10.78.1.1")


def test_new_gateway_removes_the_ipv6_gateway_from_the_file(npus):
    config = {"id": 0, "gateway": "10.78.1.2", "ipv6_gateway": "fd00::1"}
    commands = [["hccn_tool", "-i", "0", "-gateway", "-s", "gateway", "10.78.1.2"],
                ["hccn_tool", "-i", "0", "-gateway", "-inet6", "-s", "ipv6_gateway", "fd00::1"]]
    assert configure(config, check_mode=True)["commands"] == commands
    assert npus.sets == []
    result = configure(config)
    assert (result["commands"], result["devices"][0]["errors"]) == (commands, [])
    assert "IPv6gateway_0=fd00::1\n" in npus.path.read_text()


def test_unchanged_gateway_removes_nothing(npus):
    npus.path.write_text("IPv6gateway_0=fd00::1\n")
    assert configure({"id": 0, "gateway": "10.78.1.1", "ipv6_gateway": "fd00::1"}, check_mode=True)["commands"] == [
        ["hccn_tool", "-i", "0", "-gateway", "-s", "gateway", "10.78.1.1"]]


def test_check_mode_predicts_and_sets_nothing(npus):
    before = npus.path.read_text()
    predicted = configure(dict(MOVE, netdetect="10.79.1.1"), {"id": 1, "mtu": 1500}, check_mode=True)
    assert (npus.sets, npus.path.read_text()) == ([], before)
    done = configure(dict(MOVE, netdetect="10.79.1.1"), {"id": 1, "mtu": 1500})
    for key in ("changed", "devices", "commands", "previous", "diff"):
        assert predicted[key] == done[key]


def test_check_mode_predicts_the_gateway_of_the_file(npus):
    npus.values[0]["gateway"] = None
    result = configure({"id": 0, "address": "10.78.1.20", "netmask": "255.255.255.0"}, check_mode=True)
    assert result["devices"][0]["after"]["gateway"] == "10.78.1.1"


def test_check_mode_with_an_invalid_gateway_in_the_file(npus):
    npus.path.write_text("gateway_0=here\n")
    result = configure({"id": 0, "address": "10.78.1.20", "netmask": "255.255.255.0"}, check_mode=True)
    assert result["devices"][0]["after"]["persistent"]["gateway"] is None


def test_each_changed_device_has_a_diff(npus):
    result = configure({"id": 0, "mtu": 4200}, dict(SAME, id=1, address="10.78.1.11"), check_mode=True)
    assert result["diff"] == [{"before_header": "device 0", "after_header": "device 0", "before": "mtu: 1500, after a boot None\n",
                               "after": "mtu: 4200, after a boot 4200\n"}]


def test_entries_of_other_devices_are_ignored(npus):
    result = configure({"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200}, devices=["1"])
    assert ([device["id"] for device in result["devices"]], npus.sets) == ([1], [(1, "-mtu -s size 4200")])


def test_invalid_input_is_refused_before_anything_is_run(npus):
    with pytest.raises(InputError) as caught:
        configure({"id": 0, "mtu": 1}, {"id": 2})
    assert caught.value.message == "config[1].id: this host has no device 2, only 0-1; config[0].mtu: 1 is outside 68 to 9702"
    assert npus.calls == []


@pytest.mark.parametrize("address, gateway, code", [
    ("10.78.1.10", "10.99.1.1", "gateway_outside_network"), (None, "10.78.1.2", "gateway_without_address")])
def test_impossible_gateway_is_refused_before_any_command(npus, address, gateway, code):
    npus.values[0]["address"] = address
    result = configure({"id": 0, "gateway": gateway, "mtu": 4200}, {"id": 1, "mtu": 4200})
    assert [error["code"] for error in result["devices"][0]["errors"]] == [code]
    assert (npus.sets, result["devices"][0]["changed"], result["failed"]) == ([(1, "-mtu -s size 4200")], False, True)


def test_unreadable_device_is_not_set(npus):
    npus.broken[(0, "-mtu -g")] = REFUSED
    result = configure({"id": 0, "mtu": 4200, "shaping": 20000}, {"id": 1, "mtu": 4200})
    assert result["msg"].startswith("1 of 2 devices failed: NPU 0: mtu: Command execute failed!")
    assert result["devices"][0]["before"]["mtu"] is None
    assert npus.sets == [(1, "-mtu -s size 4200")]


def test_device_stops_at_its_first_failure(npus):
    npus.broken[(0, "-mtu -s size 4200")] = REFUSED
    result = configure({"id": 0, "netdetect": "10.78.1.1", "mtu": 4200, "shaping": 20000}, {"id": 1, "mtu": 4200})
    first, second = result["devices"]
    assert (first["changed"], first["errors"][0]["topic"], first["errors"][0]["code"]) == (True, "mtu", "device_failed")
    assert first["after"] == {"netdetect": "10.78.1.1", "mtu": 1500, "shaping": 0,
                              "persistent": {"netdetect": "10.78.1.1", "mtu": None, "shaping": None}}
    assert (second["changed"], second["errors"], result["changed"], result["failed"]) == (True, [], True, True)
    assert [command[2:4] for command in result["commands"]] == [["0", "-netdetect"], ["0", "-mtu"], ["1", "-mtu"]]
    assert result["previous"] == [{"id": 0, "mtu": 1500}, {"id": 1, "mtu": 1500}]


def test_set_device_is_changed_even_if_not_persisted(npus):
    npus.broken[(0, "-mtu -s size 1500")] = NOT_WRITTEN
    result = configure({"id": 0, "mtu": 1500}, fail_on="none")
    assert (result["changed"], "failed" in result, result["devices"][0]["changed"]) == (True, False, True)
    assert result["devices"][0]["errors"][0]["code"] == "conf_not_persisted"


def test_failed_command_without_effect_is_no_change(npus):
    npus.broken[(0, "-mtu -s size 4200")] = REFUSED
    result = configure({"id": 0, "mtu": 4200})
    assert (result["changed"], result["devices"][0]["changed"], result["diff"]) == (False, False, [])


def test_option_that_was_not_applied_is_an_error(npus):
    npus.deaf.add("-mtu -s size 4200")
    error = configure({"id": 0, "mtu": 4200})["devices"][0]["errors"][0]
    assert (error["topic"], error["code"]) == ("mtu", "not_applied")
    assert error["message"] == "hccn_tool reported success, but the device has 1500 and hccn.conf has None"


def test_gateway_that_cannot_be_read_again_stops_the_device(npus):
    npus.broken[(0, "-gateway -g")] = REFUSED
    session = device_session.start({"devices": ["all"]})
    port = network.DeviceNetwork(0, {"address": "10.79.1.10", "netmask": "255.255.255.0", "mtu": 4200}, network.items_of(["address", "mtu"]), {}, {})
    port.current = {"address": "10.78.1.10", "netmask": "255.255.255.0", "gateway": "10.78.1.1", "mtu": 1500}
    port.before, port.forecast = dict(port.current), network.forecast(port.requested, port.wanted, port.current, dict.fromkeys(port.current))
    network.Setter(session, False).apply([port])
    assert [error["topic"] for error in port.errors] == ["address", "gateway"]
    assert npus.sets == [(0, "-ip -s address 10.79.1.10 netmask 255.255.255.0")]


@pytest.mark.parametrize("check_mode", [True, False])
def test_file_without_final_newline_is_not_written(npus, check_mode):
    npus.path.write_text("mtu_1=4200")
    result = configure({"id": 0, "mtu": 4200}, check_mode=check_mode)
    error = result["devices"][0]["errors"][0]
    assert error["code"] == "no_final_newline"
    assert error["message"] == "%s has no final newline: hccn_tool would append the next setting to the last line" % npus.path
    assert (npus.sets, result["changed"], result["failed"], npus.path.read_text()) == ([], False, True, "mtu_1=4200")


def test_file_that_loses_its_newline_meanwhile(npus, monkeypatch):
    npus.broken[(0, "-netdetect -s address 10.78.1.1")] = OK
    looks = iter([TEXT, TEXT, TEXT, TEXT.rstrip("\n"), TEXT.rstrip("\n"), TEXT])
    monkeypatch.setattr(conf_file, "read", lambda path: next(looks))
    result = configure({"id": 0, "netdetect": "10.78.1.1", "mtu": 4200})
    assert [error["code"] for error in result["devices"][0]["errors"]] == ["no_final_newline"]
    assert npus.sets == [(0, "-netdetect -s address 10.78.1.1")]


def test_nothing_is_set_without_hccn_conf(npus):
    npus.path.unlink()
    result = configure({"id": 0, "mtu": 4200})
    assert (result["devices"][0]["errors"][0]["code"], npus.sets) == ("conf_missing", [])


def test_file_that_becomes_unreadable(npus, monkeypatch):
    def read(path):
        if npus.sets:
            raise HccnError("conf_unreadable", "%s: Permission denied" % path)
        return TEXT

    monkeypatch.setattr(conf_file, "read", read)
    result = configure({"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200})
    assert [{error["code"] for error in device["errors"]} for device in result["devices"]] == [{"conf_unreadable"}] * 2
    assert [device["changed"] for device in result["devices"]] == [True, False]


def test_busy_device_is_not_set(npus):
    npus.table = AT_WORK
    result = configure({"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200}, check_mode=True)
    assert [device["changed"] for device in result["devices"]] == [True, False]
    assert result["devices"][1]["errors"][0]["message"] == "device 1 is busy: pid 4711 (python3)"
    assert [command[2] for command in result["commands"]] == ["0"]
    configure({"id": 0, "mtu": 4200}, {"id": 1, "mtu": 4200})
    assert npus.sets == [(0, "-mtu -s size 4200")]
    configure({"id": 1, "mtu": 4200}, allow_busy=True)
    assert npus.sets == [(0, "-mtu -s size 4200"), (1, "-mtu -s size 4200")]


def test_busy_device_without_changes_is_no_error(npus):
    npus.table = AT_WORK
    assert configure(dict(SAME, id=1, address="10.78.1.11"))["devices"][0]["errors"] == []


def test_each_device_is_probed_once_right_before_its_first_command(npus):
    npus.values[1]["mtu"] = "4200"
    npus.keep(1, "mtu", "4200")
    configure({"id": 0, "mtu": 4200, "netdetect": "10.78.1.1"}, {"id": 1, "mtu": 4200})
    assert [words for device, words in npus.calls if device == 0 and not words.endswith("t -g")] == [
        "-mtu -g", "-qp_info -g", "npu-smi info", "-netdetect -s address 10.78.1.1", "-mtu -s size 4200", "-mtu -g"]
    assert {words for device, words in npus.calls if device == 1} == {"-mtu -g"}


def test_950_is_refused(npus):
    npus.host = host.Host((0, 1), "950", None)
    with pytest.raises(HccnError) as caught:
        configure({"id": 0, "mtu": 4200})
    assert (caught.value.code, npus.calls) == ("unsupported_dialect", [])
    assert caught.value.message == "the NPUs of this host are of the 950, whose hccn_tool has a different command line: nothing was done"
