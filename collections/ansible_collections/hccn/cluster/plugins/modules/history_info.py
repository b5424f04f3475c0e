#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: history_info
short_description: Tell what the history knows
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Lists the runs that P(hccn.cluster.results#callback) kept, and the last one in which all was well.
  - Draws the trend of an endpoint, a pair or a collective over the runs, and compares two runs.
  - Holds one run to what is normal, for each group of what can be compared - the same kind, tool, operation, measure, size, class of the pair (rail and
    leaf, or the number of ranks), product and firmware.
  - A baseline is the median of the medians of the earlier runs, with 1.4826 times their median absolute deviation as spread. It takes at least five
    complete runs, and the newest thirty. A group is worse where it lies five spreads and 3 % below; an end of it where it lies five spreads
    and 5 % below what it had itself. A drift is found by CUSUM, in the later half of the runs against the earlier half.
  - A run that is pinned as a file (O(baseline)) takes the place of the earlier runs. M(hccn.cluster.report) writes such a file.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it does.
options:
  history:
    description:
      - The folder of the history on the controller. A relative path begins where C(ansible-playbook) was called.
      - Without it, the folder to which the callback writes this run, else E(HCCN_RESULTS_PATH), else C(~/.local/share/hccn.cluster/history).
    type: path
  limit:
    description:
      - How many runs are listed, the newest. Runs in which nothing was measured and nothing failed do not count.
      - As many count for RV(series) and for what is normal, but only runs that have something to compare; they are looked for among forty times as many.
    type: int
    default: 30
  run_id:
    description:
      - The run that is judged. Without it, this run if something was measured in it so far, else the newest in which something was.
    type: str
  baseline:
    description:
      - A file with pinned baselines, which the run is held to in place of the earlier runs.
    type: path
  endpoints:
    description:
      - Hosts or NPUs whose trend is wanted, over all their pairs.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host in the inventory.
        type: str
        required: true
      device:
        description: Physical id of the NPU, or name of an RDMA device. Without it all of the host.
        type: str
      operation:
        description: Only this operation, such as V(write).
        type: str
      size_bytes:
        description: Only this size.
        type: int
  pairs:
    description:
      - Pairs whose trend is wanted, in this direction.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Host that sends.
        type: str
        required: true
      source_device:
        description: Its NPU or RDMA device. Without it all of them.
        type: str
      target:
        description: Host that receives.
        type: str
        required: true
      target_device:
        description: Its NPU or RDMA device. Without it all of them.
        type: str
      operation:
        description: Only this operation, such as V(write).
        type: str
      size_bytes:
        description: Only this size.
        type: int
  collectives:
    description:
      - Collectives whose trend is wanted. An empty dictionary stands for all of them.
    type: list
    elements: dict
    default: []
    suboptions:
      operation:
        description: Only this operation, such as V(all_reduce).
        type: str
      size_bytes:
        description: Only this size.
        type: int
  compare:
    description:
      - Ids of two runs, the earlier one first.
    type: list
    elements: str
    default: []
  fail_on:
    description:
      - V(regression) fails the task where RV(regressions) is not empty, after everything was looked at.
    type: str
    choices: [regression, never]
    default: never
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
  - module: hccn.cluster.report
  - module: hccn.cluster.fabric_verdict
notes:
  - Runs on the controller. Use C(run_once).
  - The thresholds were set on simulated series with normal noise, of which less than one in a hundred raises an alarm. No cluster has been watched with
    them yet.
"""

EXAMPLES = r"""
- name: Is this run worse than the ones before?
  hccn.cluster.history_info:
    fail_on: regression
  run_once: true

- name: Hold the run to what was agreed on, a file in git
  hccn.cluster.history_info:
    baseline: baselines/cluster-a.yml
    fail_on: regression
  run_once: true

- name: The trend of one NPU and of a pair
  hccn.cluster.history_info:
    history: /srv/hccn/history
    limit: 100
    endpoints:
      - {host: n3, device: 5}
    pairs:
      - {source: n3, source_device: 5, target: n7, target_device: 5, operation: write}
  delegate_to: localhost
  run_once: true

- name: What changed between two nights
  hccn.cluster.history_info:
    compare: [awx-1201, awx-1234]
  run_once: true
"""

RETURN = r"""
runs:
  description: The runs, newest first.
  returned: always
  type: list
  elements: dict
  contains:
    run_id:
      description: Name of the run.
      type: str
    path:
      description: Its file.
      type: str
    started_at:
      description: When it began.
      type: str
    finished_at:
      description: When it ended, V(null) where it did not come to its end.
      type: str
    playbook:
      description: File name of the playbook.
      type: str
    controller:
      description: Where it ran.
      type: str
    check_mode:
      description: Was it in check mode?
      type: bool
    complete:
      description: Did it come to its end?
      type: bool
    good:
      description: Did it measure something, come to its end, and find nothing wrong?
      type: bool
    kinds:
      description: Number of records by kind.
      type: dict
    failed:
      description: Records that failed.
      type: int
    not_run:
      description: Records of what could not be run.
      type: int
    failed_tasks:
      description: Failed tasks and unreachable hosts.
      type: int
    hosts:
      description: Number of hosts by the class of their verdict.
      type: dict
    skipped_lines:
      description: Lines that could not be read or are of a kind that this version does not know.
      type: int
  sample: [{run_id: awx-1234, playbook: check_fabric.yml, complete: true, good: false, hosts: {good: 63, slow: 1}, failed: 0}]
last_good:
  description: The newest of RV(runs) in which all was well, V(null) where there is none.
  returned: always
  type: dict
series:
  description: One entry for each trend asked for and each group of what can be compared.
  returned: always
  type: list
  elements: dict
  contains:
    of:
      description: V(endpoint), V(pair) or V(collective).
      type: str
    points:
      description:
        - One for each run, oldest first, with C(run_id), C(started_at), C(value) (the median, V(null) where all failed), C(count), C(failed).
        - What failed has no size, and counts at every size of its like.
      type: list
      elements: dict
    baseline:
      description: C(median), C(spread), C(limit) and C(runs) of all points but the last. Absent where there are less than five of them.
      type: dict
  sample:
    - {of: endpoint, source: {host: n3, device: 5}, kind: rdma, operation: write, measure: bandwidth, size_bytes: 65536, pair_class: same rail,
       unit: Gbit/s, points: [{run_id: awx-1, started_at: 20261120T101500Z, value: 195.9, count: 63, failed: 0}]}
comparison:
  description:
    - The two runs of O(compare), one entry for each group, with C(before), C(after), C(change_percent) and the C(ends) that changed most.
    - These are at most twenty, for the worse (below zero) or the better, the greatest change first.
  returned: always
  type: list
  elements: dict
judged_run:
  description: The run that RV(verdicts) are about, V(null) where there is none.
  returned: always
  type: str
verdicts:
  description:
    - One entry for each group of the run, with C(now), C(baseline) and C(state), one of V(ok), V(regression) and V(no_baseline).
    - C(now) is V(null) where all of it failed; without a baseline that tells the sizes, such a group has no C(size_bytes).
  returned: always
  type: list
  elements: dict
regressions:
  description: What is worse than before, groups first, then ends, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    reason:
      description: V(level), V(drift) for what got a little worse every time, or V(failed) for a group of which there is no value any more.
      type: str
    before:
      description: What is normal.
      type: float
    now:
      description: What it was in this run, V(null) where all failed.
      type: float
    limit:
      description: What would have been enough.
      type: float
    drop_percent:
      description: How much worse.
      type: float
    runs:
      description: Number of runs that the baseline rests on.
      type: int
    host:
      description: Host of the end, absent for a group.
      type: str
    device:
      description: NPU or RDMA device of the end, absent for a group.
      type: raw
    message:
      description: All of it in a sentence.
      type: str
  sample:
    - {kind: rdma, operation: write, measure: bandwidth, size_bytes: 65536, pair_class: same rail, unit: Gbit/s, host: n3, device: 5, reason: level,
       before: 195.9, now: 151.2, limit: 186.1, drop_percent: 22.8, runs: 12, message: n3 npu 5 is worse than its baseline}
unreadable:
  description: Sentences about files of the history that were passed over.
  returned: always
  type: list
  elements: str
"""
