"""Wait for something that another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PAUSE_S = 0.02


def happens(condition: Callable[[], Any], seconds: float = 20.0) -> bool:
    """Return True as soon as the condition holds, False if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_S)
    return True


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return the value of the condition as soon as it is true; fail the test if it does not become true in time."""
    found: list[Any] = []
    assert happens(lambda: found.append(condition()) or found[-1], seconds), f"{condition} did not become true within {seconds} s"
    return found[-1]
