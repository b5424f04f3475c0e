"""Download packages of any release of Debian by apt, with a separate state in which no package is installed. The state of this machine is not changed."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.testbed.plan import Unavailable

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT_SECONDS = 600


class Release:
    """One release (``bookworm``, ``trixie``), its lists and packages below ``folder``. Raises Unavailable with apt's last line."""

    def __init__(self, name: str, folder: Path) -> None:
        for sub in ("lists/partial", "cache/archives/partial", "preferences.d"):
            (folder / sub).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {name} main\n")
        own = {"Dir::State::Lists": "lists", "Dir::State::status": "status", "Dir::State::extended_states": "extended", "Dir::Cache": "cache",
               "Dir::Etc::SourceList": "sources.list", "Dir::Etc::PreferencesParts": "preferences.d"}
        fixed = {"Dir::Etc::SourceParts": "/dev/null", "APT::Install-Recommends": "false", "APT::Architecture": "amd64", "APT::Sandbox::User": "",
                 "Acquire::Languages": "none", "Debug::NoLocking": "true"}
        settings = {**{key: str(folder / path) for key, path in own.items()}, **fixed}
        self._options = ["-qq"] + [f"-o{key}={value}" for key, value in settings.items()]
        self._folder = folder
        self._apt("apt-get", "update")

    def fetch(self, *packages: str) -> list[Path]:
        """Download the packages and all their dependencies. Return the paths."""
        self._apt("apt-get", "--yes", "--download-only", "install", *packages)
        return sorted((self._folder / "cache/archives").glob("*.deb"))

    def fetch_kernel(self) -> Path:
        """Download the package on which linux-image-amd64 depends. Return its path."""
        name = re.search(r"Depends: (linux-image-\S+)", self._apt("apt-cache", "depends", "linux-image-amd64"))[1]
        self._apt("apt-get", "download", name)
        return next(self._folder.glob(f"{name}_*.deb"))

    def _apt(self, program: str, *words: str) -> str:
        argv = [program, *self._options, *words]
        try:
            done = subprocess.run(argv, cwd=self._folder, env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=APT_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{program} {words[0]}: {error}") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
            raise Unavailable(f"{program} {words[0]}: {lines[-1]}")
        return done.stdout


def mirror() -> str:
    """Return the archive that apt of this machine uses. Raise Unavailable if there is none."""
    sources = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for path in sources:
        found = re.search(r"https?://[^\s]+/debian(?=/?\s)", path.read_text()) if path.is_file() else None
        if found:
            return found[0]
    raise Unavailable("this machine's apt has no Debian archive among its sources")


@contextmanager
def contents(package: Path) -> Iterator[tarfile.TarFile]:
    """Yield the files of a package as a stream of tar members."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacking:
        with tarfile.open(fileobj=unpacking.stdout, mode="r|") as members:
            yield members
        unpacking.stdout.read()
