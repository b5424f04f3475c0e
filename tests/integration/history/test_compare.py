"""The playbook compare: the newest run against the last good one, and two named runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.tests.unit.plugins.plugin_utils._history import series_of_runs as made
from tests.lib.playbook import run_playbook, unfolded


NAMED = [{"hosts": "localhost", "gather_facts": False, "roles": [
    {"role": "hccn.cluster.compare", "vars": {"compare_before": "night-5", "compare_after": "night-6"}},
    {"role": "hccn.cluster.compare", "vars": {"compare_before": "night-7", "compare_after": "night-6"}}]}]


def compare(folder: Path, playbook: str | Path, code: int = 0, **variables: Any) -> str:
    done = run_playbook(playbook, "localhost,", "-e", json.dumps({"compare_history": str(folder / "history"), **variables}), cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(unfolded(done.stdout).split())


@pytest.mark.smoke("compare")
def test_what_became_worse_since_the_last_good_run(tmp_path: Path) -> None:
    for day in range(1, 7):
        made.write(tmp_path / "history", day, made.night(day))
    made.write(tmp_path / "history", 7, made.night(7, slow=0.6))
    worse = compare(tmp_path, "hccn.cluster.compare", code=2, compare_fail_if_worse=True)
    assert "night-7 against night-6: 1 worse" in worse
    assert '"n3 NPU 1: write 64 KiB (same rail, A2) was ' in worse
    (tmp_path / "named.yml").write_text(json.dumps(NAMED))
    named = compare(tmp_path, tmp_path / "named.yml")
    assert "night-6 against night-5: no change beyond the noise" in named
    assert "night-6 against night-7: 1 better" in named
