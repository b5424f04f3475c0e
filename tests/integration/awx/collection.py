"""Extract the collection awx.awx from the package ``ansible`` into .cache/awx: ``python -m tests.integration.awx.collection``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.lib.project import ROOT

PLACE = ROOT / ".cache/awx"
FOLDER = "ansible_collections/awx/"


def fetch(place: Path = PLACE) -> None:
    pins = (ROOT / "requirements-k8s.txt").read_text().splitlines()
    wanted = next(line for line in pins if line.startswith("ansible=="))
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place), wanted], check=True, timeout=300)
    wheel = next(place.glob("ansible-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place, [name for name in archive.namelist() if name.startswith(FOLDER)])
    wheel.unlink()


if __name__ == "__main__":
    fetch()
