# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The logic of device_network: read, plan, set, verify.

Sets are serialised, since the tool does not hold its own lock while it writes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core.errors import HccnError
from . import conf, conf_file, network_config, session
from .device_errors import failed, sentence
from .failures import NOT_PERSISTED
from .network_forecast import Forecast, forecast
from .network_items import BOUND, Item, Values, items_of, part
from .read import MAX_PARALLEL
from .session import Session
from .hccn_tool import HccnTool


@dataclass
class DeviceNetwork:
    """The network options of a device. ``now``: its current values, ``kept``: those of hccn.conf, used at the next boot; ``was`` and ``was_kept``: both before.

    ``foreseen`` is set where the device needs a change that is possible.
    """

    device: int
    wanted: Values
    items: List[Item]
    now: Values
    kept: Values
    was: Values = field(default_factory=dict)
    was_kept: Values = field(default_factory=dict)
    foreseen: Optional[Forecast] = None
    touched: List[Item] = field(default_factory=list)
    changed: bool = False
    errors: List[Dict[str, Any]] = field(default_factory=list)

    @property
    def named(self) -> List[Item]:
        """The items that the user named; the others are only read."""
        return [item for item in self.items if item.options[0] in self.wanted]

    def fail(self, error: HccnError, topic: str) -> None:
        self.errors.append(dict(error.as_dict(), topic=topic))

    def shown(self, now: Values, kept: Values) -> Values:
        """Return the options as the module does; of the DSCP values only those that the user named."""
        options = [option for item in self.items for option in item.options]
        device, persistent = ({option: part(self.wanted.get(option), has.get(option)) for option in options} for has in (now, kept))
        return dict(device, persistent=persistent)

    def as_dict(self) -> Dict[str, Any]:
        return {"id": self.device, "before": self.shown(self.was, self.was_kept), "after": self.shown(self.now, self.kept), "changed": self.changed,
                "errors": self.errors}

    def diff(self) -> Dict[str, str]:
        def lines(shown: Values) -> str:
            persistent = shown.pop("persistent")
            return "".join("%s: %s, after a boot %s\n" % (option, shown[option], persistent[option]) for option in shown)

        header = "device %d" % self.device
        return {"before_header": header, "after_header": header, "before": lines(self.shown(self.was, self.was_kept)),
                "after": lines(self.shown(self.now, self.kept))}

    def had(self, items: Sequence[Item]) -> Dict[str, Any]:
        """The device's id and what it had before ``items`` are set, which may take a gateway along; None where nothing was set."""
        options = {option for item in items for option in item.options}
        options |= {gateway for address, gateway in BOUND if address in options}
        return dict({option: part(self.wanted.get(option), self.was[option]) for option in network_config.OPTIONS if option in options}, id=self.device)


def _kept(items: Sequence[Item], text: Optional[str], device: int) -> Values:
    found: Values = {}
    for item in items:
        found.update(item.kept(text or "", device))
    return found


def _read(tool: HccnTool, port: DeviceNetwork) -> None:
    """Read the current values of the device; failures become its errors."""
    for item in port.items:
        try:
            port.now.update(item.read(tool, port.device))
        except HccnError as error:
            port.now.update(dict.fromkeys(item.options))
            port.fail(error, item.options[0])


def probe(tool: HccnTool, wanted: Mapping[int, Values], text: Optional[str]) -> List[DeviceNetwork]:
    """Return the current state of every device, in the order given."""
    ports = [DeviceNetwork(device, values, items_of(list(values)), {}, {}) for device, values in wanted.items()]
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        list(pool.map(lambda port: _read(tool, port), ports))
    for port in ports:
        port.kept = _kept(port.items, text, port.device)
        port.was, port.was_kept = dict(port.now), dict(port.kept)
    return ports


def plan(ports: Sequence[DeviceNetwork], path: str, text: Optional[str]) -> None:
    """Set what each device needs, or the error because of which it is left alone."""
    for port in ports:
        if port.errors:
            continue
        try:
            foreseen = forecast(port.named, port.wanted, port.now, port.kept)
            if foreseen.commands:
                conf_file.require_end(path, text)
                port.foreseen = foreseen
        except HccnError as error:
            port.errors.append(error.as_dict())


def spare_busy(here: Session, ports: Sequence[DeviceNetwork], allow_busy: bool) -> None:
    """Leave busy devices alone, and add their refusal as an error."""
    refusals = here.refusals([port.device for port in ports if port.foreseen], allow_busy)
    for port in ports:
        if port.foreseen and port.device in refusals:
            port.errors.append(refusals[port.device])
            port.foreseen = None


def save_previous(here: Session, ports: Sequence[DeviceNetwork]) -> None:
    """Save the values before any device is set. If that fails, leave all devices alone with that error."""
    try:
        here.save_previous(network=[port.had(port.foreseen.items) for port in ports if port.foreseen])
    except HccnError as error:
        for port in ports:
            if port.foreseen:
                port.errors.append(error.as_dict())
                port.foreseen = None


def predict(tool: HccnTool, ports: Sequence[DeviceNetwork]) -> List[List[str]]:
    """In check mode, set the expected values of the devices, and return the sets that would be run."""
    commands: List[List[str]] = []
    for port in ports:
        if port.foreseen:
            port.now, port.kept, port.touched, port.changed = port.foreseen.now, port.foreseen.kept, port.foreseen.items, True
            commands += [list(tool.argv(port.device, *words)) for words in port.foreseen.commands]
    return commands


class Setter:
    """Sets devices one after the other; records the commands, and the other settings that hccn_tool removed from hccn.conf."""

    def __init__(self, here: Session, allow_busy: bool) -> None:
        self._here = here
        self._allow_busy = allow_busy
        self.commands: List[List[str]] = []
        self.side_effects: List[Dict[str, Any]] = []

    def apply(self, ports: Sequence[DeviceNetwork]) -> None:
        """Set every device that needs it. A device stops at its first failure, the others go on. Each is read again.

        Whether a device is busy is asked right before its first set and not again: one that was set in part is not abandoned.
        """
        for port in ports:
            spare_busy(self._here, [port], self._allow_busy)
            if port.foreseen:
                before = self._text(port)
                self._device(port)
                after = self._text(port)
                self._note_lost(port, before, after)
                self._verify(port, after)

    def _text(self, port: DeviceNetwork) -> Optional[str]:
        try:
            return self._here.conf_text()
        except HccnError as error:
            port.errors.append(error.as_dict())
            return None

    def _device(self, port: DeviceNetwork) -> None:
        for item in port.named:
            try:
                self._item(port, item)
            except HccnError as error:
                port.changed = port.changed or error.code == NOT_PERSISTED
                port.fail(error, item.options[0])
                return

    def _item(self, port: DeviceNetwork, item: Item) -> None:
        tool = self._here.tool
        commands = item.commands(port.wanted, port.now, port.kept)
        if not commands:
            return
        conf_file.require_end(self._here.path, self._here.conf_text())
        port.touched.append(item)
        for words in commands:
            self.commands.append(list(tool.argv(port.device, *words)))
            tool.set(port.device, *words)
            port.changed = True
        port.kept = _kept(port.items, self._here.conf_text(), port.device)
        port.now.update({option: port.wanted[option] for option in item.options})
        for bound in port.items:
            if (item.options[0], bound.options[0]) in BOUND:
                port.now.update(bound.read(tool, port.device))

    def _note_lost(self, port: DeviceNetwork, before: Optional[str], after: Optional[str]) -> None:
        """Record settings that disappeared though no command named them: gateway and routes of another network, keys that contain a removed one."""
        there = {(setting.full_key, setting.value) for setting in conf.settings(after or "")}
        own = {"%s_%d" % (key, port.device) for item in port.touched for key in item.keys}
        cause = ", ".join("hccn_tool %s -s" % " ".join(item.query[:-1]) for item in port.touched)
        self.side_effects += [
            {"device": setting.device, "path": self._here.path, "key": setting.full_key, "value": setting.value, "cause": cause}
            for setting in conf.settings(before or "") if setting.full_key not in own and (setting.full_key, setting.value) not in there
        ]

    def _verify(self, port: DeviceNetwork, text: Optional[str]) -> None:
        _read(self._here.tool, port)
        port.kept = _kept(port.items, text, port.device)
        port.changed = port.changed or (port.now, port.kept) != (port.was, port.was_kept)
        for item in [] if port.errors else port.named:
            if item.lacks(port.wanted, port.now, port.kept):
                option, shown = item.options[0], port.shown(port.now, port.kept)
                port.fail(HccnError("not_applied", "hccn_tool reported success, but the device has %s and hccn.conf has %s"
                                    % (shown[option], shown["persistent"][option]), "query the device, and check which other process writes hccn.conf"), option)


def configure(params: Mapping[str, Any], check_mode: bool) -> Dict[str, Any]:
    """Return the values of device_network. Raises HccnError where nothing could be done."""
    here = session.start(params)
    here.host.refuse_950()
    text = here.conf_text()
    wanted = network_config.wanted(params["config"], here.host.devices, text, here.path)
    ports = probe(here.tool, {device: values for device, values in wanted.items() if device in here.devices}, text)
    plan(ports, here.path, text)
    setter = Setter(here, params["allow_busy"])
    commands = setter.commands
    if check_mode:
        spare_busy(here, ports, params["allow_busy"])
        commands = predict(here.tool, ports)
    else:
        if params.get("keep_previous"):
            spare_busy(here, ports, params["allow_busy"])
            save_previous(here, ports)
        setter.apply(ports)
    return _result(ports, commands, setter.side_effects, params["fail_on"])


def _result(ports: Sequence[DeviceNetwork], commands: List[List[str]], lost: List[Dict[str, Any]], fail_on: str) -> Dict[str, Any]:
    devices = [port.as_dict() for port in ports]
    previous = [network_config.settable(port.had(port.touched))[0] for port in ports if port.touched]
    result: Dict[str, Any] = {
        "devices": devices, "commands": commands, "previous": [entry for entry in previous if len(entry) > 1], "side_effects": lost,
        "changed": any(port.changed for port in ports), "diff": [port.diff() for port in ports if port.changed],
    }
    if failed(devices, fail_on):
        result.update(failed=True, msg=sentence(devices))
    return result
