# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Receive the rank table of a job over gRPC: Register, SubscribeRankTable, then the first complete table.

ClusterD registers by job only, so a second Register ends the stream of the previous subscriber, without an error. It sends only complete tables: the first
after 2 s at the earliest, the same table again at every event, and nothing while there is no complete table. Each message numbers the groups differently.
Source: Ascend/mind-cluster component/clusterd/pkg/application/config/{grpc_service,publisher}.go.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.errors import HccnError, ParseError
from .._rank_table import document, global_table
from . import server_codes
from .grpc_channel import Channel
from .subscription import Subscription

MAX_MESSAGES = 100
"""Messages that are reported one by one; all are counted."""


class Received(NamedTuple):
    """``table`` is the last one. ``messages`` describes the first ones; ``received`` counts all. ``preempted`` is True if the server ended the stream."""

    table: Dict[str, Any]
    messages: List[Dict[str, Any]]
    received: int
    preempted: bool


def comparable_content(table: Mapping[str, Any]) -> str:
    """Return the content of a table without the numbers of instances and the order of servers, which differ between messages."""
    groups = table.get("server_group_list")
    if not isinstance(groups, list):
        return json.dumps(table, sort_keys=True)
    fixed = (global_table.COORDINATOR, global_table.CONTROLLER)
    parts = []
    for group in groups:
        fields = dict(group) if isinstance(group, dict) else {"": group}
        if fields.get("group_id") not in fixed:
            fields.pop("group_id", None)
        elif isinstance(fields.get("server_list"), list):
            fields["server_list"] = sorted(fields["server_list"], key=lambda server: json.dumps(server, sort_keys=True))
        parts.append(json.dumps(fields, sort_keys=True))
    return json.dumps([sorted(parts), {key: value for key, value in table.items() if key != "server_group_list"}], sort_keys=True)


def _summary(table: Mapping[str, Any], after: float, duplicate: bool) -> Dict[str, Any]:
    groups = table.get("server_group_list")
    servers = [server for group in groups if isinstance(group, dict) for server in group.get("server_list") or ()] if isinstance(groups, list) else []
    return {"after_s": round(after, 1), "duplicate": duplicate, "groups": len(groups) if isinstance(groups, list) else 0, "servers": len(servers)}


def _silent(job_id: str, seconds: float, losses: str) -> HccnError:
    return HccnError("silent", "ClusterD sent no rank table of job %s within %g s, and no reason%s" % (job_id, seconds, losses),
                     "it sends none for an unknown job, a job that is not of MindIE, and a job without a complete instance, coordinator or controller: "
                     "use source configmap to see what is missing")


def _preempted(job_id: str) -> HccnError:
    return HccnError("preempted", "the stream of job %s ended before a rank table was received: another client has registered for the job" % job_id,
                     "it may be the controller of the job, which registers again: use source configmap, which does not end its stream")


class _Listener:
    """Reads one stream until its first table, then for ``settle`` seconds more."""

    def __init__(self, job_id: str, settle: float) -> None:
        self._job_id = job_id
        self._settle = settle
        self.table: Optional[Dict[str, Any]] = None
        self.messages: List[Dict[str, Any]] = []
        self.received = 0
        self._last_content = ""

    def take(self, message: Mapping[str, Any], after: float) -> None:
        try:
            table = document.parse(message["rankTable"])
        except ParseError as error:
            raise HccnError("unexpected_output", "ClusterD sent an invalid rank table for job %s: %s" % (self._job_id, error.message)) from None
        content = comparable_content(table)
        self.received += 1
        if self.received <= MAX_MESSAGES:
            self.messages.append(_summary(table, after, content == self._last_content))
        if content != self._last_content:
            self.table, self._last_content = table, content

    def listen(self, stream: Any, seconds: float) -> bool:
        """Read the stream; return True if the server ended it. Raises HccnError."""
        timer: Optional[threading.Timer] = None
        try:
            for message in stream:
                self.take(message, time.monotonic() - stream.started)
                if self._settle <= 0:
                    stream.close()
                    return False
                if timer is None:
                    timer = threading.Timer(self._settle, stream.close)
                    timer.daemon = True
                    timer.start()
        except HccnError as error:
            if error.code == "deadline" and self.table is None:
                raise _silent(self._job_id, seconds, stream.losses()) from None
            if error.code != "deadline":
                raise
            return False
        finally:
            if timer is not None:
                timer.cancel()
        return not stream.closed


def subscribe(channel: Channel, job_id: str, role: str, seconds: float, settle: float) -> Received:
    """Return the table of a job. ``settle`` seconds are spent listening after the first one, for instances that complete later. Raises HccnError.

    If the connection or a proxy loses the stream, this registers and subscribes again, since ClusterD has forgotten the client.
    """
    request = {"jobId": job_id, "role": role}

    def register() -> None:
        status = channel.call("config", "Register", request)
        if status["code"] != server_codes.OK:
            raise HccnError("refused", "ClusterD refuses the registration for job %s: %s" % (
                job_id, server_codes.describe(status["code"], status["info"])))

    listener = _Listener(job_id, settle)
    ended = listener.listen(Subscription(channel, "config", "SubscribeRankTable", request, seconds, register), seconds)
    if listener.table is None:
        raise _preempted(job_id)
    return Received(listener.table, listener.messages, listener.received, ended)
