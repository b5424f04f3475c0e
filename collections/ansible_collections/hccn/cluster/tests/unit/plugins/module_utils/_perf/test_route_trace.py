from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import route_trace


@pytest.mark.parametrize("interface, sends", [
    ("bond0", False), ("bond0.7", False), ("above", False), ("port", False), ("eth0", True), ("eth0.7", True), (None, True), ("gone", True)])
def test_nothing_is_sent_from_a_bond_its_ports_and_what_is_above_it(tmp_path, monkeypatch, interface, sends):
    for folder in ("bond0/bonding", "bond0/lower_port", "port/bonding_slave", "bond0.7/lower_bond0", "above/lower_bond0.7", "eth0", "eth0.7/lower_eth0"):
        (tmp_path / folder).mkdir(parents=True)
    opened = []

    def refuse(*_arguments):
        opened.append(interface)
        raise OSError("no socket")

    monkeypatch.setattr(route_trace, "NETWORK_DEVICES", str(tmp_path))
    monkeypatch.setattr(route_trace.socket, "socket", refuse)
    assert route_trace.routers("192.0.2.1", "192.0.2.2", 50000, interface) == []
    assert opened == ([interface] if sends else [])
