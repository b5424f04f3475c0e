#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_verdict, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_verdict
short_description: Judge the results of a pairwise RDMA run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the results that M(hccn.cluster.rdma_perf) or M(hccn.cluster.rdma_perf_info) returned on all hosts, and assigns every host to exactly one class,
    with a sentence and the evidence. The classes are V(good), V(slow), V(failed), V(busy), V(unreachable) and V(not_measured).
  - A measurement is slow if it is below an absolute floor (O(floor_gbit_s), O(line_rate_floor)), or if it is an outlier among its peers in two respects.
    It is below O(relative_floor) of the normal value, which the better part of its peers reaches, and it is farther from it than their spread explains.
    The peers are the measurements of the same operation, measure and size. Latency is classified accordingly, with large values as slow, among pairs with
    the same number of switches and rails if the plan contains them.
  - A good measurement clears both of its NPUs. A bad measurement is attributed to the NPU that no other measurement clears, if its partner is cleared. A
    single measurement is enough if it is beyond doubt, otherwise measurements with two cleared partners are needed. The verdict then names the smallest
    set of components that contains the bad NPUs - NPUs, nodes, leaves, rails, racks, super pods.
  - A bad measurement between two cleared NPUs is attributed to the path between their leaves, if nearly all measurements between these leaves are bad; to
    the links of one leaf, if that holds for nearly all other leaves; to one direction of an NPU; or to an intermittent fault. Measurements that were
    repeated with another source port or number of queue pairs distinguish a bad path from one of several links that packets are hashed to. A pair that was
    slow once, and good when it was measured again in the same way, is mentioned in RV(power) and attributed to no component.
  - An answer or a record that cannot be understood is dropped, and so is a record of another host than the one that returned it, or of a pair that is not
    in O(plan). Each is a problem of its host, in RV(problems), and does not affect the verdicts of other hosts.
  - Only the source of a pair reports it. A bandwidth above the line rate is not a measurement. Values that a single host reports, and that the other hosts
    contradict, do not determine the normal value. Such values are dropped, and their host is not good.
  - The thresholds are set so that one run in a thousand names a component without cause. RV(power) contains the smallest drop that the run would have
    detected.
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
  hosts:
    description:
      - The hosts to judge, for instance C(groups['npu']). Each of them is assigned to one class, even without any result.
      - If omitted, the hosts of O(nodes) are judged.
    type: list
    elements: str
  register_name:
    description:
      - Name of the variable in which the play registered the results, not its value. It is read from the variables of O(hosts).
      - Of several names, the first is that of the run. The others are those of confirmation runs, whose measurements are added to it.
      - Either this or O(nodes) is required.
    type: list
    elements: str
  nodes:
    description:
      - The results, as a dictionary of results by name of the host.
    type: dict
  run_id:
    description:
      - Name of the run in the ids of the records. If omitted, that of the results is used.
    type: str
  floor_gbit_s:
    description:
      - Bandwidth in Gbit/s below which a pair is slow, whatever the others reach. About 97 % of the line rate is normal for C(roce_test) on 200GE.
    type: float
  line_rate_floor:
    description:
      - Share of the line rate below which a bandwidth is slow, whatever the others reach. It applies to records that contain their line rate
        (C(context.line_rate_gbit_s)), and to messages of 64 KiB or more.
      - Hosts of different line rates are compared with their peers only. A speed counts as a line rate of its own if at least two hosts have it on all of
        their NPUs; of hosts with a single NPU, if at least three hosts and a quarter of all have it. A link that negotiated down does not count, and is
        slow.
    type: float
    default: 0.9
  plan:
    description:
      - The plan of P(hccn.cluster.pair_plan#filter) that was measured. It contains the leaf and rail of each NPU, without which neither a leaf nor a path
        between leaves can be named, and the pairs that a host without any result should have measured.
    type: dict
  further_rounds:
    description:
      - Rounds that were measured after those of O(plan), which are C(plan.rounds) of RV(second_look).
    type: list
    elements: list
    default: []
  second_look:
    description:
      - Whether to return RV(second_look) if the measurements leave questions open. In that case the task returns no records and does not fail, so that the
        verdict after the confirmation run is the one that counts.
    type: bool
    default: false
  baseline:
    description:
      - Earlier values of the NPUs to compare with, as a dictionary with C(ends) and, as far as known, C(operation), C(measure) and C(size_bytes). C(ends)
        contains a value by host and device id, in the unit of the measurement. See RV(regressions).
    type: dict
  start_register_name:
    description:
      - Name of the variable in which the hosts registered the result of M(hccn.cluster.rdma_perf) with C(wait=false). If the start failed, the verdict
        names the reason.
      - If O(register_name) contains several names, give one for each of them, in the same order.
    type: list
    elements: str
    default: []
  probe_register_name:
    description:
      - Name of the variable in which the hosts registered the result of a task before the measurement, such as M(hccn.cluster.device_info). A host that was
        unreachable in that task, and has no other result, is V(unreachable).
    type: str
  left_out:
    description:
      - NPUs and hosts that were left out of the plan. Such a host is not good. It is V(busy) if all of its entries have the C(code) V(device_busy),
        V(not_measured) if they have V(tool_missing) or V(answer_not_understood), otherwise V(failed).
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host.
        type: str
        required: true
      device:
        description: Physical id of the NPU. If omitted, the whole host was left out.
        type: int
      code:
        description: Code of the reason, such as V(device_busy) or V(address_not_set).
        type: str
        required: true
      message:
        description: Reason in a sentence.
        type: str
        required: true
  relative_floor:
    description:
      - Share of the normal value above which no bandwidth is slow, however little the measurements differ. A latency below the normal value divided by this
        share is not slow.
    type: float
    default: 0.97
  fail_on:
    description:
      - Classes of hosts and components for which the task fails, after everything was judged. V(failed) stands for V(failed) and V(unreachable), V(slow) for
        every class except V(good), V(never) for none.
    type: str
    choices: [failed, slow, never]
    default: failed
seealso:
  - module: hccn.cluster.rdma_perf
  - module: hccn.cluster.rdma_perf_info
  - plugin: hccn.cluster.diagnose
    plugin_type: filter
  - plugin: hccn.cluster.pair_plan
    plugin_type: filter
notes:
  - Runs on the controller. Use C(run_once).
  - A host can be good although a leaf, a rail or a path of the fabric is bad. RV(components) contains those.
  - The statements about false alarms and the smallest drop were measured on simulated fabrics of up to 4,096 hosts with normally distributed noise. They were
    not verified on NPUs yet.
  - With only two hosts, no third host can show which one is bad, so both are named.
"""

EXAMPLES = r"""
- name: Collect the results
  hccn.cluster.rdma_perf_info:
    run_id: "{{ run_id }}"
    wait: 600
  register: rdma

- name: Judge all hosts of the group
  hccn.cluster.fabric_verdict:
    hosts: "{{ groups['npu'] }}"
    register_name: rdma
    plan: "{{ plan }}"
    floor_gbit_s: 180
    fail_on: slow
  run_once: true
"""

RETURN = r"""
verdicts:
  description: One entry for each host, in the order of O(hosts).
  returned: always
  type: list
  elements: dict
  contains:
    host:
      description: Name of the host.
      type: str
    class:
      description: V(good), V(slow), V(failed), V(busy), V(unreachable) or V(not_measured).
      type: str
    message:
      description: Reason in a sentence.
      type: str
    evidence:
      description: The bad pairs that the verdict is based on, worst first, at most 16, or 4 if more than 50 hosts have some.
      type: list
      elements: str
  sample:
    - host: n3
      class: slow
      message: "npu 5 is slow with 2 of 2 proven-good partners: n1, n2, 74 % below normal"
      evidence:
        - "n3 npu 5 to n1 npu 5: 50.2 Gbit/s, normal is 195.9"
        - "n2 npu 5 to n3 npu 5: 50.4 Gbit/s, normal is 195.9"
hosts:
  description: The names of the hosts by class. Contains every class.
  returned: always
  type: dict
  sample: {good: [n1, n2, n4], slow: [n3], failed: [], busy: [], unreachable: [], not_measured: []}
components:
  description: Bad components, those of the fabric first.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: V(npu), V(node), V(rail), V(leaf), V(rack), V(super_pod), V(path) between leaves, or V(pair), the path between two NPUs or nodes.
        V(fabric) is the whole fabric, if more than 16 NPUs are bad and hardly any pair is good.
      type: str
    name:
      description: Name of the component.
      type: str
    class:
      description: V(slow), V(failed) or V(busy).
      type: str
    certain:
      description: False if another cause is possible. The message names it.
      type: bool
    direction:
      description: V(source) or V(target), if the component is bad in one direction only.
      type: str
    hosts:
      description: The hosts whose NPUs belong to the component.
      type: list
      elements: str
    devices:
      description: The NPUs, each with C(host) and C(device).
      returned: for V(npu) and V(node)
      type: list
      elements: dict
    message:
      description: Observation in a sentence.
      type: str
    evidence:
      description: Bad pairs of the component. Those of NPUs and nodes are in RV(verdicts).
      type: list
      elements: str
  sample:
    - kind: path
      name: path L3-L5
      class: slow
      certain: true
      hosts: [n9, n10, n17, n18]
      message: "path L3-L5: 32 of its pairs are slow, 20 % below normal"
      evidence: ["n9 npu 0 to n17 npu 0: 155.9 Gbit/s, normal is 195.1"]
power:
  description:
    - Detection limit of the run. C(smallest_drop_percent) by C(npu), C(pair) and C(path), C(spread_percent) of a measurement, C(samples) of an NPU, faults
      that the run was C(blind) to, and all of it as C(text). Empty if nothing was measured. Without C(smallest_drop_percent) and C(spread_percent) if the
      normal value is not known, since some pairs are much faster than most.
  returned: always
  type: dict
  sample:
    spread_percent: 0.8
    samples: 2
    smallest_drop_percent: {npu: 5.5, pair: 7.1}
    blind: [28 of 36 pairs of hosts did not meet]
    text: 2 measurements of an NPU with a spread of 0.8 %...
regressions:
  description: NPUs that are slower than in O(baseline), whatever the others reach. They do not change a class.
  returned: always
  type: list
  elements: dict
  sample: [{host: n3, device: 5, before: 196.1, now: 181.4, unit: Gbit/s, drop_percent: 7.5}]
second_look:
  description:
    - Confirmation run that settles the open questions. C(rounds) and C(pairs) are numbers, C(text) describes the run and its reason in a sentence, and
      C(plan) is the plan to pass to M(hccn.cluster.rdma_perf) with another run_id.
    - NPUs without a good pair are measured with NPUs that are proven good. A bad pair between good NPUs is measured again, over another path through the
      fabric and as before, and both of its NPUs are measured with others.
    - Hosts that returned nothing do not take part.
  returned: with O(second_look), if the measurements leave questions open
  type: dict
  sample:
    rounds: 1
    pairs: 1
    text: "A second look, 1 pairs of NPUs over 2 hosts in 1 more round: 1 NPU has not met a proven good one."
    plan: {plan: pairs, rounds: [], hosts: {}, topology: {}}
problems:
  description:
    - Parts of the answers of the hosts that were dropped. The rules are V(answer_not_understood), V(record_not_understood), V(above_line_rate),
      V(contradicted_by_others) and V(line_rates_differ). A host that breaks any rule except the last is V(not_measured) instead of V(good).
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: Rule that was broken.
      type: str
    severity:
      description: Severity, V(error) or V(warning).
      type: str
    host:
      description: Host that reported the values.
      type: str
    message:
      description: The dropped part and the reason, in a sentence.
      type: str
    hint:
      description: Next step.
      type: str
  sample:
    - rule: above_line_rate
      severity: error
      host: n3
      message: >-
        it reported 234 Gbit/s from n3 npu 0 to n5 npu 0, whose line rate is 200 Gbit/s (16 such values): no measurement can be above it, so these are
        dropped
      hint: compare the clock, the tool and its version with those of the other hosts, then check again
coverage:
  description: Basis of the verdicts. Numbers of hosts, of measured pairs of NPUs by their state, and of pairs of hosts.
  returned: always
  type: dict
  sample:
    hosts: 4
    hosts_measured: 4
    pairs: 32
    pairs_good: 30
    pairs_slow: 2
    pairs_failed: 0
    pairs_busy: 0
    host_pairs_measured: 4
    host_pairs_possible: 6
run_id:
  description: Name of the run.
  returned: always
  type: str
foreign_records:
  description:
    - By host, the numbers of unused records that it returned in the name of other hosts. A host may only report pairs that it measured itself as their
      source.
  returned: if there are such records
  type: dict
  sample: {n1: {n3: 2}}
measurements:
  description: One record of kind C(verdict) for each host, and for each component of the fabric that is bad.
  returned: always
  type: list
  elements: dict
"""
