#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of perf_tools; the logic is in module_utils/_perf/install.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: perf_tools
short_description: Install tools for measurements, also through a proxy
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Searches for tools as M(hccn.cluster.perf_tools_info) does, and installs the packages of missing tools with the package manager of the host (apt-get, dnf
    or yum), from the repositories of the host.
  - O(http_proxy) and O(https_proxy) are passed to the package manager in its environment only. They may contain a password. It appears in no command line, log
    or result. The keyword C(environment) of Ansible is different. It becomes a part of the command line on the controller and on the host, where every user
    can read it.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
    details:
      - The package manager checks whether it would find all packages, with its current package lists (dnf and yum may update them).
  diff_mode:
    support: none
  idempotent:
    support: full
options:
  tools:
    description:
      - The tools, see O(hccn.cluster.perf_tools_info#module:tools).
    type: list
    elements: str
    choices: [perftest, iperf3, mpich, openmpi, rdma]
    default: [perftest, iperf3]
  packages:
    description:
      - Lists of package names by tool, for packages whose names differ from those of the distribution.
    type: dict
    default: {}
  update_cache:
    description:
      - Whether to update the package lists before an installation.
    type: bool
    default: true
  http_proxy:
    description:
      - URL of the proxy for repositories with C(http) URLs, such as C(http://USER:PASSWORD@proxy.example:3128).
      - Characters such as C(@) and C(/) in user and password are percent-encoded (C(%40), C(%2F)).
      - A proxy in the configuration of the package manager takes precedence.
    type: str
  https_proxy:
    description:
      - URL of the proxy for repositories with C(https) URLs. The URL of the proxy itself usually begins with C(http://).
    type: str
  no_proxy:
    description:
      - Hosts, domains and addresses that are reached without the proxy.
    type: list
    elements: str
  timeout:
    description:
      - Seconds for the update of the package lists and the installation together. After this time the package manager is killed.
    type: float
    default: 1800
notes:
  - The package manager is not killed with this module. An installation that has begun is completed even if the connection is lost.
  - Tested with apt-get. The commands for dnf and yum are not tested on a real host.
seealso:
  - module: hccn.cluster.perf_tools_info
"""

EXAMPLES = r"""
- name: Install perftest and the drivers of libibverbs
  hccn.cluster.perf_tools:
    tools: [perftest, rdma]

- name: Install iperf3 through a proxy with a password
  hccn.cluster.perf_tools:
    tools: [iperf3]
    http_proxy: "http://installer:{{ vault_proxy_password | urlencode }}@proxy.example:3128"
    no_proxy: [mirror.example]
"""

RETURN = r"""
installed:
  description: The packages that were installed, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [iperf3]
tools:
  description: See RV(hccn.cluster.perf_tools_info#module:tools). As of after the installation, except in check mode.
  returned: success
  type: list
  elements: dict
  sample:
    - {name: iperf3, found: true, path: /usr/bin/iperf3, version: "3.18", lacks: []}
missing:
  description: Those of O(tools) that are missing. Without check mode the module fails if this list is not empty.
  returned: success
  type: list
  elements: str
  sample: []
packages:
  description: The packages of the missing tools.
  returned: success
  type: list
  elements: str
  sample: []
package_manager:
  description: The package manager of the host, V(apt), V(dnf) or V(yum), V(null) if it has none of these.
  returned: success
  type: str
  sample: apt
command:
  description: The command that installs RV(packages), empty if no tool is missing.
  returned: success
  type: list
  elements: str
  sample: []
problems:
  description: Missing tools, see RV(hccn.cluster.perf_tools_info#module:problems).
  returned: success
  type: list
  elements: dict
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import install, packages


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "tools": {"type": "list", "elements": "str", "choices": list(packages.TOOLS), "default": [packages.PERFTEST, packages.IPERF3]},
            "packages": {"type": "dict", "default": {}},
            "update_cache": {"type": "bool", "default": True},
            "http_proxy": {"type": "str", "no_log": True},
            "https_proxy": {"type": "str", "no_log": True},
            "no_proxy": {"type": "list", "elements": "str"},
            "timeout": {"type": "float", "default": 1800},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**install.ensure(module.params, module.check_mode))
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict())


if __name__ == "__main__":
    main()
