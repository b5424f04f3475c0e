#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: history_info
short_description: Return runs, trends and regressions from the history
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Lists the runs in the history that P(hccn.cluster.results#callback) writes, and the last run without any problem.
  - Returns the trend of an endpoint, a pair or a collective over the runs, and compares two runs.
  - Compares one run with its baselines, one for each group of comparable values. Values are comparable if kind, tool, operation, measure, size, class of
    the pair (rail and leaf; for a collective, the number of hosts and ranks), product and firmware are equal.
  - A baseline is the median of the medians of the earlier runs, with 1.4826 times their median absolute deviation as its spread. It requires at least
    five complete runs and uses at most the newest thirty. A group is worse than its baseline if it is more than five spreads and more than 3 % below it.
    An endpoint is worse if it is more than five spreads of the group and more than 5 % below its own baseline. For latencies, worse means above. Drift is
    detected by CUSUM over the later half of the runs against the earlier half.
  - A file with pinned baselines (O(baseline)) replaces the baselines of the earlier runs. M(hccn.cluster.report) writes such a file.
extends_documentation_fragment:
  - hccn.cluster._attributes
  - hccn.cluster._attributes.info
attributes:
  action:
    description: Has an action plugin of the same name, so that some of it runs on the controller.
    support: full
    details:
      - All of it runs on the controller.
options:
  history:
    description:
      - Folder of the history on the controller. A relative path starts at the working directory of C(ansible-playbook).
      - If omitted, the folder to which the callback writes this run, else E(HCCN_RESULTS_PATH), else C(~/.local/share/hccn.cluster/history).
    type: path
  limit:
    description:
      - Maximum number of runs to list, newest first. Runs in which nothing was measured and nothing failed are skipped.
      - Also the maximum number of runs for RV(series) and for baselines, of which only runs with comparable values count. To find them, up to forty times
        as many runs are examined.
    type: int
    default: 30
  run_id:
    description:
      - Id of the run to compare with its baselines. If omitted, the current run if it has any results so far, else the newest run that has.
    type: str
  baseline:
    description:
      - File with pinned baselines, which are used instead of those of the earlier runs.
    type: path
  endpoints:
    description:
      - Hosts or NPUs whose trend over all their pairs is returned.
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host in the inventory.
        type: str
        required: true
      device:
        description: Physical id of the NPU, or name of an RDMA device. If omitted, all devices of the host.
        type: str
      operation:
        description: Only this operation, such as V(write).
        type: str
      size_bytes:
        description: Only this size.
        type: int
  pairs:
    description:
      - Pairs whose trend is returned, in the direction from source to target.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Name of the source host in the inventory.
        type: str
        required: true
      source_device:
        description: NPU or RDMA device of the source. If omitted, all devices.
        type: str
      target:
        description: Name of the target host in the inventory.
        type: str
        required: true
      target_device:
        description: NPU or RDMA device of the target. If omitted, all devices.
        type: str
      operation:
        description: Only this operation, such as V(write).
        type: str
      size_bytes:
        description: Only this size.
        type: int
  collectives:
    description:
      - Collectives whose trend is returned. An empty dictionary selects all collectives.
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
      - The two runs to compare, the earlier one first. Each is the id of a run, the second also V(newest), and the first also V(last_good), the newest run
        before the second one that has no problem.
    type: list
    elements: str
    default: []
  fail_on:
    description:
      - V(regression) fails the task if RV(regressions) is not empty. All results are returned nevertheless.
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
  - The thresholds were set with simulated series with normally distributed noise, of which fewer than one in a hundred raises an alarm. They have not been
    used on a real cluster yet.
"""

EXAMPLES = r"""
- name: Fail if this run is worse than the runs before it
  hccn.cluster.history_info:
    fail_on: regression
  run_once: true

- name: Compare this run with baselines that are kept in git
  hccn.cluster.history_info:
    baseline: baselines/cluster-a.yml
    fail_on: regression
  run_once: true

- name: Return the trend of one NPU and of one pair
  hccn.cluster.history_info:
    history: /srv/hccn/history
    limit: 100
    endpoints:
      - {host: n3, device: 5}
    pairs:
      - {source: n3, source_device: 5, target: n7, target_device: 5, operation: write}
  delegate_to: localhost
  run_once: true

- name: Compare the runs of two nights
  hccn.cluster.history_info:
    compare: [awx-1201, awx-1234]
  run_once: true

- name: Compare the newest run with the last good one before it
  hccn.cluster.history_info:
    compare: [last_good, newest]
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
      description: Id of the run.
      type: str
    path:
      description: File of the run.
      type: str
    started_at:
      description: Start time.
      type: str
    finished_at:
      description: End time, V(null) if the run did not finish.
      type: str
    playbook:
      description: File name of the playbook.
      type: str
    controller:
      description: Host name of the controller.
      type: str
    check_mode:
      description: Whether the run was in check mode.
      type: bool
    complete:
      description: Whether the run finished.
      type: bool
    good:
      description: Whether the run measured something, finished, and found no problem.
      type: bool
    kinds:
      description: Number of records by kind.
      type: dict
    failed:
      description: Records that failed.
      type: int
    not_run:
      description: Records of measurements that could not be run.
      type: int
    failed_tasks:
      description: Failed tasks and unreachable hosts.
      type: int
    hosts:
      description: Number of hosts by the class of their verdict.
      type: dict
    skipped_lines:
      description: Lines that could not be read or are of a kind unknown to this version.
      type: int
  sample: [{run_id: awx-1234, playbook: check_fabric.yml, complete: true, good: false, hosts: {good: 63, slow: 1}, failed: 0}]
last_good:
  description: The newest of RV(runs) whose C(good) is true, V(null) if there is none.
  returned: always
  type: dict
series:
  description: One entry for each requested trend and each group of comparable values.
  returned: always
  type: list
  elements: dict
  contains:
    of:
      description: V(endpoint), V(pair) or V(collective).
      type: str
    points:
      description:
        - One entry for each run, oldest first, with C(run_id), C(started_at), C(value) (the median, V(null) if all measurements failed), C(count) and
          C(failed).
        - A failed measurement has no size and counts for every size of its group.
      type: list
      elements: dict
    baseline:
      description: C(median), C(spread), C(limit) and C(runs) of all points except the last. Absent if fewer than five of them have a value.
      type: dict
  sample:
    - {of: endpoint, source: {host: n3, device: 5}, kind: rdma, operation: write, measure: bandwidth, size_bytes: 65536, pair_class: same rail,
       unit: Gbit/s, points: [{run_id: awx-1, started_at: 20261120T101500Z, value: 195.9, count: 63, failed: 0}]}
comparison:
  description:
    - What changed between the two runs of O(compare), V(null) without it. Differences within the noise of the values are not listed.
    - C(before) and C(after) are the ids of the runs, C(headline) is a sentence, C(compared) the number of groups of values that both runs measured,
      C(counts) the number of changes by state, and C(changes_count) that of all changes.
    - Each of C(changes), at most 200, has C(state) (V(worse), V(appeared), V(vanished), V(changed) or V(better)), C(kind) (V(value), V(finding), V(host) or
      V(setting)), C(name), C(what), C(before), C(after) and the sentence C(message). Values also have C(unit), C(change_percent), where a positive change
      is better, and C(noise_percent).
  returned: always
  type: dict
  sample:
    before: awx-1201
    after: awx-1234
    headline: "awx-1234 against awx-1201: 1 worse"
    compared: 2
    counts: {worse: 1}
    changes_count: 1
    changes:
      - {state: worse, kind: value, name: n3 NPU 5, what: "write 64 KiB (same rail, A2)", before: 195.9, after: 155.2, unit: Gbit/s, change_percent: -20.8,
         noise_percent: 0.5, host: n3, device: 5, message: "n3 NPU 5: write 64 KiB (same rail, A2) was 195.9 Gbit/s, it is 155.2 Gbit/s (20.8 % worse)"}
judged_run:
  description: Id of the run of RV(verdicts), V(null) if there is none.
  returned: always
  type: str
verdicts:
  description:
    - One entry for each group of the run, with C(now), C(baseline) and C(state), one of V(ok), V(regression) and V(no_baseline).
    - C(now) is V(null) if all measurements of the group failed. Such a group has no C(size_bytes) unless a baseline has its sizes.
  returned: always
  type: list
  elements: dict
regressions:
  description: Groups and endpoints that are worse than their baseline, groups before endpoints, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    reason:
      description: V(level) if this run is worse, V(drift) if the value declined gradually over several runs, V(failed) if all measurements failed.
      type: str
    before:
      description: Normal value.
      type: float
    now:
      description: Value in this run, V(null) if all measurements failed.
      type: float
    limit:
      description: Limit beyond which a value counts as worse.
      type: float
    drop_percent:
      description: How much worse the value is than normal, in percent.
      type: float
    runs:
      description: Number of runs from which the baseline was computed.
      type: int
    host:
      description: Host of the endpoint, absent for a group.
      type: str
    device:
      description: NPU or RDMA device of the endpoint, absent for a group.
      type: raw
    message:
      description: The regression as a sentence.
      type: str
  sample:
    - {kind: rdma, operation: write, measure: bandwidth, size_bytes: 65536, pair_class: same rail, unit: Gbit/s, host: n3, device: 5, reason: level,
       before: 195.9, now: 151.2, limit: 186.1, drop_percent: 22.8, runs: 12, message: n3 NPU 5 is worse than its baseline}
unreadable:
  description: Messages about files of the history that were skipped.
  returned: always
  type: list
  elements: str
"""
