"""A stand-in for the Python package llm_datadist of CANN: links are real TCP connections, everything else is bookkeeping.

LLM_SIM_HANG: names of methods that never return. LLM_SIM_LOG: a file that gets a line for each call.
"""

from __future__ import annotations

import enum
import os
import socket
import threading
import time
from typing import Any

MAX_CLUSTERS = 16


class LLMRole(enum.Enum):
    PROMPT = 1
    DECODER = 2


class LLMStatusCode(enum.IntEnum):
    LLM_SUCCESS = 0
    LLM_FAILED = 0x5010B0FF
    LLM_PARAM_INVALID = 0x5010B005
    LLM_NOT_YET_LINK = 0x5010B007
    LLM_ALREADY_LINK = 0x5010B008
    LLM_LINK_FAILED = 0x5010B009
    LLM_UNLINK_FAILED = 0x5010B00A
    LLM_CLUSTER_NUM_EXCEED_LIMIT = 0x5010B00C


class LLMException(RuntimeError):
    def __init__(self, text: str, status_code: LLMStatusCode) -> None:
        super().__init__(text)
        self.status_code = status_code


class LLMConfig:
    """Only options that were set are returned."""

    device_id: int
    local_comm_res: str
    listen_ip_info: str

    def generate_options(self) -> dict[str, str]:
        return {key: str(value) for key, value in vars(self).items()}


class LLMClusterInfo:
    def __init__(self) -> None:
        self.remote_cluster_id = -1
        self.local: list[tuple[str, int]] = []
        self.remote: list[tuple[str, int]] = []

    def append_local_ip_info(self, ip: str, port: int) -> None:
        self.local.append((ip, port))

    def append_remote_ip_info(self, ip: str, port: int) -> None:
        self.remote.append((ip, port))


def _called(name: str, detail: str = "") -> None:
    if os.environ.get("LLM_SIM_LOG"):
        with open(os.environ["LLM_SIM_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{name} {detail}\n".replace(" \n", "\n"))
    if name in os.environ.get("LLM_SIM_HANG", "").split(","):
        while True:
            time.sleep(60)


class LLMDataDist:
    def __init__(self, role: LLMRole, cluster_id: int) -> None:
        if not isinstance(role, LLMRole):
            raise TypeError("role")
        self._id = cluster_id
        self._server: socket.socket | None = None
        self._links: dict[int, socket.socket] = {}
        self._options: dict[str, str] = {}

    def init(self, options: dict[str, str]) -> None:
        _called("init", options.get("listen_ip_info", ""))
        if "device_id" not in options or "local_comm_res" not in options:
            raise LLMException("init", LLMStatusCode.LLM_PARAM_INVALID)
        self._options = options
        if "listen_ip_info" in options:
            ip, port = options["listen_ip_info"].rsplit(":", 1)
            try:
                self._server = socket.create_server((ip, int(port)))
            except OSError as error:
                raise LLMException(f"listen: {error.strerror}", LLMStatusCode.LLM_FAILED) from error
            threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def _accept(self, server: socket.socket) -> None:
        """Answer each client with the ID of this cluster until the client disconnects."""
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            client.sendall(f"{self._id}\n".encode())

    def link_clusters(self, clusters: list[LLMClusterInfo], timeout: int = 3000) -> tuple[LLMStatusCode, list[LLMStatusCode]]:
        _called("link", " ".join(str(one.remote_cluster_id) for one in clusters))
        if len(clusters) > MAX_CLUSTERS:
            return LLMStatusCode.LLM_CLUSTER_NUM_EXCEED_LIMIT, []
        codes = [self._link(one, timeout) for one in clusters]
        return max(codes), codes

    def _link(self, one: LLMClusterInfo, timeout: int) -> LLMStatusCode:
        if len(one.remote) != 1 or (len(one.local) != 1 and not self._options["local_comm_res"]):
            return LLMStatusCode.LLM_PARAM_INVALID
        if one.remote_cluster_id in self._links:
            return LLMStatusCode.LLM_ALREADY_LINK
        try:
            link = socket.create_connection(one.remote[0], timeout / 1000)
            if int(link.makefile().readline()) != one.remote_cluster_id:
                return LLMStatusCode.LLM_LINK_FAILED
        except (OSError, ValueError):
            return LLMStatusCode.LLM_LINK_FAILED
        self._links[one.remote_cluster_id] = link
        # The other side of these clusters reports that it has the link already.
        return LLMStatusCode.LLM_ALREADY_LINK if str(one.remote_cluster_id) in os.environ.get("LLM_SIM_KNOWN", "").split() else LLMStatusCode.LLM_SUCCESS

    def unlink_clusters(self, clusters: list[LLMClusterInfo], timeout: int = 3000, force: bool = False) -> tuple[LLMStatusCode, list[LLMStatusCode]]:
        _called("unlink", " ".join(str(one.remote_cluster_id) for one in clusters))
        codes: list[Any] = []
        for one in clusters:
            link = self._links.pop(one.remote_cluster_id, None)
            if link is None:
                codes.append(LLMStatusCode.LLM_NOT_YET_LINK)
                continue
            link.close()
            codes.append(LLMStatusCode.LLM_SUCCESS)
        return max(codes, default=LLMStatusCode.LLM_SUCCESS), codes

    def finalize(self) -> None:
        _called("finalize")
        if self._server is not None:
            self._server.close()
