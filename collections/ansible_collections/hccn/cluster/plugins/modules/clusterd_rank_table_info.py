#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shell of clusterd_rank_table_info; the logic is in module_utils/_clusterd."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterd_rank_table_info
short_description: Read the rank table of a job from Kubernetes or ClusterD
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the rank table that Ascend Operator wrote for a job, or the global rank table of all instances of a MindIE job, and checks it with the rules of its
    O(readers).
  - By default the module reads the ConfigMaps C(rings-config-*) and assembles the global table as ClusterD does. This does not affect other clients. If
    ClusterD sends no table, there is no RV(rank_table), and RV(problems) has the reasons.
  - With O(source=grpc), it reads the table from ClusterD. ClusterD has one subscriber for each job. Registering ends the stream of the present subscriber
    without an error, which is usually the controller of the job. So O(confirm) is needed.
extends_documentation_fragment:
  - hccn.cluster._clusterd
  - hccn.cluster._clusterd.kubernetes
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  check_mode:
    support: full
    details:
      - With O(source=grpc), ClusterD is not called in check mode, since that ends the stream of another client. Options and files are checked, there is no
        RV(rank_table), and RV(unchecked) contains the reason.
options:
  source:
    description:
      - Source of the table, V(configmap) for Kubernetes, V(grpc) for ClusterD.
    type: str
    choices: [configmap, grpc]
    default: configmap
  job_id:
    description:
      - Id of a MindIE job, which is the label C(jobID) of its ConfigMaps and pods. ClusterD has rank tables of such jobs only.
    type: str
  job_name:
    description:
      - Name of any other job. Its table is in the ConfigMap C(rings-config-NAME).
    type: str
  clusterd_version:
    description:
      - Version of ClusterD whose global table is assembled, such as V(7.1.RC1), V(7.3.0), V(26.0.1) or V(master), with O(source=configmap).
      - From 7.3.0 on, ClusterD replaces C(server_id) by C(host_ip) of the ConfigMap, in C(super_pod_list) too. Older versions copy it.
      - By default this is the tag of the image of the pods with the label C(app=clusterd) in the namespace C(mindx-dl). If that is not visible and the versions
        have different tables, the table is that of 7.3.0 and newer, with a warning in RV(problems).
    type: str
  namespace:
    description:
      - Namespace of the job. By default the namespace of the context.
    type: str
  confirm:
    description:
      - Must be V(true) with O(source=grpc), to confirm that the stream of the present subscriber of the job may end.
    type: bool
    default: false
  wait:
    description:
      - Seconds to wait for the first table of ClusterD, which is sent after 2 s at the earliest. For a job without a complete table, ClusterD never sends a
        message. If a proxy or the network loses the stream, the module registers and subscribes again until this time is over.
    type: int
    default: 60
  settle:
    description:
      - Seconds to continue listening after the first table, with O(source=grpc). ClusterD sends another table when an instance becomes complete.
    type: int
    default: 0
  role:
    description:
      - Role with which this client identifies itself to ClusterD.
    type: str
    default: hccn.cluster
  readers:
    description:
      - Programs whose rules the table must satisfy, as in O(hccn.cluster.rank_table_check#module:readers). With an empty list, the table is not checked.
      - By default a global rank table is checked by the rules of V(mindie_motor), and any other table by those of V(hccl). Without V(mindie_motor) in this
        option, it is only a warning if a global table has fewer than 2 or more than 98 groups, or no group of coordinators. The documentation of ClusterD
        shows such tables.
    type: list
    elements: str
    choices: [hccl, mindie_llm, mindie_motor, clusterd, vllm, hixl]
  fail_on:
    description:
      - V(error) fails if there is a problem of severity error, V(warning) if there is any problem, V(never) never because of problems.
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

- name: Fail if MindIE-Motor would refuse the table
  hccn.cluster.clusterd_rank_table_info:
    job_id: mindie-prod
    namespace: mindie
    readers: [mindie_motor]
  delegate_to: localhost
  run_once: true

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

- name: Read the table that ClusterD sends
  hccn.cluster.clusterd_rank_table_info:
    source: grpc
    server: clusterd-grpc-svc.mindx-dl.svc.cluster.local
    job_id: mindie-prod
    confirm: true # the controller of the job loses its stream
  delegate_to: localhost
"""

RETURN = r"""
rank_table:
  description: The rank table as data. With O(job_id), it is a global rank table.
  returned: if there is a table
  type: dict
  sample: {version: "1.0", status: completed, server_group_list: []}
clusterd_version:
  description: The version of ClusterD, V(null) if it is unknown.
  returned: with O(source=configmap) and O(job_id)
  type: str
  sample: v7.3.0
instances:
  description: The ConfigMaps of the job, by name.
  returned: with O(source=configmap)
  type: list
  elements: dict
  sample:
    - {config_map: mindie/rings-config-prefill-0, status: completed, deploy_server: "0", servers: 1}
messages:
  description:
    - At most 100 messages of ClusterD in the order in which they were received. C(after_s) is the time since the subscription, C(duplicate) is true if the
      content did not change, C(groups) and C(servers) are counts.
  returned: with O(source=grpc)
  type: list
  elements: dict
  sample:
    - {after_s: 2.1, duplicate: false, groups: 4, servers: 6}
received:
  description: Number of received messages.
  returned: with O(source=grpc)
  type: int
  sample: 1
preempted:
  description: Whether ClusterD ended the stream because another client registered for the job.
  returned: with O(source=grpc)
  type: bool
  sample: false
unchecked:
  description: Values that check mode cannot predict.
  returned: in check mode with O(source=grpc)
  type: list
  elements: str
  sample: ["the rank table: ClusterD is not queried in check mode, since that ends the stream of the job's subscriber; use source configmap instead"]
problems:
  description: Problems of the table and instances that are not in it, with C(rule), C(severity), C(where), C(message), C(hint) and C(reader).
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
  description: The error, with C(code), C(message) and C(hint). Codes are, for example, C(silent), C(preempted), C(no_rank_table) and C(server_unreachable).
  returned: if ClusterD or Kubernetes could not be read
  type: dict
  sample: {code: silent, message: "ClusterD sent no rank table of job x within 60 s, and no reason", hint: use source configmap to see what is missing}
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import options, rank_table_info
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            options.server_options(),
            role={"type": "str", "default": "hccn.cluster"},
            source={"type": "str", "choices": ["configmap", "grpc"], "default": "configmap"},
            job_id={"type": "str"},
            job_name={"type": "str"},
            clusterd_version={"type": "str"},
            confirm={"type": "bool", "default": False},
            wait={"type": "int", "default": 60},
            settle={"type": "int", "default": 0},
            readers={"type": "list", "elements": "str", "choices": list(checks.READERS)},
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
