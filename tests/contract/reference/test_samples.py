"""Compare the results of the device parsers for output of real tools, manuals and source code with literals, or list a file with the reason why it is not
read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import (
    conf,
    conf_check,
    failures,
    hccn_tool,
    host,
    parse_950,
    parse_network,
    parse_npu_smi,
    parse_port,
    parse_qos,
    parse_tls,
)
from ansible_collections.hccn.cluster.plugins.module_utils._perf import roce_test_tool
from tests.lib.project import shared

FOLDERS = ("hccn_tool", "hccn_tool_950", "hccn_conf", "npu-smi")

# A command line after a prompt: "$ hccn_tool ...", "root@host:~# hccn_tool ...", "root@host: hccn_tool ...".
PROMPT = re.compile(r"^(?:\$|\S+@\S+[#:])\s+(?:hccn_tool|npu-smi|for) .*\n", re.MULTILINE)


def ran(text: str, code: int = 0) -> Result:
    return Result(("hccn_tool",), code, text, "", False, 0.0, 0.0)


def failure(text: str) -> str:
    """Return the error code of a run that printed ``text`` and exited with 1."""
    error = failures.failure_of(ran(text, 1))
    return error.code if error else "none"


def done(text: str) -> Any:
    error = failures.set_failure_of(ran(text))
    return error.code if error else "done"


def each(parse: Callable[[str], Any], start: str) -> Callable[[str], list[Any]]:
    """Return a parser for a loop over devices. The output of each device begins with ``start``."""

    def parts(text: str) -> list[Any]:
        return [parse(part) for part in re.split(rf"(?m)^(?={start})", text) if re.match(start, part)]

    return parts


def tls_states(text: str) -> Any:
    """Return (TLS on, preset, alarm days, [name, expiration]) of each device."""

    def one(part: str) -> Any:
        tls = parse_tls.parse_tls(part)
        return tls.enabled, tls.preset_certificate, tls.alarm_days, [(found.name, found.expiration) for found in tls.certificates]

    return each(one, r"dev_id:\d+, tls switch")(text)


def chips(text: str) -> Any:
    """Return (product, name, [(npu, chip, device)])."""
    try:
        found = parse_npu_smi.parse_chips(text)
    except HccnError as error:
        return error.code
    return found.product, found.name, [(chip.npu, chip.chip, chip.device) for chip in found.chips]


def processes(text: str) -> Any:
    try:
        return [(one.npu, one.chip, one.pid, one.name, one.memory_mb) for one in parse_npu_smi.parse_processes(text)]
    except HccnError as error:
        return error.code


def conf_file(text: str) -> Any:
    """Return (settings, devices, keys of the first device, problems as (rule, where))."""
    found = conf.settings(text)
    devices = sorted({setting.device for setting in found})
    first = {setting.key: setting.value for setting in found if setting.device == devices[0]}
    return len(found), len(devices), first, [(problem.rule, problem.where) for problem in conf_check.check(text)]


def roce(text: str) -> Any:
    """Return rows as (bytes, iterations, Gbit/s)."""
    try:
        return [(row.size_bytes, row.iterations, round(row.bandwidth_gbit_s, 3)) for row in roce_test_tool.rows(ran(text))]
    except HccnError as error:
        return error.code


def ping(text: str) -> Any:
    found = hccn_tool.ping_result(ran(text, 1))
    return found.target, found.sent, found.received, found.times_ms, found.reasons


def neighbour(text: str) -> Any:
    found = parse_port.parse_neighbour(text)
    return found.system_name, found.port, found.chassis, found.management_address, found.system_description


def changes(text: str) -> Any:
    found = parse_port.parse_link_changes(text)
    return found.ups, found.downs, found.records


def address(text: str) -> Any:
    found = parse_network.parse_address(text)
    return found.address, found.netmask


def board(text: str) -> Any:
    found = parse_npu_smi.parse_board(text)
    return found.software, found.firmware


def counters(*groups: str) -> dict[str, int]:
    """Return counters of value 0, as in the samples: ``mac_tx_: pause_num bad_num`` is mac_tx_pause_num and mac_tx_bad_num."""
    parts = [group.partition(": ") for group in groups]
    return {front + name: 0 for front, _colon, names in parts for name in names.split()}


PFC = "pfc_pkt_num " + " ".join(f"pfc_pri{priority}_pkt_num" for priority in range(8))
TOTALS = "total_pkt_num total_oct_num bad_pkt_num bad_oct_num"
COUNTERS_A2 = counters(
    f"mac_tx_: mac_pause_num {PFC} {TOTALS}", f"mac_rx_: mac_pause_num {PFC} {TOTALS} fcs_err_pkt_num",
    "roce_rx_: rc_pkt_num all_pkt_num err_pkt_num cnp_pkt_num", "roce_tx_: rc_pkt_num all_pkt_num err_pkt_num cnp_pkt_num",
    "roce_: cqe_num unexpected_ack_num out_of_order_num verification_err_num qp_status_err_num new_pkt_rty_num ecn_db_num",
    "nic_tx_: all_pkg_num all_oct_num", "nic_rx_: all_pkg_num all_oct_num",
)
COUNTERS_950 = counters(
    *(f"{front}: {way}" for way in ("rx", "tx") for front in (
        "ub_glb_ipv4_pkt_cnt_ ub_glb_ipv6_pkt_cnt_ unic_ipv4_pkt_cnt_ unic_ipv6_pkt_cnt_ ub_clan_pkt_cnt_ ub_umoc_ctph_cnt_ ub_umoc_ntph_cnt_ "
        "ub_mem_pkt_cnt_ unknown_pkt_cnt_ drop_ind_cnt_ err_ind_cnt_ out_err_cnt_ length_err_cnt_").split()),
    "to_: host_pkt_cnt_rx imp_pkt_cnt_rx mar_pkt_cnt_rx link_pkt_cnt_rx noc_pkt_cnt_rx", "rx_: busi_flit_num send_ack_flit",
    "tx_: busi_flit_num recv_ack_flit", "retry_: req_sum ack_sum", ": route_err_cnt_rx lpbk_ind_cnt_tx crc_error_sum",
)
OPTICAL = {
    "present": False, "temperature_c": 47.0, "high_power_enable_reg": "enabled", "vendor_name": "Hisense", "vendor_part_number": "LMQ8611-PC+",
    "vendor_serial_number": "V8BD6H25033", "vendor_org_unique_id": "0xac 0x4a 0x0", "xsfp_identifier": "QSFP+ or later", "xsfp_wave_length_nm": 850.0,
    "manufact_date_code": "2023.6.18", "vcc_mv": 3262.9, "tx_power0_mw": 4.4035, "rx_power0_mw": 1.0189, "tx_power1_mw": 1.3968, "rx_power1_mw": 0.0054,
    "tx_power2_mw": 1.414, "rx_power2_mw": 0.9907, "tx_power3_mw": 1.4988, "rx_power3_mw": 1.0213, "vcc_high_thres_mv": 3465.0, "vcc_low_thres_mv": 3135.0,
    "temp_high_thres_c": 70.0, "temp_low_thres_c": 0.0, "txpower_high_thres_mw": 3.5481, "txpower_low_thres_mw": 0.2818, "rxpower_high_thres_mw": 3.5481,
    "rxpower_low_thres_mw": 0.1445, "tx_bias0_ma": 7.936, "tx_bias1_ma": 7.928, "tx_bias2_ma": 7.936, "tx_bias3_ma": 7.924, "tx_los_flag": "0x0",
    "rx_los_flag": "0xff", "tx_lol_flag": "0x0", "rx_lol_flag": "0xff", "host_snr_lane0_db": None, "host_snr_lane1_db": None, "host_snr_lane2_db": None,
    "host_snr_lane3_db": None, "media_snr_lane0_db": 23.1211, "media_snr_lane1_db": 22.6289, "media_snr_lane2_db": 22.1875, "media_snr_lane3_db": 23.2969,
}
PORT_950 = parse_950.Port950(0, 0, 4)
PORT_INFO_950 = parse_950.PortInfo(
    4,
    {"target_speed": "LANE_400G_X4", "speed_ability": "400Gbps", "lane_num": "X4", "fec": "FEC RS", "sds_rate": "unset", "port_usage": "used",
     "port_enable": "on", "port_link": "link", "driver_type": "TYPE_NONE", "port_mode": "PORT_MODE_SHARED", "link_down_err": "0x302",
     "link_state": "0x0003 0x7310 0x5002" + 13 * " 0x0000"},
    {"port_cna": "0x20", "clock_freq": "0x4a3", "fec": "FEC Mode 1 RS (128, 120,T=4)", "phy_mode_ctrl": "Mode2", "sds_rate": "106.25G",
     "cur_speed": "data rate8", "cur_tx_lane_num": "X4", "cur_rx_lane_num": "X4", "init_succ_tx_lane_num": "X4", "init_succ_rx_lane_num": "X4",
     "port_en": "on", "port_mode": "X4 2port", "port_mode_en": "on", "dl_link": "link", "phy_link": "link", "cur_port_type": "slave",
     "lstm_state": "LINK_ACTIVE", "decoded_fail_block_num": "0x0", "fec_err": "0x841876", "retry_cnt": "0x0", "dl_link_fsm": "Initialization succeeded."},
)
SYSTEM = "SH-YS2-M203-J12U%s-H3CS9825-G0-0%s001"
NAMED = each(lambda text: parse_port.parse_neighbour(text).system_name, "Interface")
THREE_UNKNOWN = [("pub cert", "unknown"), ("ca1 cert", "unknown"), ("ca2 cert", "unknown")]
EIGHT_CARDS = [(number, 0, number) for number in range(8)]

READ: dict[str, tuple[Callable[[str], Any], Any]] = {
    "hccn_tool/all_cfg_recovery": (done, "done"),
    "hccn_tool/error__busy": (failure, "tool_busy"),
    "hccn_tool/error__command_execute_failed": (failure, "device_failed"),
    "hccn_tool/error__conf_not_written": (failure, "conf_not_persisted"),
    "hccn_tool/error__invalid_device_id": (failure, "invalid_device"),
    "hccn_tool/error__ip_not_preset": (failure, "address_not_set"),
    "hccn_tool/error__not_supported_on_product": (failure, "unsupported_on_product"),
    "hccn_tool/error__permission": (failure, "permission_denied"),
    "hccn_tool/error__tls_bad_enable": (failure, "invalid_enable_value"),
    "hccn_tool/error__vm": (failure, "unsupported_in_vm"),
    "hccn_tool/gateway_g__8dev": (each(parse_network.parse_gateway, "default gateway"), ["11.12.165.1"] * 8),
    "hccn_tool/gateway_g__ipv6": (parse_network.parse_gateway, "fec0::1"),
    "hccn_tool/hccs_ping_g__a3": (parse_network.parse_hccs_ping, parse_network.HccsPing(
        "192.2.3.199", 3, 3, 21.66, 22.553, 24.13, 24.13, 0, ())),
    "hccn_tool/ip_g__8dev_loop": (each(address, "ipaddr"), [(f"11.12.165.{80 + device}", "255.255.255.0") for device in range(8)]),
    "hccn_tool/ip_g__a2": (address, ("29.1.112.213", "255.255.0.0")),
    "hccn_tool/link_g__down": (parse_network.parse_link, "down"),
    "hccn_tool/link_g__up": (parse_network.parse_link, "up"),
    "hccn_tool/link_stat_g__910a": (changes, (2, None, (
        ("Tue Aug  1 14:43:40 2022", "up"), ("Tue Aug  1 14:43:40 2022", "down"), ("Tue Aug  1 14:43:26 2022", "up")))),
    "hccn_tool/link_stat_g__a2_2025": (changes, (2, 1, (
        ("Sun Oct  5 10:13:51 2025", "up"), ("Sun Oct  5 10:13:50 2025", "down"), ("Sun Oct  5 10:13:35 2025", "up")))),
    "hccn_tool/link_stat_g__device_label": (changes, (2, None, (
        ("Tue Jun  6 16:32:12 2023", "up"), ("Tue Jun  6 16:32:10 2023", "down"), ("Tue Jun  6 16:31:55 2023", "up")))),
    "hccn_tool/lldp_g__a2_full": (neighbour, (
        None, "400GE1/1/20:2", "...", "26.xx.xx.xx",
        "Versatile Routing Platform Software VRP (R) software, Version 8.211 (DX511 V200R021C10SPC600) Huarong DX511")),
    "hccn_tool/lldp_g__a3_system_name": (NAMED, [SYSTEM % one for one in (("28", 4), ("33", 3), ("43", 1), ("33", 3), ("28", 4))]),
    "hccn_tool/mac_g": (parse_port.parse_mac, "bc:1e:85:d8:ca:dd"),
    "hccn_tool/mtu_g": (parse_port.parse_mtu, 1500),
    "hccn_tool/net_health_g__socket_failed_910a": (parse_network.parse_health, "socket_fail"),
    "hccn_tool/netdetect_g__a2_2025": (parse_network.parse_netdetect, "11.12.165.1"),
    "hccn_tool/netdetect_g__source": (parse_network.parse_netdetect, "11.12.165.1"),
    "hccn_tool/optical_g__910a": (parse_port.parse_optical, OPTICAL),
    "hccn_tool/ping_g__loop_ok": (each(ping, "device"), [("11.12.165.80", 3, 3, times, ()) for times in (
        (0.114, 0.067, 0.063), (0.149, 0.066, 0.064), (0.14, 0.063, 0.064), (0.154, 0.064, 0.062))]),
    "hccn_tool/ping_g__loss": (ping, ("", 3, 2, (0.097, 0.066), ("recv time out",))),
    "hccn_tool/ping_g__ok": (ping, ("29.1.137.205", 3, 3, (1.418, 0.034, 0.04), ())),
    "hccn_tool/roce_test__busy": (roce, "roce_test_running"),
    "hccn_tool/roce_test__failed": (roce, "connection_refused"),
    "hccn_tool/roce_test__ib_send_bw_client_a3": (roce, [(2097152, 1000, 196.004)]),
    "hccn_tool/roce_test__ib_send_bw_server_a3": (roce, [(2097152, 1000, 196.248)]),
    "hccn_tool/roce_test__timeout": (roce, "tool_timeout"),
    "hccn_tool/set__success": (done, "done"),
    "hccn_tool/speed_g__unknown": (parse_port.parse_speed, None),
    "hccn_tool/stat_g__all_keys": (parse_port.parse_counters, COUNTERS_A2),
    "hccn_tool/tls_g__new_format_with_certs": (tls_states, [
        (False, False, 60, [("pub cert", "normal"), ("ca1 cert", "normal"), ("ca2 cert", "normal"), ("crl", "near_expiration")])]),
    "hccn_tool/tls_g__old_format_with_certs": (tls_states, [(False, None, 60, THREE_UNKNOWN)] * 2),
    "hccn_tool/tls_g__switch_loop_off": (tls_states, [(False, True, 60, [])] * 8),
    "hccn_tool/udp_g__fixed": (parse_qos.parse_roce_port, 4791),
    "hccn_tool_950/g_link_stat": (parse_950.parse_link_changes, parse_950.LinkChanges950(2, 2, (
        (PORT_950, "Mon Feb 9 21:45:51 2026", "up"), (PORT_950, "Mon Feb 9 21:45:47 2026", "down"),
        (PORT_950, "Mon Feb 9 21:43:04 2026", "up"), (PORT_950, "Mon Feb 9 21:42:59 2026", "down")))),
    "hccn_tool_950/g_port_info": (parse_950.parse_port_info, PORT_INFO_950),
    "hccn_tool_950/g_speed": (parse_950.parse_speed, (parse_950.Speed(PORT_950, 400, "X4", "X4", "normal"),)),
    "hccn_tool_950/g_stat": (parse_950.parse_counters, COUNTERS_950),
    "hccn_tool_950/g_ub_connect": (parse_950.parse_ub_connect, parse_950.UbConnect("partial", {4: "up", 5: "down", 6: "partial"})),
    "hccn_tool_950/h": (parse_950.is_950_help, True),
    "hccn_tool_950/s_tls_enable": (each(done, "Cmd"), ["done", "done"]),
    "hccn_conf/16dev_a3_arp_tls": (conf_file, (112, 16, {
        "address": "127.0.0.24", "netmask": "255.255.128.0", "gateway": "127.0.0.1", "arp": "-i eth0 -s 127.0.0.114 bc:1e:85:d8:ca:dd",
        "netdetect": "127.0.0.1", "send_arp_status": "1", "tls_enable": "0"}, [])),
    "hccn_conf/4dev_truncated": (conf_file, (13, 4, {
        "address": "127.0.0.123", "netmask": "255.255.0.0", "gateway": "127.0.0.1", "netdetect": "127.0.0.1"}, [("incomplete_address", "line 13")])),
    "hccn_conf/8dev_a2_partial": (conf_file, (10, 2, {
        "address": "29.1.137.205", "netmask": "255.255.0.0", "gateway": "29.1.0.1", "netdetect": "29.1.0.1", "send_arp_status": "1"},
        [("ignored_line", "line 6")])),
    "hccn_conf/8dev_a2_tls": (conf_file, (48, 8, {
        "address": "127.0.0.45", "netmask": "255.255.0.0", "gateway": "127.0.0.1", "netdetect": "127.0.0.1", "send_arp_status": "1",
        "tls_enable": "0"}, [])),
    "npu-smi/dev_davinci_ls__a3": (lambda text: host.parse_device_files(text.split()).devices, tuple(range(16))),
    "npu-smi/info__950": (processes, []),
    "npu-smi/info__a2_910B1_23.0.rc2": (processes, "unexpected_output"),
    "npu-smi/info__a2_910B4_24.1.rc3": (processes, [
        (0, 0, 582939, "", 19502), (1, 0, 695171, "", 19498), (6, 0, 99910, "", 27977), (7, 0, 99976, "", 27977)]),
    "npu-smi/info__a3_910C_24.1.rc3.3": (processes, [(npu, chip, pid, "pt_main_thread", 49207) for npu, chip, pid in (
        (4, 0, 957687), (4, 1, 957770), (5, 0, 957790), (5, 1, 957852), (6, 0, 957876), (6, 1, 957912), (7, 0, 957957), (7, 1, 958011))]),
    "npu-smi/info_l__none": (chips, "no_device"),
    "npu-smi/info_m__910A": (chips, ("910A", "Ascend 910A", EIGHT_CARDS)),
    "npu-smi/info_m__950": (chips, ("950", "xxx", [(0, 0, 0)])),
    "npu-smi/info_m__a2": (chips, ("A2", "Ascend 910B3", EIGHT_CARDS)),
    "npu-smi/info_t_board__950": (board, ("xxx", "xxx")),
    "npu-smi/info_t_board_i0__910A": (board, ("23.0.5", "7.1.0.7.220")),
    "npu-smi/info_t_board_i0_c0__910A": (board, (None, "7.1.0.7.220")),
}

UNREAD = {
    "hccn_tool/bandwidth_g": "not queried: tests measure the bandwidth",
    "hccn_tool/cfg_status": "not queried: the recovery's own output shows its result",
    "hccn_tool/fec_g": "not queried: FEC cannot be set on A2 and A3, and the counters show lost frames",
    "hccn_tool/hw_stats_g__a2": "not queried: -qp_info returns the queue pairs in use",
    "hccn_tool/lldp_g__ifname_loop": "part of -lldp -g, extracted with grep: the line at which the parser starts is missing",
    "hccn_tool/route_g__910a_old_label": "not queried: the gateway has a separate query",
    "hccn_tool/route_g__a2": "not queried: the gateway has a separate query",
    "hccn_tool/status_g__a2": "not queried: link and speed have separate queries",
    "hccn_tool/version_g": "not queried: npu-smi returns the versions of driver and firmware",
    "npu-smi/info_t_common__a2": "not queried: the process table shows the jobs of an NPU",
    "npu-smi/info_t_topo__a2": "not queried: the IDs show which NPUs belong together",
    "npu-smi/info_t_topo__a3": "not queried: the IDs show which NPUs belong together",
    "npu-smi/info_t_topo__not_supported": "not queried: the IDs show which NPUs belong together",
}


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name[: -len('.txt')]}"


@pytest.fixture(scope="module")
def samples() -> dict[str, Path]:
    return {name(path): path for folder in FOLDERS for path in shared(f"samples/{folder}").iterdir()}


@pytest.mark.parametrize("sample", sorted(READ))
def test_sample_is_read(samples: dict[str, Path], sample: str) -> None:
    parse, expected = READ[sample]
    assert parse(PROMPT.sub("", samples[sample].read_text())) == expected


def test_every_sample_is_read_or_listed(samples: dict[str, Path]) -> None:
    assert set(samples) ^ set(READ) ^ set(UNREAD) == set()
    assert set(READ) & set(UNREAD) == set()
    assert [sample for sample, reason in UNREAD.items() if len(reason.split()) < 3] == []
