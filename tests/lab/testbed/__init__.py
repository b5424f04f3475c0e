"""Hosts made from namespaces on one machine, for tests: see README.md.

    with tests.lab.testbed.lab(n=4) as lab:
        subprocess.run(["ansible-playbook", "-i", lab.inventory, "playbooks/bring_up.yml"])
        lab.exec("node1", ["hccn_tool", "-i", "0", "-ip", "-g"]).stdout
        lab.fault("node2", "kill")
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .lab import MARK, Lab, down, load, require, up
from .plan import LabError, Settings, Unavailable

__all__ = ["Lab", "LabError", "Settings", "Unavailable", "down", "lab", "load", "require", "up"]

PREFIX = "testbed-"
OLD_SECONDS = 60  # a younger folder may belong to a lab that is starting


@contextmanager
def lab(n: int = 4, *, product: str = "A2", products: Sequence[str] = (), folder: Path | None = None, variables: dict[str, Any] | None = None,
        **more: Any) -> Iterator[Lab]:
    """Return a lab of ``n`` hosts, or one host for each of ``products``, as a context manager. It never outlives this process.

    ``variables`` become variables of the inventory. ``more`` are settings (plan.Settings): npus, leaf_size, spines, link_rate, python, expose, state, rootless.
    Raise Unavailable if this machine cannot run a lab, LabError for other errors.
    """
    sweep()
    where = folder or Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        made = up(where, Settings(tuple(products) or (product,) * n, **more), variables, keep=False)
    except LabError:
        with suppress(OSError):
            where.rmdir()
        raise
    try:
        yield made
    finally:
        made.down()


def sweep() -> None:
    """Remove the folders of labs whose process was killed: such a lab is gone, but its files remain."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with suppress(OSError, LabError):
            status = (folder / MARK).stat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > OLD_SECONDS:
                down_if_dead(folder)


def down_if_dead(folder: Path) -> None:
    """Take a lab down unless it is alive."""
    with suppress(LabError):
        load(folder)
        return
    down(folder)
