# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter restored. The logic is in plugin_utils/_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: restored
short_description: Create the module options that restore the saved configuration of a host
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Used by the playbook C(hccn.cluster.restore).
positional: _input, settings, devices
options:
  _input:
    description:
      - The configuration that O(hccn.cluster.hccn_conf#module:keep_previous=true) saved, with C(schema) (V(hccn.cluster/restore/2)), C(saved_at), C(network)
        (entries of O(hccn.cluster.device_network#module:config), V(null) for an option that was not set), C(tls) (a list of C(id) and C(enabled)) and
        C(hccn_conf) (the text of the file). The last three may be missing. The JSON text of the saved file is accepted as well.
    type: raw
    required: true
  settings:
    description:
      - Current settings of the file, as in RV(hccn.cluster.hccn_conf#module:settings).
    type: list
    elements: dict
    default: []
  devices:
    description:
      - Current state of the devices, as in RV(hccn.cluster.device_info#module:devices). Required for C(missing).
    type: list
    elements: dict
    default: []
seealso:
  - module: hccn.cluster.device_network
  - module: hccn.cluster.device_tls
  - module: hccn.cluster.hccn_conf
"""

EXAMPLES = r"""
- name: Restore the addresses
  hccn.cluster.device_network:
    config: "{{ (record.content | b64decode | hccn.cluster.restored).network }}"
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(saved_at), C(replayed), C(network), C(tls), C(present), C(absent), C(problems) and C(missing).
    - C(replayed) is the C(config) of M(hccn.cluster.hccn_conf) with the former C(send_arp_status) and C(send_arp_period) of NPUs whose address is restored.
      It has to be set before the addresses, since C(hccn_tool -ip -s) applies these keys to the device.
    - C(network) is the C(config) of M(hccn.cluster.device_network).
    - C(tls) has C(enabled) and C(disabled), the C(devices) that M(hccn.cluster.device_tls) sets to that state.
    - C(present) and C(absent) are the C(config) of M(hccn.cluster.hccn_conf) for these states. C(absent) has the keys that were not in the saved file.
    - C(problems) lists the settings that cannot be restored, also those of gratuitous ARP that stay on a device until the next boot.
    - C(missing) has one sentence per NPU whose address was changed but not saved.
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.restore_options import restore_options
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def restored(saved: Any, settings: Sequence[Mapping[str, Any]] = (), devices: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return restore_options(saved, settings, devices)


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"restored": restored})
