"""Boot images of machines: the kernel of Debian with its modules, and for each release a root file system in memory, made from packages.

The files of the packages are put into an initramfs without disk, chroot or maintainer scripts; ``init`` does the setup. Images are kept in .cache/roce.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.lab.roce import debian
from tests.lab.roce.cpio import Archive
from tests.lib.project import ROOT
from tests.lab.testbed.plan import Unavailable

HERE = Path(__file__).resolve().parent
CACHE = ROOT / ".cache/roce"
PACKAGES = ("busybox-static", "iproute2", "perftest", "ibverbs-providers", "openssh-server", "python3", "iperf3")
KERNEL_RELEASE = "trixie"  # for all machines: rdma_rxe of 6.1 fails with more than one queue pair at times
MODULES = ("virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe")
PERFTEST = {"bookworm": "6.06", "trixie": "6.24"}
"""The releases of Debian that are tested, and the version that their perftest reports (packages 4.5 and 25.01)."""

# Files that no test needs are left out, since every machine holds the image in memory.
_PRUNED = re.compile(
    r"usr/share/|usr/lib/(?:systemd|udev|init|tmpfiles\.d|sysusers\.d)/|usr/lib/[^/]+/(?:perl|gconv|systemd|security)|usr/lib/[^/]+/libperl"
    r"|usr/lib/python3[^/]*/(?:lib2to3|pydoc_data|idlelib|distutils)|usr/bin/perl|etc/(?:systemd|init\.d|rc.\.d|pam)|.*/perl"
)


def kernel() -> tuple[Path, Path]:
    """Return the paths of the kernel, in the form that qemu starts directly, and of an archive of its modules. Raise Unavailable."""
    folder = _made("kernel-" + KERNEL_RELEASE, _make_kernel)
    return folder / "vmlinux", folder / "modules"


def root(release: str) -> Path:
    """Return the path of the root file system of a release. Raise Unavailable."""
    return _made("root-" + release, lambda folder: _make_root(release, folder)) / "root"


def _made(name: str, make) -> Path:
    """Return the cached folder of this name, or make it if this code has changed."""
    code = b"".join(HERE.joinpath(file).read_bytes() for file in ("images.py", "debian.py", "cpio.py"))
    folder = CACHE / f"{name}-{hashlib.sha256(code).hexdigest()[:12]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{name}-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(prefix="making-", dir=CACHE) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            make(made)
            made.rename(folder)
    return folder


def _make_root(release: str, folder: Path) -> None:
    packages = debian.Release(release, folder.parent / "apt").fetch(*PACKAGES)
    with (folder / "root").open("wb") as stream:
        archive = Archive(stream)
        for name in ("bin", "sbin", "lib", "lib64"):
            archive.link(name, "usr/" + name)
        for name in ("dev", "proc", "sys", "run", "tmp", "root", "var/log", "var/empty"):
            archive.folder(name)
        archive.file("etc/passwd", "root:x:0:0::/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\nnobody:x:65534:65534::/:/bin/false\n")
        archive.file("etc/group", "root:x:0:\nnogroup:x:65534:\n")
        archive.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
        archive.file("etc/shells", "/bin/sh\n")
        archive.link("usr/bin/sh", "busybox")
        for package in packages:
            _unpack(package, archive)
        archive.close()


def _unpack(package: Path, archive: Archive) -> None:
    seen: dict[str, bytes] = {}
    with debian.contents(package) as members:
        for member in members:
            name = _merged(member.name)
            if member.isdir() or _PRUNED.match(name):
                continue
            if member.issym():
                archive.link(name, member.linkname)
                continue
            seen[name] = seen[_merged(member.linkname)] if member.islnk() else members.extractfile(member).read()
            archive.file(name, seen[name], member.mode & 0o777)


def _merged(name: str) -> str:
    """Return the path of a file if /bin, /sbin and /lib are links into /usr."""
    name = name.removeprefix("./")
    return "usr/" + name if name.startswith(("bin/", "sbin/", "lib/", "lib64/")) else name


def _make_kernel(folder: Path) -> None:
    package = debian.Release(KERNEL_RELEASE, folder.parent / "apt").fetch_kernel()
    image, modules = b"", {}
    with debian.contents(package) as members:
        for member in members:
            if member.name.startswith("./boot/vmlinuz-"):
                image = members.extractfile(member).read()
            elif "/kernel/" in member.name and ".ko" in member.name:
                modules[Path(member.name).name.split(".ko")[0].replace("-", "_")] = members.extractfile(member).read()
    (folder / "vmlinux").write_bytes(_unpacked(image))
    with (folder / "modules").open("wb") as stream:
        archive = Archive(stream)
        for number, (name, content) in enumerate(_in_loading_order(modules)):
            archive.file(f"modules/{number:02}-{name}.ko", content)
        archive.close()


def _in_loading_order(packed: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield MODULES after their dependencies. A name without a file is built into the kernel."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, bytes]]:
        if name in done or name not in packed:
            return
        done.add(name)
        content = lzma.decompress(packed[name]) if packed[name].startswith(b"\xfd7zXZ") else packed[name]
        depends = re.search(rb"\0depends=([^\0]*)", content)[1].decode()
        for other in depends.split(","):
            yield from visit(other.replace("-", "_"))
        yield name, content

    for name in MODULES:
        yield from visit(name)


def _unpacked(image: bytes) -> bytes:
    """Return the kernel inside a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).

    Unpacking by the kernel takes far longer on an emulated processor.
    """
    sectors = image[0x1F1]
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start:start + length - 4]  # its last four bytes are the unpacked size
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dc"], input=payload, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    raise Unavailable(f"the kernel is packed in an unknown way ({payload[:4].hex()})")
