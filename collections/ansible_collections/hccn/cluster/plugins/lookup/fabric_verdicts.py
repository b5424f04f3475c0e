# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup fabric_verdicts. The logic is in plugin_utils/_diagnose."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric_verdicts
short_description: Look up the verdicts of the last fabric check on some hosts
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns the newest verdicts of M(hccn.cluster.fabric_verdict) on the hosts from the history that the callback P(hccn.cluster.results#callback) writes,
    including the verdicts of the current run.
  - The fabric is clean if the newest check that measured any of the hosts classified all of them as good and found no bad component of the fabric. A check
    in which all of these hosts were busy or not measured is skipped in favor of the previous one.
options:
  _terms:
    description:
      - Names of the hosts.
    type: list
    elements: str
    required: true
  history:
    description:
      - Folder of the history. The default is that of this run, E(HCCN_RESULTS_PATH), or C(~/.local/share/hccn.cluster/history).
    type: path
  max_age:
    description:
      - Age in days above which a check is ignored.
    type: float
    default: 7
seealso:
  - module: hccn.cluster.fabric_verdict
"""

EXAMPLES = r"""
- name: Show the state of the fabric
  ansible.builtin.debug:
    msg: "{{ (query('hccn.cluster.fabric_verdicts', *groups['npu']) | first).message }}"
"""

RETURN = r"""
_raw:
  description:
    - A list with one dictionary. C(clean) is a boolean and C(message) the reason for it. C(run_id) and C(judged_at) are those of the check, and are absent
      if there is none.
    - C(hosts) has the classes of the hosts by name. Hosts that were not classified are absent.
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
