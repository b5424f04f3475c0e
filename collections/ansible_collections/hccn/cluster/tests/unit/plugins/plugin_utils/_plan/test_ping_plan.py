# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which NPUs ping each other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.ping_plan import ping_plan


def address(number: int, device: int) -> str:
    return f"10.{number // 250}.{number % 250}.{device}"


def hosts(count: int, devices: int = 2) -> list[dict[str, Any]]:
    return [{"host": f"n{number}", "control_address": f"n{number}", "control_port": 0,
             "devices": [{"id": device, "address": address(number, device)} for device in range(devices)]} for number in range(count)]


@pytest.mark.parametrize(("count", "partners"), [(4, 2), (64, 4), (512, 4)])
def test_each_npu_has_as_many_partners_on_other_hosts_of_its_rail(count: int, partners: int) -> None:
    made = ping_plan(hosts(count), partners)
    met: dict[tuple[str, int], set[str]] = {}
    for host, targets in made["targets"].items():
        for target in targets:
            assert (target["target_device"], target["host"] != host) == (target["device"], True)
            assert target["address"] == address(int(target["host"][1:]), target["device"])
            met.setdefault((host, target["device"]), set()).add(target["host"])
            met.setdefault((target["host"], target["device"]), set()).add(host)
    assert Counter(len(partner) for partner in met.values()) == {partners: 2 * count}
    assert sum(map(len, made["targets"].values())) == count * partners == sum(map(len, made["plan"]["rounds"]))


def test_few_hosts_have_as_many_partners_as_there_are() -> None:
    assert sum(map(len, ping_plan(hosts(3), 64)["targets"].values())) == 6
    for few in (hosts(1), []):
        made = ping_plan(few)
        assert (made["plan"]["rounds"], [target for targets in made["targets"].values() for target in targets]) == ([], [])


@pytest.mark.parametrize("partners", [0, 65, "x", -1])
def test_odd_numbers_of_partners_are_refused(partners: Any) -> None:
    with pytest.raises(InputError):
        ping_plan(hosts(3), partners)
