# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Start, link, unlink and end an LlmDataDist through the Python package llm_datadist of CANN.

Source: hicann/hixl docs/zh/api/python/{LLMDataDist,LLMClusterInfo,LLMConfig}.md, examples/python. This runs in a separate process,
since the package loads the driver, which does not survive a fork.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Mapping, Sequence

from .._core.errors import HccnError
from .link_codes import LINKED, UNLINKED, explain
from .link_plan import MAX_CLUSTERS, PREFILL

PACKAGE = "llm_datadist"
_FAILED = "LLM_FAILED"

Remote = Mapping[str, Any]


def _name(code: Any) -> str:
    """Return the name of a status of the package, which is an enumeration."""
    return str(getattr(code, "name", code))


class Endpoint:
    """An initialized LlmDataDist. Raises HccnError ``package_missing`` or ``init_failed``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        try:
            self._api = importlib.import_module(PACKAGE)
        except ImportError as error:
            raise HccnError("package_missing", "the Python package %s cannot be imported: %s" % (PACKAGE, error),
                            "install the toolkit of CANN, and set the variables of its set_env.sh with the keyword environment of the task") from None
        self._timeout = params["timeout_ms"]
        self._local = params["local"]
        role = self._api.LLMRole.PROMPT if params["role"] == PREFILL else self._api.LLMRole.DECODER
        config = self._api.LLMConfig()
        config.device_id = params["device"]
        config.local_comm_res = params["local_comm_res"]
        if params["listen"]:
            config.listen_ip_info = "%s:%d" % (params["listen"]["ip"], params["listen"]["port"])
        try:
            self._own = self._api.LLMDataDist(role, params["cluster"])
            self._own.init(config.generate_options())
        except Exception as error:  # the package raises LLMException, TypeError and ValueError
            raise HccnError("init_failed", "LLM-DataDist does not start on device %d: %s" % (params["device"], self._reason(error)),
                            "see its log, and check that the NPU is idle and hccn.conf exists") from None

    @staticmethod
    def _reason(error: Exception) -> str:
        status = getattr(error, "status_code", None)
        return "%s %s" % (_name(status), error) if status is not None else "%s: %s" % (type(error).__name__, error)

    def _info(self, remote: Remote) -> Any:
        info = self._api.LLMClusterInfo()
        info.remote_cluster_id = remote["cluster"]
        if self._local:
            info.append_local_ip_info(self._local["ip"], self._local["port"])
        info.append_remote_ip_info(remote["ip"], remote["port"])
        return info

    def _each(self, method: Any, remotes: Sequence[Remote]) -> List[str]:
        """Call ``method`` for at most 16 remotes at a time; return the code of each remote."""
        found: List[str] = []
        for start in range(0, len(remotes), MAX_CLUSTERS):
            part = remotes[start:start + MAX_CLUSTERS]
            try:
                whole, codes = method([self._info(remote) for remote in part], self._timeout)
            except Exception as error:  # the package raises various types for invalid parameters
                found += [_name(getattr(error, "status_code", _FAILED))] * len(part)
                continue
            names = [_name(code) for code in codes or ()]
            # A call that fails as a whole may return no codes of its clusters.
            found += names if len(names) == len(part) else [_name(whole)] * len(part)
        return found

    def link(self, remotes: Sequence[Remote]) -> List[Dict[str, Any]]:
        """Link all remotes; return the elements of ``links``."""
        return [{"cluster": remote["cluster"], "code": code, "explained": explain(code),
                 "status": "failed" if code not in LINKED else "linked" if code == LINKED[0] else "already_linked"}
                for remote, code in zip(remotes, self._each(self._own.link_clusters, remotes))]

    def unlink(self, remotes: Sequence[Remote], links: List[Dict[str, Any]]) -> None:
        """Unlink the linked remotes, and record the codes in ``links``."""
        made = [(remote, entry) for remote, entry in zip(remotes, links) if entry["code"] in LINKED]
        for (_remote, entry), code in zip(made, self._each(self._own.unlink_clusters, [remote for remote, _entry in made])):
            entry["unlink"] = code
            if code not in UNLINKED:
                entry["status"] = "failed"
                entry["explained"] = explain(code)

    def close(self) -> None:
        self._own.finalize()
