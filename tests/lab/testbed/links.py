"""The networks of a lab, all of them in the keeper's network namespace: lines for ip -batch and tc -batch.

    mgmt     bridge to which eth0 of each host is connected; the keeper itself is its controller
    leafK    bridges to which npu0, npu1, ... of the leaf's hosts are connected
    spine    bridge that joins the leaves; it has the addresses of the switches and routes between the two networks of A3
    spineS   further bridges that join the leaves, without addresses

With several spines, a leaf's uplink leads to a device that only redirects packets: to the leaf's link to one of the spines by some bits of the source port, as
ECMP does by a hash, and from all of them back to the leaf. Packets without a port pass the first spine.

The kernel has one neighbor table for all namespaces, limited to 1,024 entries that are not permanent (net.ipv4.neigh.default.gc_thresh3). Packets to addresses
without an entry are not sent. A lab that could need more entries gets permanent ones.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .packages import PATH
from .plan import CONTROLLER, MANAGEMENT_PREFIX, SWITCHES, Host, Settings, bits

BURST_SECONDS, SMALLEST_BURST = 0.005, 32768  # a smaller bucket reduces the rate whenever the machine is busy
QUEUE = "20ms"
NEIGHBOURS = 512
WITH_PORTS, SOURCE_PORT = (6, 17), 20  # TCP and UDP; offset in an IP packet without options
PORT_BIT = 1  # the kernel gives connections even ports only
REDIRECT = "action mirred egress redirect dev"
BATCH_SECONDS = 60


def management_port(host: Host) -> str:
    return f"m{host.index}"


def port(host: Host, device: int) -> str:
    """Return the leaf's end of npuK."""
    return f"p{host.index}x{device}"


def uplink(leaf: int, spine: int | None = None) -> tuple[str, str]:
    """Return the leaf's end and the spine's end; of the link to one of several spines, or of what all of them share."""
    return (f"up{leaf}", f"down{leaf}") if spine is None else (f"up{leaf}x{spine}", f"down{leaf}x{spine}")


def bridge_of_spine(spine: int) -> str:
    return f"spine{spine or ''}"


def switches(settings: Settings) -> list[str]:
    """Return the lines that make management network, spine and leaves."""
    prefix = 17 if "A3" in settings.products else 16
    addresses = SWITCHES if prefix == 17 else SWITCHES[:1]
    lines = ["link set lo up", "link add mgmt type bridge", f"addr add {CONTROLLER}/{MANAGEMENT_PREFIX} dev mgmt", "link set mgmt up",
             "link add spine type bridge", *(f"addr add {address}/{prefix} dev spine" for address in addresses), "link set spine up"]
    for name in map(bridge_of_spine, range(1, settings.spines)):
        lines += [f"link add {name} type bridge", f"link set {name} up"]
    for leaf in range(settings.leaves):
        up, down = uplink(leaf)
        lines += [f"link add leaf{leaf} type bridge", f"link set leaf{leaf} up", f"link add {up} type veth peer name {down}",
                  f"link set {up} master leaf{leaf} up", f"link set {down} {'master spine' if settings.spines == 1 else ''} up"]
        for spine, (up, down) in _uplinks(settings, leaf):
            lines += [f"link add {up} type veth peer name {down}", f"link set {up} up", f"link set {down} master {bridge_of_spine(spine)} up"]
    return lines


def ecmp(settings: Settings) -> list[str]:
    """Return the lines for tc -batch that divide the connections between leaves among the spines."""
    lines = []
    for leaf in range(settings.leaves) if settings.spines > 1 else ():
        _leaf, shared = uplink(leaf)
        lines.append(f"qdisc add dev {shared} clsact")
        for spine, (up, _down) in _uplinks(settings, leaf):
            bits_of_port = f"{spine << PORT_BIT:#x} {settings.spines - 1 << PORT_BIT:#x} at {SOURCE_PORT}"
            lines += [f"filter add dev {shared} ingress protocol ip prio 1 u32 match ip protocol {number} 0xff match u16 {bits_of_port} {REDIRECT} {up}"
                      for number in WITH_PORTS]
            lines += [f"qdisc add dev {up} clsact", f"filter add dev {up} ingress protocol all prio 1 u32 match u32 0 0 {REDIRECT} {shared}"]
        lines.append(f"filter add dev {shared} ingress protocol all prio 2 u32 match u32 0 0 {REDIRECT} {uplink(leaf, 0)[0]}")
    return lines


def _uplinks(settings: Settings, leaf: int) -> list[tuple[int, tuple[str, str]]]:
    """Return the links of a leaf to each of several spines; of a single spine, none."""
    return [(spine, uplink(leaf, spine)) for spine in range(settings.spines)] if settings.spines > 1 else []


def cables(host: Host, pid: int) -> list[str]:
    """Return the lines that make the links into the network namespace of ``pid``, the host's first process."""
    lines = [f"link add {management_port(host)} type veth peer name eth0 address {ethernet(host)} netns {pid}",
             f"link set {management_port(host)} master mgmt up"]
    for device in range(host.devices):
        lines += [f"link add {port(host, device)} type veth peer name npu{device} address {ethernet(host, device)} netns {pid}",
                  f"link set {port(host, device)} master leaf{host.leaf} up"]
    return lines


def ethernet(host: Host, device: int | None = None) -> str:
    """Return the MAC address of eth0, or of an NPU's link."""
    return f"02:{'77:00' if device is None else f'78:{device:02x}'}:00:{host.index >> 8:02x}:{host.index & 255:02x}"


def neighbours(host: Host, settings: Settings) -> list[str]:
    """Return permanent neighbor entries of a connected host, if the lab is so large that the kernel's table may be too small. NPUs communicate only within
    their rail."""
    if not _is_crowded(settings):
        return []
    others = [one for one in settings.hosts if one != host]
    found = [_neighbour(one.address, ethernet(one), "eth0") for one in others]
    for device in range(host.devices):
        found += [_neighbour(address, ethernet(one, there), f"npu{device}") for one in others for there, address in enumerate(one.addresses)
                  if one.die(there) == host.die(device)]
    return found


def of_controller(settings: Settings) -> list[str]:
    """Return the permanent neighbor entries of the controller."""
    return [_neighbour(one.address, ethernet(one), "mgmt") for one in settings.hosts] if _is_crowded(settings) else []


def _is_crowded(settings: Settings) -> bool:
    hosts = settings.hosts
    return (len(hosts) - 1) * sum(1 + one.devices for one in hosts) > NEIGHBOURS


def _neighbour(address: str, link: str, device: str) -> str:
    return f"neigh add {address} lladdr {link} dev {device} nud permanent"


def shaped(name: str, rate: str) -> str:
    """Return a line for tc -batch that shapes the outgoing traffic of this end with a token bucket."""
    burst = max(SMALLEST_BURST, int(bits(rate) / 8 * BURST_SECONDS))
    return f"qdisc replace dev {name} root tbf rate {rate} burst {burst} latency {QUEUE}"


def unshaped(name: str) -> str:
    return f"qdisc replace dev {name} root noqueue"


def batch(program: str, lines: list[str], prefix: tuple[str, ...] = ()) -> None:
    """Run ip or tc with all lines. Raise subprocess.CalledProcessError with its output."""
    if lines:
        subprocess.run([*prefix, program, "-batch", "-"], input="\n".join(lines) + "\n", env={"PATH": PATH}, capture_output=True, text=True, check=True,
                       timeout=BATCH_SECONDS)


def up(prefix: tuple[str, ...] = ()) -> set[str]:
    """Return the names of the interfaces that have a carrier."""
    shown = subprocess.run([*prefix, "ip", "-brief", "link", "show", "up"], env={"PATH": PATH}, capture_output=True, text=True, check=True,
                           timeout=BATCH_SECONDS)
    return {line.split()[0].partition("@")[0] for line in shown.stdout.splitlines() if line.split()[1] == "UP"}


def system(values: dict[str, str]) -> None:
    """Change settings below /proc/sys/net of the current network namespace."""
    for name, value in values.items():
        Path("/proc/sys/net", name).write_text(value)
