"""The files that all hosts of a lab share, as an overlay on the machine's /usr, /etc and /var. The keeper makes them once."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import kernel
from .plan import CONTROLLER, Settings, Unavailable

SIMULATOR = Path(__file__).resolve().parents[2] / "simulator"
BYTECODE = SIMULATOR.parent / "lib/bytecode"  # compiled modules are kept, which saves a third of the time of a task
OVERLAID = ("etc", "usr", "var")
OWN = ("home", "media", "mnt", "opt", "root", "run", "srv", "tmp", "dev", "proc", "sys")
NODES = "var/lib/npu-simulator"  # the devices of all hosts, which are not part of the hosts' file systems
HCCL_TEST = "usr/local/Ascend/ascend-toolkit/latest/tools/hccl_test"
COPY_SECONDS = 60

SSHD_CONFIG = f"""\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
MaxStartups 1000
MaxSessions 100
KexAlgorithms curve25519-sha256
AddressFamily inet
Subsystem sftp internal-sftp
SetEnv "PYTHONPATH={BYTECODE}"
"""
SSH_CONFIG = """\
Host *
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


@dataclass(frozen=True)
class Image:
    """``folder``: the lab's file system, visible to the keeper only; ``shared``: the layer below it; ``copied``: the folders of OVERLAID that are copied
    instead."""

    folder: Path
    settings: Settings
    hosts_file: str
    copied: tuple[str, ...] = ()

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def lower(self, name: str) -> str:
        """Return the layers below a host's own changes."""
        return str(self.shared / name) if name in self.copied else f"{self.shared / name}:/{name}"


def make(folder: str, settings: Settings) -> Image:
    """Mount a file system in memory at ``folder``/fs, visible to this process only. The keys are in ``folder``."""
    keys, where = Path(folder), Path(folder, "fs")
    kernel.mount("none", str(where), "tmpfs", kernel.MS_NOSUID, "mode=0755")
    names = "".join(f"{one.address} {one.name}\n" for one in settings.hosts)
    image = Image(where, settings, f"127.0.0.1 localhost\n{CONTROLLER} controller\n{names}", copied(settings))
    (where / "nodes").mkdir()
    (where / "hosts").mkdir()
    shared = image.shared
    for name in (*OVERLAID, *OWN):
        (shared / name).mkdir(parents=True, exist_ok=True)
    for name in image.copied:
        subprocess.run(["cp", "-a", "--no-preserve=ownership", f"/{name}/.", str(shared / name)], capture_output=True, timeout=COPY_SECONDS)
    _write_shared(shared, keys, settings)
    return image


def copied(settings: Settings) -> tuple[str, ...]:
    """Return the folders to copy. A user namespace cannot overlay a folder that contains mounts, such as the /etc of a container. Raise Unavailable."""
    if not settings.rootless:
        return ()
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    found = tuple(name for name in OVERLAID if any(point.startswith(f"/{name}/") for point in points))
    if "usr" in found:
        raise Unavailable("something is mounted below /usr, which without root cannot be shown to the hosts: run as root")
    return found


def _write_shared(shared: Path, keys: Path, settings: Settings) -> None:
    write(shared / "etc/ssh/sshd_config", SSHD_CONFIG)
    write(shared / "etc/ssh/ssh_config", SSH_CONFIG)
    write(shared / "etc/ssh/ssh_host_ed25519_key", (keys / "host_key").read_text(), 0o600)
    write(shared / "root/.ssh/authorized_keys", (keys / "id.pub").read_text(), 0o600)
    write(shared / "root/.ssh/id_ed25519", (keys / "id").read_text(), 0o600)  # hosts can log in to each other, as mpirun requires
    (shared / "root").chmod(0o700)
    (shared / "root/.ssh").chmod(0o700)
    (shared / "tmp").chmod(0o1777)
    (shared / "run/sshd").mkdir()
    users = [line.split(":")[0] for line in Path("/etc/passwd").read_text().splitlines() if line]
    write(shared / "etc/shadow", "".join(f"{user}:*:19000:0:99999:7:::\n" for user in users), 0o600)  # sshd refuses logins of a locked root
    for name in ("hccn.conf", "hosts", "hostname", "machine-id", "resolv.conf"):  # hosts write these files themselves, or have none
        write(shared / "etc" / name, "")
    write(shared / "etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
    _write_tools(shared)
    if not settings.rootless:
        _make_devices(shared / "dev")


def _write_tools(shared: Path) -> None:
    (shared / NODES).mkdir(parents=True, exist_ok=True)
    (shared / "usr/local/bin").mkdir(parents=True)
    (shared / "usr/local/bin/hccn-sim").symlink_to(SIMULATOR / "bin/hccn-sim")
    (shared / HCCL_TEST).parent.mkdir(parents=True)
    (shared / HCCL_TEST).symlink_to(SIMULATOR / "hccl_test")


NODES_OF_DEV = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
MEMORY_MAJOR = 1
TTY = (5, 0)


def _make_devices(folder: Path) -> None:
    for name, numbers in {**{name: (MEMORY_MAJOR, minor) for name, minor in NODES_OF_DEV.items()}, "tty": TTY}.items():
        os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(*numbers))
        (folder / name).chmod(0o666)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(mode)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a small tree with modes, links and device nodes."""
    target.mkdir(exist_ok=True)
    shutil.copystat(source, target)
    for entry in source.iterdir():
        copy, status = target / entry.name, entry.lstat()
        if stat.S_ISLNK(status.st_mode):
            copy.symlink_to(os.readlink(entry))
        elif stat.S_ISDIR(status.st_mode):
            copy_tree(entry, copy)
        elif stat.S_ISREG(status.st_mode):
            shutil.copy(entry, copy)
        else:
            os.mknod(copy, status.st_mode, status.st_rdev)
            copy.chmod(stat.S_IMODE(status.st_mode))
