# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter diagnose. The logic is in plugin_utils/_diagnose."""

from __future__ import annotations

DOCUMENTATION = r"""
name: diagnose
short_description: Diagnose a fabric from pairwise RDMA measurements
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Classifies hosts and fabric components from records of kind C(rdma) and C(matrix), by the same rules as M(hccn.cluster.fabric_verdict), which documents
    them. The records may come from any source, such as a history file.
  - A C(matrix) record has the measurements of one NPU as source with many targets. C(hosts) names the target hosts, whose device is that of C(target), by
    default that of C(source). The first of its C(samples) has a list in C(bandwidth_gbit_s), or in C(typical) of C(latency_us), with V(null) for pairs that
    were not measured. C(failed) may have lists of positions in C(hosts) by error code.
positional: _input, hosts
options:
  _input:
    description:
      - The records, or a dictionary with the results of M(hccn.cluster.rdma_perf_info) by host.
    type: raw
    required: true
  hosts:
    description:
      - Hosts to classify. Each of them gets one class. The default are the hosts of the records.
    type: list
    elements: str
  plan:
    description:
      - Plan of the measurements, see O(plan) of M(hccn.cluster.fabric_verdict). To name leaves, at least its C(topology) is required.
    type: dict
  floor_gbit_s:
    description:
      - Bandwidth in Gbit/s below which a pair is slow, regardless of the other pairs.
    type: float
  line_rate_floor:
    description:
      - Share of the line rate below which a pair is slow, for records that contain the line rate.
    type: float
    default: 0.9
  relative_floor:
    description:
      - Share of the usual value above which nothing is slow.
    type: float
    default: 0.97
  baseline:
    description:
      - Earlier results of the NPUs, see O(baseline) of M(hccn.cluster.fabric_verdict).
    type: dict
seealso:
  - module: hccn.cluster.fabric_verdict
"""

EXAMPLES = r"""
- name: Diagnose the measurements of an earlier run
  ansible.builtin.debug:
    msg: "{{ records | hccn.cluster.diagnose(plan={'topology': topology}) }}"
  vars:
    records: "{{ lookup('ansible.builtin.file', 'run.jsonl').splitlines() | map('from_json') | selectattr('kind', 'defined') }}"
    topology:
      n1: {devices: {"0": {rail: 0, leaf: A}}}
      n2: {devices: {"0": {rail: 0, leaf: A}}}
      n3: {devices: {"0": {rail: 0, leaf: B}}}
      n4: {devices: {"0": {rail: 0, leaf: B}}}
"""

RETURN = r"""
_value:
  description:
    - A dictionary with C(verdicts), C(hosts), C(components), C(coverage), C(detection_limit), C(regressions) and C(problems), as returned by
      M(hccn.cluster.fabric_verdict).
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import LINE_RATE_FLOOR, diagnose_records
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.detection_limit import RELATIVE_FLOOR
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import guard


def diagnose(records: Mapping[str, Any] | Iterable[Mapping[str, Any]], hosts: Sequence[str] | None = None, plan: Mapping[str, Any] | None = None,
             floor_gbit_s: float | None = None, line_rate_floor: float = LINE_RATE_FLOOR, relative_floor: float = RELATIVE_FLOOR,
             baseline: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """See DOCUMENTATION."""
    return diagnose_records(records, hosts, floor_gbit_s=floor_gbit_s, relative_floor=relative_floor, plan=plan, line_rate_floor=line_rate_floor,
                            baseline=baseline).as_dict()


class FilterModule:
    """The filter plugin."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return guard.filters({"diagnose": diagnose})
