"""One host from the inside: its first process makes the host's files, waits for its links, and becomes sshd."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn

from tests.simulator.hccn_sim import interface, layout
from tests.simulator.hccn_sim.node import Node

from . import image, kernel, links
from .packages import PATH
from .plan import MANAGEMENT_PREFIX, SWITCHES, Host

SSH_PORT = 22
SSHD = "/usr/sbin/sshd"
LOG = "/var/log/sshd.log"
NPU_MAJOR = 120  # for experiments, assigned to no driver (devices.txt)
PYTHON_OF_TOOLS = "/usr/bin/python3"
POLL_SECONDS = 0.05  # the real tool polls once a second
ENVIRONMENT = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root"}
FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC


def node_of(host: Host) -> Path:
    """Return the folder of the host's simulated devices, on the host."""
    return Path("/", image.NODES, host.name)


def pid_outside() -> int:
    """Return this process's pid outside of the host's namespace. It works only before the host mounts its own /proc."""
    return int(os.readlink("/proc/self"))


def boot(host: Host, files: image.Image, reports: int, go: int) -> NoReturn:
    report = f"{host.index} {pid_outside()}\n".encode()
    os.write(reports, report)
    os.setsid()
    kernel.set_hostname(host.name)
    root = make_root(host, files)
    kernel.enter_root(str(root))
    make_devices(host, files)
    lay_out_node(host, files)
    links.system({"ipv6/conf/default/disable_ipv6": "1", **{
        f"ipv4/conf/{group}/{name}": value for group in ("all", "default")  # several ports are on one subnet: each answers only for its own address
        for name, value in (("arp_ignore", "1"), ("arp_announce", "2"), ("rp_filter", "0"))}})
    os.read(go, 1)
    connect(host, files)
    os.write(reports, report)
    become_sshd()


def make_root(host: Host, files: image.Image) -> Path:
    """Make the host's file system in memory, including its changes of the machine's files."""
    own = files.folder / "hosts" / host.name
    own.mkdir()
    kernel.mount("none", str(own), "tmpfs", 0, f"mode=0755,size={files.settings.host_megabytes}m")
    root = own / "root"
    root.mkdir()
    kernel.bind(str(root), str(root))
    for entry in Path("/").iterdir():
        if entry.is_symlink():
            (root / entry.name).symlink_to(os.readlink(entry))
        elif entry.name in ("bin", "sbin", "lib", "lib32", "lib64"):  # for machines where these are not links into /usr
            (root / entry.name).mkdir()
            kernel.bind(str(entry), str(root / entry.name), read_only=True)
    tools = own / "upper/usr/local/bin"
    tools.mkdir(parents=True)
    for tool in layout.TOOLS:  # before the machine's own tools of these names
        (tools / tool).symlink_to(node_of(host) / "bin" / tool)
    for name in image.OVERLAID:
        overlay(files, own, root, name)
    for name in image.OWN:
        image.copy_tree(files.shared / name, root / name)
    kernel.bind(str(files.folder / "nodes"), str(root / image.NODES))
    for name in image.NODES_OF_DEV if files.settings.rootless else ():
        (root / "dev" / name).touch()
        kernel.bind(f"/dev/{name}", str(root / "dev" / name))
    for path in map(Path, (str(image.SIMULATOR), *files.settings.expose)):
        there = root.joinpath(*path.parts[1:])
        if path.parts[1] in image.OVERLAID and there.exists():
            continue  # the host has it, with its own files in it: a Python in /usr must not hide /usr/local
        there.mkdir(parents=True, exist_ok=True)
        kernel.bind(str(path), str(there), read_only=True)
    kernel.mount("proc", str(root / "proc"), "proc", FLAGS)
    kernel.mount("sysfs", str(root / "sys"), "sysfs", FLAGS)
    return root


def overlay(files: image.Image, own: Path, root: Path, name: str) -> None:
    upper, work = own / "upper" / name, own / "work" / name
    upper.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True)
    (root / name).mkdir()
    if files.settings.rootless:  # folders of the machine's root cannot be copied up, so they belong to the host from the start
        for folder in ("local/bin", "lib", "log", "tmp", "cache") if name != "etc" else ():
            (upper / folder).mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={files.lower(name)},upperdir={upper},workdir={work}" + (",userxattr" if files.settings.rootless else "")
    kernel.mount("overlay", str(root / name), "overlay", 0, options)


def make_devices(host: Host, files: image.Image) -> None:
    dev = Path("/dev")
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    (dev / "ptmx").symlink_to("pts/ptmx")
    (dev / "fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (dev / name).symlink_to(f"/proc/self/fd/{number}")
    kernel.mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5")
    kernel.mount("none", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777,size=16m")
    for device in range(host.devices):
        path = dev / f"davinci{device}"
        if files.settings.rootless:
            path.touch()
            kernel.bind("/dev/null", str(path))
        else:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(NPU_MAJOR, device))


def lay_out_node(host: Host, files: image.Image) -> None:
    """Make name, addresses and simulated devices. The tools find the host's /etc/hccn.conf through a link in the node's folder."""
    image.write(Path("/etc/hostname"), host.name + "\n")
    image.write(Path("/etc/hosts"), files.hosts_file)
    image.write(Path("/etc/machine-id"), f"{host.index + 1:032x}\n")
    node = node_of(host)
    (node / "etc").mkdir(parents=True)
    (node / "etc/hccn.conf").symlink_to("/etc/hccn.conf")
    config = {"product": host.product, "devices": host.devices, "fabric": "interfaces", "poll_seconds": POLL_SECONDS, "switch_addresses": list(SWITCHES),
              **({"server_index": host.index} if host.product == "A3" else {})}
    state = [f"{device}.ip={address}" for device, address in enumerate(host.addresses)] + [f"*.netmask={host.netmask}"]
    state += [f"{device}.{name}={host.gateway(device)}" for device in range(host.devices) for name in ("gateway", "netdetect")]
    layout.init(str(node), config, state=[*state, *files.settings.state], conf_from_state=True, python=PYTHON_OF_TOOLS)


def connect(host: Host, files: image.Image) -> None:
    node = Node(str(node_of(host)))
    lines = ["link set lo up", f"addr add {host.address}/{MANAGEMENT_PREFIX} dev eth0", "link set eth0 up"]
    for device in range(host.devices):
        lines += [f"link set {interface.name(device)} up", *interface.lines(node, device)]
    links.batch("ip", lines + links.neighbours(host, files.settings))
    links.batch("tc", [links.shaped(interface.name(device), files.settings.link_rate) for device in range(host.devices)])


def become_sshd() -> NoReturn:
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, target in ((nothing, 0), (nothing, 1), (log, 2)):
        os.dup2(descriptor, target)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.execve(SSHD, [SSHD, "-D", "-e"], ENVIRONMENT)


