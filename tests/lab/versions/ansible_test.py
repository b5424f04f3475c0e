"""Run ansible-test on the collection without a container: ``python tests/lab/versions/ansible_test.py sanity|units [argument ...]``.

On a plain machine, two properties of ansible-test are in the way. It finds interpreters by name in PATH, including shims, so this script puts links to the real
ones into PATH. And it downloads pip, so this script puts the pip of a Python into ansible-test's cache of downloads. All files stay in .cache.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from interpreters import found

ROOT = Path(__file__).resolve().parents[3]
COLLECTION = ROOT / "collections/ansible_collections/hccn/cluster"
HOME = ROOT / ".cache/ansible-test/home"
INTERPRETERS = ROOT / ".cache/ansible-test/bin"
"""With a folder for each choice of versions, since runs with other versions may go on at the same time."""

# The controller's Python and the newest one. matrix.py compiles and imports everything with the oldest Python of hosts, on the oldest ansible-core.
VERSIONS = [f"3.{sys.version_info.minor}", "3.13"]

# The file names of pip in the cache of ansible-core 2.16-2.17, 2.18-2.19 and 2.20-2.21.
PIP_DOWNLOADS = ["get_pip_23_1_2.py", "get_pip_24_2.py", "get_pip_25_2.py"]
# tests/exceptions.yml gives the reasons why two checks are left out.
THIS = f"venv/{sys.version_info.major}.{sys.version_info.minor}"
OPTIONS = {
    "sanity": ["--skip-test", "pslint", "--skip-test", "shellcheck"],
    "units": ["--controller", f"origin:python={THIS}", "--target-python", THIS],
}

PIP = """\
import ensurepip
ensurepip.bootstrap(upgrade=True, default_pip=True)
"""


def prepare(versions: list[str]) -> dict[str, str]:
    """Fill .cache and return the environment for ansible-test, in which it finds these versions of Python."""
    downloads = HOME / ".ansible/test/cache"
    downloads.mkdir(parents=True, exist_ok=True)
    for name in PIP_DOWNLOADS:
        (downloads / name).write_text(PIP)

    interpreters = INTERPRETERS / "-".join(versions)
    shutil.rmtree(interpreters, ignore_errors=True)
    interpreters.mkdir(parents=True)
    for version, path in found(versions).items():
        _link(interpreters / f"python{version}", path)

    # With another home, pip does not find the user's package index.
    config = Path.home() / ".config/pip"
    if config.is_dir():
        (HOME / ".config").mkdir(exist_ok=True)
        _link(HOME / ".config/pip", config)

    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if not folder.endswith("/shims")]
    path = os.pathsep.join([str(Path(sys.executable).parent), str(interpreters), *folders])
    return {**os.environ, "HOME": str(HOME), "PATH": path}


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def main(command: str, *arguments: str) -> None:
    wanted = [version for option, version in zip(arguments, arguments[1:]) if option == "--python"]
    environment = prepare(wanted or VERSIONS)
    os.chdir(COLLECTION)
    os.execvpe("ansible-test", ["ansible-test", command, *OPTIONS[command], "--color", "no", *arguments], environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
