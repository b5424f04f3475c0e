"""The texts of the tool's refusals: each text once, with its exit code and stream."""

from __future__ import annotations

OUT, ERR = "stdout", "stderr"

# name: (exit code, text, stream, followed by the command's usage)
REFUSALS = {
    # command line
    "cmd_type": (1, 'Get invalid major cmd type. The valid major cmd type should be "-a" or "-i".', ERR, False),
    "cmd_number": (2, "Get invalid major cmd number. Please check your input.", ERR, False),
    "cmd_unknown": (3, "Get invalid major cmd.", ERR, False),
    "device_id": (4, "Get invalid device id.", ERR, False),
    "argument_length": (5, "Get invalid input param len.", ERR, False),
    # parameters
    "parameters": (1, "Get invalid parameters!", ERR, True),
    "file_path": (2, "The file path input is invalid!", ERR, False),
    "option": (3, "Get unknown option!", ERR, True),
    "count": (4, "The total count of input parameters is wrong!", ERR, True),
    "mac": (5, "The mac address you configured is invalid or saved by system", ERR, False),
    "address": (6, "The ip address you configured is invalid!", ERR, False),
    "conflict": (7, "The ip address configured is conflicted!", ERR, False),
    "segment": (8, "The segment of configured gateway doesn't match that of the configured ip adress!", ERR, False),
    "range_dscp": (9, "The value of dscp you input is out of the valid range!", ERR, True),
    "range_tc": (10, "The value of tc you input is out of the valid range!", ERR, True),
    "range_bw": (11, "The value of bw limit you input is out of the valid range!", ERR, True),
    "range_mtu": (13, "The value of mtu you input is out of the valid range!", ERR, True),
    "no_certificate": (14, "No certificate found, please set certs firstly!", ERR, False),
    "alarm_time": (15, "Get invalid alarm time!", ERR, True),
    "enable_value": (16, "Get invalid enable value!", ERR, True),
    # the tool itself
    "generic": (1, "Cmd execute failed!", ERR, False),
    "conf_write": (
        4,
        "Write configurations to config file failed. User configurations cannot be persisted! pls check cmd run permission.",
        ERR,
        False,
    ),
    "conf_read": (5, "Read file failed, cmd execute failed! pls check cmd run permission.", ERR, False),
    "busy": (11, "hccn_tool is busy, please try again.", OUT, False),
    "permission": (12, "permission denied: pls check this cmd run permission.", ERR, False),
    "product": (13, "The command is not supported on this product.", OUT, False),
    "conf_space": (15, "The hccn.conf has no enough space to save user configurations.", ERR, False),
    "route_exists": (20, "Route already exist in routing table!", ERR, False),
    "route_missing": (21, "Route not exist in routing table, can not delete!", OUT, False),
    "aborted": (22, "User aborts command.", OUT, False),
    "pfc_count": (25, "The number of pfc priority queues exceeds the maximum value(4).", OUT, False),
    "gateway_no_ip": (26, "Unable to configure gateway, because ip is not configured!", ERR, False),
    "mtu_ipv6": (27, "Unable to configure IPV6 address, because mtu is less than 1280!", ERR, False),
    "conf_access": (29, "The hccn.conf can't access, cmd execute failed! pls check the conf file or cmd run permission.", ERR, False),
    "default_route": (35, "Can not add or delete default route! Please use hccn_tool gateway cfg cmd!", ERR, False),
    "occupied": (31, "The device is occupied. Please try again later.", ERR, False),
    "broadcast": (37, "Can not config broadcast address!", ERR, False),
    # the device
    "device": (1, "Command execute failed!", ERR, False),
    "no_gateway": (2, "Get gateway failed, because no gateway was preset there!", ERR, False),
    "health": (3, "Get device health status failed!", ERR, False),
    "certificate_illegal": (5, "The certificates are illegal!", ERR, False),
    "no_address": (13, "Get ipconf failed, because no ip was preset there!", ERR, False),
    "vm": (21, "The VM does not support this command.", ERR, False),
    "link_down": (22, "Execute failed: Link status is down.", ERR, False),
    "certificate_expired": (23, "The Certificate has expired!", ERR, False),
    "timeout": (1, "The cmd line execute timeout!", ERR, False),
    # no separate text
    "user_name": (234, "", ERR, False),
    "silent": (1, "", ERR, False),
}
MORE_HELP = "Enter [ hccn_tool -h ] for more details."
WITH_MORE_HELP = ("cmd_type", "cmd_number", "cmd_unknown")


class Refused(Exception):
    """The tool exits: ``name`` is a key of REFUSALS; ``exit_code`` replaces the usual one."""

    def __init__(self, name: str, exit_code: int | None = None) -> None:
        super().__init__(name)
        self.name = name
        code, self.text, self.stream, self.usage = REFUSALS[name]
        self.exit_code = code if exit_code is None else exit_code
