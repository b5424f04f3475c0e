# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The failure messages of hccn_tool and the errors that they mean.

Source: hicann/driver, src/custom/network/hccn/ascend910B (A2, A3). The exit code is the low byte of an internal code and therefore ambiguous, so it
is only used if there is no known message. Messages are printed on stdout or stderr.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple

from .._core.errors import HccnError
from .._core.process import Result
from .._core.words import beginning

SUCCESS = "Cmd executed successfully!"
BUSY = "tool_busy"
NOT_PERSISTED = "conf_not_persisted"  # the device was changed, but not hccn.conf
NO_PASSWD_ENTRY_EXIT = 234
_NO_ERROR = re.compile(r"^\s*\[Warning\]|%s" % re.escape(SUCCESS))
"""Lines that never tell why a run failed: the remark about preset certificates, and the report of success."""


class Failure(NamedTuple):
    """``text`` is searched for inside a line."""

    text: str
    code: str
    hint: str = ""


# Specific messages come first: a run may print a specific and a generic message, and the specific one is the error.
FAILURES: Tuple[Failure, ...] = (
    Failure("hccn_tool is busy, please try again.", BUSY, "another hccn_tool is running on this device: try again"),
    Failure("I2c is busy. Please try again.", "i2c_busy", "the optical module is being read by another caller: try again"),
    Failure("The device is occupied. Please try again later.", "device_occupied", "another hccs_ping is running on this device: try again"),
    Failure("permission denied: pls check this cmd run permission.", "permission_denied", "run as root (become: true)"),
    Failure("Get gateway failed, because no gateway was preset there!", "gateway_not_set", "set one: hccn_tool -i N -gateway -s gateway A"),
    Failure("Get ipconf failed, because no ip was preset there!", "address_not_set", "set one: hccn_tool -i N -ip -s address A netmask M"),
    Failure("No certificate found, please set certs firstly!", "no_certificate", "set one: hccn_tool -i N -tls -s path P pri F pub F ca1 F"),
    Failure("The Certificate has expired!", "certificate_expired", "set a valid certificate, then set the TLS flag again"),
    Failure("The certificates are illegal!", "certificate_illegal", "set a valid certificate, then set the TLS flag again"),
    Failure("Failed to verify the certificate chain", "certificate_chain", "the certificate and its CA files do not belong together"),
    Failure("Unable to configure gateway, because ip is not configured!", "gateway_without_address", "set the address first"),
    Failure("Unable to configure IPV6 address, because mtu is less than 1280!", "mtu_too_small_for_ipv6", "set an mtu of 1280 or more first"),
    Failure("The segment of configured gateway doesn't match", "gateway_outside_network", "the gateway must lie in the network of the address"),
    Failure("The ip address you configured is invalid!", "invalid_address", "give a plain IP address and a contiguous netmask"),
    Failure("The ip address configured is conflicted!", "address_conflict", "the network is reserved on this product, or a sibling die has the address"),
    Failure("Inconsistent address and mask!", "address_mask_mismatch", "the route's address has bits outside its netmask"),
    Failure("Can not config broadcast address!", "broadcast_address", "give the address of a host"),
    Failure("Can not add or delete default route!", "default_route", "use the gateway instead of a default route"),
    Failure("Route already exist in routing table!", "route_exists"),
    Failure("Route not exist in routing table", "route_missing"),
    Failure("Route rows reaches max!", "route_table_full"),
    Failure("The number of configuration exceed the limit!", "too_many_entries"),
    Failure("The number of pfc priority queues exceeds the maximum value", "too_many_pfc_queues"),
    Failure("The mac address you configured is invalid or saved by system", "invalid_mac"),
    Failure("Write configurations to config file failed.", NOT_PERSISTED,
            "the device did change, but hccn.conf did not: the setting is lost at the next boot; make the file writable and set it again"),
    Failure("The hccn.conf can't access", "conf_inaccessible", "create /etc/hccn.conf (root, readable and writable); the tool never creates it"),
    Failure("The hccn.conf has no enough space", "conf_full", "hccn_tool writes at most 1,023,999 bytes: remove lines from the file"),
    Failure("Parsing configurations from config file failed", "conf_unparsable", "correct hccn.conf; hccn_conf in check mode names its lines"),
    Failure("Open file failed, cmd execute failed!", "conf_open_failed", "run as root, and check the path of hccn.conf"),
    Failure("Read file failed, cmd execute failed!", "conf_read_failed", "run as root: an ordinary user may not write hccn.conf"),
    Failure("Link up executed, but recovery failed", "link_up_recovery_failed", "see /var/log/hccn_tool/hccn_config.log"),
    Failure("Recovery failed. Check", "recovery_failed", "see /var/log/hccn_tool/hccn_config.log: a key of hccn.conf could not be set"),
    Failure("Execute failed: Link status is down.", "link_down", "check cable, optical module and switch port"),
    Failure("Control link unreachable.", "control_link_unreachable"),
    Failure("Optical module is not present.", "optical_absent", "no module is plugged in"),
    Failure("Command unsupported on this optical module.", "optical_unsupported"),
    Failure("The command is not supported on this product.", "unsupported_on_product"),
    Failure("The VM does not support this command.", "unsupported_in_vm", "run it on the host"),
    Failure("This device does not support switching fec mode.", "fec_not_switchable"),
    Failure("This device does not support IPV6!", "ipv6_unsupported"),
    Failure("This device does not support bonding!", "bonding_unsupported"),
    Failure("User aborts command.", "aborted", "the tool asks before this command; this module does not answer"),
    Failure("Roce perftest is doing, please try later.", "roce_test_running", "hccn_tool -i N -roce_test reset ends it"),
    Failure("There isn't enough memory to perform the requested", "device_memory_low", "only message size and iterations may be given then"),
    Failure("There is not enough memory to perform the requested", "device_memory_low", "use smaller sizes, or fewer iterations or queue pairs"),
    Failure("Please add \"-tcp\"", "tcp_missing"),
    Failure("Get device health status failed!", "device_not_ready", "the device did not answer for 300 s: see npu-smi info"),
    Failure("The device is not exist!", "device_absent", "see npu-smi info for the devices of this host"),
    Failure("Get invalid device id.", "invalid_device", "see npu-smi info for the devices of this host; ids are physical ids"),
    Failure("The total count of input parameters is wrong!", "wrong_argument_count"),
    Failure("Get unknown option!", "unknown_option", "this version of hccn_tool does not know the option"),
    Failure("Get invalid major cmd type.", "invalid_command_type", "the arguments are of another dialect of hccn_tool"),
    Failure("Get invalid major cmd number.", "invalid_command_number"),
    Failure("Get invalid major cmd.", "unknown_command", "this version of hccn_tool does not know the command"),
    Failure("Get invalid input param len.", "argument_too_long"),
    Failure("Get invalid enable value!", "invalid_enable_value"),
    Failure("Get invalid alarm time!", "invalid_alarm_time"),
    Failure("The file path input is invalid!", "invalid_file_path"),
    Failure("you input is out of the valid range!", "value_out_of_range"),
    Failure("Get invalid parameters!", "invalid_parameters"),
    Failure("The cmd line execute timeout!", "tool_timeout", "the device did not finish within the tool's own limit"),
    Failure("Command execute failed!", "device_failed", "the device refused or did not answer: see npu-smi info and /var/log/hccn_tool/hccn.log"),
    Failure("Cmd execute failed!", "tool_failed", "see /var/log/hccn_tool/hccn.log"),
)

MESSAGE_LIMIT = 200
"""Maximum length of a line in a message. The longest message of hccn_tool has 143 characters."""


def _cut(line: str) -> str:
    return beginning(line.strip(), MESSAGE_LIMIT)


def _known_failure(result: Result) -> Optional[HccnError]:
    lines = (result.stderr + "\n" + result.stdout).splitlines()
    for failure in FAILURES:
        for line in lines:
            if failure.text in line:
                return HccnError(failure.code, _cut(line), failure.hint)
    return None


def failure_of(result: Result) -> Optional[HccnError]:
    """Return the error of a run of hccn_tool, None if neither its output nor its exit code reports a failure."""
    if result.timed_out:
        return HccnError("timeout", "no answer within %.0f s: %s" % (result.duration_s, " ".join(result.argv)),
                         "the device may be not ready (npu-smi info), or another process holds hccn.conf locked (lslocks)")
    known = _known_failure(result)
    if known is not None:
        return known
    if result.rc < 0:
        return HccnError("tool_killed", "hccn_tool was ended by signal %d" % -result.rc)
    if result.rc == NO_PASSWD_ENTRY_EXIT and not result.stdout and not result.stderr:
        return HccnError("no_passwd_entry", "hccn_tool printed nothing (exit code %d)" % result.rc, "the uid has no passwd entry in this container")
    if result.rc != 0:
        output = [line for line in (result.stderr + "\n" + result.stdout).splitlines() if line.strip() and not _NO_ERROR.search(line)]
        if output:
            return HccnError("tool_exit_%d" % result.rc, _cut(output[0]))
        if SUCCESS in result.stdout:
            return HccnError("tool_exit_%d" % result.rc, "hccn_tool reported success, but exited with %d" % result.rc, "query the device")
        return HccnError("tool_exit_%d" % result.rc, "hccn_tool printed no error (exit code %d)" % result.rc if (result.stdout + result.stderr).strip()
                         else "hccn_tool printed nothing (exit code %d)" % result.rc)
    return None


def set_failure_of(result: Result) -> Optional[HccnError]:
    """Return the error of a command that changes something. In addition to ``failure_of``, a missing success message is an error."""
    error = failure_of(result)
    if error is None and SUCCESS not in result.stdout:
        return HccnError("not_confirmed", "hccn_tool exited with 0 but did not report success: %s" % " ".join(result.argv),
                         "the state of the device is unknown: query the device")
    return error
