"""Check that the time of each parser grows linearly with its text: parse a text and one of ten times its length.

The ratio is 10 for linear and 100 for quadratic time. Times below a hundredth of a second are printed without a ratio, because the clock is too coarse for
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from tests.lab.fuzz import targets

SHORT, LONG = 100_000, 1_000_000
REFERENCE = 25
UNSEEN = 0.01


def seconds(call: Callable[[Any], Any], text: str) -> float:
    """Return the CPU seconds of the fastest of three calls."""
    found = []
    for _time in range(3):
        start = time.process_time()
        try:
            call(text)
        except HccnError:
            pass
        found.append(time.process_time() - start)
    return min(found)


def test_time_grows_linearly(capsys: pytest.CaptureFixture[str]) -> None:
    every, worst = targets.seeds(), []
    with capsys.disabled():
        print()
        for name, call in targets.text_targets().items():
            for own in (every.get(name.split(".")[1]) or every[""])[:12]:
                text = own if own.endswith("\n") else own + "\n"
                low, high = (seconds(call, (text * (size // len(text) + 1))[:size]) for size in (SHORT, LONG))
                if high > UNSEEN:
                    worst.append((high / max(low, UNSEEN / 10), name, low, high))
        for ratio, name, low, high in sorted(worst, reverse=True)[:10]:
            print(f"{name}: {ratio:.1f} (reference {REFERENCE}): {SHORT // 1000} kB in {low:.3f} s, {LONG // 1000} kB in {high:.3f} s")
    assert [name for ratio, name, _low, _high in worst if ratio > REFERENCE] == []
