#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_rank_table_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_rank_table_info
short_description: Read a job's rank table from Kubernetes or from ClusterD
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the rank table that Ascend Operator wrote for a job, or for all instances of a MindIE job the global rank table, and checks it by the rules of
    M(hccn.cluster.rank_table_check).
  - By default it reads the ConfigMaps C(rings-config-*) and puts the global table together as ClusterD does. That takes nothing from anybody.
  - With O(source=grpc) it asks ClusterD. ClusterD has one subscriber for each job, and registering ends the stream of the one that is there, most often
    the job's own controller. It is not told why. So O(confirm) is needed.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._clusterd.kubernetes
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  check_mode:
    support: full
    details:
      - With O(source=grpc) nobody is asked in check mode, since asking ends another client's stream. Options and files are looked at, there is no
        RV(rank_table), and RV(unchecked) says so.
options:
  source:
    description:
      - Where the table is read, V(configmap) from Kubernetes, V(grpc) from ClusterD.
    type: str
    choices: [configmap, grpc]
    default: configmap
  job_id:
    description:
      - The id of a MindIE job, as the label C(jobID) of its ConfigMaps and pods has it. ClusterD knows rank tables of such jobs only.
    type: str
  job_name:
    description:
      - The name of any other job. Its table is that of the ConfigMap C(rings-config-NAME).
    type: str
  namespace:
    description:
      - Where the job is. By default the namespace of the context.
    type: str
  confirm:
    description:
      - Needs to be V(true) with O(source=grpc). It says that the stream of the job's present subscriber may end.
    type: bool
    default: false
  wait:
    description:
      - Seconds to wait for the first table of ClusterD, which comes after 2 s at the earliest. For a job without a complete table ClusterD stays silent
        for ever.
    type: int
    default: 60
  settle:
    description:
      - Seconds to go on listening after the first table, with O(source=grpc). An instance that becomes complete makes ClusterD send another one.
    type: int
    default: 0
  role:
    description:
      - What this client calls itself.
    type: str
    default: hccn.cluster
  fail_on:
    description:
      - V(error) fails when there is a problem of severity error, V(warning) when there is any problem, V(never) never for a problem's sake.
    type: str
    choices: [error, warning, never]
    default: error
seealso:
  - module: hccn.cluster.rank_table
  - module: hccn.cluster.rank_table_check
"""

EXAMPLES = r"""
- name: Read the global rank table of a MindIE job
  hccn.cluster.clusterd_rank_table_info:
    job_id: mindie-prod
    namespace: mindie
  delegate_to: localhost
  run_once: true
  register: table

- name: Write it to all hosts
  hccn.cluster.rank_table:
    tables: ["{{ table.rank_table }}"]
    format: global
    path: /data/ranktable/global_ranktable.json

- name: Read the table of a training job
  hccn.cluster.clusterd_rank_table_info:
    job_name: resnet-50
    namespace: train
  delegate_to: localhost

- name: What does ClusterD itself send
  hccn.cluster.clusterd_rank_table_info:
    source: grpc
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
    job_id: mindie-prod
    confirm: true # the controller of the job loses its stream
  delegate_to: localhost
"""

RETURN = r"""
rank_table:
  description: The table, as data. For O(job_id) a global one.
  returned: when there is one
  type: dict
  sample: {version: "1.0", status: completed, server_group_list: []}
instances:
  description: The ConfigMaps of the job, by name.
  returned: with O(source=configmap)
  type: list
  elements: dict
  sample:
    - {config_map: mindie/rings-config-prefill-0, status: completed, deploy_server: "0", servers: 1}
messages:
  description:
    - What came from ClusterD, in order, at most 100. C(after_s) is the time since the subscription, C(duplicate) tells that the content was that of
      the message before, C(groups) and C(servers) are counts.
  returned: with O(source=grpc)
  type: list
  elements: dict
  sample:
    - {after_s: 2.1, duplicate: false, groups: 4, servers: 6}
received:
  description: How many messages came.
  returned: with O(source=grpc)
  type: int
  sample: 1
preempted:
  description: Whether ClusterD ended the stream, since another client registered for the job.
  returned: with O(source=grpc)
  type: bool
  sample: false
unchecked:
  description: What check mode does not foresee.
  returned: in check mode with O(source=grpc)
  type: list
  elements: str
  sample: ["the rank table: ClusterD is not queried in check mode, since that ends the stream of the job's subscriber; use source configmap instead"]
problems:
  description: What is wrong with the table or was left out of it, with C(rule), C(severity), C(where), C(message), C(hint) and C(reader).
  returned: always
  type: list
  elements: dict
  sample:
    - rule: instance_incomplete
      severity: warning
      where: mindie/rings-config-decode-1
      message: "the instance is initializing, so it is not in the table; ClusterD omits it without an error"
      hint: wait until its pods are scheduled
      reader: clusterd
error:
  description: What failed, with C(code), C(message) and C(hint). Codes are such as C(silent), C(preempted), C(no_rank_table), C(server_unreachable).
  returned: when ClusterD or Kubernetes could not be read
  type: dict
  sample: {code: silent, message: "ClusterD sent no rank table of job x within 60 s, and no reason", hint: look with source configmap}
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import options, rank_table_info
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            options.server_options(),
            role={"type": "str", "default": "hccn.cluster"},
            source={"type": "str", "choices": ["configmap", "grpc"], "default": "configmap"},
            job_id={"type": "str"},
            job_name={"type": "str"},
            confirm={"type": "bool", "default": False},
            wait={"type": "int", "default": 60},
            settle={"type": "int", "default": 0},
            fail_on={"type": "str", "choices": ["error", "warning", "never"], "default": "error"},
            **options.kubernetes_options()
        ),
        required_one_of=[("job_id", "job_name")],
        mutually_exclusive=[("job_id", "job_name")],
        required_if=[("source", "grpc", ("server", "job_id"))],
        supports_check_mode=True,
    )
    over_grpc = module.params["source"] == "grpc"
    for name, trace in options.missing(grpc=over_grpc, kubernetes=not over_grpc):
        module.fail_json(msg=missing_required_lib(name), exception=trace)
    try:
        result = rank_table_info.read(module.params, module.check_mode)
    except HccnError as error:
        module.fail_json(msg=error.sentence(), error=error.as_dict(), problems=[])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
