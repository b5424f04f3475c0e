# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What all modules of the action group hccn.cluster.devices share: their options, hccn_tool, and the devices of the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError, InputError
from . import busy, conf_file, host, saved_state
from .hccn_tool import DRIVER_TOOLS, HccnTool, HccnTool950, find_program
from .npu_smi import NpuSmi
from .parse_950 import is_950_help

FAIL_ON = ("any", "all", "none")

ALLOW_BUSY = {"type": "bool", "default": False}
"""Option of modules that change devices or measure (documented in the fragment hccn.cluster._devices.busy)."""

KEEP_PREVIOUS = {"type": "bool", "default": False}
"""Option of modules that the role bring_up uses to change a host (documented in the fragment hccn.cluster._devices.previous)."""


def options(fail_on: Optional[str], **own: Any) -> Dict[str, Any]:
    """Return the argument spec of a module: the shared options (documented in the fragment hccn.cluster._devices) and those of the module."""
    spec: Dict[str, Any] = {
        "devices": {"type": "list", "elements": "str", "default": ["all"]},
        "hccn_tool": {"type": "str", "default": "hccn_tool"},
        "npu_smi": {"type": "str", "default": "npu-smi"},
        "hccn_conf": {"type": "path", "default": "/etc/hccn.conf"},
        "timeout": {"type": "int", "default": 30},
        "fail_on": {"type": "str", "choices": list(FAIL_ON)},
    }
    if fail_on is not None:
        spec["fail_on"]["default"] = fail_on
    spec.update(own)
    return spec


@dataclass(frozen=True)
class Session:
    """A module call on a host. ``devices`` are the requested devices, in the order given."""

    tool: HccnTool
    host: host.Host
    devices: List[int]
    path: str
    smi: NpuSmi = NpuSmi("npu-smi")

    def refusals(self, devices: Sequence[int], allow_busy: bool) -> Dict[int, Dict[str, Any]]:
        """Return the error of each of ``devices`` that is busy."""
        return busy.refusals(self.tool, self.smi, self.host, devices, allow_busy)

    def require_idle(self, device: int, allow_busy: bool) -> None:
        """Raise HccnError ``device_busy`` or ``busy_unknown`` if the device is busy now."""
        for error in self.refusals([device], allow_busy).values():
            raise HccnError(error["code"], error["message"], error.get("hint", ""))

    def conf_text(self) -> Optional[str]:
        """Return the current text of hccn.conf, None if there is no file. Raises HccnError."""
        return conf_file.read(self.path)

    def save_previous(self, network: saved_state.Entries = (), tls: saved_state.Entries = ()) -> None:
        """Save the values of devices before they are set, for the role restore. If it raises HccnError, nothing may be set."""
        if network or tls:
            self.save(network, tls)

    def save(self, network: saved_state.Entries = (), tls: saved_state.Entries = ()) -> None:
        """Save hccn.conf and these values of devices. If it raises HccnError, nothing may be set."""
        with conf_file.locked(self.path, self.tool.timeout):
            saved_state.save(self.path, self.conf_text(), network, tls)


def start(params: Mapping[str, Any]) -> Session:
    """Find hccn_tool and the devices. Raises HccnError if the tool or the devices are missing or an option is invalid."""
    if params["timeout"] < 1:
        raise InputError("timeout: %d is too short: give 1 second or more" % params["timeout"])
    tool = HccnTool(find_program(params["hccn_tool"], (DRIVER_TOOLS,)), float(params["timeout"]))
    smi = NpuSmi(params["npu_smi"])
    seen = host.probe(smi)
    if seen.product is None and is_950_help(tool.help()):
        seen = replace(seen, product="950")
    if seen.dialect == "950":
        tool = HccnTool950(tool.path, tool.timeout)
    return Session(tool, seen, host.expand(params["devices"], seen.devices), params["hccn_conf"], smi)
