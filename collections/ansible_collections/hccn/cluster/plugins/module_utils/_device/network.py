# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_network: read, plan, set, verify.

Devices are set one after the other, since hccn_tool does not hold its lock while it writes hccn.conf.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import functools
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from . import conf, conf_file, network_config
from .device_errors import failed, sentence
from .device_session import Session
from .failures import NOT_PERSISTED
from .hccn_tool import HccnTool
from .network_forecast import Forecast, ReservedAddresses, forecast, loses_ipv6_gateway, require_replay
from .network_items import ADDRESS_GATEWAYS, BYSTANDERS, ITEMS, Item, Values, items_of, wanted_part
from .read import MAX_PARALLEL, NOT_READY, is_not_ready, not_ready


@dataclass
class DeviceNetwork:
    """The network options of a device. ``current``: the values of the device, ``persistent``: those of hccn.conf, which apply at the next boot.

    ``bystanders`` are items that nobody asked for, but whose lines of hccn.conf a change removes.
    ``before`` and ``persistent_before`` are both before the change. ``forecast`` is set if the device needs a change that is possible.
    """

    device: int
    wanted: Values
    items: List[Item]
    current: Values
    persistent: Values
    before: Values = field(default_factory=dict)
    persistent_before: Values = field(default_factory=dict)
    forecast: Optional[Forecast] = None
    set_items: List[Item] = field(default_factory=list)
    bystanders: List[Item] = field(default_factory=list)
    changed: bool = False
    errors: List[Dict[str, Any]] = field(default_factory=list)

    @property
    def requested(self) -> List[Item]:
        """The requested items. The others are only read."""
        return [item for item in self.items if item.options[0] in self.wanted]

    def fail(self, error: HccnError, topic: str) -> None:
        self.errors.append(dict(error.as_dict(), topic=topic))

    def shown(self, current: Values, persistent: Values) -> Values:
        """Return the options in the form of the module's result, with only the requested DSCP values."""
        options = [option for item in self.items for option in item.options]
        on_device, in_file = ({option: wanted_part(self.wanted.get(option), values.get(option)) for option in options} for values in (current, persistent))
        return dict(on_device, persistent=in_file)

    def as_dict(self) -> Dict[str, Any]:
        return {"id": self.device, "before": self.shown(self.before, self.persistent_before), "after": self.shown(self.current, self.persistent),
                "changed": self.changed, "errors": self.errors}

    def diff(self) -> Dict[str, str]:
        def lines(shown: Values) -> str:
            persistent = shown.pop("persistent")
            return "".join("%s: %s, after a boot %s\n" % (option, shown[option], persistent[option]) for option in shown)

        header = "device %d" % self.device
        return {"before_header": header, "after_header": header, "before": lines(self.shown(self.before, self.persistent_before)),
                "after": lines(self.shown(self.current, self.persistent))}

    def previous_values(self, items: Sequence[Item]) -> Dict[str, Any]:
        """Return the id of the device and its values before ``items`` are set, including gateways that the change may remove. None: it was not set."""
        options = {option for item in items for option in item.options}
        options |= {gateway for address, gateway in ADDRESS_GATEWAYS if address in options}
        if "address" in options and self.bystanders and self.before["ipv6_address"] is not None:
            options.add("ipv6_gateway")
        values = {option: wanted_part(self.wanted.get(option), self.before[option]) for option in network_config.OPTIONS if option in options}
        if self.bystanders and values.get("ipv6_gateway", "") is None:
            values["ipv6_gateway"] = self.persistent_before["ipv6_gateway"]  # set at the next boot, had the line not been removed
        return dict(values, id=self.device)


def _persistent(items: Sequence[Item], text: Optional[str], device: int) -> Values:
    found: Values = {}
    for item in items:
        found.update(item.persistent_values(text or "", device))
    return found


def _read(tool: HccnTool, port: DeviceNetwork, items: Sequence[Item]) -> None:
    """Read the current values of the device, and record failures as its errors. After a query without an answer the device is not asked again."""
    for item in items:
        try:
            if is_not_ready(port.errors):
                raise not_ready(port.device)
            port.current.update(item.read(tool, port.device))
        except HccnError as error:
            port.current.update(dict.fromkeys(item.options))
            if error.code == NOT_READY or item not in port.bystanders:
                port.fail(error, item.options[0])


def probe(tool: HccnTool, wanted: Mapping[int, Values], text: Optional[str]) -> List[DeviceNetwork]:
    """Return the current state of every device, in the order given."""
    ports = [DeviceNetwork(device, values, items_of(list(values)), {}, {}) for device, values in wanted.items()]
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        list(pool.map(lambda port: _read(tool, port, port.items), ports))
    for port in ports:
        port.persistent = _persistent(port.items, text, port.device)
        if loses_ipv6_gateway(port.wanted, port.current, port.persistent) and conf.value_of(text or "", port.device, "IPv6gateway") is not None:
            port.bystanders = [item for item in BYSTANDERS if item not in port.items]
            _read(tool, port, port.bystanders)
            port.items = sorted(port.items + port.bystanders, key=ITEMS.index)
            port.persistent = _persistent(port.items, text, port.device)
        port.before, port.persistent_before = dict(port.current), dict(port.persistent)
    return ports


def plan(session: Session, ports: Sequence[DeviceNetwork], text: Optional[str]) -> None:
    """Set the forecast of each device that needs a change, or the error that prevents the change."""
    reserved = ReservedAddresses(session)
    for port in ports:
        if port.errors:
            continue
        try:
            predicted = forecast(port.requested, port.wanted, port.current, port.persistent)
            if predicted.sets("address"):
                reserved.require_free(port.wanted["address"])
                require_replay(text or "", port.device)
            if predicted.commands:
                conf_file.require_writable(session.path, text)
                port.forecast = predicted
        except HccnError as error:
            port.errors.append(error.as_dict())


def skip_busy(session: Session, ports: Sequence[DeviceNetwork], allow_busy: bool) -> None:
    """Cancel the changes of busy devices, and record the refusals as errors."""
    refusals = session.refusals([port.device for port in ports if port.forecast], allow_busy)
    for port in ports:
        if port.forecast and port.device in refusals:
            port.errors.append(refusals[port.device])
            port.forecast = None


def save_previous(session: Session, ports: Sequence[DeviceNetwork]) -> None:
    """Save the values before any device is set. If that fails, cancel all changes with that error."""
    try:
        session.save_previous(network=[port.previous_values(port.forecast.items) for port in ports if port.forecast])
    except HccnError as error:
        for port in ports:
            if port.forecast:
                port.errors.append(error.as_dict())
                port.forecast = None


def predict(tool: HccnTool, ports: Sequence[DeviceNetwork]) -> List[List[str]]:
    """Replace the values of the devices by their forecasts, for check mode, and return the commands that would be run."""
    commands: List[List[str]] = []
    for port in ports:
        if port.forecast:
            port.current, port.persistent, port.set_items, port.changed = port.forecast.current, port.forecast.persistent, port.forecast.items, True
            commands += [list(tool.argv(port.device, *words)) for words in port.forecast.commands]
    return commands


class Setter:
    """Sets devices one after the other. Records the commands, and other settings that hccn_tool removes from hccn.conf."""

    def __init__(self, session: Session, allow_busy: bool) -> None:
        self._session = session
        self._allow_busy = allow_busy
        self.commands: List[List[str]] = []
        self.side_effects: List[Dict[str, Any]] = []

    def apply(self, ports: Sequence[DeviceNetwork]) -> None:
        """Set every device that needs a change, and read it again. After a failure the rest of that device is not set; other devices are.

        Whether a device is busy is only checked before its first command, and again if that had to wait for the tool, so that no change is left
        incomplete.
        """
        for port in ports:
            skip_busy(self._session, [port], self._allow_busy)
            if port.forecast:
                before = self._text(port)
                self._device(port)
                after = self._text(port)
                self._record_removed(port, before, after)
                self._verify(port, after)

    def _text(self, port: DeviceNetwork) -> Optional[str]:
        try:
            return self._session.conf_text()
        except HccnError as error:
            port.errors.append(error.as_dict())
            return None

    def _device(self, port: DeviceNetwork) -> None:
        for item in port.requested:
            try:
                self._item(port, item)
            except HccnError as error:
                port.changed = port.changed or error.code == NOT_PERSISTED
                port.fail(error, item.options[0])
                return

    def _item(self, port: DeviceNetwork, item: Item) -> None:
        tool = self._session.tool
        commands = item.commands(port.wanted, port.current, port.persistent)
        if not commands:
            return
        conf_file.require_writable(self._session.path, self._session.conf_text())
        port.set_items.append(item)
        for words in commands:
            self.commands.append(list(tool.argv(port.device, *words)))
            still_idle = functools.partial(self._session.require_idle, port.device, self._allow_busy)
            tool.set(port.device, *words, before_retry=None if port.changed else still_idle)
            port.changed = True
        port.persistent = _persistent(port.items, self._session.conf_text(), port.device)
        port.current.update({option: port.wanted[option] for option in item.options})
        for bound in port.items:
            if (item.options[0], bound.options[0]) in ADDRESS_GATEWAYS:
                port.current.update(bound.read(tool, port.device))

    def _record_removed(self, port: DeviceNetwork, before: Optional[str], after: Optional[str]) -> None:
        """Record settings that no command names but that disappeared: gateways and routes of other networks, keys that contain a removed key."""
        there = {(setting.full_key, setting.value) for setting in conf.settings(after or "")}
        own = {"%s_%d" % (key, port.device) for item in port.set_items for key in item.keys}
        cause = ", ".join("hccn_tool %s -s" % " ".join(item.query[:-1]) for item in port.set_items)
        self.side_effects += [
            {"device": setting.device, "path": self._session.path, "key": setting.full_key, "value": setting.value, "cause": cause}
            for setting in conf.settings(before or "") if setting.full_key not in own and (setting.full_key, setting.value) not in there
        ]

    def _verify(self, port: DeviceNetwork, text: Optional[str]) -> None:
        _read(self._session.tool, port, port.items)
        port.persistent = _persistent(port.items, text, port.device)
        port.changed = port.changed or (port.current, port.persistent) != (port.before, port.persistent_before)
        for item in [] if port.errors else port.requested:
            if item.needs_change(port.wanted, port.current, port.persistent):
                option, shown = item.options[0], port.shown(port.current, port.persistent)
                port.fail(HccnError("not_applied", "hccn_tool reported success, but the device has %s and hccn.conf has %s"
                                    % (shown[option], shown["persistent"][option]), "query the device, and check which other process writes hccn.conf"), option)


def configure(session: Session, params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of device_network. Raises HccnError if nothing could be done."""
    session.host.refuse_950()
    text = session.conf_text()
    wanted = network_config.wanted(params["config"], session.host.devices, text, session.path)
    ports = probe(session.tool, {device: values for device, values in wanted.items() if device in session.devices}, text)
    plan(session, ports, text)
    setter = Setter(session, params["allow_busy"])
    commands = setter.commands
    if check_mode:
        skip_busy(session, ports, params["allow_busy"])
        commands = predict(session.tool, ports)
    else:
        if params.get("keep_previous"):
            skip_busy(session, ports, params["allow_busy"])
            save_previous(session, ports)
        setter.apply(ports)
    return _result(ports, commands, setter.side_effects, params["fail_on"])


def _result(ports: Sequence[DeviceNetwork], commands: List[List[str]], lost: List[Dict[str, Any]], fail_on: str) -> Dict[str, Any]:
    devices = [port.as_dict() for port in ports]
    previous = [network_config.settable(port.previous_values(port.set_items))[0] for port in ports if port.set_items]
    result: Dict[str, Any] = {
        "devices": devices, "commands": commands, "previous": [entry for entry in previous if len(entry) > 1], "side_effects": lost,
        "changed": any(port.changed for port in ports), "diff": [port.diff() for port in ports if port.changed],
    }
    if failed(devices, fail_on):
        result.update(failed=True, msg=sentence(devices))
    return result
