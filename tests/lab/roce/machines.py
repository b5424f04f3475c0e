"""Virtual machines with a software RDMA device (rdma_rxe: RoCE v2 over Ethernet) and the real perftest, reached by ssh.

No RDMA hardware and no KVM is needed. The machines are children of this process and end with it. Their Ethernet is a switch (switch.py) behind Unix
sockets, which loses no frame; the sshd of each machine is reached at a port of 127.0.0.1. With more than 4 queue pairs, rxe fails at times.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.lab.roce import images
from tests.lab.roce.cpio import Archive
from tests.lab.testbed import packages
from tests.lab.testbed.kernel import die_with_parent
from tests.lib import playbook
from tests.lib.ports import free_port
from tests.lib.waiting import happens

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "zstd": "zstd", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "dpkg-deb": "dpkg"}
BOOT_SECONDS = 600  # 20 s for four machines on two idle cores, minutes on busy ones
CABLE_SECONDS = 30
MEMORY = "512M"
# Five-level page tables and string instructions cost an emulated processor time.
PROCESSOR = "max,la57=off,erms=off,fsrm=off"
BYTECODE = "opt/tests"
"""Folder of the cache of bytecode on a machine. An emulated processor takes seconds to compile a module."""
SSHD_CONFIG = f"""HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
UsePAM no
UseDNS no
MaxSessions 50
SetEnv PYTHONPATH=/{BYTECODE}
Subsystem sftp /usr/lib/openssh/sftp-server
"""


def ensure_programs() -> None:
    """Install qemu if it is missing. Raise Unavailable with a message."""
    packages.ensure(PROGRAMS, "a virtual machine")


class BootError(Exception):
    """All programs are available, but a machine does not boot. This is a failure, not a reason to skip."""


class Machine:
    """``address`` is that of its RDMA device ``rxe0`` (netdev ``eth0``); ``release`` is Debian's."""

    def __init__(self, number: int, release: str, folder: Path) -> None:
        self.name = f"roce{number}"
        self.number = number
        self.release = release
        self.address = f"10.99.8.{10 + number}"
        self.port = free_port()
        self.console = folder / f"{self.name}.console"
        self.ssh_config = folder / "ssh_config"
        self._qemu: subprocess.Popen[bytes] | None = None

    def start(self, argv: Sequence[str]) -> None:
        self._qemu = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self.console.open("wb"), stderr=subprocess.STDOUT, preexec_fn=die_with_parent)

    def wait(self, deadline: float) -> None:
        """Wait until a login succeeds. Raise BootError with the end of the console."""
        while time.monotonic() < deadline and self._qemu.poll() is None:
            if f"init: {self.name} is up".encode() in self.console.read_bytes() and self.run("true").returncode == 0:
                return
            time.sleep(0.2)
        raise BootError(f"{self.name} did not come up: {self.console.read_text(errors='replace')[-2000:]}")

    def argv(self, *command: str) -> list[str]:
        """Return the command line that runs ``command`` on the machine."""
        return ["ssh", "-F", str(self.ssh_config), self.name, shlex.join(command)]

    def run(self, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*command), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)

    def start_command(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(self.argv(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def read(self, *command: str) -> str:
        return subprocess.run(self.argv(*command), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout

    def feed(self, data: bytes, *command: str) -> None:
        """Run ``command`` on the machine with ``data`` on its standard input."""
        subprocess.run(self.argv(*command), input=data, stdout=subprocess.DEVNULL, check=True, timeout=60)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._qemu.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._qemu.send_signal(signal.SIGCONT)

    @contextmanager
    def sending_at_most(self, bytes_per_second: float) -> Iterator[None]:
        """Limit what the machine sends on its Ethernet, at the switch."""
        rate = self.console.with_name(f"cable{self.number}.rate")
        rate.with_suffix(".new").write_text(str(bytes_per_second))
        rate.with_suffix(".new").rename(rate)
        try:
            yield
        finally:
            rate.unlink()

    def stop(self) -> None:
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()


@contextmanager
def machines(*releases: str) -> Iterator[list[Machine]]:
    """Start one machine per release. Raise Unavailable if programs or images are missing, BootError if a machine does not boot."""
    ensure_programs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roce-")))
        all_of_them = [Machine(number, release, folder) for number, release in enumerate(releases, 1)]
        roots = _write_roots(folder, set(releases))
        _write_access(folder, all_of_them)
        stack.enter_context(_switch(folder, len(releases)))
        for machine in all_of_them:
            stack.callback(machine.stop)
            machine.start(_command(machine, all_of_them, roots[machine.release], folder))
        stack.callback(_leave, folder, all_of_them)
        deadline = time.monotonic() + BOOT_SECONDS
        for machine in all_of_them:
            machine.wait(deadline)
        yield all_of_them


@contextmanager
def _switch(folder: Path, count: int) -> Iterator[None]:
    argv = [sys.executable, str(Path(__file__).with_name("switch.py")), str(folder), str(count)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent) as process:
        try:
            if not happens(lambda: (folder / f"cable{count}").exists(), CABLE_SECONDS):
                raise BootError("the switch between the machines does not come up")
            yield
        finally:
            process.kill()


def _write_roots(folder: Path, releases: set[str]) -> dict[str, Path]:
    """Write the initramfs of each release: archives of its root, of the modules of the kernel, and of the files of this run."""
    for key in ("client", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True, timeout=30)
    _kernel, modules = images.kernel()
    for release in releases:
        with (folder / release).open("wb") as stream:
            for part in (images.root(release), modules):
                stream.write(part.read_bytes())
            own = Archive(stream)
            own.file("init", Path(__file__).with_name("init").read_bytes(), 0o755)
            own.folder("root/.ssh", 0o700)
            own.file("root/.ssh/authorized_keys", (folder / "client.pub").read_bytes(), 0o600)
            own.file(f"{BYTECODE}/sitecustomize.py", (playbook.BYTECODE / "sitecustomize.py").read_bytes())
            own.file("etc/ssh/ssh_host_ed25519_key", (folder / "host").read_bytes(), 0o600)
            own.file("etc/ssh/roce_config", SSHD_CONFIG)
            own.close()
    return {release: folder / release for release in releases}


def _write_access(folder: Path, all_of_them: Sequence[Machine]) -> None:
    """Write the settings of ssh. One connection per machine stays open and is shared, since a login takes a second on an emulated processor."""
    key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text("".join(f"{machine.name} {key}\n" for machine in all_of_them))
    common = {"HostName": "127.0.0.1", "User": "root", "IdentityFile": folder / "client", "IdentitiesOnly": "yes", "StrictHostKeyChecking": "yes",
              "UserKnownHostsFile": folder / "known_hosts", "LogLevel": "ERROR", "ConnectTimeout": 10, "ControlMaster": "auto",
              "ControlPath": folder / "%n.ssh", "ControlPersist": 600, "BatchMode": "yes"}
    lines = [f"Host {machine.name}\n  Port {machine.port}\n  HostKeyAlias {machine.name}\n" for machine in all_of_them]
    (folder / "ssh_config").write_text("".join(lines) + "Host *\n" + "".join(f"  {name} {value}\n" for name, value in common.items()))


def _leave(folder: Path, all_of_them: Sequence[Machine]) -> None:
    """Close the shared connections."""
    for machine in all_of_them:
        subprocess.run(["ssh", "-F", str(folder / "ssh_config"), "-O", "exit", machine.name], capture_output=True, timeout=30)


def _command(machine: Machine, all_of_them: Sequence[Machine], root: Path, folder: Path) -> list[str]:
    kernel, _modules = images.kernel()
    # The machine uses the cycle counter of this host. perftest converts cycles to seconds by its rate, set here because a busy host measures it wrongly.
    rate = re.search(r"cpu MHz\s*: (\S+)", Path("/proc/cpuinfo").read_text())
    clock = f"tsc=reliable tsc_early_khz={round(1000 * float(rate[1]))} " if rate else ""
    hosts = ",".join(f"{other.name}={other.address}" for other in all_of_them)
    card = f"virtio-net-pci,romfile=,mac=52:54:00:99:{{}}:{machine.number:02x},netdev="
    return [
        "qemu-system-x86_64", "-name", machine.name, "-M", "pc", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-m", MEMORY, "-accel", "tcg,tb-size=128", "-cpu", PROCESSOR, "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(root),
        "-append", f"console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on no_timer_check {clock}"
                   f"roce.name={machine.name} roce.address={machine.address} roce.hosts={hosts}",
        "-netdev", f"stream,id=data,server=off,addr.type=unix,addr.path={folder}/cable{machine.number}", "-device", card.format("08") + "data,host_mtu=9000",
        "-netdev", f"user,id=login,restrict=on,hostfwd=tcp:127.0.0.1:{machine.port}-:22", "-device", card.format("09") + "login",
    ]
