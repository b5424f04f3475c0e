"""The container of the launcher, run on this machine with its files in a folder and a simulated ssh."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lib.project import SIMULATOR

HOSTS = ("127.77.0.1", "127.77.0.2")


def here(folder: Path, container: dict[str, Any], hosts: Sequence[str] = HOSTS, **environment: str) -> tuple[list[str], dict[str, str]]:
    """Return the command without the escapes ``$$(`` of Kubernetes and the environment. ``folder`` receives the lists of hosts of Volcano and MPI Operator."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy(SIMULATOR / "bin" / "sim-ssh", folder / "bin" / "ssh")
    (folder / "hosts").write_text("\n".join(hosts))
    replaced = {"/etc/volcano/mpiworker.host": str(folder / "hosts"), "/tmp/hccn-hostfile": str(folder / "hostfile"), "$(HCCN_POD_IP)": "127.0.0.1"}
    argv = [replaced.get(word, word.replace("$$(", "$(")) for word in container["command"]]
    own = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return argv, {**os.environ, "PATH": path, "HYDRA_IFACE": "lo", **own, **environment}
