# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Receive the messages of a stream, and subscribe again with backoff while the connection or a proxy loses the stream."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from .._core.errors import HccnError
from .grpc_channel import STREAM_LOST, Channel, Stream

FIRST_PAUSE_S, MAX_PAUSE_S = 0.2, 5.0


class Subscription:
    """The messages of ``method`` for ``seconds``, over as many streams as this takes.

    ``register`` is called before each subscription, since ClusterD forgets a client whose stream ends. Its first failure is that of the subscription.
    ``lost`` is the last error that ended a stream, and ``subscriptions`` the number of streams.
    """

    def __init__(self, channel: Channel, file: str, method: str, request: Mapping[str, Any], seconds: float,
                 register: Callable[[], Any] = lambda: None) -> None:
        self._channel, self._file, self._method, self._request = channel, file, method, request
        self._seconds, self._register = seconds, register
        self._stream: Optional[Stream] = None
        self.closed = False
        self.started = time.monotonic()
        self.lost: Optional[HccnError] = None
        self.subscriptions = 0

    def close(self) -> None:
        """End the iteration. May be called from any thread."""
        self.closed = True
        stream = self._stream
        if stream is not None:
            stream.close()

    def _left(self) -> float:
        return self.started + self._seconds - time.monotonic()

    def _over(self) -> HccnError:
        return HccnError("deadline", "no message within %g s%s" % (self._seconds, self.losses()), self.lost.hint if self.lost else "")

    def losses(self) -> str:
        """Return how often the stream was lost, to be appended to a sentence; empty if it never was."""
        if self.lost is None:
            return ""
        return "; the stream was opened %d times, and lost at last because %s" % (self.subscriptions, self.lost.message)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yield the messages until the server ends the stream early and without an error. Raises HccnError, with code ``deadline`` when the time is over."""
        pause = FIRST_PAUSE_S
        while not self.closed:
            try:
                self._register()
                self._stream = self._channel.stream(self._file, self._method, self._request, max(self._left(), 0.001))
                self.subscriptions += 1
                if self.closed:
                    self._stream.close()
                for message in self._stream:
                    pause = FIRST_PAUSE_S
                    yield message
                return
            except HccnError as error:
                if error.code == "deadline" and self._left() <= 0.5:
                    raise self._over() from None
                if error.code not in STREAM_LOST and error.code != "deadline" or not self.subscriptions:
                    raise
                self.lost = error
            if self._left() <= FIRST_PAUSE_S:
                raise self._over()
            time.sleep(min(pause, self._left() / 2))
            pause = min(2 * pause, MAX_PAUSE_S)
