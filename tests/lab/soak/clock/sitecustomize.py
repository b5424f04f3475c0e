"""Python's clock, SOAK_DAYS days ahead, for a process that has this folder in its path. What waits by the monotonic clock waits as always."""

from __future__ import annotations

import datetime
import os
import time

AHEAD = float(os.environ.get("SOAK_DAYS", "0")) * 86_400
real = time.time


class Ahead(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return super().fromtimestamp(time.time(), tz)


if AHEAD:
    time.time = lambda: real() + AHEAD
    datetime.datetime = Ahead  # type: ignore[misc]
