"""Time as the tool sees it; a test puts a clock of its own in its place."""

from __future__ import annotations

import time


class Clock:
    now = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
