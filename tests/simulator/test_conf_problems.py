"""hccn_conf finds errors in a file exactly when the recovery of a simulated host fails on it, whatever the file and whatever changed it before."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.module_utils._device import conf, conf_check, declare
from ansible_collections.hccn.cluster.plugins.module_utils._device.conf_replay import RecoveryHost
from tests.simulator.hccn_sim.node import Node
from tests.simulator.hccn_sim.state import assignments
from tests.simulator.hccn_sim.tool import main

DEVICES = (0, 1)
TEXTS = ("", " ", "x", "0", "1", "2", "-1", "01", "+1", " 1", "1 ", "1\r", "1 # on")
VALUES = {
    "address": ("10.0.0.10", "10.0.0.11", "192.168.1.5", "0.0.0.0", "255.255.255.255", "10.0.0.010"),
    "netmask": ("255.255.255.0", "255.0.255.0", "255.255.255.255"),
    "gateway": ("10.0.0.1", "10.9.9.9", "0.0.0.0"),
    "netdetect": ("10.0.0.1", "255.255.255.255"),
    "tls_enable": ("0", "1", "00"),
    "mtu": ("4200", "68", "9702", "9703", "1279", "04200"),
    "send_arp_status": ("0", "1"),
    "send_arp_period": ("5", "3600", "3601", "010"),
    "bw_limit": ("10000", "9999", "200001", "0100000"),
    "roce_port": ("-1", "-1x", "auto", "4096", "4097", "65536", "00000"),
    "bitmap": ("0,0,0,0,1,0,0,0", "1,1,1,1,1,0,0,0", "0,0,0,0,1,0,0"),
    "prio_tc": ("0,1,2,3,0,0,0,0", "0,1,2,4,0,0,0,0"),
    "dscp_tc": ("33:2,", "33:4,", "64:0,", "x,33:2,", "x,99:1,"),
    "mac_addr": ("bc:1e:85:d8:ca:dd", "01:1e:85:d8:ca:dd"),
    "IPv6address": ("fd00::10", "fd00::10/64"),
    "IPv6netmask": ("64", "129"),
    "IPv6gateway": ("fd00::1", "fd01::1"),
    "ip_rule": ("add from 10.0.0.10 table 10", "add from 10.0.0.10 table 256"),
    "ip_route": ("add 10.1.0.0/16 via 10.0.0.1 dev eth0 table 10", "add 10.1.0.0/16 via 10.9.0.1 dev eth0 table 10"),
    "arp": ("-i eth0 -s 10.0.0.7 bc:1e:85:d8:ca:dd",),
    "udhcpc_enable": ("1",),
    "xsfp_reset_max_times": ("0", "30", "31", "007"),
}
COMMANDS = (
    "-ip -s address 10.0.0.12 netmask 255.255.255.0", "-ip -s address 10.7.0.10 netmask 255.255.0.0", "-gateway -s gateway 10.0.0.254",
    "-netdetect -s address 10.0.0.3", "-mtu -s size 4200", "-tls -s enable 1", "-tls -g", "-send_arp -s enable 1", "-shaping -s bw_limit 0100000",
    "-pfc -s bitmap 0,0,0,1,0,0,0,0", "-ip -inet6 -s ipv6_address fd00::12 prefix_length 64", "-arp -d dev eth0 ip 10.0.0.7", "-ip -g", "-cfg recovery",
)

keys = st.sampled_from(sorted(VALUES))
settings_of = keys.flatmap(lambda key: st.tuples(st.just(key), st.one_of(st.sampled_from(VALUES[key]), st.sampled_from(VALUES[key] + TEXTS))))
lines = st.one_of(
    st.builds(lambda setting, device: f"{setting[0]}_{device}={setting[1]}", settings_of, st.sampled_from(DEVICES)),
    st.builds(lambda setting, device: f"{setting[0]}_{device}={setting[1]}", settings_of, st.sampled_from(DEVICES)),
    st.sampled_from(("# a comment", "", "#" * 400, "# ip_rule_0=", " mtu_0=1", "mtu_00=1", "MTU_0=1", "nothing", "x\0y", "mtu_0 =1", "\ufeffmtu_0=1")),
)
files = st.builds(lambda parts, end: "\n".join(parts) + end, st.lists(lines, max_size=9), st.sampled_from(("\n", "\n", "\n", "", "\r\n", "\0")))
declarations = st.tuples(st.just("declare"), st.sampled_from(DEVICES), settings_of)
calls = st.tuples(st.just("call"), st.sampled_from(DEVICES), st.sampled_from(COMMANDS))


class NoWaiting:
    """A clock whose sleep returns at once."""

    def now(self) -> float:
        return 1795200000.0

    def sleep(self, _seconds: float) -> None:
        pass


def host(folder: Path, content: bytes) -> Node:
    (folder / "etc").mkdir(parents=True)
    (folder / "sim.json").write_text(json.dumps({"fabric": "fixed", "uid": 0}))
    (folder / "etc/hccn.conf").write_bytes(content)
    node = Node(str(folder), clock=NoWaiting())
    for device, values in assignments(["devices=2", "*.vm=1"]).items():
        node.state.update(device, values)
    return node


def call(node: Node, words: str) -> int:
    return main(["hccn_tool", *words.split()], node, io.StringIO(""), io.StringIO(), io.StringIO(), {})


def text_of(folder: Path) -> str:
    return (folder / "etc/hccn.conf").read_bytes().decode("utf-8", "surrogateescape")


def declared(text: str, device: int, key: str, value: str) -> str:
    try:
        wanted = declare.declared_keys({"state": "present", "settings": None, "config": [{"id": device, "settings": {key: value}}]}, ())
    except InputError:
        return text
    return conf.edit(text, wanted)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files, st.lists(st.one_of(declarations, calls), max_size=4))
@example("IPv6address_0=fd00::10\narp_0=\n", [])
def test_errors_are_found_exactly_when_a_boot_fails(text: str, operations: list) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        node = host(folder / "used", text.encode())
        for kind, device, what in operations:
            if kind == "call":
                call(node, f"-i {device} {what}")
            else:
                (folder / "used/etc/hccn.conf").write_bytes(declared(text_of(folder / "used"), device, *what).encode("utf-8", "surrogateescape"))
        after = text_of(folder / "used")
        booted = host(folder / "booted", after.encode("utf-8", "surrogateescape"))
        failed = call(booted, "-a -cfg recovery") != 0
        errors = [problem for problem in conf_check.check(after, DEVICES, RecoveryHost("A2")) if problem.severity == "error"]
        assert bool(errors) == failed, (after, errors)
