# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lookup clusterd_code. The table of codes is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
name: clusterd_code
short_description: Explain return codes of ClusterD and Elastic-Agent
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Returns name, meaning and next step of return codes of ClusterD. Elastic-Agent and TaskD return the same codes.
  - Nothing is contacted. The codes are those of the documentation of Elastic-Agent and of the source of ClusterD.
options:
  _terms:
    description:
      - Numbers or names of codes. Upper and lower case of a name are the same. A number that is not in the table has the name V(unknown), a name that is not
        in it is an error.
      - Without terms, all codes are returned, in ascending order.
    type: list
    elements: str
seealso:
  - module: hccn.cluster.clusterd_nic_switch
"""

EXAMPLES = r"""
- name: Explain a code of the log of a training process
  ansible.builtin.debug:
    msg: "{{ lookup('hccn.cluster.clusterd_code', 403) }}"

- name: List the names of all codes that may be retried
  ansible.builtin.debug:
    msg: "{{ query('hccn.cluster.clusterd_code') | selectattr('retryable') | map(attribute='name') }}"
"""

RETURN = r"""
_raw:
  description:
    - The codes, each a dictionary with C(code), C(name), C(meaning), C(retryable) and C(documented), which is V(false) for codes that only the source of
      ClusterD has.
    - C(hint) is the next step, and absent if only the text that ClusterD returns with the code names it. C(other_name) is a second name of the same code.
  type: list
  elements: dict
  sample:
    - {code: 402, name: JobNotExist, meaning: there is no such job, hint: the id of a job is the UID of its Kubernetes object, retryable: false,
       documented: true}
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import server_codes
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


class LookupModule(LookupBase):
    """See DOCUMENTATION."""

    @guard.lookup
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[Any]:
        try:
            return [server_codes.find(str(term)) for term in terms or server_codes.CODES]
        except InputError as error:
            raise AnsibleError(f"clusterd_code: {error.sentence()}") from None
