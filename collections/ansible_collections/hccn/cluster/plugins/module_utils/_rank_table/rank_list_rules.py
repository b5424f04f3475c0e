# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Rules of HCCL on Ascend 950 for a rank table of version 2.0, in which numbers are JSON numbers, unlike in versions 1.x.

Sources: hcomm, RankTableInfo and its parts (Deserialize, Check); the manual rank_table_config_a5.md.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._core.numbers import is_count, is_integer
from .json_fields import NOTHING, entries, packed, text_of
from .model import COMPLETED
from .rule import Rule, Violation, duplicates, missing_keys, not_objects, not_strings, shortened

MAX_RANKS = 65536
MAX_LOCAL_ID = 64
"""Also the id of a backup NPU, whose replaced_local_id names the NPU that it replaces."""
MAX_DEVICE_ID = 64
MAX_LEVELS = 8
MAX_LAYER = 7
MAX_INSTANCE = 1024
MAX_ADDRESSES = 24
MAX_PORTS = 16
MAX_PORT = 65535
NET_TYPES = ("CLOS", "TOPO_FILE_DESC", "1DMESH", "2DMESH", "A3_SERVER", "A2_AX_SERVER")
EID_DIGITS = 32

_OLD_NAMES = {"net_layer": "level", "net_instance_id": "id", "net_type": "fabric_type"}
_RANK_KEYS = ("rank_id", "local_id", "device_id")
_PORT_KEYS = ("device_port", "host_port")
_CONSEQUENCE = "HCCL requires a string"


class LevelEntry(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    addresses: List[Tuple[str, Mapping[str, Any]]]


class RankEntry(NamedTuple):
    where: str
    fields: Mapping[str, Any]
    levels: List[LevelEntry]

    @property
    def device(self) -> Optional[int]:
        return integer(self.fields, "device_id")


class RankListTable(NamedTuple):
    fields: Mapping[str, Any]
    ranks: List[RankEntry]
    product: Optional[str]


def integer(fields: Mapping[str, Any], key: str) -> Optional[int]:
    value = fields.get(key)
    return value if is_integer(value) else None


def _level(where: str, fields: Mapping[str, Any]) -> LevelEntry:
    return LevelEntry(where, fields, [("%s.rank_addr_list[%d]" % (where, place), entry) for place, entry in enumerate(entries(fields, "rank_addr_list"))])


def view(document: Mapping[str, Any], product: Optional[str] = None) -> RankListTable:
    """Return any JSON object as a table of version 2.0."""
    found = []
    for place, fields in enumerate(entries(document, "rank_list")):
        where = "rank_list[%d]" % place
        levels = [_level("%s.level_list[%d]" % (where, index), level) for index, level in enumerate(entries(fields, "level_list"))]
        found.append(RankEntry(where, fields, levels))
    return RankListTable(document, found, product)


def _status(table: RankListTable) -> Iterator[Violation]:
    if table.fields.get("status", COMPLETED) != COMPLETED:
        yield Violation("status", "status is %s: HCCL waits for '%s'" % (shortened(table.fields["status"]), COMPLETED))


def _version(table: RankListTable) -> Iterator[Violation]:
    if table.fields.get("version", "2.0") != "2.0":
        yield Violation("version", "a rank_list must have version '2.0', not %s" % shortened(table.fields["version"]))
    elif table.product not in ("950", None):
        yield Violation("version", "HCCL on %s does not read version 2.0, which is for Ascend 950 only" % table.product)


def _required(table: RankListTable) -> Iterator[Violation]:
    yield from missing_keys(table.fields, ("version", "rank_count"), "")
    for rank in table.ranks:
        if rank.fields is NOTHING:
            continue
        yield from missing_keys(rank.fields, _RANK_KEYS + ("level_list",), rank.where + ".", rank.device)
        for level in rank.levels:
            for key, old in _OLD_NAMES.items():
                if key not in level.fields and level.fields is not NOTHING:
                    yield Violation("%s.%s" % (level.where, key), "%s is missing" % key, device=rank.device,
                                    hint="%s is its name in an older schema" % old if old in level.fields else None)
            for where, entry in level.addresses:
                yield from missing_keys(entry, ("addr_type", "addr", "ports"), where + ".", rank.device)


def _value_types(table: RankListTable) -> Iterator[Violation]:
    yield from not_strings(table.fields, ("status", "version"), "", _CONSEQUENCE)
    yield from _not_integers(table.fields, ("rank_count",), "")
    for rank in table.ranks:
        yield from _not_integers(rank.fields, _RANK_KEYS + _PORT_KEYS + ("replaced_local_id",), rank.where + ".")
        for level in rank.levels:
            yield from _not_integers(level.fields, ("net_layer",), level.where + ".")
            yield from not_strings(level.fields, ("net_instance_id", "net_type"), level.where + ".", _CONSEQUENCE)
            for where, entry in level.addresses:
                yield from not_strings(entry, ("addr_type", "addr", "plane_id"), where + ".", _CONSEQUENCE)


def _not_integers(fields: Mapping[str, Any], keys: Tuple[str, ...], where: str) -> Iterator[Violation]:
    for key in keys:
        if key in fields and integer(fields, key) is None:
            value = fields[key]
            yield Violation(where + key, "%s is not a number but %s" % (key, shortened(value)),
                            hint="write %s" % value if isinstance(value, str) and is_count(value) else None)


def _rank_list(table: RankListTable) -> Iterator[Violation]:
    members = table.fields.get("rank_list")
    if not isinstance(members, list) or not members:
        yield Violation("rank_list", "rank_list is %s: HCCL requires one entry per rank" % (
            "missing" if "rank_list" not in table.fields else "empty" if members == [] else "not a list"))
    yield from not_objects(table.fields, "rank_list", "")
    for rank in table.ranks:
        yield from not_objects(rank.fields, "level_list", rank.where + ".")


def _rank_count(table: RankListTable) -> Iterator[Violation]:
    count, length = integer(table.fields, "rank_count"), len(table.ranks)
    if count is not None and count != length:
        yield Violation("rank_count", "rank_count is %s, but rank_list has %d entries" % (shortened(count), length), hint="write %d" % length)
    if length > MAX_RANKS:
        yield Violation("rank_list", "the length of rank_list is %d: HCCL accepts at most %d ranks" % (length, MAX_RANKS))


def _rank_ids(table: RankListTable) -> Iterator[Violation]:
    numbers = [(integer(rank.fields, "rank_id"), rank) for rank in table.ranks]
    known = [(number, rank) for number, rank in numbers if number is not None]
    for rank, first in duplicates(known):
        yield Violation(rank.where + ".rank_id", "rank_id %s is also used by %s" % (shortened(rank.fields["rank_id"]), first.where), device=rank.device)
    total = len(table.ranks)
    for number, rank in known:
        if not 0 <= number < total:
            yield Violation(rank.where + ".rank_id", "rank_id %s: %d ranks must be numbered 0 to %d without a gap" % (shortened(number), total, total - 1),
                            device=rank.device)


def _limits(table: RankListTable) -> Iterator[Violation]:
    for rank in table.ranks:
        for key, limit in (("local_id", MAX_LOCAL_ID), ("device_id", MAX_DEVICE_ID)):
            number = integer(rank.fields, key)
            if number is not None and not 0 <= number <= limit:
                yield Violation("%s.%s" % (rank.where, key), "%s %s is not within 0 to %d" % (key, shortened(number), limit), device=rank.device)


def _replaced(table: RankListTable) -> Iterator[Violation]:
    """A backup NPU (local_id 64) names the NPU that it replaces. HCCL accepts one backup NPU."""
    backups = []
    for rank in table.ranks:
        local, replaced = integer(rank.fields, "local_id"), integer(rank.fields, "replaced_local_id")
        where = rank.where + ".replaced_local_id"
        if local == MAX_LOCAL_ID:
            backups.append(("backup", rank))
            if replaced is None or not 0 <= replaced < MAX_LOCAL_ID:
                yield Violation(where, "local_id %d is a backup NPU: replaced_local_id must name the one that it replaces, 0 to %d" % (
                    MAX_LOCAL_ID, MAX_LOCAL_ID - 1), device=rank.device)
    for rank, first in duplicates(backups):
        yield Violation(rank.where + ".local_id", "a second backup NPU in addition to %s: HCCL accepts only one" % first.where, device=rank.device)


def _levels(table: RankListTable) -> Iterator[Violation]:
    for rank in table.ranks:
        count = len(rank.levels)
        if "level_list" in rank.fields and not 1 <= count <= MAX_LEVELS:
            yield Violation(rank.where + ".level_list", "the number of levels is %d: HCCL accepts 1 to %d" % (count, MAX_LEVELS), device=rank.device)
        before = -1
        for level in rank.levels:
            layer = integer(level.fields, "net_layer")
            if layer is not None:
                if not 0 <= layer <= MAX_LAYER:
                    yield Violation(level.where + ".net_layer", "net_layer %s is not within 0 to %d" % (shortened(layer), MAX_LAYER), device=rank.device)
                elif layer <= before:
                    yield Violation(level.where + ".net_layer", "net_layer %d after %d: HCCL requires ascending layers" % (layer, before), device=rank.device)
                before = max(before, layer)
            instance = level.fields.get("net_instance_id")
            if isinstance(instance, str) and not 1 <= len(instance) <= MAX_INSTANCE:
                yield Violation(level.where + ".net_instance_id", "net_instance_id has %d characters: HCCL accepts 1 to %d" % (len(instance), MAX_INSTANCE),
                                device=rank.device)


def _net_types(table: RankListTable) -> Iterator[Violation]:
    for rank in table.ranks:
        for level in rank.levels:
            name = level.fields.get("net_type")
            if isinstance(name, str) and name not in NET_TYPES:
                yield Violation(level.where + ".net_type", "net_type %s is not one of %s" % (shortened(name), ", ".join(NET_TYPES)), severity="warning",
                                device=rank.device)


def is_eid(text: str) -> bool:
    return len(text) == EID_DIGITS and all(letter in "0123456789abcdefABCDEF" for letter in text)


def _is_of(kind: str, address: str) -> bool:
    if kind == "EID":
        return is_eid(address)
    found = packed(address)
    return found is not None and len(found) == (4 if kind == "IPV4" else 16)


def _rank_addresses(table: RankListTable) -> Iterator[Violation]:
    for rank in table.ranks:
        for level in rank.levels:
            if len(level.addresses) > MAX_ADDRESSES:
                yield Violation(level.where + ".rank_addr_list", "the number of addresses is %d: HCCL accepts at most %d" % (
                    len(level.addresses), MAX_ADDRESSES), device=rank.device)
            for where, entry in level.addresses:
                kind, address, ports = text_of(entry, "addr_type"), text_of(entry, "addr"), entry.get("ports")
                if kind is not None and kind not in ("IPV4", "IPV6", "EID"):
                    yield Violation(where + ".addr_type", "addr_type %s is not one of IPV4, IPV6, EID" % shortened(kind), device=rank.device)
                elif kind is not None and address is not None and not _is_of(kind, address):
                    yield Violation(where + ".addr", "%s is not an address of type %s" % (shortened(address), kind), device=rank.device)
                if "ports" in entry and not (isinstance(ports, list) and 1 <= len(ports) <= MAX_PORTS and all(isinstance(port, str) for port in ports)):
                    yield Violation(where + ".ports", "ports is not a list of 1 to %d strings" % MAX_PORTS, device=rank.device)


def _address_unique(table: RankListTable) -> Iterator[Violation]:
    """HCCL does not compare addresses. The same address at two levels of one rank is valid."""
    first: Dict[str, RankEntry] = {}
    for rank in table.ranks:
        for level in rank.levels:
            for where, entry in level.addresses:
                address = text_of(entry, "addr")
                if address and first.setdefault(address.lower(), rank) is not rank:
                    yield Violation(where + ".addr", "the address %s is also in %s" % (shortened(address), first[address.lower()].where), severity="warning",
                                    device=rank.device)


def _instance_sizes(table: RankListTable) -> Iterator[Violation]:
    sizes: Dict[Tuple[Any, Any], List[Tuple[int, LevelEntry, RankEntry]]] = {}
    for rank in table.ranks:
        for level in rank.levels:
            key = integer(level.fields, "net_layer"), text_of(level.fields, "net_instance_id")
            if None not in key:
                sizes.setdefault(key, []).append((len(level.addresses), level, rank))
    for found in sizes.values():
        usual = Counter(size for size, _level, _rank in found).most_common(1)[0][0]
        for size, level, rank in found:
            if size != usual:
                yield Violation(level.where + ".rank_addr_list", "the number of addresses is %d, but %d in others of this net instance: HCCL requires the same "
                                "number in each" % (size, usual), device=rank.device)


def _local_ids(table: RankListTable) -> Iterator[Violation]:
    """HCCL finds the NPU in the topology file by local_id, within the lowest net instance."""
    keys = []
    for rank in table.ranks:
        local = integer(rank.fields, "local_id")
        instance = text_of(rank.levels[0].fields, "net_instance_id") if rank.levels else None
        if local is not None and instance is not None:
            keys.append(((instance, local), rank))
    for rank, first in duplicates(keys):
        yield Violation(rank.where + ".local_id", "local_id %s is also used by %s in the same net instance" % (shortened(rank.fields["local_id"]), first.where),
                        severity="warning", device=rank.device)


def _ports(table: RankListTable) -> Iterator[Violation]:
    for rank in table.ranks:
        for key in _PORT_KEYS:
            number = integer(rank.fields, key)
            if number is not None and not 1 <= number <= MAX_PORT:
                yield Violation("%s.%s" % (rank.where, key), "%s %s is not a port from 1 to %d" % (key, shortened(number), MAX_PORT), device=rank.device)


RULES: Tuple[Rule, ...] = (
    Rule("status", "EI0004", _status),
    Rule("version", "EI0014", _version),
    Rule("required_keys", "EI0017", _required),
    Rule("value_types", "EI0014", _value_types),
    Rule("rank_list", "EI0017", _rank_list),
    Rule("rank_count", "EI0014", _rank_count),
    Rule("rank_ids", "EI0014", _rank_ids),
    Rule("id_limits", "EI0014", _limits),
    Rule("replaced_local_id", "EI0014", _replaced),
    Rule("levels", "EI0014", _levels),
    Rule("net_type", "EI0014", _net_types),
    Rule("rank_addresses", "EI0014", _rank_addresses),
    Rule("address_unique", None, _address_unique),
    Rule("instance_sizes", "EI0014", _instance_sizes),
    Rule("local_id_unique", None, _local_ids),
    Rule("ports", "EI0014", _ports),
)
