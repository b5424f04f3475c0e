"""Paths of the project, and the register of skipped tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = ROOT / "collections/ansible_collections/hccn/cluster"
SIMULATOR = ROOT / "tests/simulator"
REGISTER = ROOT / "tests/exceptions.yml"


def skip(name: str, detail: str = "") -> NoReturn:
    """Skip the test for the reason registered under ``name`` in tests/exceptions.yml. An unregistered name fails it."""
    entries = {entry["name"]: entry for entry in yaml.safe_load(REGISTER.read_text())["skips"]}
    if name not in entries:
        pytest.fail(f"skip {name!r} is not registered in {REGISTER.name}")
    reason = entries[name]["reason"]
    pytest.skip(f"{name}: {reason}{' (' + detail + ')' if detail else ''}")


def shared(path: str) -> Path:
    """Return a file or folder of the reference material, which is in HCCN_SHARED, by default beside the checkout."""
    folder = Path(os.environ.get("HCCN_SHARED") or ROOT.parent / "shared")
    if not (folder / path).exists():
        skip("reference-material", path)
    return folder / path
