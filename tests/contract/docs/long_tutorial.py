"""Follow the tutorial line by line with a clean venv, the built collection and a folder outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.awx.job import clone
from tests.contract.docs.pages import Command, Reader, steps

PUBLISHED = "https://github.com/hccn-cluster/hccn.cluster.git"


def published(folder: Path) -> Path:
    """Return a copy of the project as it would be published: a repository with one commit."""
    clone(folder)
    author = ["-c", "user.name=n", "-c", "user.email=n@example"]
    for arguments in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=60)
    return folder


def test_tutorial_works_line_by_line(tmp_path: Path) -> None:
    repository = published(tmp_path / "published")
    place = tmp_path / "work"
    python = Path(sys.executable).resolve().parent  # not the collections of this venv
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith(("_proxy", "_PROXY"))}
    reader = Reader(place, {
        **kept, "PATH": os.pathsep.join([str(python), "/usr/local/bin:/usr/bin:/bin"]), "HOME": str(tmp_path), "LANG": "C.UTF-8", "ANSIBLE_NOCOLOR": "1",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{repository}.insteadOf", "GIT_CONFIG_VALUE_0": PUBLISHED})
    try:
        for step in steps("tutorial.rst"):
            if isinstance(step, Command) and step.kind == "npu":
                step.line = step.line.replace("yours/hosts", "a2/hosts")  # a simulated cluster replaces the reader's cluster
            reader.take(step)
    finally:
        for node in place.glob("nodes/*"):
            reader.run(f"project/tests/simulator/bin/hccn-sim stop {node}")
    assert (place / "page.html").read_text().count("n3") > 1
    assert len(list((place / "history").rglob("*.jsonl"))) >= 6
