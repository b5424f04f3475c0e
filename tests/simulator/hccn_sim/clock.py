"""The tool's clock; a test replaces it with its own."""

from __future__ import annotations

import time


class Clock:
    now = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
