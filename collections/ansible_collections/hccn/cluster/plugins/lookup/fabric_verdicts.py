# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of the lookup fabric_verdicts; the logic is in plugin_utils/_diagnose."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric_verdicts
short_description: Look up what the last check of the fabric said of some hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Finds the newest verdicts that M(hccn.cluster.fabric_verdict) made of hosts, in the history that the callback P(hccn.cluster.results#callback) writes.
    That of the present run counts, too.
  - A fabric is clean when the newest check that measured any of the hosts judged all of them good, and found no component of the fabric bad. A check in which
    all of them were busy or not measured said nothing about the fabric, and the one before it counts.
options:
  _terms:
    description:
      - Names of the hosts.
    type: list
    elements: str
    required: true
  history:
    description:
      - Folder of the history. By default that of this run, E(HCCN_RESULTS_PATH), or C(~/.local/share/hccn.cluster/history).
    type: path
  max_age:
    description:
      - Days after which a check says nothing any more.
    type: float
    default: 7
seealso:
  - module: hccn.cluster.fabric_verdict
"""

EXAMPLES = r"""
- name: Say what is known of the fabric
  ansible.builtin.debug:
    msg: "{{ (query('hccn.cluster.fabric_verdicts', *groups['npu']) | first).message }}"
"""

RETURN = r"""
_raw:
  description:
    - One dictionary. C(clean) is a truth value, C(message) says why. C(run_id) and C(judged_at) are those of the check and absent where there is none.
    - C(hosts) has the classes of the hosts by name, as far as they were judged.
  type: list
  elements: dict
"""

import datetime
from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import last_verdicts
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import location
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


class LookupModule(LookupBase):
    """See DOCUMENTATION."""

    @guard.lookup
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[Any]:
        self.set_options(var_options=variables, direct=kwargs)
        oldest = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=self.get_option("max_age"))
        return [last_verdicts.of(location.folder(self.get_option("history")), [str(term) for term in terms], oldest)]
