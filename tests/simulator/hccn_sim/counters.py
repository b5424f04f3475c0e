"""-stat, -pfc_stat, -hw_stats, -qp_info, -bandwidth: the counters of a device."""

from __future__ import annotations


from .errors import Refused
from .link import get_only

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

_PFC = "pfc_pkt_num " + " ".join(f"pfc_pri{priority}_pkt_num" for priority in range(8))
STAT_KEYS = (
    ["mac_tx_mac_pause_num", "mac_rx_mac_pause_num"]
    + [f"mac_{direction}_{name}" for direction in ("tx", "rx") for name in _PFC.split()]
    + [f"mac_{direction}_{kind}_num" for direction in ("tx", "rx") for kind in ("total_pkt", "total_oct", "bad_pkt", "bad_oct")]
    + ["mac_rx_fcs_err_pkt_num"]
    + [f"roce_{direction}_{kind}_pkt_num" for direction in ("rx", "tx") for kind in ("rc", "all", "err")]
    + "roce_cqe_num roce_rx_cnp_pkt_num roce_tx_cnp_pkt_num roce_unexpected_ack_num roce_out_of_order_num".split()
    + "roce_verification_err_num roce_qp_status_err_num roce_new_pkt_rty_num roce_ecn_db_num".split()
    + [f"nic_{direction}_all_{kind}_num" for direction in ("tx", "rx") for kind in ("pkg", "oct")]
)
# the short names in the keys of the state
SHORT = {"roce_new_pkt_rty_num": "stat_rty", "mac_rx_fcs_err_pkt_num": "stat_fcs"}
HW_KEYS = (
    "pd_alloc pd_dealloc mr_alloc mr_dealloc cq_alloc cq_dealloc qp_alloc qp_dealloc pd_active mr_active cq_active qp_active aeqe ceqe"
).split()
QP_HEAD = "qpn    status    type   dst_qpn          ip                                  src_port     send_psn        recv_psn"
TX_CENTI_MB, RX_CENTI_MB = 1234567, 7654321
MILLISECONDS = range(100, 10001)


def stat(tool: Tool, args: list[str]) -> None:
    device = tool.device
    if args == ["-c"]:
        device.call("stat", change=True)
        clear = {f"stat.{key}": None for key in STAT_KEYS}
        device.set(stat_base="0", stat_rty="0", stat_fcs="0", **clear)
        tool.done()
        return
    get_only(args)
    device.call("stat")
    tool.info("packet statistics:")
    for key in STAT_KEYS:
        value = device.get(f"stat.{key}") or device.get(SHORT.get(key, "stat_base")) or device.get("stat_base", "0")
        tool.info(f"{key}:{value}")


def pfc_stat(tool: Tool, args: list[str]) -> None:
    get_only(args)
    tool.device.call("pfc_stat")
    for direction in ("tx", "rx"):
        for priority in range(8):
            tool.info(f"{direction}_pfc{priority}_duration_time=0.000ms")
    for kind in ("warn", "err"):
        for priority in range(8):
            tool.info(f"tx_pfc{priority}_duration_{kind}_cnt: 0")


def hw_stats(tool: Tool, args: list[str]) -> None:
    get_only(args)
    tool.device.call("hw_stats")
    for key in HW_KEYS:
        tool.info(f"[devid {tool.device.id}] {key}: {tool.device.get('hw.' + key, '0')}")


def qp_info(tool: Tool, args: list[str]) -> None:
    """``qps=<n>``: number of queue pairs in use, as under a running job. A running test has one, too."""
    from .perf_device import RUNNING, PerfDevice

    get_only(args)
    tool.device.call("qp_info")
    count = tool.device.number("qps") + (PerfDevice(tool).status() == RUNNING)
    tool.info(QP_HEAD)
    for number in range(count):
        tool.info(f"{number + 8:<7}5         RC     {number + 8:<17}{tool.device.get('ip'):<36}{49152 + number:<13}0               0")
    tool.info(f"total_qp_count: {count}")


def bandwidth(tool: Tool, args: list[str]) -> None:
    if len(args) == 3 and args[:2] == ["-g", "time"]:
        if not args[2].isdigit() or int(args[2]) not in MILLISECONDS:
            raise Refused("parameters")
    else:
        get_only(args)
    tool.device.call("bandwidth")
    fixed = tool.node.fabric == "fixed"
    for direction, default in (("tx", TX_CENTI_MB), ("rx", RX_CENTI_MB)):
        centi = tool.device.number(f"bandwidth_{direction}", default if fixed else 0)
        tool.info(f"Bandwidth {direction.upper()}: {centi // 100:5d}.{centi % 100:02d} MB/sec")
