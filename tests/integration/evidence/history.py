"""Read the findings of a run from its history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def records(history: Path, kind: str) -> list[dict[str, Any]]:
    """Return the records of a kind of the newest run."""
    run = max(history.rglob("*.jsonl"), key=lambda path: path.name)
    found = map(json.loads, run.read_text().splitlines())
    return [record for record in found if record.get("kind") == kind]


def findings(history: Path) -> dict[str, dict[str, Any]]:
    """Return the sample of each finding of the newest run by cause and component, such as ``slow_npu n3 NPU 1``."""
    samples = [record["samples"][0] for record in records(history, "finding")]
    return {f"{sample['cause']} {sample['component']['name']}": sample for sample in samples}


def codes(finding: dict[str, Any]) -> list[str]:
    """Return the codes of the evidence of a finding, in order."""
    return [piece["code"] for piece in finding.get("evidence", [])]


def piece(finding: dict[str, Any], code: str) -> dict[str, Any]:
    """Return the only piece of evidence with this code."""
    (found,) = [one for one in finding["evidence"] if one["code"] == code]
    return found
