"""A container of the launcher's pod, run on this machine: the engine's files in a folder, ssh the stand-in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lib.project import SIMULATOR

HOSTS = ("127.77.0.1", "127.77.0.2")


def here(folder: Path, container: dict[str, Any], hosts: Sequence[str] = HOSTS, **environment: str) -> tuple[list[str], dict[str, str]]:
    """The command and environment, Kubernetes' ``$$(`` undone. ``folder`` gets the list of hosts (Volcano) and the host file (MPI Operator)."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy(SIMULATOR / "bin" / "sim-ssh", folder / "bin" / "ssh")
    (folder / "hosts").write_text("\n".join(hosts))
    replaced = {"/etc/volcano/mpiworker.host": str(folder / "hosts"), "/tmp/hccn-hostfile": str(folder / "hostfile"), "$(HCCN_POD_IP)": "127.0.0.1"}
    argv = [replaced.get(word, word.replace("$$(", "$(")) for word in container["command"]]
    own = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return argv, {**os.environ, "PATH": path, "HYDRA_IFACE": "lo", **own, **environment}
