# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The causes of findings: the default severity, the meaning and the next step of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

FAILED, SLOW, DEGRADED, UNKNOWN, NOTE = SEVERITIES = ("failed", "slow", "degraded", "unknown", "note")
"""Worst first."""


class Cause(NamedTuple):
    """``meaning``: a sentence for the documentation. ``next_step``: a text with the placeholders ``{host}``, ``{devices}`` and ``{device}``."""

    severity: str
    meaning: str
    next_step: str = ""


MOST_HOSTS = 16
"""Hosts that a command names; for more of them it contains ``HOSTS``."""

_BRING_UP = "ansible-playbook hccn.cluster.bring_up -e hccn_hosts={host}"
_CHECK = "ansible-playbook hccn.cluster.bring_up --check --diff -e hccn_hosts={host}"
_FABRIC = "ansible-playbook hccn.cluster.check_fabric"
"""For all hosts, since a single one has no partners."""
_VALIDATE = "ansible-playbook hccn.cluster.validate"
_OPTICS = "On {host}: hccn_tool -i {device} -optical -g"
_LOG = "On {host}: npu-smi info, and read /var/log/hccn_tool/hccn.log"
_VERSIONS = "On {host}: npu-smi info -t board -i 0"

CAUSES: Mapping[str, Cause] = {
    # State of a device.
    "link_down": Cause(FAILED, "The link of an NPU is down; on the 950 degraded if some of its ports or lanes are.", _OPTICS),
    "no_such_device": Cause(FAILED, "The host does not have the requested NPU, or has no NPU at all.", "On {host}: npu-smi info -m"),
    "tool_missing": Cause(FAILED, "hccn_tool or npu-smi is not installed on the host, or not at the configured path.",
                          "Install the driver on {host}, or set hccn_tool and npu_smi to the paths of the tools"),
    "perf_tool_missing": Cause(FAILED, "The measuring tool, such as perftest or iperf3, is not installed on the host.",
                               "ansible-playbook hccn.cluster.perf_tools -e hccn_hosts={host}"),
    "tool_failed": Cause(FAILED, "hccn_tool or npu-smi failed, for NPUs or for the host as a whole.", _LOG),
    "device_error": Cause(FAILED, "An NPU did not answer, is not ready, or is unknown to the driver.", _LOG),
    "address_not_set": Cause(FAILED, "An NPU has no address.", _BRING_UP),
    "address_invalid": Cause(FAILED, "The address of an NPU cannot be used.", _BRING_UP),
    "address_conflict": Cause(FAILED, "Several NPUs have the same address.", _CHECK),
    # hccn.conf compared with the device.
    "conf_differs": Cause(DEGRADED, "hccn.conf and the device have different values. The next reboot sets those of hccn.conf.", _CHECK),
    "conf_problem": Cause(DEGRADED, "hccn_tool does not read a line or the end of hccn.conf as intended.",
                          "ansible-playbook hccn.cluster.validate -e hccn_hosts={host}"),
    # Comparison of hosts.
    "machine_listed_twice": Cause(FAILED, "Two names of the inventory are the same machine.", "Remove one of {host} from the inventory"),
    "serial_duplicate": Cause(FAILED, "NPUs of several hosts have the same serial number.", "On {host}: npu-smi info -t board -i 0"),
    "tls_differs": Cause(FAILED, "TLS is on for some NPUs and off for others: a collective over both cannot start.",
                         "ansible-playbook hccn.cluster.tls -e tls_state=disabled"),
    "tls_not_set": Cause(FAILED, "TLS could not be set on every host. On the other hosts it was left unchanged or restored.",
                         "Repair the hosts that failed or exclude them with hccn_hosts, then run: ansible-playbook hccn.cluster.bring_up"),
    "no_certificate": Cause(FAILED, "An NPU has no TLS certificate, so TLS cannot be enabled on it.",
                            "On {host}: hccn_tool -i {device} -tls -s path FOLDER pri KEY.pem pub CERTIFICATE.pem ca1 CA1.pem ca2 CA2.pem"),
    "mtu_differs": Cause(DEGRADED, "The MTU differs from that of the other hosts.", _CHECK),
    "speed_differs": Cause(DEGRADED, "The speed of a link differs from that of the other NPUs.", _OPTICS),
    "driver_differs": Cause(DEGRADED, "The driver differs from that of the other hosts of the product.", _VERSIONS),
    "firmware_differs": Cause(DEGRADED, "The firmware differs from that of the other hosts of the product.", _VERSIONS),
    "cann_differs": Cause(DEGRADED, "The CANN toolkit differs from that of the other hosts of the product.", "Install the same CANN toolkit on {host}"),
    "qos_differs": Cause(DEGRADED, "PFC or the traffic classes of DSCP values differ from those of the other hosts: without PFC, packets are lost.",
                         _CHECK),
    "gid_differs": Cause(DEGRADED, "The GID of an RDMA port has another type than those of the other hosts.", "On {host}: show_gids, or read rdma_info"),
    "changed_since": Cause(NOTE, "A version or a setting of the host is not that of the last run: it was exchanged, installed or configured anew.", _CHECK),
    # Ports and cabling.
    "optics_out_of_range": Cause(DEGRADED, "The optical module of an NPU reports a value beyond its own limits.",
                                 _OPTICS + ", then clean or exchange the module or its fiber"),
    "optics_dim": Cause(NOTE, "The optical module of an NPU receives much less light than those of the other NPUs.", _OPTICS),
    "errors_growing": Cause(DEGRADED, "Packets with errors arrived at or left the port of an NPU during the run.",
                            "On {host}: hccn_tool -i {device} -stat -g, then clean or exchange the module or its fiber"),
    "link_flaps": Cause(DEGRADED, "The link of an NPU went down during the run; a note if it only did so more often than those of other NPUs before.",
                        "On {host}: hccn_tool -i {device} -link_stat -g"),
    "cable_swapped": Cause(DEGRADED, "Two NPUs are connected to each other's switch.", "Exchange the two cables, then: " + _FABRIC),
    "cabling_differs": Cause(DEGRADED, "An NPU is connected to another switch than the inventory or the same NPU of the other hosts.",
                             "Compare the cable of NPU {device} of {host} with the cabling plan"),
    # A host.
    "unreachable_host": Cause(FAILED, "Ansible could not reach the host, or lost it.", "ansible {host} -m ansible.builtin.ping -vvv"),
    "failed_task": Cause(FAILED, "A task failed on the host, or for the whole run.", "Read the message of the task above"),
    # The fabric.
    "slow_npu": Cause(SLOW, "An NPU is slow with partners that are proven to be good.", _OPTICS),
    "failed_npu": Cause(FAILED, "An NPU fails with partners that are proven to be good.", _OPTICS),
    "slow_host": Cause(SLOW, "Nearly all NPUs of a host are slow, or the host as a whole is.", _CHECK),
    "failed_host": Cause(FAILED, "Nearly all NPUs of a host fail, or the host as a whole does.", _CHECK),
    "busy_npu": Cause(UNKNOWN, "An NPU was in use and was not measured.", "When the job has ended: " + _FABRIC),
    "busy_host": Cause(UNKNOWN, "Another run or a job used the host, so it was not measured.", "When the other run or job has ended: " + _FABRIC),
    "not_measured": Cause(UNKNOWN, "Nothing was measured, and no fault is known.", _FABRIC),
    "answer_not_understood": Cause(UNKNOWN, "The host reported a value that is impossible, or an answer that cannot be understood. It was dropped.",
                                   "Compare the clock, the tools and their versions of {host} with those of the other hosts"),
    "slow_fabric": Cause(SLOW, "A rail, a leaf, an uplink, a spine, a path or another part of the fabric is slow.",
                         "Compare the ports, PFC, ECN and MTU of the switches on it with those of another one"),
    "failed_fabric": Cause(FAILED, "Pairs over a rail, a leaf, an uplink, a spine, a path or another part of the fabric fail.",
                           "Check the links, routes and access lists of the switches on it"),
    "regression": Cause(SLOW, "An NPU is slower than its baseline, even if it is not slower than the other NPUs.", _OPTICS),
    # Rank table and collective.
    "rank_table_problem": Cause(FAILED, "The rank table breaks a rule of the software that reads it.", "Read docs/howto/rank_table_refused.rst"),
    "collective_failed": Cause(FAILED, "The collective ended with an error.", "Search docs/troubleshooting.rst for the text of the error"),
    "collective_slow": Cause(SLOW, "A collective over these hosts is slower than over other hosts, or than the floor.", _FABRIC),
    "collective_skipped": Cause(NOTE, "The collective was not run."),
    # The job itself.
    "resume_refused": Cause(FAILED, "The run to resume cannot be resumed on some hosts, which were not measured.",
                            "Run again without check_fabric_resume to measure all pairs"),
    "no_report": Cause(NOTE, "No report could be written.", "Enable the callback: callbacks_enabled = hccn.cluster.results in ansible.cfg"),
    "no_hosts": Cause(FAILED, "hccn_hosts matches no host of the inventory.", "ansible-inventory --graph"),
    "unknown_variable": Cause(FAILED, "A variable has a name like those of the collection, but the collection does not have it.", _VALIDATE),
    "invalid_variable": Cause(FAILED, "A variable of the collection has the wrong type or a value that is not allowed.", _VALIDATE),
    "requirement_missing": Cause(FAILED, "Something that the job needs on the controller is not installed or not enabled.",
                                 "Install or enable what the message names"),
}

CAUSE_OF_CODE: Mapping[str, str] = {
    "tool_missing": "tool_missing",
    **dict.fromkeys(("no_device", "no_such_device", "device_absent", "invalid_device"), "no_such_device"),
    **dict.fromkeys(("device_failed", "device_not_ready", "device_memory_low", "device_error"), "device_error"),
    **dict.fromkeys(("link_down", "control_link_unreachable"), "link_down"),
    "address_not_set": "address_not_set",
    **dict.fromkeys(("address_invalid", "invalid_address", "broadcast_address", "address_conflict"), "address_invalid"),
    "address_duplicate": "address_conflict",
    "no_certificate": "no_certificate",
    **dict.fromkeys(("no_final_newline", "nul_bytes", "conf_unparsable", "conf_inaccessible", "conf_full", "conf_open_failed", "conf_read_failed",
                     "conf_not_persisted"), "conf_problem"),
    **dict.fromkeys(("device_busy", "busy_unknown", "tool_busy", "device_occupied", "roce_test_running", "address_changed"), "busy_npu"),
    "host_in_use": "busy_host",
    "answer_not_understood": "answer_not_understood",
    "invalid_input": "failed_task",
}
"""The cause by the error code of a module."""


def of_code(code: str, default: str) -> str:
    """Return the cause of an error with this code."""
    return CAUSE_OF_CODE.get(code, default)


_ON_PORTS: Mapping[str, str] = dict.fromkeys(("slow_npu", "failed_npu", "slow_host", "failed_host", "regression"), "On {host}: ip -s link")
"""The next steps that differ for hosts without NPUs, where a tool of the host measures ports of network cards."""


def next_step(cause: str, hosts: Sequence[str], devices: Iterable[int]) -> str:
    """Return the next step of a cause for these hosts and NPUs, an empty text if there is none."""
    known = CAUSES.get(cause)
    return _step(known.next_step, hosts, devices) if known else ""


def next_step_on_ports(cause: str, hosts: Sequence[str]) -> str:
    """Return the next step of a cause for these hosts without NPUs, an empty text if it is the same as with NPUs."""
    return _step(_ON_PORTS.get(cause, ""), hosts, ())


def as_pattern(hosts: Sequence[str]) -> str:
    """Return the hosts as a command names them."""
    return ",".join(hosts) if 0 < len(hosts) <= MOST_HOSTS else "HOSTS"


def _step(text: str, hosts: Sequence[str], devices: Iterable[int]) -> str:
    ids = sorted(set(devices))
    values = {"{host}": as_pattern(hosts), "{devices}": ",".join(map(str, ids)) or "N", "{device}": str(ids[0]) if ids else "N"}
    # Host names are inserted last, so that a name never acts as a placeholder.
    for key in ("{devices}", "{device}", "{host}"):
        text = text.replace(key, values[key])
    return text
