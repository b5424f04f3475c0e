# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter survey_value. The logic is in plugin_utils/_roles."""

from __future__ import annotations

DOCUMENTATION = r"""
name: survey_value
short_description: Convert the answer of an AWX survey to the value of an option
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - AWX surveys return texts. This filter returns the list or dictionary that an option of a role of this collection needs. The job templates of the project
    (C(playbooks/awx.yml)) use it.
  - A list of texts has one element for each line of the answer. A dictionary, and a list of dictionaries, is YAML text.
positional: _input, name
options:
  _input:
    description:
      - The answer. An empty one is replaced by the default of the option.
    type: raw
    required: true
  name:
    description:
      - Name of the option.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the NPUs
  ansible.builtin.debug:
    msg: "{{ '0-3\n6' | hccn.cluster.survey_value('check_fabric_devices') }}" # ['0-3', '6']
"""

RETURN = r"""
_value:
  description:
    - The list or the dictionary.
  type: raw
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import specs, survey
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def survey_value(answer: Any, name: str) -> Any:
    """See DOCUMENTATION."""
    option = specs.options().get(name)
    if option is None or option.get("type") not in ("list", "dict"):
        raise InputError(f"{name} is not an option of the collection that is a list or a dictionary")
    return survey.value_of(name, answer, option)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"survey_value": survey_value})
