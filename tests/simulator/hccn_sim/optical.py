"""-optical: the transceiver of the port. It has four lanes; the measured values come from the state."""

from __future__ import annotations


from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

LANES = range(4)
MODULE = (
    ("high power enable reg", "not enabled"),
    ("vendor name", "HUAWEI"),
    ("vendor part number", "PN02312345"),
    ("vendor serial number", "SN0123456789"),
    ("vendor org unique id", "0x0 0x0 0x0"),
    ("xsfp identifier", "QSFP+ or later"),
    ("xsfp wave length", "850 nm"),
    ("manufact date code", "2024-05-06"),
)
THRESHOLDS = (
    ("Vcc High Thres", "0.00 mV"),
    ("Vcc Low Thres", "0.00 mV"),
    ("Temp High Thres", "0 C"),
    ("Temp Low Thres", "0 C"),
    ("TxPower High Thres", "0.0000 mW"),
    ("TxPower Low Thres", "0.0000 mW"),
    ("RxPower High Thres", "0.0000 mW"),
    ("RxPower Low Thres", "0.0000 mW"),
)
LIMITS = ("3465.00 mV", "3135.00 mV", "70 C", "0 C", "3.5481 mW", "0.2818 mW", "3.5481 mW", "0.1445 mW")
"""Values of THRESHOLDS in a recorded module of the 910A; the recorded runs of the front end print zeros."""
TAIL = "Physical Code        : NA\nvendor rev           : NA\nSpecification compliance: " + " ".join(["0x00"] * 8)
DOUBLE, SINGLE = "=" * 92, "-" * 92


def optical(tool: Tool, args: list[str]) -> None:
    if args not in (["-g"], ["-g", "v2"]):
        raise Refused("option" if args else "count")
    tool.device.call("optical")
    if len(args) == 2:
        _table(tool)
    elif tool.device.get("optical_present", "1") == "1":
        _present(tool)
    else:
        _absent(tool)


def _line(tool: Tool, name: str, value: str) -> None:
    tool.info(f"{name:<21}: {value}")


def _absent(tool: Tool) -> None:
    tool.info("optical info:")
    for name, value in (("present", "not present"), ("temperature", "NA"), *MODULE):
        _line(tool, name, value)
    for name in ("Vcc", "Tx Power", "Rx Power", *(name for name, _value in THRESHOLDS)):
        _line(tool, name, "NA")


def _values(tool: Tool) -> tuple[float, float, float]:
    """Return temperature in C, and transmitted and received power in mW (one value for all lanes)."""
    get = tool.device.get
    return float(get("optical_temperature", "45")), float(get("optical_tx_power", "1.0275")), float(get("optical_rx_power", "1.0275"))


def _present(tool: Tool) -> None:
    temperature, sent, received = _values(tool)
    tool.info("optical info:")
    for name, value in (("present", "present"), ("temperature", f"{temperature:.0f} C"), *MODULE, ("Vcc", "3300.00 mV")):
        _line(tool, name, value)
    for lane in LANES:
        _line(tool, f"Tx Power{lane}", f"{sent:.4f} mW")
        _line(tool, f"Rx Power{lane}", f"{received:.4f} mW")
    limits = LIMITS if tool.device.is_set("optical_limits") else [value for _name, value in THRESHOLDS]
    for (name, _value), value in zip(THRESHOLDS, limits):
        _line(tool, name, value)
    for lane in LANES:
        _line(tool, f"Tx Bias{lane}", "85.0200 mA")
    for name in ("Tx Los", "Rx Los", "Tx LoL", "Rx LoL"):
        _line(tool, f"{name} Flag", tool.device.get("optical_" + name.lower().replace(" ", "_"), "0x0"))
    for side in ("Host", "Media"):
        for lane in LANES:
            _line(tool, f"{side} SNR Lane{lane}", "not supported")
    tool.info(TAIL)


def _table(tool: Tool) -> None:
    tool.info(f"{DOUBLE}\nState-flag Diagnostic Monitoring:\n{SINGLE}\nItems            Status\n{SINGLE}")
    for name in ("TxFault", "RxLos", "TxLos", "TxLol", "RxLol"):
        tool.info(f"{name + ' Flag':<17}" + "| ".join(f"{'Normal':<10}" for _lane in LANES))
    tool.info(f"High power enable reg: not enabled\n{SINGLE}\n{DOUBLE}\nDigital Diagnostic Monitoring:\n{SINGLE}")
    _row(tool, "Items", "Value", ["HighAlarm", "HighWarn", "LowAlarm", "LowWarn"], "Status")
    temperature, sent, received = _values(tool)
    flat = ["0.00"] * 4
    _row(tool, "Temperature(C)", f"{temperature:.2f}", flat)
    _row(tool, "Voltage(V)", "3.30", flat)
    _rows(tool, "Bias lane{}(mA)", "85.02", flat)
    _rows(tool, "RxPower Lane{}(dBm)", _dbm(received), ["-inf"] * 4)
    _rows(tool, "TxPower Lane{}(dBm)", _dbm(sent), ["-inf"] * 4)
    _rows(tool, "MediaSNR Lane{}(dB)", "-", ["-"] * 4)
    _rows(tool, "HostSNR Lane{}(dB)", "-", ["-"] * 4)


def _dbm(milliwatts: float) -> str:
    import math

    return f"{10 * math.log10(milliwatts):.2f}" if milliwatts > 0 else "-inf"


def _rows(tool: Tool, name: str, value: str, limits: list[str]) -> None:
    for lane in LANES:
        _row(tool, name.format(lane), value, limits)


def _row(tool: Tool, name: str, value: str, limits: list[str], status: str = f"{'-':<12}") -> None:
    tool.info(f"{name:<20}" + "".join(f"{cell:<12}" for cell in (value, *limits)) + status)
