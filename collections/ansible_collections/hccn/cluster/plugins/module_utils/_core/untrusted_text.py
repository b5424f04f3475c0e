# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Parse untrusted texts and values, which come from a host, a tool, a server or an LLDP neighbour, and keep them away from template engines."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

TEMPLATE_MARKS = ("{{", "{%", "{#", "#jinja2:")
"""Marks of a template in Ansible and in inventories. A template can run code. A text that begins with the last one can choose other marks."""


def json_object(text: Union[str, bytes]) -> Optional[Dict[str, Any]]:
    """Return the JSON object in a text, None if it is not one. Bytes are UTF-8. json raises RecursionError for a text of many open brackets."""
    try:
        value = json.loads(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def has_template(text: str) -> bool:
    """Return True if a template engine would evaluate any part of ``text``."""
    return any(mark in text for mark in TEMPLATE_MARKS)


def without_templates(value: Any, is_kept: Callable[[str], bool] = lambda key: False, where: str = "") -> Tuple[Any, List[str]]:
    """Return ``value`` with None in place of each text that contains a template, and the paths of these texts (``lldp.system_name``).

    Keys of dictionaries that contain a template are removed with their values. Values of keys for which ``is_kept`` is true are not changed.
    """
    # Few answers contain a template, and JSON is searched ten times faster than its values. JSON itself has no mark: its { is followed by " or }.
    if not has_template(json.dumps(value, ensure_ascii=False, default=repr)):
        return value, []
    return _without_templates(value, is_kept, where)


def _without_templates(value: Any, is_kept: Callable[[str], bool], where: str) -> Tuple[Any, List[str]]:
    if isinstance(value, str):
        return (None, [where]) if has_template(value) else (value, [])
    if isinstance(value, (list, tuple)):
        cleaned = [_without_templates(item, is_kept, "%s[%d]" % (where, place)) for place, item in enumerate(value)]
        return [item for item, _places in cleaned], [place for _item, places in cleaned for place in places]
    if not isinstance(value, dict):
        return value, []
    made, refused = {}, []  # type: Tuple[dict, List[str]]
    for key, item in value.items():
        if isinstance(key, str) and has_template(key):
            refused.append("a key of %s" % (where or "the answer"))
        elif is_kept(key):
            made[key] = item
        else:
            made[key], places = _without_templates(item, is_kept, "%s.%s" % (where, key) if where else str(key))
            refused += places
    return made, refused


def without_deep_values(value: Any, levels: int, where: str = "") -> Tuple[Any, List[str]]:
    """Return ``value`` with None in place of each dictionary or list that is below ``levels`` of them, and the paths of these values."""
    if not _is_deeper(value, levels):
        return value, []
    if levels == 0:
        return None, [where]
    if isinstance(value, dict):
        parts = [(key, without_deep_values(item, levels - 1, "%s.%s" % (where, key) if where else str(key))) for key, item in value.items()]
        return {key: item for key, (item, _places) in parts}, [place for _key, (_item, places) in parts for place in places]
    items = [without_deep_values(item, levels - 1, "%s[%d]" % (where, place)) for place, item in enumerate(value)]
    return [item for item, _places in items], [place for _item, places in items for place in places]


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in (value.values() if isinstance(value, dict) else value))
