"""The networks of a lab, all of them in the keeper's own network namespace: lines for ip -batch and tc -batch.

    mgmt     bridge; the keeper itself is its controller, eth0 of each host hangs on it
    leafK    bridges; npu0, npu1, ... of the leaf's hosts hang on them
    spine    bridge that joins the leaves, with the switches' addresses; routes between the two networks of A3

The kernel has one table of neighbours for all namespaces, of 1,024 places that are not permanent (net.ipv4.neigh.default.gc_thresh3); what finds no
place there is not sent. A lab that could need more gets permanent ones.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .packages import PATH
from .plan import CONTROLLER, MANAGEMENT_PREFIX, SWITCHES, Host, Settings, bits

BURST_SECONDS, SMALLEST_BURST = 0.005, 32768  # a smaller bucket loses rate whenever the machine is busy
QUEUE = "20ms"
NEIGHBOURS = 512
BATCH_SECONDS = 60


def management_port(host: Host) -> str:
    return f"m{host.index}"


def port(host: Host, device: int) -> str:
    """The leaf's end of npuK."""
    return f"p{host.index}x{device}"


def uplink(leaf: int) -> tuple[str, str]:
    """The leaf's end and the spine's end."""
    return f"up{leaf}", f"down{leaf}"


def switches(settings: Settings) -> list[str]:
    """Management, spine and leaves."""
    prefix = 17 if "A3" in settings.products else 16
    addresses = SWITCHES if prefix == 17 else SWITCHES[:1]
    lines = ["link set lo up", "link add mgmt type bridge", f"addr add {CONTROLLER}/{MANAGEMENT_PREFIX} dev mgmt", "link set mgmt up",
             "link add spine type bridge", *(f"addr add {address}/{prefix} dev spine" for address in addresses), "link set spine up"]
    for leaf in range(settings.leaves):
        up, down = uplink(leaf)
        lines += [f"link add leaf{leaf} type bridge", f"link set leaf{leaf} up", f"link add {up} type veth peer name {down}",
                  f"link set {up} master leaf{leaf} up", f"link set {down} master spine up"]
    return lines


def cables(host: Host, pid: int) -> list[str]:
    """The links into the network namespace of ``pid``, the host's first process."""
    lines = [f"link add {management_port(host)} type veth peer name eth0 address {ethernet(host)} netns {pid}",
             f"link set {management_port(host)} master mgmt up"]
    for device in range(host.devices):
        lines += [f"link add {port(host, device)} type veth peer name npu{device} address {ethernet(host, device)} netns {pid}",
                  f"link set {port(host, device)} master leaf{host.leaf} up"]
    return lines


def ethernet(host: Host, device: int | None = None) -> str:
    """Of eth0, or of an NPU's link."""
    return f"02:{'77:00' if device is None else f'78:{device:02x}'}:00:{host.index >> 8:02x}:{host.index & 255:02x}"


def neighbours(host: Host, settings: Settings) -> list[str]:
    """For a host that is connected: who is where on its links, in a lab of so many that the kernel's table may be too small. NPUs talk rail by rail."""
    if not _is_crowded(settings):
        return []
    others = [one for one in settings.hosts if one != host]
    found = [_neighbour(one.address, ethernet(one), "eth0") for one in others]
    for device in range(host.devices):
        found += [_neighbour(address, ethernet(one, there), f"npu{device}") for one in others for there, address in enumerate(one.addresses)
                  if one.die(there) == host.die(device)]
    return found


def of_controller(settings: Settings) -> list[str]:
    """The same for the controller."""
    return [_neighbour(one.address, ethernet(one), "mgmt") for one in settings.hosts] if _is_crowded(settings) else []


def _is_crowded(settings: Settings) -> bool:
    hosts = settings.hosts
    return (len(hosts) - 1) * sum(1 + one.devices for one in hosts) > NEIGHBOURS


def _neighbour(address: str, link: str, device: str) -> str:
    return f"neigh add {address} lladdr {link} dev {device} nud permanent"


def shaped(name: str, rate: str) -> str:
    """For tc -batch: what this end sends goes through a token bucket."""
    burst = max(SMALLEST_BURST, int(bits(rate) / 8 * BURST_SECONDS))
    return f"qdisc replace dev {name} root tbf rate {rate} burst {burst} latency {QUEUE}"


def unshaped(name: str) -> str:
    return f"qdisc replace dev {name} root noqueue"


def batch(program: str, lines: list[str], prefix: tuple[str, ...] = ()) -> None:
    """Runs ip or tc over all lines. Raises subprocess.CalledProcessError with what it said."""
    if lines:
        subprocess.run([*prefix, program, "-batch", "-"], input="\n".join(lines) + "\n", env={"PATH": PATH}, capture_output=True, text=True, check=True,
                       timeout=BATCH_SECONDS)


def system(values: dict[str, str]) -> None:
    """Settings below /proc/sys/net of the own network namespace."""
    for name, value in values.items():
        Path("/proc/sys/net", name).write_text(value)
