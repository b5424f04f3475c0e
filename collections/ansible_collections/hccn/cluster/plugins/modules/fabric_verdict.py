#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action fabric_verdict, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_verdict
short_description: Diagnose the results of a pairwise RDMA run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads the results of M(hccn.cluster.rdma_perf) or M(hccn.cluster.rdma_perf_info) of all hosts, and assigns each host exactly one class, with a
    sentence and the evidence. The classes are V(good), V(slow), V(failed), V(busy), V(unreachable) and V(not_measured).
  - A measurement is slow if it is below an absolute floor (O(floor_gbit_s), O(line_rate_floor)). It is also slow if it is both below O(relative_floor) of
    the normal value, which the better part of the comparable measurements reaches, and further below than their spread explains. Measurements of
    the same operation, measure and size are comparable. Latency is treated likewise, compared within the same number of switches and rails if the plan
    contains them.
  - A good measurement clears both of its NPUs. If one NPU of a bad measurement is cleared by others and the other one is not, the latter is bad. One
    measurement is enough if it is beyond doubt, otherwise two cleared partners must be bad with the NPU. The result names the fewest components that
    contain the bad NPUs. These are NPUs, nodes, leaves, rails, racks or super pods.
  - A bad measurement between two cleared NPUs is attributed to the path between their leaves if nearly all measurements between these are bad; to the
    links of one leaf if that holds for nearly all other leaves; to one direction of an NPU; or to an intermittent fault.
    Measurements with another source port or number of queue pairs distinguish a bad path from a single bad link to which packets are hashed. A pair that
    was slow once, and good when measured again with the same options, is mentioned in RV(detection_limit) and not attributed to a component.
  - An answer or a record that cannot be understood is dropped, and so is a record that another host than its source returned, or of a pair that is not in
    O(plan). Each is a problem of its host in RV(problems) and does not affect the verdicts of other hosts.
  - Only the source of a pair reports it. Bandwidths above the line rate, and values of a single host that the other hosts contradict, are dropped, and
    their host is not good.
  - The limits are set so that one run in a thousand names a component without cause. RV(detection_limit) contains the smallest drop that the run would have
    found.
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
      - The hosts to diagnose, for instance C(groups['npu']). Each of them gets a class, also those without any result.
      - The default is the hosts of O(nodes).
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
      - The results, as a dictionary from host name to result.
    type: dict
  run_id:
    description:
      - Name of the run in the ids of the records. The default is the name in the results.
    type: str
  floor_gbit_s:
    description:
      - Bandwidth in Gbit/s below which a pair is slow, regardless of the others. About 97 % of the line rate is normal for C(roce_test) on 200GE.
    type: float
  line_rate_floor:
    description:
      - Share of the line rate below which a bandwidth is slow, regardless of the others. It applies to records that contain their line rate
        (C(context.line_rate_gbit_s)), and to messages of 64 KiB or more.
      - Hosts of several line rates are compared with hosts of their own line rate. A speed counts as a line rate if all NPUs of two or more hosts have it; of
        hosts with a single NPU, three or more and a quarter of all must have it. A link that negotiated a lower speed is slow.
    type: float
    default: 0.9
  plan:
    description:
      - The plan of P(hccn.cluster.pair_plan#filter) that was measured. It contains the leaf and rail of each NPU, without which neither a leaf nor a
        path between leaves can be named, and the pairs that a host without any result should have measured.
    type: dict
  further_rounds:
    description:
      - Rounds that were measured after those of O(plan), such as C(plan.rounds) of RV(confirmation).
    type: list
    elements: list
    default: []
  confirmation:
    description:
      - Whether to return RV(confirmation) if the measurements leave questions open. Then the task returns no records and does not fail, since the
        verdict after the confirmation run is the one that counts.
    type: bool
    default: false
  baseline:
    description:
      - Earlier values of the NPUs to compare with, as a dictionary with C(ends) and, if known, C(operation), C(measure) and
        C(size_bytes). C(ends) contains a value by host and device id, in the unit of the measurement. See RV(regressions).
    type: dict
  start_register_name:
    description:
      - Name under which the hosts registered the result of M(hccn.cluster.rdma_perf) with C(wait=false). If the start failed, that result contains the reason.
      - With several names in O(register_name), one name for each of them, in the same order.
    type: list
    elements: str
    default: []
  probe_register_name:
    description:
      - Name under which the hosts registered the result of a task before the measurement, such as M(hccn.cluster.device_info). A host that was unreachable
        at that time, and has no other result, is V(unreachable).
    type: str
  left_out:
    description:
      - NPUs and hosts that were left out of the plan. Such a host is not good. It is V(busy) if all of its entries have the C(code) V(device_busy),
        V(not_measured) if they have V(tool_missing) or V(answer_not_understood), else V(failed).
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: Name of the host.
        type: str
        required: true
      device:
        description: Physical id of the NPU. Without it, the whole host was left out.
        type: int
      code:
        description: Code of the reason, such as V(device_busy) or V(address_not_set).
        type: str
        required: true
      message:
        description: The reason as a sentence.
        type: str
        required: true
  relative_floor:
    description:
      - Share of the normal value above which nothing is slow, however small the spread of the measurements is. A latency is not slow below the normal value
        divided by this share.
    type: float
    default: 0.97
  fail_on:
    description:
      - Classes of hosts and components for which the task fails, after everything was diagnosed. V(failed) stands for V(failed) and
        V(unreachable), V(slow) for every class but V(good), V(never) for none.
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
  - A host is good even if a leaf, a rail or a path of the fabric is bad. Those are in RV(components).
  - The rate of false alarms and the smallest drop were determined on simulated fabrics of up to 4,096 hosts with normally distributed noise, not yet
    on real NPUs.
  - With only two hosts there is no third one to show which NPU of a pair is bad, so both are named.
"""

EXAMPLES = r"""
- name: Collect the results
  hccn.cluster.rdma_perf_info:
    run_id: "{{ run_id }}"
    wait: 600
  register: rdma

- name: Diagnose all hosts of the group
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
      description: The reason as a sentence.
      type: str
    evidence:
      description: The bad pairs on which the verdict is based, worst first, 16 at most, 4 if more than 50 hosts have some.
      type: list
      elements: str
  sample:
    - host: n3
      class: slow
      message: "NPU 5 is slow with 2 of 2 proven-good partners: n1, n2, 74 % below normal"
      evidence:
        - "n3 NPU 5 to n1 NPU 5: 50.2 Gbit/s, normal is 195.9"
        - "n2 NPU 5 to n3 NPU 5: 50.4 Gbit/s, normal is 195.9"
hosts:
  description: The names of the hosts by class. Every class is present.
  returned: always
  type: dict
  sample: {good: [n1, n2, n4], slow: [n3], failed: [], busy: [], unreachable: [], not_measured: []}
suspects:
  description: Hosts whose ports may explain what is slow or failed, at most 32.
  returned: always
  type: list
  elements: str
  sample: [n3]
components:
  description: The bad components, those of the fabric first.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: V(npu), V(node), V(rail), V(leaf), V(uplink) (one of the uplinks of a leaf), V(spine) (one of the spines), V(rack), V(super_pod), V(path)
        between leaves, or V(pair), the path between two NPUs or nodes.
        V(fabric) is the whole fabric, if more than 16 NPUs are bad and hardly any pair is good.
      type: str
    name:
      description: Name of the component.
      type: str
    class:
      description: V(slow), V(failed) or V(busy).
      type: str
    certain:
      description: Whether RV(components[].certainty) is V(certain).
      type: bool
    certainty:
      description: V(certain), V(probable), or V(possible) if something else may well be the cause.
      type: str
    direction:
      description: V(source) or V(target), if it is bad in one direction only.
      type: str
    hosts:
      description: The hosts of the NPUs that it contains.
      type: list
      elements: str
    devices:
      description: The NPUs, each with C(host) and C(device).
      returned: for V(npu) and V(node)
      type: list
      elements: dict
    message:
      description: What was found, as a sentence.
      type: str
    evidence:
      description: Bad pairs as evidence. Those of NPUs and nodes are in RV(verdicts).
      type: list
      elements: str
  sample:
    - kind: path
      name: path L3-L5
      class: slow
      certain: true
      certainty: certain
      hosts: [n9, n10, n17, n18]
      message: "path L3-L5: 32 of its pairs are slow, 20 % below normal"
      evidence: ["n9 NPU 0 to n17 NPU 0: 155.9 Gbit/s, normal is 195.1"]
detection_limit:
  description:
    - What the run could have found. C(smallest_drop_percent) by C(npu), C(pair) and C(path), C(spread_percent) of a measurement, C(samples) of an NPU,
      faults that it could not find (C(blind)), and all of it as C(text). Empty if nothing was measured. Without C(smallest_drop_percent) and
      C(spread_percent) if the normal value is unknown, since some pairs are much faster than most.
  returned: always
  type: dict
  sample:
    spread_percent: 0.8
    samples: 2
    smallest_drop_percent: {npu: 5.5, pair: 7.1}
    blind: [28 of 36 pairs of hosts were not measured]
    text: 2 measurements of an NPU with a spread of 0.8 %...
regressions:
  description: NPUs that are slower than in O(baseline), regardless of the other NPUs. They do not change a class.
  returned: always
  type: list
  elements: dict
  sample: [{host: n3, device: 5, before: 196.1, now: 181.4, unit: Gbit/s, drop_percent: 7.5}]
confirmation:
  description:
    - The confirmation run that settles open questions. C(rounds) and C(pairs) are their numbers, C(text) is a sentence with the reason, and C(plan) is the
      plan to pass to M(hccn.cluster.rdma_perf) with another run_id.
    - NPUs without a good pair are measured with proven good ones. A bad pair between good NPUs is measured again, over another path through the fabric and
      with the same options, and both of its NPUs are measured with others.
    - Hosts that returned nothing do not take part.
  returned: with O(confirmation), if there are open questions
  type: dict
  sample:
    rounds: 1
    pairs: 1
    text: "Confirmation run of 1 pair of NPUs over 2 hosts in 1 more round: 1 NPU was not measured with a proven good one."
    plan: {plan: pairs, rounds: [], hosts: {}, topology: {}}
problems:
  description:
    - The parts of the answers of the hosts that were dropped. The rules are V(answer_not_understood), V(record_not_understood), V(above_line_rate),
      V(contradicted_by_others) and V(line_rates_differ). A host with any but the last is V(not_measured) if it would otherwise be V(good).
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
      description: What was dropped and why, as a sentence.
      type: str
    hint:
      description: Next step.
      type: str
  sample:
    - rule: above_line_rate
      severity: error
      host: n3
      message: >-
        it reported 234 Gbit/s from n3 NPU 0 to n5 NPU 0, whose line rate is 200 Gbit/s (16 such values): a measurement cannot be above it, so these are
        dropped
      hint: compare the clock, the tool and its version with those of the other hosts, then check again
coverage:
  description: Numbers of hosts, of measured pairs of NPUs by their state, and of pairs of hosts.
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
    - By host, the other hosts whose records it returned, and how many. They were not used, since a host may report only pairs that it measured itself as
      their source.
  returned: when there are such records
  type: dict
  sample: {n1: {n3: 2}}
measurements:
  description: One record of kind C(verdict) for each host, and for each component of the fabric that is bad.
  returned: always
  type: list
  elements: dict
"""
