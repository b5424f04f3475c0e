"""Advance Python's wall clock by SOAK_DAYS days in processes that have this folder in their path. The monotonic clock does not change."""

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
