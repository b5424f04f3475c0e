# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Plan which NPU of which host gets which address. Nothing is contacted or run.

Each host has a number, and the n-th host has the n-th block of each subnet, so a host keeps its addresses if other hosts are added or removed. An address
written by hand takes precedence, and is checked together with the planned ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._core.errors import InputError
from ...module_utils._core.numbers import is_count
from ...module_utils._core.problems import Problem
from ...module_utils._device import subnets as rules
from ...module_utils._device.host import MAX_DEVICE_ID
from .address_pools import Pool, PoolSlot, make_pools, pool_slot
from .input_numbers import whole_number

DEVICES_PER_HOST = {"910A": 8, "A2": 8, "A3": 16}
"""NPUs, or dies on A3, of a standard server (from npu-smi of such servers)."""

GUESSES = (8, 16, MAX_DEVICE_ID + 1)
"""NPUs per host of an unknown product: the first number that all ids of the host are below."""

UNIQUE = ("address", "ipv6_address")

FILE_KEYS = {"address": "address", "netmask": "netmask", "gateway": "gateway", "netdetect": "netdetect", "ipv6_address": "IPv6address"}
"""The keys in hccn.conf of the options of device_network that are checked."""

SHOWN = 3
"""Problems that the error message of a refused plan contains in full."""


@dataclass(frozen=True)
class DeviceConfig:
    """The options of one device, and where they come from."""

    where: str
    options: dict[str, Any]


@dataclass(frozen=True)
class AddressedHost:
    """A host. ``number`` is None if it has none, ``devices`` if they were not given.

    ``written`` and ``file`` are the entries written by hand for device_network and hccn_conf.
    """

    name: str
    number: int | None
    devices: tuple[int, ...] | None
    product: str | None
    super_pod: bool | None
    written: Mapping[int, DeviceConfig]
    file: Mapping[int, DeviceConfig]
    pools: Sequence[Pool]

    def planned(self) -> list[int]:
        """Return the devices that need an address."""
        if not self.pools:
            return []
        return [device for device in self.devices or () if not self.by_hand(device)]

    def by_hand(self, device: int) -> bool:
        """Return True if an address was written for this device."""
        return any(bool(entries[device].options.get("address")) for entries in (self.written, self.file) if device in entries)


@dataclass
class AddressPlan:
    """``config``: for each host the ``config`` of device_network. It is empty if there are errors."""

    config: dict[str, list[dict[str, Any]]]
    problems: list[Problem] = field(default_factory=list)

    @property
    def errors(self) -> list[Problem]:
        """The problems that make the plan unusable."""
        return [problem for problem in self.problems if problem.severity == "error"]


def plan_addresses(hosts: Any, subnets: Any = None, numbers: Any = None, first_number: int = 1, devices_per_host: int | None = None,
                   ignore: Iterable[str] = (), number_by_place: bool = True) -> AddressPlan:
    """Return the plan of all hosts with all its problems. Raises InputError if the options themselves are wrong.

    ``number_by_place``: number a host by its place in the list if it has no number of its own. Otherwise such a host gets no planned address.
    """
    ignored = set(ignore)
    unknown = sorted(ignored - set(rules.RULES))
    if unknown:
        raise InputError(f"ignore: {', '.join(unknown)} cannot be ignored", f"the rules that can be ignored are {', '.join(rules.RULES)}")
    known = _hosts(hosts, subnets, numbers, first_number if number_by_place else None)
    collisions = list(_numbering(known))
    collided = {problem.host for problem in collisions}
    problems = collisions + list(_gateways(known))
    config: dict[str, list[dict[str, Any]]] = {}
    owners: list[rules.Owner] = []
    for host in known:
        planned, wrong = _planned(host, first_number, devices_per_host)
        network = _merged(planned, host.written)
        config[host.name] = [{"id": device, **entry.options} for device, entry in _in_order(host, network) if entry.options]
        meant = dict(_in_order(host, _merged(_merged(planned, host.file), host.written)))
        checked = [{**entry.options, "id": device, "where": entry.where} for device, entry in meant.items()]
        problems += wrong + list(_misplaced(host)) + list(_contradictions(host, network))
        problems += rules.check(checked, host.product, host.super_pod, host.name)
        owners += _owners(host, meant, host.name not in collided)
    problems = [problem for problem in problems + rules.duplicates(owners) if problem.rule not in ignored]
    made = AddressPlan(config, problems)
    return made if not made.errors else AddressPlan({}, problems)


def refusal(errors: Sequence[Problem]) -> str:
    """Return the errors as one message: the first ones in full, and the number of the others."""
    shown = "; ".join(_sentence(problem) for problem in errors[:SHOWN])
    more = len(errors) - SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def _sentence(problem: Problem) -> str:
    owner = problem.host or ""
    owner += f" NPU {problem.device}" if problem.device is not None else ""
    owner += f" ({problem.where})" if problem.where and problem.device is not None else ""
    text = f"{owner}: {problem.message}" if owner else problem.message
    return f"{text} ({problem.hint})" if problem.hint else text


def _planned(host: AddressedHost, first_number: int, devices_per_host: int | None) -> tuple[dict[int, DeviceConfig], list[Problem]]:
    """Return planned addresses for the devices that have none, and a problem for each that cannot get one."""
    problems: dict[tuple[str, str], Problem] = {}
    if host.pools and host.devices is None and not host.written and not host.file:
        problems["no_devices", ""] = Problem("no_devices", "error", "it has neither devices nor a config written by hand", host.name,
                                             hint="give the ids of its NPUs, or what device_info returned")
    made: dict[int, DeviceConfig] = {}
    per_host = devices_per_host or _per_host(host)
    for device in host.planned():
        place = pool_slot(host.pools, device, per_host)
        index = None if place is None or host.number is None else (host.number - first_number) * place.block + place.slot
        wrong = _misfit(host, device, place, per_host, first_number, index)
        if wrong is not None:
            problems.setdefault((wrong.rule, place.pool.cidr if place else ""), wrong)
        elif place is not None and index is not None:
            made[device] = DeviceConfig(f"planned from {place.pool.cidr}", dict(place.pool.settings(index)))
    return made, list(problems.values())


def _merged(below: Mapping[int, DeviceConfig], above: Mapping[int, DeviceConfig]) -> dict[int, DeviceConfig]:
    """Merge two sets of entries. ``above`` takes precedence, and its origin is reported if it has an address."""
    merged = dict(below)
    for device, entry in above.items():
        under = below.get(device)
        if under is not None:
            entry = DeviceConfig(entry.where if entry.options.get("address") else under.where, {**under.options, **entry.options})
        merged[device] = entry
    return merged


def _in_order(host: AddressedHost, entries: Mapping[int, DeviceConfig]) -> list[tuple[int, DeviceConfig]]:
    first = host.devices or ()
    return [(device, entries[device]) for device in (*first, *(device for device in entries if device not in first)) if device in entries]


def _misplaced(host: AddressedHost) -> Iterator[Problem]:
    for device, entry in (*host.written.items(), *host.file.items()):
        if host.devices is not None and device not in host.devices:
            yield Problem("absent_device", "error", "the host does not have this NPU", host.name, device, entry.where)


def _contradictions(host: AddressedHost, network: Mapping[int, DeviceConfig]) -> Iterator[Problem]:
    """Find options that hccn_conf would write into the file and device_network would replace, in every run."""
    for device, entry in host.file.items():
        wanted = network.get(device)
        for option, value in entry.options.items() if wanted else ():
            if wanted is not None and option in wanted.options and str(wanted.options[option]) != str(value):
                yield Problem("contradiction", "error", f"{option} is {value} here, and {wanted.options[option]} {_at(wanted.where)}", host.name, device,
                              entry.where, "set it in one place only")


def _at(where: str) -> str:
    return where if where.startswith("planned") else f"in {where}"


def _misfit(host: AddressedHost, device: int, place: PoolSlot | None, per_host: int, first_number: int, index: int | None) -> Problem | None:
    """Return why a device cannot have the planned address with this ``index`` in its pool; None if it can."""
    if place is None:
        return Problem("no_subnet", "error", "none of the subnets is for this NPU", host.name, device, hint="name it in devices of a subnet")
    pool = place.pool
    if pool.devices is None and device >= per_host:
        return Problem("too_many_devices", "error", f"{per_host} NPUs are planned for each host, with the ids 0 to {per_host - 1}", host.name, device,
                       hint="give devices_per_host")
    if host.number is None or index is None:
        return Problem("no_number", "error", "it has no number: its name has no digits at its end, and its place among the hosts of a run may change",
                       host.name, device, hint="give it one in numbers")
    if host.number < first_number:
        return Problem("number_too_small", "error", f"the number of the host is {host.number}, and the first is {first_number}", host.name, device,
                       hint="give it another in numbers, or give first_number")
    if index >= pool.size:
        return Problem("pool_too_small", "error", f"{pool.cidr} has {pool.size} addresses for NPUs, {pool.range()}, which do not reach to the host with "
                       f"number {host.number} and its {place.block} NPUs there", host.name, device, hint="give a larger subnet, or smaller numbers")
    return None


def _per_host(host: AddressedHost) -> int:
    if host.product in DEVICES_PER_HOST:
        return DEVICES_PER_HOST[host.product]
    largest = max(host.devices or (0,))
    return next(guess for guess in GUESSES if largest < guess)


def _owners(host: AddressedHost, entries: Mapping[int, DeviceConfig], planned: bool) -> Iterator[rules.Owner]:
    """Return all addresses that must be unique. Planned ones of a host with the number of another host are left out: all of them collide."""
    for device, entry in entries.items():
        for option in UNIQUE:
            if entry.options.get(option) and (planned or host.by_hand(device)):
                yield rules.Owner(str(entry.options[option]), host.name, device, entry.where)


def _numbering(hosts: Sequence[AddressedHost]) -> Iterator[Problem]:
    """Find hosts that would have the same block of a subnet."""
    first: dict[tuple[str, int], str] = {}
    for host in hosts:
        if host.number is None:
            continue
        for cidr in sorted({pool.cidr for pool in host.pools}) if host.planned() else ():
            before = first.setdefault((cidr, host.number), host.name)
            if before != host.name:
                yield Problem("number_collision", "error", f"its number is {host.number}, and so is that of {before}: they would have the same addresses "
                              f"of {cidr}", host.name, hint="give each host a number of its own in numbers")
                break  # one problem is enough for all subnets


def _gateways(hosts: Sequence[AddressedHost]) -> Iterator[Problem]:
    used = {pool: None for host in hosts if host.planned() for pool in host.pools}
    for pool in used:
        if pool.gateway_inside():
            yield Problem("gateway_in_pool", "error", f"the gateway {pool.gateway} of {pool.cidr} is among the addresses for NPUs, {pool.range()}",
                          hint="give first or last so that it does not")


def _hosts(hosts: Any, subnets: Any, numbers: Any, first_place: int | None) -> list[AddressedHost]:
    """Read the hosts. ``first_place``: the number of the first host if places make numbers, else None."""
    if not isinstance(hosts, Sequence) or isinstance(hosts, str):
        raise InputError("address_plan takes a list of hosts, each with host, and devices or config")
    given = {str(name): whole_number(f"numbers: {name}", number) for name, number in (numbers or {}).items()}
    made: dict[str, list[Pool]] = {}

    def pools(wanted: Any, where: str) -> list[Pool]:
        if not wanted:
            return []
        known = json.dumps(wanted, sort_keys=True, default=str)
        if known not in made:
            made[known] = make_pools(wanted, where)
        return made[known]

    common = pools(subnets, "subnets")
    found: dict[str, AddressedHost] = {}
    for position, entry in enumerate(hosts):
        host = _host(entry, None if first_place is None else position + first_place, given, common, pools)
        if host.name in found:
            raise InputError(f"host {host.name} is listed twice")
        found[host.name] = host
    return list(found.values())


def _host(entry: Any, position: int | None, numbers: Mapping[str, int], common: Sequence[Pool], pools: Any) -> AddressedHost:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("host"), str) or not entry["host"]:
        raise InputError(f"an entry of the hosts has no name: {entry!r}")
    name = str(entry["host"])
    results = entry.get("devices")
    ids = None if results is None else _ids(name, results)
    own = pools(entry["subnets"], f"subnets of {name}") if entry.get("subnets") else common
    number = numbers.get(name, entry.get("number"))
    product = entry.get("product") or None
    if product not in (None, *rules.PRODUCTS):
        raise InputError(f"host {name}: product {product!r} is not known", f"known are {', '.join(rules.PRODUCTS)}")
    super_pod = entry.get("in_super_pod")
    if super_pod is None:
        super_pod = rules.in_super_pod([device for device in results or () if isinstance(device, Mapping)])
    return AddressedHost(name, whole_number(f"host {name}: number", number) if number is not None else _own_number(name, position),
                         ids, product, super_pod, *_written(name, entry.get("config")), own)


def _own_number(name: str, position: int | None) -> int | None:
    """Return the digits at the end of the name without its domain, else the place of the host."""
    label = name if re.fullmatch(r"[\d.]+", name) else name.split(".")[0]
    found = re.search(r"([0-9]+)$", label)
    return int(found.group(1)) if found and is_count(found.group(1)) else position


def _ids(host: str, devices: Any) -> tuple[int, ...]:
    if not isinstance(devices, Sequence) or isinstance(devices, str):
        raise InputError(f"host {host}: devices is not a list of ids, or of what device_info returned")
    ids = tuple(whole_number(f"host {host}: device id", device.get("id") if isinstance(device, Mapping) else device) for device in devices)
    bad = sorted({device for device in ids if not 0 <= device <= MAX_DEVICE_ID or ids.count(device) > 1})
    if bad:
        raise InputError(f"host {host}: device id {bad[0]} is listed twice, or is not in 0 to {MAX_DEVICE_ID}")
    return ids


def _written(host: str, config: Any) -> tuple[dict[int, DeviceConfig], dict[int, DeviceConfig]]:
    """Return the entries for device_network, and those for hccn_conf, which have ``settings``."""
    if config is not None and (not isinstance(config, Sequence) or isinstance(config, str) or any(not isinstance(entry, Mapping) for entry in config)):
        raise InputError(f"host {host}: config is not a list of dictionaries with id and address")
    found: tuple[dict[int, DeviceConfig], dict[int, DeviceConfig]] = ({}, {})
    for index, entry in enumerate(config or ()):
        settings = entry.get("settings")
        for_file = isinstance(settings, Mapping)
        where = f"config[{index}].settings" if for_file else f"config[{index}]"
        device = whole_number(f"host {host}: config[{index}].id", entry.get("id"))
        if device in found[for_file]:
            raise InputError(f"host {host}: config[{index}]: NPU {device} is already in {found[for_file][device].where}")
        if for_file:
            options = {option: settings[key] for option, key in FILE_KEYS.items() if settings.get(key)}
        else:
            options = {str(key): value for key, value in entry.items() if key != "id" and value is not None}
        found[for_file][device] = DeviceConfig(where, options)
    return found
