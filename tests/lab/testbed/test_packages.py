"""Packages are installed by one process at a time."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.lab.testbed import packages
from tests.lib.project import skip


def test_second_process_waits_until_a_package_is_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program is there before. Threads stand for processes: each opens the folder of the lock itself."""
    if os.geteuid() or not shutil.which("apt-get"):
        skip("testbed", "needs root and apt-get")
    monkeypatch.setattr(packages, "PATH", str(tmp_path))
    monkeypatch.setattr(packages, "DATABASE", str(tmp_path))
    began, done = threading.Event(), threading.Event()

    def install(names: list[str]) -> None:
        assert names == ["openssh-server"]
        (tmp_path / "sshd").write_text("")
        (tmp_path / "sshd").chmod(0o755)
        began.set()
        time.sleep(0.5)
        done.set()

    monkeypatch.setattr(packages, "_install", install)
    first = threading.Thread(target=packages.ensure, args=({"sshd": "openssh-server"}, "a testbed"))
    first.start()
    try:
        assert began.wait(20)
        packages.ensure({"sshd": "openssh-server"}, "a testbed")
        assert done.is_set()
    finally:
        first.join(20)
