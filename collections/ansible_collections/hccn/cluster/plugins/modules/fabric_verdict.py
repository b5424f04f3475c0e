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
  - Reads what M(hccn.cluster.rdma_perf) or M(hccn.cluster.rdma_perf_info) returned on all hosts, and puts every host into exactly one class, with a
    sentence and the evidence. V(good), V(slow), V(failed), V(busy), V(unreachable) or V(not_measured).
  - A measurement is slow below an absolute floor (O(floor_gbit_s), O(line_rate_floor)), or where it is out of what is normal among its like in both
    ways. It lies below O(relative_floor) of what the better part of them reaches, and beyond what their spread explains. Its like are the measurements
    of the same operation, measure and size. Latency is judged the same way round, within the same number of switches and rails where the plan tells
    them.
  - A good measurement clears both of its ends. A bad one lies at the end that is not cleared by others, where the partner is. One cell is enough where
    it is beyond doubt, otherwise two cleared partners must see it. Then the fewest components are named that hold the bad NPUs - NPUs, nodes, leaves,
    rails, racks, super pods.
  - A bad measurement between two NPUs that are both cleared lies at the path between their leaves, where nearly all measurements between these are
    bad; at the links of one leaf, where that holds for nearly all other leaves; at one direction of an NPU; or at what comes and goes.
    What was measured again with another source port or number of queue pairs tells a path from a place where packets are hashed to. A pair that was slow
    once, and good when it was measured again as before, is told in RV(detection_limit) and nobody is blamed.
  - An answer or a record that cannot be understood is dropped, and so is a record of another host than the one that returned it, or of a pair that O(plan)
    does not have. Each is a problem of its host, in RV(problems), and costs no other host its verdict.
  - The source of a pair alone reports it. A bandwidth above the line rate is no measurement. What a single host reports, and the other hosts contradict, does
    not tell what is normal. Such values are dropped, and their host is not good.
  - The gates are set so that one run in a thousand names something without cause. RV(detection_limit) tells how small a drop the run would have seen.
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
      - The hosts to judge, for instance C(groups['npu']). Each of them ends in one class, also those without any result.
      - Without it the hosts of O(nodes).
    type: list
    elements: str
  register_name:
    description:
      - The variable under which the play registered the results. Give its name, not its value. It is read from the variables of O(hosts).
      - Of several names the first is that of the run, the others those of confirmation runs, whose measurements are taken with it.
      - Either this or O(nodes).
    type: list
    elements: str
  nodes:
    description:
      - The results, as a dictionary from the name of the host to its result.
    type: dict
  run_id:
    description:
      - Name of the run in the ids of the records. Without it that of the results.
    type: str
  floor_gbit_s:
    description:
      - Bandwidth in Gbit/s below which a pair is slow, whatever the others have. About 97 % of the line rate is normal for C(roce_test) on 200GE.
    type: float
  line_rate_floor:
    description:
      - Share of the line rate below which a bandwidth is slow, whatever the others have. It counts for records that tell their line rate
        (C(context.line_rate_gbit_s)), and for messages of 64 KiB or more.
      - Hosts of several line rates are compared with their like. A speed counts as one where whole hosts have it, two or more of them; of hosts with a
        single NPU three or more, and a quarter of all. A link that negotiated down is none, and is slow.
    type: float
    default: 0.9
  plan:
    description:
      - The plan of P(hccn.cluster.pair_plan#filter) that was measured. It tells on which leaf and rail an NPU hangs, without which neither a leaf nor a
        path between leaves can be named, and which pairs a host without any result should have measured.
    type: dict
  further_rounds:
    description:
      - Rounds that were measured after those of O(plan). C(plan.rounds) of RV(confirmation).
    type: list
    elements: list
    default: []
  confirmation:
    description:
      - Whether to return RV(confirmation) where the measurements leave something open. Then the task keeps no records and does not fail, so that the
        verdict that counts is the one after the confirmation run.
    type: bool
    default: false
  baseline:
    description:
      - What the NPUs reached before, to compare with, as a dictionary with C(ends) and, as far as it is known, C(operation), C(measure) and
        C(size_bytes). C(ends) holds a value by host and device id, in the unit of the measurement. See RV(regressions).
    type: dict
  start_register_name:
    description:
      - Name under which the hosts registered the result of M(hccn.cluster.rdma_perf) with C(wait=false). Where that failed, it tells why.
      - With several names in O(register_name), one for each of them, in the same order.
    type: list
    elements: str
    default: []
  probe_register_name:
    description:
      - Name under which the hosts registered the result of a task before the measurement, such as M(hccn.cluster.device_info). A host that was unreachable
        then, and has no other result, is V(unreachable).
    type: str
  left_out:
    description:
      - NPUs that were kept out of the plan, and hosts. Such a host is not good. It is V(busy) where all of them have the C(code) V(device_busy),
        V(not_measured) where they have V(tool_missing) or V(answer_not_understood), else V(failed).
    type: list
    elements: dict
    default: []
    suboptions:
      host:
        description: The host.
        type: str
        required: true
      device:
        description: Physical id. Without it the host as a whole was left out.
        type: int
      code:
        description: Why, as a word, such as V(device_busy) or V(address_not_set).
        type: str
        required: true
      message:
        description: Why, in a sentence.
        type: str
        required: true
  relative_floor:
    description:
      - Share of what is normal above which nothing is slow, however little the measurements differ. A latency is not slow below what is normal divided
        by it.
    type: float
    default: 0.97
  fail_on:
    description:
      - For which classes of hosts and components the task fails, after everything was judged. V(failed) for V(failed) and
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
  - A host is good although a leaf, a rail or a path of the fabric is bad. Those stand in RV(components).
  - What stands here of false alarms and of the smallest drop was found on simulated fabrics of up to 4,096 hosts, whose noise is normal. No NPU has seen
    it yet.
  - With two hosts only there is no third to tell which end is bad, so both are named.
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
      description: The host.
      type: str
    class:
      description: V(good), V(slow), V(failed), V(busy), V(unreachable) or V(not_measured).
      type: str
    message:
      description: Why, in a sentence.
      type: str
    evidence:
      description: The bad pairs that the verdict rests on, worst first, 16 at most, 4 where more than 50 hosts have some.
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
  description: The names of the hosts by class. Every class is there.
  returned: always
  type: dict
  sample: {good: [n1, n2, n4], slow: [n3], failed: [], busy: [], unreachable: [], not_measured: []}
components:
  description: What is bad, those of the fabric first.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: V(npu), V(node), V(rail), V(leaf), V(rack), V(super_pod), V(path) between leaves, or V(pair), the path between two NPUs or nodes.
        V(fabric) is all of it, where more than 16 NPUs are bad and hardly a pair is good.
      type: str
    name:
      description: Its name.
      type: str
    class:
      description: V(slow), V(failed) or V(busy).
      type: str
    certain:
      description: False where it may be something else. The message says what.
      type: bool
    direction:
      description: V(source) or V(target), where it is bad in one direction only.
      type: str
    hosts:
      description: The hosts whose NPUs it holds.
      type: list
      elements: str
    devices:
      description: The NPUs, each with C(host) and C(device).
      returned: for V(npu) and V(node)
      type: list
      elements: dict
    message:
      description: What was seen, in a sentence.
      type: str
    evidence:
      description: Bad pairs behind it. Those of NPUs and nodes stand in RV(verdicts).
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
detection_limit:
  description:
    - What the run could have seen. C(smallest_drop_percent) by C(npu), C(pair) and C(path), C(spread_percent) of a measurement, C(samples) of an NPU,
      what it was C(blind) to, and all of it as C(text). Empty where nothing was measured. Without C(smallest_drop_percent) and C(spread_percent) where it is
      not known what is normal, since some pairs are much faster than most.
  returned: always
  type: dict
  sample:
    spread_percent: 0.8
    samples: 2
    smallest_drop_percent: {npu: 5.5, pair: 7.1}
    blind: [28 of 36 pairs of hosts were not measured]
    text: 2 measurements of an NPU with a spread of 0.8 %...
regressions:
  description: NPUs that are slower than O(baseline) says, whatever the others reach. They do not change a class.
  returned: always
  type: list
  elements: dict
  sample: [{host: n3, device: 5, before: 196.1, now: 181.4, unit: Gbit/s, drop_percent: 7.5}]
confirmation:
  description:
    - What is to be measured to settle what is open. C(rounds) and C(pairs), their numbers, C(text), what and why in a sentence, and C(plan), to be given
      to M(hccn.cluster.rdma_perf) under another run_id.
    - NPUs without a good pair meet proven good ones. A bad pair between good NPUs is measured again, by another way through the fabric and as it was, and so
      are both of its ends with others.
    - Hosts that returned nothing are left alone.
  returned: with O(confirmation), where something is open
  type: dict
  sample:
    rounds: 1
    pairs: 1
    text: "Confirmation run of 1 pair of NPUs over 2 hosts in 1 more round: 1 NPU was not measured with a proven good one."
    plan: {plan: pairs, rounds: [], hosts: {}, topology: {}}
problems:
  description:
    - What was dropped of the answers of the hosts. The rules are V(answer_not_understood), V(record_not_understood), V(above_line_rate),
      V(contradicted_by_others) and V(line_rates_differ). A host with any but the last is V(not_measured) where it would be V(good).
  returned: always
  type: list
  elements: dict
  contains:
    rule:
      description: The rule.
      type: str
    severity:
      description: V(error) or V(warning).
      type: str
    host:
      description: The host that reported it.
      type: str
    message:
      description: What was dropped and why, in a sentence.
      type: str
    hint:
      description: What to do.
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
  description: How much the verdicts rest on. Numbers of hosts, of measured pairs of NPUs by their state, and of pairs of hosts.
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
  description: The run.
  returned: always
  type: str
foreign_records:
  description:
    - By host, in whose name it returned records that were not used, and how many. A host answers only for pairs that it measured itself as their source.
  returned: when there are such records
  type: dict
  sample: {n1: {n3: 2}}
measurements:
  description: One record of kind C(verdict) for each host, and for each component of the fabric that is bad.
  returned: always
  type: list
  elements: dict
"""
