"""Make environments of versions other than the project's own: an ansible-core on a controller's Python, pytest on a host's Python. They stay in .cache.

``python -m tests.lab.versions.cores RELEASE [PYTHON]`` makes the environment of an ansible-core, by default with this Python, and prints its folder.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache/core"
BESIDE_CORE = ("jinja2", "netaddr", "mpich")
DEADLINE = 900


def core(release: str, python: Path) -> Path:
    """Return the folder of an ansible-core with the project's other requirements in their pinned versions."""
    pins = [line.split(";")[0].strip() for name in ("requirements.txt", "requirements-demo.txt") for line in (ROOT / name).read_text().splitlines()]
    beside = [pin for pin in pins if pin.split("==")[0] in BESIDE_CORE]
    # The constraints were made for the project's own Python. Some versions do not exist for others.
    constraints = ["-c", str(ROOT / "constraints.txt")] if _version(python) == _version(Path(sys.executable)) else []
    return _environment(f"{release}-{_version(python)}", python, [f"ansible-core=={release}", *beside, *constraints])


def pytest(release: str, python: Path) -> Path:
    """Return the folder of a pytest without other packages: like a host, it has only the standard library."""
    return _environment(f"pytest-{release}-{_version(python)}", python, [f"pytest=={release}"])


def _version(python: Path) -> str:
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True, capture_output=True, text=True, timeout=60)
    return version.stdout.strip()


def _environment(name: str, python: Path, packages: list[str]) -> Path:
    folder = CACHE / name
    python = python.resolve()  # a link to the same Python must not replace an environment that is in use
    wanted = " ".join([str(python), *packages])
    made_of = folder / "made-of"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the matrix and the demo may make the same one at the same time
        if not made_of.exists() or made_of.read_text() != wanted:
            subprocess.run([python, "-m", "venv", "--clear", folder], check=True, timeout=DEADLINE)
            pip = [folder / "bin/pip", "--disable-pip-version-check", "install", "-qq", *packages]
            subprocess.run(pip, check=True, timeout=DEADLINE, stdout=sys.stderr)
            made_of.write_text(wanted)
    return folder


if __name__ == "__main__":
    print(core(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else sys.executable)))
