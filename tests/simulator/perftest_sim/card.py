"""RDMA cards in a made-up sysfs, as files below a folder that stands for the root of a host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def make_card(root: Path, device: str, ports: Mapping[int, Mapping[str, str]]) -> None:
    """Make a card, its device file and an empty /proc. ``ports``: by number, with ``link_layer``, ``rate`` in Gbit/s, ``state`` (default
    ACTIVE) and ``address``, which becomes the RoCE v2 GID 3 of an Ethernet port."""
    for number, given in ports.items():
        folder = root / "sys/class/infiniband" / device / "ports" / str(number)
        (folder / "gids").mkdir(parents=True)
        files = {"state": {"ACTIVE": "4: ACTIVE", "DOWN": "1: DOWN"}[given.get("state", "ACTIVE")], "phys_state": "5: LinkUp",
                 "link_layer": given["link_layer"], "rate": f"{given['rate']} Gb/sec (4X HDR)"}
        if "address" in given:
            gid = "".join(f"{int(part):02x}" for part in given["address"].split("."))
            files.update({"gids/3": f"0000:0000:0000:0000:0000:ffff:{gid[:4]}:{gid[4:]}", "gid_attrs/types/3": "RoCE v2"})
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text + "\n")
    verbs = root / "sys/class/infiniband_verbs"
    number = len(list(verbs.glob("uverbs*")))
    (verbs / f"uverbs{number}").mkdir(parents=True)
    (verbs / f"uverbs{number}/ibdev").write_text(device + "\n")
    (root / "dev/infiniband").mkdir(parents=True, exist_ok=True)
    (root / f"dev/infiniband/uverbs{number}").touch()
    (root / "proc").mkdir(exist_ok=True)


def open_card(root: Path, pid: int, name: str, number: int = 0) -> None:
    """Make a process in the made-up /proc that has the device file ``uverbs<number>`` open."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text(name + "\n")
    (folder / "fd/7").symlink_to(f"/dev/infiniband/uverbs{number}")
