"""Run every command of the pages except the tutorial in the folder that the tutorial makes, on its simulated hosts in the state that it leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.docs.pages import DOCS, Command, File, Reader, steps
from tests.lib.project import ROOT

PAGES = sorted({str(path.relative_to(DOCS)) for path in DOCS.rglob("*.rst")} - {"tutorial.rst"})


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Return a reader with the tutorial's files and its A2 hosts, which have the addresses that the tutorial assigns."""
    place = tmp_path_factory.mktemp("howto")
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    made = Reader(place, {"PATH": os.pathsep.join(paths), "HOME": str(place), "LANG": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"})
    (place / "project").symlink_to(ROOT)
    (place / "collections").symlink_to(ROOT / "collections")
    for step in steps("tutorial.rst"):
        if isinstance(step, File):
            made.take(step)
        elif "hccn-sim init nodes/n" in step.line:
            number = step.line.split("nodes/n")[1][0]
            state = "--state '*.gateway=10.61.0.1' --state '*.tls=0' --netmask 255.255.0.0 --conf-from-state"
            made.take(Command(f"{step.line} --address-template 10.61.{number}.1{{device}} {state}"))
    yield made
    for node in place.glob("nodes/*"):
        made.run(f"project/tests/simulator/bin/hccn-sim stop {node}")


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_run(reader: Reader, page: str) -> None:
    reader.follow(page)
