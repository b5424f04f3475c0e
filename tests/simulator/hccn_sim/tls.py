"""-tls: flag, certificates, alarm time. Reading it may write hccn.conf."""

from __future__ import annotations

import time

from .errors import Refused

TYPE_CHECKING = False  # typing is slow to load
if TYPE_CHECKING:
    from .tool import Tool

SWITCH = (
    "dev_id:{id}, tls switch[{switch}](0:disable, 1:enable), tls preconfigured[{preset}](0:non-preset, 1:preset), "
    "tls alarm time threshold[{alarm}]days"
)
STATUS = "\t tls expiration status[{status}](0:normal, 1:near expiration, 2:has expired)"
WARNING = "[Warning] The currently loaded is a preset certificate, which has security risks.It is recommended to configure a security certificate."
FACTORY_CA, OWN_CA = "/C=CN/O=Huawei/CN=Huawei IT Product CA", "/C=XX/O=Example/CN=Example CA"
FACTORY_SUBJECT = "/C=CN/O=Huawei/CN=Ascend-0"
START, END = "Fri Sep 23 10:00:00 2022", "Sat Sep 20 10:00:00 2042"
TIME_FORMAT = "%a %b %d %H:%M:%S %Y"
BAD_CERTIFICATE = {"-107": "certificate_expired", "-108": "certificate_illegal"}
NORMAL, NEAR, EXPIRED = 0, 1, 2


def tls(tool: Tool, args: list[str]) -> None:
    if not args:
        raise Refused("count")
    if args[0] == "-g":
        _get(tool, args)
    elif args[0] == "-s":
        _set(tool, args)
        tool.done()
    elif args[0] == "-c":
        _clear(tool)
        tool.done()
    else:
        raise Refused("option")


def _get(tool: Tool, args: list[str]) -> None:
    if args[1:] == ["host"]:
        raise Refused("no_certificate")
    if len(args) != 1:
        raise Refused("count")
    device = tool.device
    device.call("tls")
    if device.is_set("tls_nocert"):
        raise Refused("no_certificate")
    alarm = device.number("tls_alarm", 60)
    tool.info(SWITCH.format(id=device.id, switch=device.get("tls", "0"), preset=device.get("tls_preset", "1"), alarm=alarm))
    issuer = device.get("tls_issuer") or device.get("tls_ca") or (FACTORY_CA if device.get("tls_preset", "1") == "1" else OWN_CA)
    authority = device.get("tls_ca", FACTORY_CA)
    for name, subject in (("pub", device.get("tls_subject", FACTORY_SUBJECT)), ("ca1", authority), ("ca2", authority)):
        _certificate(tool, name, subject, issuer, alarm)
    _remember_switch(tool)


def _certificate(tool: Tool, name: str, subject: str, issuer: str, alarm: int) -> None:
    device = tool.device
    end = device.get("tls_end", END)
    tool.info(f"dev_id:{device.id}, [{name} cert] info:\n\t subject[{subject}]\n\t issuer[{issuer}]")
    tool.info(f"\t start_time[{device.get('tls_start', START)} GMT]\n\t end_time[{end} GMT]")
    status = _status(end, tool.clock.now(), alarm)
    (tool.error if status == EXPIRED else tool.info)(STATUS.format(status=status))


def _status(end: str, now: float, alarm_days: int) -> int:
    import calendar

    left = calendar.timegm(time.strptime(end, TIME_FORMAT)) - now
    return EXPIRED if left < 0 else NEAR if left < alarm_days * 86400 else NORMAL


def _remember_switch(tool: Tool) -> None:
    """The side effect of a query: a missing key is written; errors are ignored."""
    try:
        if not tool.conf.has(tool.key("tls_enable")):
            tool.conf.write(tool.key("tls_enable"), tool.device.get("tls", "0"))
    except Refused:
        pass


def _set(tool: Tool, args: list[str]) -> None:
    rest = args[1:-1] if args[-1] == "host" else args[1:]
    if len(rest) < 2:
        raise Refused("count")
    if rest[0] == "enable":
        _set_enable(tool, rest, on_host=args[-1] == "host")
    elif rest[0] == "alarm":
        _set_alarm(tool, rest)
    elif rest[0] == "path":
        _set_certificates(tool, rest)
    else:
        raise Refused("option")


def _set_enable(tool: Tool, rest: list[str], on_host: bool) -> None:
    if len(rest) != 2:
        raise Refused("count")
    if rest[1] not in ("0", "1"):
        raise Refused("enable_value")
    if on_host:
        raise Refused("no_certificate")
    set_switch(tool, rest[1], warn=True)
    tool.conf.write(tool.key("tls_enable"), rest[1])


def set_switch(tool: Tool, switch: str, warn: bool) -> None:
    device = tool.device
    device.call("tls", change=True)
    if device.is_set("tls_nocert"):
        raise Refused("no_certificate")
    if warn and switch == "1" and device.get("tls_preset", "1") == "1":
        tool.info(WARNING)
    if switch == "1" and device.is_set("tls_badcert"):
        raise Refused(BAD_CERTIFICATE.get(device.get("tls_badcert"), "device"))
    device.set(tls=switch)


def _set_alarm(tool: Tool, rest: list[str]) -> None:
    if len(rest) != 2:
        raise Refused("count")
    if not (rest[1].isdigit() and (int(rest[1]) == 0 or 7 <= int(rest[1]) <= 180)):
        raise Refused("alarm_time")
    _refuse_vm(tool)
    tool.device.call("tls", change=True)
    tool.device.set(tls_alarm=rest[1])


def _set_certificates(tool: Tool, rest: list[str]) -> None:
    """Set certificates: only the existence of the files is checked, not the chain."""
    import os

    files = dict(zip(rest[2::2], rest[3::2]))
    if not all(os.path.isfile(os.path.join(rest[1], name)) for name in files.values()) or not files:
        raise Refused("file_path")
    _refuse_vm(tool)
    tool.device.call("tls", change=True)
    tool.device.set(tls_preset="0", tls_nocert=None)


def _clear(tool: Tool) -> None:
    _refuse_vm(tool)
    tool.device.call("tls", change=True)
    tool.device.set(tls_nocert="1")


def _refuse_vm(tool: Tool) -> None:
    if tool.device.is_set("vm"):
        raise Refused("vm")
