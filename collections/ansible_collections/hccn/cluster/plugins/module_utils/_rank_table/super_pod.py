# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Arithmetic of an A3 super pod: the super device id (SDID) of a die, and the address of its virtual NIC.

Source: hicann/driver src/ascend_hal/dms/chip/soc/spod_info_common.c (SDID) and dms/drv_devmng/dc/devdrv_vnic_info.c (virtual NIC).
Both contain the index of the server in its super pod and the physical id of the device, so both can be checked without hardware.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from .._core.numbers import is_count

DIES = 2
"""Dies per NPU: device d is die d % 2 of chip d // 2."""
MAX_DEVICE = 15
"""The last device of an A3 server."""

ALONE = 1023
"""The server index of a server outside a super pod: all 10 bits are set."""
MAX_SERVER_INDEX = ALONE - 1
MAX_SDID = 0xFFFFFFFF

MAX_VNIC_SERVER = 47
"""The last server index that an address of a virtual NIC can hold (SERVER_ID_MAX)."""

_SERVER_SHIFT, _CHIP_SHIFT, _DIE_SHIFT = 22, 18, 16
_CHIP_MASK, _DIE_MASK, _DEVICE_MASK = 0xF, 0x3, 0xFFFF
_VNIC_FIRST, _VNIC_NO_SERVER, _VNIC_THIRD, _VNIC_LAST = 192, 168, 2, 199


class Sdid(NamedTuple):
    """The parts of an SDID. ``consistent`` is True if the device exists and chip and die belong to it."""

    server_index: int
    chip: int
    die: int
    device: int

    @property
    def consistent(self) -> bool:
        return self.device <= MAX_DEVICE and (self.chip, self.die) == divmod(self.device, DIES)


class VnicPlace(NamedTuple):
    """The contents of the address of a virtual NIC. ``server_index`` is None above MAX_VNIC_SERVER, or if the device does not know it."""

    server_index: Optional[int]
    device: int


def sdid_of(server_index: int, device: int) -> int:
    """Return the SDID of a device: 10 bits server index, 4 bits chip, 2 bits die, 16 bits device. It is unique within a super pod only."""
    chip, die = divmod(device, DIES)
    return server_index << _SERVER_SHIFT | chip << _CHIP_SHIFT | die << _DIE_SHIFT | device


def sdid_parts(sdid: int) -> Optional[Sdid]:
    """Return the parts of an SDID; None for a number that cannot be one (negative, or more than 32 bits)."""
    if not 0 <= sdid <= MAX_SDID:
        return None
    return Sdid(sdid >> _SERVER_SHIFT, sdid >> _CHIP_SHIFT & _CHIP_MASK, sdid >> _DIE_SHIFT & _DIE_MASK, sdid & _DEVICE_MASK)


def vnic_of(server_index: Optional[int], device: int) -> str:
    """Return the address of a device's virtual NIC. Addresses repeat in other super pods, and in servers above MAX_VNIC_SERVER."""
    second = server_index if server_index is not None and 0 <= server_index <= MAX_VNIC_SERVER else _VNIC_NO_SERVER
    return "%d.%d.%d.%d" % (_VNIC_FIRST, second, _VNIC_THIRD + device % DIES, _VNIC_LAST - device)


def vnic_place(address: str) -> Optional[VnicPlace]:
    """Return which virtual NIC has this address; None if no virtual NIC can have it.

    192.168.2.x and 192.168.3.x are also ordinary networks, so for these a virtual NIC is only possible, not certain.
    """
    parts = address.split(".")
    if len(parts) != 4 or not all(is_count(part) and len(part) <= 3 for part in parts):
        return None
    first, server, third, last = (int(part) for part in parts)
    device = _VNIC_LAST - last
    if first != _VNIC_FIRST or not 0 <= device <= MAX_DEVICE or third != _VNIC_THIRD + device % DIES:
        return None
    if server == _VNIC_NO_SERVER:
        return VnicPlace(None, device)
    return VnicPlace(server, device) if server <= MAX_VNIC_SERVER else None
