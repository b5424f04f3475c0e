# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The lines with which roles report the result for one host to the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 3
"""The number of problems that a line lists."""


def perf_tools(found: Mapping[str, Any], host: str, foreseen: bool = False) -> str:
    """Return the line with the installed and the missing tools of a host. ``foreseen``: check mode is on, otherwise their packages would be installed."""
    tools = [f"{tool['name']} {tool['version']}" if tool["version"] else str(tool["name"]) for tool in found["tools"] if tool["found"]]
    line = f"{host}: {', '.join(tools) or 'none of the tools'}"
    if foreseen:
        return f"{line}. Would be installed: {', '.join(found['packages'])}"
    if found["missing"]:
        return f"{line}. Missing: " + "; ".join(f"{problem['message']} ({problem['hint']})" for problem in found["problems"])
    return line


@dataclass(frozen=True)
class VariablesFile:
    """The file that adopt writes. ``masked``: files that would hide it or be hidden by it; ``written``: it was written, or would be in check mode."""

    path: str
    masked: Sequence[str]
    differs: bool
    force: bool
    written: bool
    check_mode: bool

    @property
    def outcome(self) -> str:
        if self.masked:
            folder = self.path.removesuffix(".yml")
            return f"not written: Ansible reads only one of {self.masked[0]} and this file; move {self.masked[0]} to {folder}/vars.yml first"
        if self.differs and not self.force:
            return "kept: the file exists with other content (adopt_force replaces it)"
        if not self.written:
            return "up to date"
        return "to be written" if self.check_mode else "written"


def adopted(found: Mapping[str, Any], host: str, info: Mapping[str, Any], file: VariablesFile) -> str:
    """Return the line about the adopted variables of a host. ``found`` is the result of the filter adopted, ``info`` that of device_info."""
    variables = found["variables"]
    problems = [(f"NPU {problem['device']}: " if "device" in problem else "") + str(problem["message"]) for problem in found["problems"]]
    line = (f"{host}: {len(info['devices'])} NPUs ({info.get('product') or 'unknown product'}), addresses of {len(variables['bring_up_network'])}, "
            f"{sum(len(entry['settings']) for entry in variables['bring_up_config'])} other settings, "
            f"TLS {variables['bring_up_tls_state']}, {file.path} {file.outcome}")
    if problems:
        line += f". Problems ({len(problems)}): {'; '.join(problems[:SHOWN])}"
    return line + (f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else "")
