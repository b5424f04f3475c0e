# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of perf_tools: install the packages of missing tools with the package manager of this host."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Mapping, Sequence

from .._core import process
from .._core.errors import HccnError
from .._core.words import ending, printable
from . import packages, preflight
from .proxy import Proxy

ANSWERED_NO = ("Operation aborted", "Exiting on user command")
"""Texts of dnf and yum when a dry run has found all packages."""

_APT_OPTIONS = ("-o", "DPkg::Lock::Timeout=60", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
"""Wait for another apt-get, and keep changed configuration files without asking."""
_QUOTED_CHARACTERS = 1000

Run = Callable[[Sequence[str], float, Mapping[str, str]], process.Result]


def ensure(params: Mapping[str, Any], check_mode: bool, run: Run = process.run,
           probe: Callable[[Mapping[str, Any]], Dict[str, Any]] = preflight.probe) -> Dict[str, Any]:
    """Return the values of perf_tools. Raises HccnError.

    The package manager runs without a Guard: if this process is killed, an installation that has begun is completed.
    """
    proxy = Proxy(params["http_proxy"], params["https_proxy"], params["no_proxy"])
    probing = {"tools": params["tools"], "packages": params["packages"], "addresses": [], "root": "/", "fail_on": "never"}
    found = probe(probing)
    wanted = found["packages"]
    if not found["missing"]:
        return _values(found, [])
    by = packages.manager()
    if by is None:
        raise HccnError("no_package_manager", _sentence(found), "or set the role option perf_tools_wanted to the tools that this host needs")
    session = _Session(proxy, run, params["timeout"])
    if check_mode:
        session.call(by.dry_run + tuple(wanted), accepted=ANSWERED_NO)
        return _values(found, wanted)
    if params["update_cache"]:
        session.call(by.update)
    session.call(by.install + (_APT_OPTIONS if by.name == "apt" else ()) + tuple(wanted))
    values = _values(probe(probing), wanted)
    if values["missing"]:
        values.update(failed=True, msg="%s still missing after the installation of %s: %s" % (
            ", ".join(values["missing"]), ", ".join(wanted), _sentence(values)))
    return values


def _values(found: Mapping[str, Any], installed: Sequence[str]) -> Dict[str, Any]:
    values = {key: value for key, value in found.items() if key not in ("devices", "distribution")}
    return {**values, "changed": bool(installed), "installed": list(installed)}


def _sentence(found: Mapping[str, Any]) -> str:
    return "; ".join("%s (%s)" % (problem["message"], problem["hint"]) for problem in found["problems"])


class _Session:
    """Calls of a package manager within one time limit."""

    def __init__(self, proxy: Proxy, run: Run, seconds: float) -> None:
        self._proxy, self._run, self._seconds = proxy, run, seconds
        self._deadline = time.monotonic() + seconds
        self._environment = {"DEBIAN_FRONTEND": "noninteractive", **proxy.environment()}
        self._warnings: List[str] = []

    def call(self, argv: Sequence[str], accepted: Sequence[str] = ()) -> None:
        """Run the command. Raises HccnError if it fails, unless its output contains one of the ``accepted`` texts."""
        result = self._run(argv, max(1.0, self._deadline - time.monotonic()), self._environment)
        name = " ".join(argv[:2])
        if result.timed_out:
            raise HccnError("timeout", "%s did not end within %.0f s and was killed" % (name, self._seconds),
                            "check whether the repositories of the host can be reached; %s may have to be repaired" % argv[0])
        if result.rc != 0 and not any(text in result.stdout + result.stderr for text in accepted):
            raise HccnError("install_failed", "%s failed with exit status %d: %s" % (name, result.rc, self._quoted(result)), self._hint())
        # apt-get update succeeds even if no repository can be reached, so its warnings explain the failure of the installation.
        self._warnings += [line for line in result.stderr.splitlines() if line.startswith("W: ")]

    def _quoted(self, result: process.Result) -> str:
        lines = [line.strip() for line in [*self._warnings, *(result.stderr.strip() or result.stdout).splitlines()] if line.strip()]
        hidden = self._proxy.hide("; ".join(lines))  # before it is cut, since a part of a password would not be recognised
        return printable(ending(hidden, _QUOTED_CHARACTERS), _QUOTED_CHARACTERS) or "no output"

    def _hint(self) -> str:
        if any(name in self._environment for name in ("http_proxy", "https_proxy")):
            return "check the repositories of the host, and whether the proxy is correct and reaches them"
        return "check the repositories of the host; if it reaches them only through a proxy, set http_proxy and https_proxy"
