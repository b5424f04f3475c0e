"""Output and effects of the stand-in's hccn_tool commands, and the network between its devices."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.simulator.bench import SUCCESS, Bench
from tests.simulator.hccn_sim import interface
from tests.simulator.hccn_sim.errors import REFUSALS
from tests.simulator.hccn_sim.node import Node


def test_new_network_removes_gateway_and_routes_from_conf(bench: Bench) -> None:
    bench.make("a")
    assert bench.run("a", "-i 0 -gateway -s gateway 10.78.0.1").out == SUCCESS
    assert bench.run("a", "-i 0 -route -a address 20.0.0.0 netmask 255.0.0.0 gateway 10.78.0.1").out == SUCCESS
    assert bench.run("a", "-i 0 -ip_route -a ip 30.0.0.0 ip_mask 8 via 10.78.0.1 dev eth0 table 7").out == SUCCESS
    assert bench.run("a", "-i 0 -ip_route -g").out == "ip route:\nadd 30.0.0.0/8 via 10.78.0.1 dev eth0 table 7\n"
    assert "default         10.78.0.1" in bench.run("a", "-i 0 -route -g").out
    assert bench.run("a", "-i 0 -netdetect -s address 10.78.0.1").out == SUCCESS
    assert bench.run("a", "-i 0 -ip -s address 10.99.0.5 netmask 255.255.255.0").out == SUCCESS
    assert bench.run("a", "-i 0 -gateway -g").code == 2
    own = [line for line in bench.conf("a").read_text().splitlines() if line.partition("=")[0].endswith("_0")]
    assert own == ["netdetect_0=10.78.0.1", "address_0=10.99.0.5", "netmask_0=255.255.255.0"]


def test_gateway_replacement(bench: Bench) -> None:
    bench.make("a", "0.gateway=10.78.0.9")
    bench.conf("a").write_text("gateway_0=10.78.0.8\n")
    assert bench.run("a", "-i 0 -gateway -s gateway 10.78.0.1").out == SUCCESS
    assert (bench.conf("a").read_text(), bench.run("a", "-i 0 -gateway -g").out) == (
        "gateway_0=10.78.0.1\n",
        "default gateway:10.78.0.1, Iface:eth0\n",
    )


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("-ip -s address 10.78.1.1 netmask 255.255.0.0", "conflict"),
        ("-netdetect -s address 255.255.255.255", "broadcast"),
        ("-gateway -inet6 -s ipv6_gateway fd00::1", "gateway_no_ip"),
        ("-ip -inet6 -s ipv6_address fd00::1 prefix_length 129", "parameters"),
        ("-netdetect", "count"),
        ("-netdetect -x", "option"),
        ("-netdetect -g all", "count"),
        ("-tls", "count"),
        ("-tls -x", "option"),
        ("-tls -g all", "count"),
        ("-tls -g host", "no_certificate"),
        ("-tls -s what 1", "option"),
        ("-tls -s enable 1 2", "count"),
        ("-tls -s alarm 30 2", "count"),
        ("-tls -s path /nowhere pri a pub b ca1 c", "file_path"),
        ("-link", "count"),
        ("-link -s", "count"),
        ("-link -s up now", "count"),
        ("-link -s down_fault_time", "count"),
        ("-link -s down_fault_time 4", "parameters"),
        ("-mac -s mac 00:00:00:00:00:00", "mac"),
        ("-mac -s address x", "option"),
        ("-mac -s mac", "count"),
        ("-shaping -s bw_limit x", "parameters"),
        ("-dscp_to_tc", "count"),
        ("-dscp_to_tc -s dscp 1", "count"),
        ("-dscp_to_tc -s dscp 64 tc 1", "range_dscp"),
        ("-dscp_to_tc -s tc 1 dscp 1", "option"),
        ("-dscp_to_tc -s dscp x tc 1", "parameters"),
        ("-pfc", "count"),
        ("-pfc -s bitmap 1,1,1,1,1,0,0,0", "pfc_count"),
        ("-pfc -s bitmap 1,2", "parameters"),
        ("-pfc -s map 1", "option"),
        ("-pfc -s bitmap", "count"),
        ("-prio_tc -x", "option"),
        ("-udp -s port 80", "parameters"),
        ("-udp -x", "option"),
        ("-arp -x", "option"),
        ("-arp -d dev eth0", "count"),
        ("-ip_rule -a dir by ip 1.2.3.4 table 1", "parameters"),
        ("-ip_rule -a way by ip 1.2.3.4 table 1", "option"),
        ("-route -d address 1.0.0.0 netmask 255.0.0.0", "route_missing"),
        ("-send_arp -s enable", "count"),
        ("-send_arp -s what 1", "option"),
        ("-send_arp -s period 0", "parameters"),
        ("-local_lldp -s subtype", "count"),
        ("-local_lldp -s kind mac", "option"),
        ("-cfg", "count"),
        ("-ping -s address 1.2.3.4", "option"),
        ("-hccs_ping -g address 1.2.3.4", "product"),
        ("-udhcpc", "count"),
        ("-udhcpc -x", "option"),
        ("-optical -x", "option"),
        ("-fec", "count"),
        ("-roce_test ib_send_bw -n", "parameters"),
    ],
)
def test_refusals(bench: Bench, line: str, refusal: str) -> None:
    bench.make("a", "*.board_id=0x20")
    before = bench.conf("a").read_bytes()
    ran = bench.run("a", f"-i 0 {line}")
    code, text = REFUSALS[refusal][:2]
    assert (ran.code, text) in ((code, ran.err.strip()), (code, ran.out.strip()), (code, ran.err.partition("\n")[0]))
    assert bench.conf("a").read_bytes() == before


def test_sets_change_device_and_conf(bench: Bench) -> None:
    bench.make("a")
    bench.conf("a").write_text("")
    for line, query, answer, written in (
        ("-ip -inet6 -s ipv6_address fd00::0010 prefix_length 64", "-ip -inet6 -g", "ipv6_address:fd00::10\nprefix_length:64\n", None),
        ("-gateway -inet6 -s ipv6_gateway fd00::1", "-gateway -inet6 -g", "gateway:fd00::1\n", "IPv6gateway_0=fd00::1"),
        ("-mac -s mac BC:1E:85:AA:00:01", "-mac -g", "mac addr: bc:1e:85:aa:00:01\n", "mac_addr_0=BC:1E:85:AA:00:01"),
        ("-shaping -s bw_limit 20000", "-shaping -g", "bw_limit[20000 Mbps], bw_max[200000 Mbps], bw_cur[20000 Mbps]\n", "bw_limit_0=20000"),
        ("-dscp_to_tc -s dscp 3 tc 2", "-dscp_to_tc -g dscp 3", "dscp      tc\n   3       2\n", "dscp_tc_0=3:2,"),
        ("-dscp_to_tc -s dscp 9 tc 1", "-dscp_to_tc -g dscp 9", "dscp      tc\n   9       1\n", "dscp_tc_0=3:2,9:1,"),
        ("-prio_tc -s map 0,0,0,0,3,0,0,0", "-prio_tc -g", "Priority mapping:\npriority   0 1 2 3 4 5 6 7\nTC         0 0 0 0 3 0 0 0\n", None),
        ("-pfc -s bitmap 0,0,0,0,1,0,0,0", "-pfc -g", "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    0 0 0 0 1 0 0 0\n", None),
        ("-udp -s port 5000", "-udp -g", "udp_port:5000\nstatus:custom\n", "roce_port_0=5000"),
        ("-udp -s auto", "-udp -g", "udp_port:auto\nstatus:auto\n", "roce_port_0=-1"),
        ("-send_arp -s enable 1", "-send_arp -g", "enable status: enable\n", "send_arp_status_0=1"),
        ("-send_arp -s period 9", "-send_arp -g", "arp period: 9\n", "send_arp_period_0=9"),
        ("-local_lldp -s subtype ifname", "-local_lldp -g", "Ifname: eth0\n", "lldp_portid_type_0=ifname"),
        ("-link -s down_fault_time 2", "-link -g down_fault_time", "down_fault_time: 2\n", "down_fault_time_0=2"),
        ("-ip_rule -a dir from ip 10.0.0.1 table 5", "-ip_rule -g", "add from 10.0.0.1 table 5\n", "ip_rule_0=add from 10.0.0.1 table 5"),
        ("-netdetect -inet6 -s ipv6_address fd00::2", "-netdetect -inet6 -g", "netdetect addr: fd00::2\n", "IPv6netdetect_0=fd00::2"),
        ("-tls -s alarm 30", "-tls -g", "threshold[30]days\n", "tls_enable_0=0"),
        ("-stat -c", "-stat -g", "roce_new_pkt_rty_num:0\n", None),
        ("-udp -c", "-udp -g", "status:auto\n", None),
    ):
        assert bench.run("a", f"-i 0 {line}").out == SUCCESS, line
        assert answer in bench.run("a", f"-i 0 {query}").out
        assert written is None or written in bench.conf("a").read_text().splitlines()


@pytest.mark.parametrize("line", ["-gateway -s gateway 10.78.0.1", "-link -s up", "-mac -s mac bc:1e:85:aa:00:01", "-pfc -s bitmap 0,0,0,0,0,0,0,0"])
def test_some_sets_need_root(bench: Bench, line: str) -> None:
    bench.make("a", uid=65534)
    assert bench.run("a", f"-i 0 {line}").code == 12


def test_ipv6_mtu(bench: Bench) -> None:
    bench.make("a", "0.ip6=fd00::1")
    assert bench.run("a", "-i 0 -mtu -s size 1000").code == 22
    assert bench.run("a", "-i 0 -mtu -s size 1000", "Y\n").out.endswith(SUCCESS)
    assert bench.run("a", "-i 0 -ip -inet6 -g").code == 13
    assert bench.run("a", "-i 0 -ip -inet6 -s ipv6_address fd00::1 prefix_length 64").code == 27


def test_tls_query_writes_the_missing_key(bench: Bench) -> None:
    bench.make("a", "1.tls=1")
    bench.conf("a").write_text("tls_enable_0=1\n")
    assert bench.run("a", "-i 0 -tls -g").out.startswith("dev_id:0, tls switch[0]")
    assert bench.conf("a").read_text() == "tls_enable_0=1\n"
    assert bench.run("a", "-i 1 -tls -g").out.startswith("dev_id:1, tls switch[1]")
    assert bench.conf("a").read_text() == "tls_enable_0=1\ntls_enable_1=1\n"


def test_certificates_are_set_and_cleared(bench: Bench) -> None:
    bench.make("a", "*.tls_end=" + time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(time.time() + 86400)))
    assert bench.run("a", "-i 0 -tls -g").out.count("tls expiration status[1]") == 3
    assert bench.run("a", "-i 0 -tls -s enable 1").out.startswith("[Warning] The currently loaded is a preset certificate")
    for name in ("pri", "pub", "ca"):
        (bench.folder / name).touch()
    assert bench.run("a", f"-i 0 -tls -s path {bench.folder} pri pri pub pub ca1 ca").out == SUCCESS
    assert bench.run("a", "-i 0 -tls -s enable 1").out == SUCCESS
    assert bench.run("a", "-i 0 -tls -c").out == SUCCESS
    assert bench.run("a", "-i 0 -tls -g").code == 14


def test_link_down_and_up_restores_from_conf(bench: Bench) -> None:
    bench.make("a")
    assert bench.run("a", "-i 0 -link -s down", "y\n").out.endswith(SUCCESS)
    assert bench.run("a", "-i 0 -speed -g").out == "Speed: Unknown!\n"
    assert bench.run("a", "-i 0 -lldp -g").code == 1
    assert bench.run("a", "-i 0 -link -s up").out == SUCCESS
    assert "xsfp_reset_max_times_0=0\n" in bench.conf("a").read_text()
    bench.conf("a").write_text("mtu_0=x\n")
    failed = bench.run("a", "-i 0 -link -s up")
    assert (failed.code, failed.out.partition(",")[0]) == (1, "Link up executed")
    assert bench.run("a", "-i 0 -cfg status").out == "config status:FAIL\n"


def test_recovery_restores_every_kind_of_key(bench: Bench) -> None:
    bench.make("a", "*.board=A+X")
    keys = "mac_addr_0=bc:1e:85:00:00:77\nmtu_0=4200\nbw_limit_0=20000\nroce_port_0=-1\n"
    keys += "IPv6address_0=fd00::9\nIPv6netmask_0=64\nIPv6gateway_0=fd00::1\n"
    bench.conf("a").write_text(keys)
    assert bench.run("a", "-i 0 -cfg recovery").out == SUCCESS
    assert bench.conf("a").read_text() == keys
    assert bench.run("a", "-i 0 -ip -inet6 -g").out == "ipv6_address:fd00::9\nprefix_length:64\n"
    for bad in ("mtu_0=1\n", "roce_port_0=x\n", "tls_enable_0=2\n"):
        bench.conf("a").write_text(bad)
        assert bench.run("a", "-i 0 -cfg recovery").code == 1


def test_many_queries_answer(bench: Bench) -> None:
    bench.make("a", "0.qps=2", "0.bandwidth_tx=150", "0.flaps=1", "0.optical_rx_power=0")
    assert bench.run("a", "-i 0 -qp_info -g").out.endswith("total_qp_count: 2\n")
    assert bench.run("a", "-i 0 -bandwidth -g time 100").out == "Bandwidth TX:     1.50 MB/sec\nBandwidth RX:     0.00 MB/sec\n"
    assert "[devid 0]link up count       : 3\n[devid 0]link down count     : 2\n" in bench.run("a", "-i 0 -link_stat -g").out
    assert bench.run("a", "-i 0 -link_stat -c").out == SUCCESS
    assert bench.run("a", "-i 0 -link_stat -g").out.endswith("link change records : NA\n")
    assert "RxPower Lane0(dBm)  -inf        -inf" in bench.run("a", "-i 0 -optical -g v2").out
    assert bench.run("a", "-i 0 -version -g").out.startswith("Network Driver Version:")
    assert "\tIfname: 400GE1/1/5:1\n" in bench.run("a", "-i 0 -lldp -g").out
    bench.set("a", "0.bitmap=", "0.link=0")
    assert "Link detected: no" in bench.run("a", "-i 0 -status -g").out


@pytest.mark.parametrize(
    ("line", "stdout", "stderr", "code"),
    [
        ("-i 0 -link -g", "hccn_tool is busy, please try again.\n", "", 11),
        ("-i 0 -vnic -g", "", "Command execute failed!\n", 1),
        ("-i 0 -net_health -g", "net health status: Init\n", "", 0),
        ("-i 0 -cfg recovery", "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for details.\n", "Cmd execute failed!\n", 1),
        ("-i 1 -cfg status", "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for details.\n", "Command execute failed!\n", 1),
        ("-i 1 -tls -s enable 1", "", "Command execute failed!\n", 1),
        ("-i 2 -tls -s enable 1", "", "permission denied: pls check this cmd run permission.\n", 12),
        ("-i 3 -vnic -g", "vnic link status: UP\nvnic ipaddr: 192.168.1.196\nvnic netmask: 255.255.255.0\n", "", 0),
        ("-i 3 -process -g", "device hccp process: exist\n", "", 0),
        ("-i 3 -duplex -g", "Duplex: Full\n", "", 0),
        ("-i 3 -fec -g", "This device does not support switching fec mode.\n", "", 0),
        ("-i 3 -udhcpc -a", "device:3:\n", "Command execute failed!\n", 1),
        ("-i 3 -udp -s multi_qp count 4 port 5000-5003", SUCCESS, "", 0),
        ("-i 3 -ping -g address 010.0.0.1", "", "The ip address you configured is invalid!\n", 6),
        (
            "-i 3 -ping -g address",
            "[ hccn_tool -i devid -ping ] needs the following parameters:\n",
            "The total count of input parameters is wrong!\n",
            4,
        ),
        ("-i 3 -ip -s address 10.0.0.1 netmask 255.0.255.0", "", "The ip address you configured is invalid!\n", 6),
        ("-i 3 -ip -s address 192.168.2.1 netmask 255.255.255.0", "", "The ip address configured is conflicted!\n", 7),
        ("-i 4 -tls -g", "", "No certificate found, please set certs firstly!\n", 14),
        ("-i 4 -tls -s enable 1", "", "No certificate found, please set certs firstly!\n", 14),
    ],
)
def test_output_streams(bench: Bench, line: str, stdout: str, stderr: str, code: int) -> None:
    bench.make("a", "0.busy=1", "1.dead=1", "2.need_root=1", "4.tls_nocert=1", uid=65534)
    ran = bench.run("a", line)
    first = ran.out.splitlines(keepends=True)[0] if "[ hccn_tool" in ran.out else ran.out
    assert (first, ran.err, ran.code) == (stdout, stderr, code)


def test_recovery_of_all_devices_with_one_failure(bench: Bench) -> None:
    bench.make("a", "0.ip=", "1.ip=", devices=2)
    bench.conf("a").write_text("address_0=10.0.0.1\nnetmask_0=255.255.255.0\nsend_arp_status_0=1\ngateway_0=10.0.0.254\nnetdetect_0=10.0.0.254\n")
    assert bench.run("a", "-a -cfg recovery").out == "dev:0 recovery success\ndev:1 recovery success\n" + SUCCESS
    assert bench.run("a", "-i 0 -ip -g").out == "ipaddr:10.0.0.1\nnetmask:255.255.255.0\n"
    bench.set("a", "1.busy=1")
    ran = bench.run("a", "-a -cfg recovery")
    assert (ran.code, ran.err) == (1, "dev:1 recovery fail\nCommand execute failed!\n")
    bench.conf("a").unlink()
    assert bench.run("a", "-a -cfg recovery").code == 29


def test_static_arp_entries_have_separate_lines(bench: Bench) -> None:
    bench.make("a")
    bench.conf("a").write_text("")
    for last in (1, 2, 1):
        assert bench.run("a", f"-i 0 -arp -a dev eth0 ip 10.0.0.{last} mac bc:1e:85:00:00:0{last}").out == SUCCESS
    lines = ["arp_0=-i eth0 -s 10.0.0.2 bc:1e:85:00:00:02", "arp_0=-i eth0 -s 10.0.0.1 bc:1e:85:00:00:01"]
    assert bench.conf("a").read_text().splitlines() == lines
    assert bench.run("a", "-i 0 -arp -d dev eth0 ip 10.0.0.2").out == SUCCESS
    assert bench.conf("a").read_text().splitlines() == lines[1:]
    assert bench.run("a", "-i 0 -route -a address 0.0.0.0 netmask 0.0.0.0 gateway 10.0.0.1").code == 35
    for code in (0, 20):
        assert bench.run("a", "-i 0 -route -a address 20.0.0.0 netmask 255.0.0.0 gateway 10.0.0.1").code == code
    assert bench.run("a", "-i 0 -route -c").code == 0
    assert bench.conf("a").read_text().splitlines() == lines[1:]


def test_present_and_absent_optical_module(bench: Bench) -> None:
    bench.make("a", "1.optical_present=0", "2.optical_rx_power=0.0123")
    assert "Rx Power3            : 0.0123 mW\n" in bench.run("a", "-i 2 -optical -g").out
    assert "Rx Power             : NA\n" in bench.run("a", "-i 1 -optical -g").out
    assert bench.run("a", "-i 0 -hw_stats -g").out.startswith("[devid 0] pd_alloc: 0\n")
    assert bench.run("a", "-i 0 -pfc_stat -g").out.startswith("tx_pfc0_duration_time=0.000ms\n")


def test_ping_needs_both_links_and_a_route(pair: Bench) -> None:
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.3").out.endswith("3 packets transmitted, 3 received, 0.00% packet loss\n")
    pair.set("b", "3.link=0")
    lost = pair.run("a", "-i 0 -ping -g address 10.78.2.3")
    assert (lost.code, lost.out.splitlines()[1], lost.err) == (1, "Destination Host Unreachable seq=0", "Command execute failed!\n")
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.4").code == 0
    pair.set("a", "0.link=0")
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.4").code == 1
    pair.set("a", "0.link=1", "0.netmask=255.255.255.0")
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.4").code == 1
    pair.set("a", "0.gateway=10.78.1.1")
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.4").code == 0
    pair.set("a", "0.ip=")
    assert pair.run("a", "-i 0 -ping -g address 10.78.2.4").code == 1


def test_net_health_follows_netdetect(bench: Bench) -> None:
    bench.make("a", switch_addresses=["10.78.0.1"])
    assert bench.run("a", "-i 0 -net_health -g").out == "net health status: Init\n"
    bench.set("a", "*.netdetect=10.78.0.1")
    assert bench.run("a", "-i 0 -net_health -g").out == "net health status: Success\n"
    bench.set("a", "*.netdetect=10.78.0.2")
    assert bench.run("a", "-i 0 -net_health -g").out == "net health status: Unreachable\n"
    assert bench.run("a", "-i 0 -ping -inet6 -g ipv6_address fd00::1").code == 1


def test_interfaces_fabric_uses_the_kernel(bench: Bench) -> None:
    bench.make("a", "*.ip=127.0.0.1", fabric="interfaces")
    assert bench.run("a", "-i 0 -ping -g address 127.0.0.1").code == 0
    bench.set("a", "*.ip=")
    assert bench.run("a", "-i 0 -ping -g address 127.0.0.1").code == 0
    assert bench.run("a", "-i 0 -ping -g address 255.255.255.255").code == 1


def test_concurrent_changes_of_a_link_are_serialized(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.make("a", fabric="interfaces")
    done: list[str] = []

    def batch(commands: list[str], force: bool = False) -> None:
        done.append("flush" if force else "add")
        time.sleep(0.1)

    monkeypatch.setattr(interface, "_is_up", lambda _device: True)
    monkeypatch.setattr(interface, "_batch", batch)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _call: interface.follow(Node(str(bench.root("a"))), 0), range(2)))
    assert done == ["flush", "add", "flush", "add"]
