"""The state of hosts and files in a few words, read from outside without the product."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from tests.lab.testbed import Lab

_ADDRESS = re.compile(r"^address_\d+=(\d+\.\d+)\.", re.MULTILINE)
_TLS = re.compile(r"^tls_enable_\d+=(\d)$", re.MULTILINE)


def network_and_tls(lab: Lab, name: str) -> str:
    """Return ``10.79 tls 1`` if hccn.conf and all devices agree; otherwise the settings of the devices are appended."""
    text = lab.path(name, "/etc/hccn.conf").read_text()
    filed = _describe(_ADDRESS.findall(text), _TLS.findall(text) or ["0"])
    devices = [lab.state(name, device) for device in range(lab.hosts[name].devices)]
    live = _describe([".".join(device["ip"].split(".")[:2]) for device in devices], [device.get("tls") or "0" for device in devices])
    return filed if filed == live else f"{filed}, devices {live}"


def _describe(networks: list[str], flags: list[str]) -> str:
    return f"{'+'.join(sorted(set(networks)))} tls {'+'.join(sorted(set(flags)))}"


def table(lab: Lab, name: str, path: str) -> str:
    """Return the number of servers and ranks in the host's rank table, ``none`` without a table, or ``torn`` if it is not JSON."""
    found = lab.path(name, path)
    if not found.exists():
        return "none"
    try:
        servers = json.loads(found.read_text())["server_list"]
    except ValueError:
        return "torn"
    return f"{len(servers)} servers, {sum(len(server['device']) for server in servers)} ranks"


def cdi_spec(lab: Lab, name: str) -> str:
    """Return whether the host has a CDI spec of hccn.conf, ``torn`` if it is not JSON, and the number of other files in its folder."""
    folder = lab.path(name, "/etc/cdi")
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if "hccn-cluster-hccn-conf.json" not in found:
        return f"no spec, {len(found)} files" if found else "no spec"
    try:
        json.loads((folder / "hccn-cluster-hccn-conf.json").read_text())
    except ValueError:
        return "torn"
    return "spec" if len(found) == 1 else f"spec, {len(found)} files"


def fabric(lab: Lab, name: str) -> str:
    """Return the network and TLS with the open tests of the host."""
    return f"{network_and_tls(lab, name)}, {', '.join(open_tests(lab, name)) or 'no test'}"


def open_tests(lab: Lab, name: str) -> list[str]:
    """Return the tests that run on the devices of a running host, or were not reset."""
    return sorted(path.name for path in lab.node_path(name, "state").glob("roce_test_*.json"))


def adopted(folder: Path, lab: Lab) -> str:
    """Return the hosts that have a file of variables, and which files are torn."""
    found = []
    for name in lab.hosts:
        path = folder / f"{name}.yml"
        if path.exists():
            try:
                whole = isinstance(yaml.safe_load(path.read_text())["bring_up_network"], list)
            except (yaml.YAMLError, KeyError, TypeError):
                whole = False
            found.append(name if whole else f"{name} (torn)")
    others = sorted(path.name for path in folder.glob("*") if path.stem not in lab.hosts) if folder.is_dir() else []
    return " ".join(found + others) or "none"


def pages(folder: Path) -> str:
    """Return the number of complete pages of a history besides their index (``2 whole``), or the names of torn ones."""
    found = sorted((folder / "reports").glob("*"))
    torn = [path.name for path in found if path.suffix != ".html" or not path.read_text().rstrip().endswith("</html>")]
    count = sum(path.name != "index.html" for path in found)
    return f"torn: {', '.join(torn)}" if torn else f"{count} whole" if count else "none"


def times(begun: Path, ended: Path) -> str:
    """Return how often a command started and completed; each time is a line of a file."""
    first, second = (len(path.read_text().splitlines()) if path.exists() else 0 for path in (begun, ended))
    return f"begun {first}, ended {second}"
