"""A lab from the outside: start, stop, inspect, and run commands."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from . import faults, image, inventory, kernel, keeper
from .packages import PATH, ensure_packages
from .plan import BOOT_SECONDS, Host, LabError, Settings, Unavailable, settings
from tests.lib.waiting import happens

ROOT = Path(__file__).resolve().parents[3]
MARK = ".hccn-testbed"  # a lock file that marks the folder: all files in it belong to a lab and are removed with it
LONGEST_FOLDER = 70  # ssh's control sockets are below it, and a socket's path is limited to 107 bytes
GONE_SECONDS = 20.0
CALL_SECONDS = 60.0
KEEPER = "import sys; sys.path.insert(0, sys.argv[1]); from tests.lab.testbed.keeper import main; main()"


class Lab:
    """A running lab. ``folder`` contains its inventory, its keys and ``lab.json``."""

    def __init__(self, folder: Path, record: dict[str, Any], guard: subprocess.Popen[bytes] | None = None) -> None:
        self.folder, self.record, self.guard = folder, record, guard
        self.settings = settings(record["settings"])
        self.hosts = {host.name: host for host in self.settings.hosts}

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yml"

    def host(self, name: str) -> Host:
        if name not in self.hosts:
            raise LabError(f"no host {name} in the lab {self.folder}: it has {', '.join(self.hosts)}")
        return self.hosts[name]

    def first(self, name: str) -> dict[str, int]:
        """Return pid and start time of a host's first process, as seen from the machine."""
        return self.record["hosts"][self.host(name).index]

    def alive(self, name: str) -> bool:
        return kernel.running(self.first(name)["pid"], self.first(name)["started"])

    def processes(self, name: str) -> dict[int, list[str]]:
        """Return all processes of a host by their pids on the machine, with their command lines. It reads /proc and runs nothing on the host."""
        if not self.alive(name):
            return {}
        return {pid: argv for pid in kernel.in_namespace_of(self.first(name)["pid"]) if (argv := kernel.arguments(pid))}

    def path(self, name: str, path: str) -> Path:
        """Return the path of a host's file, seen from outside. Raise LabError if the host is down."""
        self._require(name)
        return Path(f"/proc/{self.first(name)['pid']}/root") / path.lstrip("/")

    def node_path(self, name: str, part: str) -> Path:
        """Return the path of a file of a host's simulated devices, seen from outside, such as ``sim.json``. Raise LabError if the host is down."""
        return self.path(name, f"/{image.NODES}/{name}/{part}")

    def enter(self, name: str) -> list[str]:
        """Return the words before a command that is to run in a host. The command ends with its caller. Raise LabError if the host is down."""
        self._require(name)
        return [*self._nsenter(self.first(name)["pid"]), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "setpriv", "--pdeathsig", "KILL"]

    def enter_switches(self) -> tuple[str, ...]:
        """Return the words before a command in the namespace of the lab's switches."""
        return (*self._nsenter(self.record["keeper"]["pid"]), "--net")

    def _nsenter(self, pid: int) -> list[str]:
        return ["nsenter", "--target", str(pid), *(["--user", "--setuid", "0", "--setgid", "0"] if self.settings.rootless else [])]

    def exec(self, name: str, argv: list[str], *, timeout: float = CALL_SECONDS, check: bool = False, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in a host, not through ssh; ``more`` is passed to subprocess.run."""
        return subprocess.run([*self.enter(name), *argv], env=environment(), capture_output=True, text=True, timeout=timeout, check=check, **more)

    def set_state(self, name: str, *words: str) -> None:
        """Change the state of a host's simulated devices: ``3.tls=1``, ``*.busy=1`` (see tests/simulator/README.md)."""
        self.exec(name, ["hccn-sim", "set", f"/{image.NODES}/{name}", *words], check=True)

    def state(self, name: str, device: int) -> dict[str, str]:
        """Return the state of a simulated device, with the keys of ``set_state``."""
        output = self.exec(name, ["hccn-sim", "get", f"/{image.NODES}/{name}", str(device)], check=True).stdout
        return dict(line.split("=", 1) for line in output.splitlines())

    def fault(self, target: str, what: str = "", *, npu: int | None = None, rate: str = "", link_down: bool = False) -> None:
        """Inject a fault into a host, its links, or those of a leaf switch (``leaf:0``): see faults.py."""
        faults.fault(self, target, what, npu=npu, rate=rate, link_down=link_down)

    def heal(self, target: str) -> None:
        """Remove every fault of a host or a leaf. A killed host stays dead."""
        faults.heal(self, target)

    def down(self) -> None:
        down(self.folder, self.guard)

    def _require(self, name: str) -> None:
        if not self.alive(name):
            raise LabError(f"{name} is down")


def environment() -> dict[str, str]:
    return {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "TERM": os.environ.get("TERM", "dumb")}


def up(folder: Path, wanted: Settings, variables: dict[str, Any] | None = None, *, keep: bool) -> Lab:
    """Start a lab. With ``keep`` it lives until ``down``, otherwise it ends with this process at the latest. Raise LabError, Unavailable."""
    wanted.check()
    folder = folder.absolute()
    require(wanted.rootless)
    lock = take(folder)
    try:
        clean(folder)
        prepare(folder)
        guard, record = start(folder, wanted, lock)
        record["settings"] = dataclasses.asdict(wanted)
        (folder / "inventory.yml").write_text(inventory.text(folder, wanted, variables or {}))
        (folder / "lab.json").write_text(json.dumps(record))
        assert guard.stdin is not None
        if keep:
            guard.stdin.write(keeper.KEEP)
            guard.stdin.close()
    finally:
        os.close(lock)
    return Lab(folder, record, guard)


def require(rootless: bool = False) -> None:
    """Raise Unavailable if this machine cannot run a lab, as far as that can be checked in advance."""
    ensure_packages(rootless)
    if not rootless and os.geteuid() != 0:
        raise Unavailable("a testbed needs root: run as root, or use --rootless if the kernel allows users to create namespaces")


def take(folder: Path) -> int:
    """Acquire the lock that a lab holds while it is alive. Raise LabError if a lab is alive there, or if the folder does not belong to a lab."""
    if len(str(folder)) > LONGEST_FOLDER:
        raise LabError(f"{folder} is too long a path for ssh's control sockets: give a folder of at most {LONGEST_FOLDER} characters")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder / MARK).exists() and any(folder.iterdir()):
        raise LabError(f"{folder} contains files that do not belong to a lab: give a new or empty folder")
    lock = os.open(folder / MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise LabError(f"a lab is running in {folder}: end it first with down") from None
    return lock


def prepare(folder: Path) -> None:
    for name in ("cp", "fs"):
        (folder / name).mkdir(mode=0o700)
    for name in ("id", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f", str(folder / name)], env=environment(), check=True,
                       timeout=CALL_SECONDS, stdin=subprocess.DEVNULL)
    subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", str(image.SIMULATOR)], timeout=CALL_SECONDS,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # the hosts can read it


def start(folder: Path, wanted: Settings, lock: int) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start the guard with the keeper below it. Both end if this process exits before it sends KEEP. Raise LabError, Unavailable."""
    argv = [sys.executable, "-I", "-S", "-c", KEEPER, str(ROOT)]
    with open(folder / "keeper.log", "wb") as log:
        guard = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, pass_fds=(lock,), start_new_session=True, cwd="/")
    assert guard.stdin is not None and guard.stdout is not None
    order = {"folder": str(folder), "settings": dataclasses.asdict(wanted), "lock": lock}
    guard.stdin.write(json.dumps(order).encode() + b"\n")
    guard.stdin.flush()
    with guard.stdout:
        answer = hear(guard.stdout, 2 * (BOOT_SECONDS + len(wanted.products)))
    if "keeper" not in answer:
        guard.stdin.close()
        guard.wait(GONE_SECONDS)
        log_text = (folder / "keeper.log").read_text(errors="replace").strip()
        remove(folder)
        if "unavailable" in answer:
            raise Unavailable(answer["unavailable"])
        raise LabError("the lab did not start: " + (": ".join(filter(None, (answer.get("error"), log_text))) or "its keeper exited without a message"))
    answer["guard"] = {"pid": guard.pid, "started": kernel.start_time(guard.pid)}
    return guard, answer


def hear(stream: IO[bytes], seconds: float) -> dict[str, Any]:
    """Return the keeper's line; empty if it sent nothing in time."""
    if not select.select([stream], [], [], seconds)[0]:
        return {"error": f"no answer within {seconds:.0f} s"}
    line = stream.readline()
    return json.loads(line) if line else {}


def load(folder: Path) -> Lab:
    """Load a running lab. Raise LabError if there is none."""
    folder = folder.absolute()
    try:
        record = json.loads((folder / "lab.json").read_text())
    except FileNotFoundError:
        raise LabError(f"no lab in {folder}: start one there, or give its folder with --dir") from None
    if not kernel.running(record["keeper"]["pid"], record["keeper"]["started"]):
        raise LabError(f"the lab in {folder} is dead: remove it with down")
    return Lab(folder, record)


def down(folder: Path, guard: subprocess.Popen[bytes] | None = None) -> bool:
    """End a lab or remove its remaining files; return False if there was nothing. Raise LabError."""
    folder = folder.absolute()
    if not folder.is_dir():
        return False
    try:
        record = json.loads((folder / "lab.json").read_text())
    except FileNotFoundError:
        record = {}
    for process in ("keeper", "guard"):
        if process in record:
            pid, started = record[process]["pid"], record[process]["started"]
            kernel.end(pid, started)
            if guard and process == "guard":
                guard.wait(GONE_SECONDS)
            if not happens(lambda pid=pid, started=started: not kernel.running(pid, started), GONE_SECONDS):
                raise LabError(f"process {pid} of the lab in {folder} did not exit")
    lock = take(folder)
    try:
        remove(folder)
    finally:
        os.close(lock)
    return True


def clean(folder: Path) -> None:
    """Remove what an ended lab left: ssh's masters, and all files except the mark."""
    for pid in kernel.processes():
        started, argv = kernel.start_time(pid), kernel.arguments(pid)
        if started is not None and argv and argv[0].startswith(f"ssh: {folder}/cp/"):
            kernel.end(pid, started)
            happens(lambda pid=pid, started=started: not kernel.running(pid, started), GONE_SECONDS)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != MARK:
            entry.unlink()


def remove(folder: Path) -> None:
    clean(folder)
    (folder / MARK).unlink()
    folder.rmdir()
