# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Evidence of a finding: a sentence with a stable code, the numbers in it, and the place that it is about.

A page in another language formats the template of the code with the same values and place. Codes without a template (``TEXT``, ``HINT``, ``QUOTE``, ``PAIR``)
have only the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils._core.words import LONGEST_TEXT, printable

TEXT, HINT, QUOTE, PAIR = "text", "hint", "quote", "pair"
"""Codes of sentences that are made elsewhere: any text, what to do, another finding that follows from this one, a measured pair."""

TEMPLATES: Mapping[str, str] = {
    # Optical module.
    "rx_power_low": "NPU {device} of {host}: lane {lane} receives {value_mw} mW, the module's lower limit is {limit_mw} mW",
    "rx_power_high": "NPU {device} of {host}: lane {lane} receives {value_mw} mW, the module's upper limit is {limit_mw} mW",
    "tx_power_low": "NPU {device} of {host}: lane {lane} sends {value_mw} mW, the module's lower limit is {limit_mw} mW",
    "tx_power_high": "NPU {device} of {host}: lane {lane} sends {value_mw} mW, the module's upper limit is {limit_mw} mW",
    "rx_power_dim": "NPU {device} of {host}: lane {lane} receives {value_mw} mW, {below_db} dB less than the median of {peers} other NPUs ({median_mw} mW)",
    "optics_hot": "NPU {device} of {host}: the optical module has {value_c} °C, its upper limit is {limit_c} °C",
    "optics_voltage": "NPU {device} of {host}: the supply of the optical module is {value_mv} mV, its limits are {low_mv} to {high_mv} mV",
    # Counters.
    "counter_grew": "NPU {device} of {host}: {counter} grew by {growth} during the run, from {before} to {after}",
    # Link.
    "link_flapped": "NPU {device} of {host}: the link went down {growth} times during the run",
    "link_flaps": "NPU {device} of {host}: the link went down {downs} times since its counters were cleared, the median of {peers} other NPUs is {median}",
    "link_change": "NPU {device} of {host}: the link last changed to {state} at {time}",
    # Cabling.
    "switch_port": "NPU {device} of {host} is connected to port {port} of {switch}",
    "expected_switch": "NPU {device} of {host} is expected on {switch}: {why}",
    # Versions and settings.
    "differs": "{host}: {setting} is {value}, that of {count} others is {usual}",
    "changed": "{host}: {setting} was {before} in the run of {time}, it is {after} now",
    "versions": "NPU {device} of {host}: driver {driver}, firmware {firmware}",
}
"""English sentence by code. ``host``, ``device``, ``switch`` and ``port`` are the place, all others are values."""

PLACE = ("host", "device", "switch", "port")
"""Keys of a place; those that do not apply are absent. ``device`` is the id of an NPU, or the name of an RDMA device."""

MOST_VALUES = 16
LONGEST_VALUE = 200

Value = int | float | str


class Evidence(str):
    """The sentence of a piece of evidence, with ``code``, ``values`` and ``place``. It compares and prints like the sentence."""

    code: str
    values: Mapping[str, Value]
    place: Mapping[str, Value]

    def __new__(cls, sentence: str, code: str = TEXT, values: Mapping[str, Value] | None = None, place: Mapping[str, Value] | None = None) -> Evidence:
        made = super().__new__(cls, sentence)
        made.code, made.values, made.place = code, dict(values or {}), dict(place or {})
        return made

    def as_sample(self) -> dict[str, Any]:
        """Return the element of ``evidence`` in the record of a finding. Empty keys are absent."""
        parts = (("values", dict(self.values)), ("place", dict(self.place)))
        return {"code": self.code, "message": str(self), **{key: part for key, part in parts if part}}

    @staticmethod
    def of_sample(sample: Any) -> Evidence | None:
        """Return the evidence of an element, None if it is not one. Records of older releases have the sentence instead of the object."""
        if isinstance(sample, str):
            return of_text(sample)
        if not isinstance(sample, Mapping) or not isinstance(sample.get("message"), str) or not isinstance(sample.get("code"), str):
            return None
        place = {key: value for key, value in _values(sample.get("place")).items() if key in PLACE}
        return Evidence(printable(sample["message"], LONGEST_TEXT), printable(sample["code"], LONGEST_VALUE), _values(sample.get("values")), place)


def of_text(text: Any, code: str = TEXT) -> Evidence:
    """Return evidence that is only a sentence. The sentence may come from a host or a tool, so it is made printable and bounded."""
    return text if isinstance(text, Evidence) else Evidence(printable(str(text), LONGEST_TEXT), code)


def of_texts(texts: Iterable[Any], code: str = TEXT) -> list[Evidence]:
    """Return evidence for each of the sentences."""
    return [of_text(text, code) for text in texts]


def evidence(code: str, **parts: Value) -> Evidence:
    """Return the evidence of a code of TEMPLATES. ``parts``: its place and values; texts among them come from hosts, so they are made printable and bounded."""
    clean = _values(parts)
    place = {key: clean[key] for key in PLACE if key in clean}
    values = {key: value for key, value in clean.items() if key not in PLACE}
    return Evidence(printable(TEMPLATES[code].format_map(clean), LONGEST_TEXT), code, values, place)


def _values(found: Any) -> dict[str, Value]:
    """Return the numbers and texts of a mapping, bounded."""
    if not isinstance(found, Mapping):
        return {}
    return {printable(key, LONGEST_VALUE): printable(value, LONGEST_VALUE) if isinstance(value, str) else value
            for key, value in list(found.items())[:MOST_VALUES]
            if isinstance(key, str) and isinstance(value, (str, int, float)) and not isinstance(value, bool)}
