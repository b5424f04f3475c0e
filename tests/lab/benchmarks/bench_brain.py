"""Benchmark the plans and the diagnosis of the fabric check on simulated fabrics, over all seeds and sizes.

HCCN_TRIALS limits the number of seeds. ``make simulate`` prints the same table without pytest.
"""

from __future__ import annotations

import os
import secrets

import pytest

from tests.lab.fabric_simulation.__main__ import rows


def test_all_checks_pass(capsys: pytest.CaptureFixture[str]) -> None:
    fresh = secrets.randbelow(10**9)
    bad = []
    with capsys.disabled():
        print(f"\nthe fresh seed is {fresh}")
        for row in rows(int(os.environ.get("HCCN_TRIALS", "300")), fresh, 4096):
            print(f"{row.check}: {row.found} (wanted: {row.wanted}) [{row.seconds:.0f} s]")
            bad += [] if row.good else [(row.check, *row.details)]
    assert not bad
