from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.super_pod import Sdid, VnicPlace, sdid_of, sdid_parts, vnic_of, vnic_place

SEATS = [
    (40, 0, 167772160, "192.40.2.199"),
    (40, 1, 167837697, "192.40.3.198"),
    (40, 10, 169082890, "192.40.2.189"),
    (40, 11, 169148427, "192.40.3.188"),
    (40, 12, 169345036, "192.40.2.187"),
    (9, 0, 37748736, "192.9.2.199"),
    (9, 7, 38600711, "192.9.3.192"),
    (23, 15, 98369551, "192.23.3.184"),
    (47, 1, 197197825, "192.47.3.198"),
]
"""Server index, device, SDID and address of real hosts and of the vendor's manual, and of the last server with a unique address."""


@pytest.mark.parametrize("server, device, sdid, vnic", SEATS)
def test_sdids_and_vnic_addresses_round_trip(server, device, sdid, vnic):
    assert (sdid_of(server, device), vnic_of(server, device)) == (sdid, vnic)
    assert sdid_parts(sdid) == Sdid(server, device // 2, device % 2, device)
    assert sdid_parts(sdid).consistent
    assert vnic_place(vnic) == VnicPlace(server, device)


@pytest.mark.parametrize("server", [48, 383, 1023, None])
def test_servers_above_the_limit_share_vnic_addresses(server):
    assert vnic_of(server, 2) == "192.168.2.197"
    assert vnic_place("192.168.2.197") == VnicPlace(None, 2)


def test_the_sdid_of_a_server_outside_a_super_pod():
    assert sdid_of(1023, 2) == 4291035138
    assert sdid_parts(4291035138) == Sdid(1023, 1, 0, 2)


@pytest.mark.parametrize("sdid", [1, 3, 98369551 + 1, 0x30000, 16, sdid_of(0, 16)])
def test_inconsistent_sdids_are_detected(sdid):
    assert not sdid_parts(sdid).consistent


@pytest.mark.parametrize("sdid", [-2, -1, 1 << 32])
def test_numbers_outside_32_bits_are_not_sdids(sdid):
    assert sdid_parts(sdid) is None


@pytest.mark.parametrize("address", ["", "192.23.2", "192.23.2.194", "192.23.3.199", "192.48.2.199", "192.23.2.200", "192.23.2.183", "10.23.2.199", "fd00::1",
                                     "192.23.2.x", "192.23.4.199", "192.0023.2.199"])
def test_addresses_that_no_virtual_nic_can_have(address):
    assert vnic_place(address) is None
