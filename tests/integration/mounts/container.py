"""A minimal container: a separate mount namespace (inside a user namespace unless it is started by root) and root, with NPUs and a hccn.conf.

    container.py '{"root": "/tmp/root", "npus": ["davinci0"], ...}'

Print "ready", then answer each line on standard input with the current content of /etc/hccn.conf. End with that input or after two minutes.
Exit with 77 if the kernel does not allow the namespaces.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
KEPT_FLAGS = 2 | 4 | 8  # nosuid, nodev, noexec: a user namespace cannot remove them from a mount; statvfs and mount use the same numbers
CAPABILITY_VERSION_3 = 0x20080522
CONF = Path("/etc/hccn.conf")
NPUS = {"davinci0": "/dev/null", "davinci7": "/dev/zero", "davinci12": "/dev/full"}
"""Character devices that every machine has, in place of NPUs."""

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> None:
    if getattr(libc, name)(*(item.encode() if isinstance(item, str) else item for item in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def new_namespace() -> None:
    uid, gid = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWNS | (CLONE_NEWUSER if uid else 0))
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    call("mount", "none", "/", None, MS_REC | MS_PRIVATE, None)


def bind(source: str, target: Path, read_only: bool = False) -> None:
    target.touch()
    call("mount", source, str(target), None, MS_BIND, None)
    if read_only:
        kept = os.statvfs(target).f_flag & KEPT_FLAGS
        call("mount", "none", str(target), None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, None)


def fill(root: Path, wish: dict[str, Any]) -> None:
    call("mount", "tmpfs", str(root), "tmpfs", 0, None)
    for name in ("dev", "etc"):
        (root / name).mkdir()
    for npu in wish["npus"]:
        bind(NPUS.get(npu, "/dev/random"), root / "dev" / npu)
    for name in wish.get("files", []):
        (root / "dev" / name).touch()
    conf = root / "etc/hccn.conf"
    if wish.get("mount"):
        bind(wish["mount"], conf, wish.get("read_only", False))
    elif wish.get("fifo"):
        os.mkfifo(conf)
    elif "content" in wish:
        conf.write_text(wish["content"])
    elif "link" in wish:
        conf.symlink_to(wish["link"])


def enter(root: Path) -> None:
    """Change the root as container engines do, without access to the old root."""
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", MNT_DETACH)
    os.chdir("/")


def drop_capabilities() -> None:
    call("capset", (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())


def answer() -> str:
    try:
        return json.dumps({"content": CONF.read_text()})
    except OSError as error:
        return json.dumps({"error": type(error).__name__})


def main() -> None:
    signal.alarm(120)
    wish = json.loads(sys.argv[1])
    root = Path(wish["root"])
    try:
        new_namespace()
        if wish.get("own_root", True):
            fill(root, wish)
    except OSError as error:
        print(error, flush=True)
        sys.exit(77)
    if wish.get("own_root", True):
        enter(root)
    held = [os.open(f"/dev/{npu}", os.O_RDONLY) for npu in wish.get("held", [])]
    if wish.get("powerless"):
        drop_capabilities()
    print("ready", flush=True)
    for _line in sys.stdin:
        print(answer(), flush=True)
    for descriptor in held:
        os.close(descriptor)


if __name__ == "__main__":
    main()
