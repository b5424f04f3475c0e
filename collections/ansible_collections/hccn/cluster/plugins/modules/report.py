#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Makes a page of a run of the history
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads one run of the history that P(hccn.cluster.results#callback) keeps, and the runs before it, and writes a page on the controller.
  - The findings come first, each with its component, what it rests on and what to do next, below one sentence that counts the hosts by class. The
    conclusion of the run decides the class of each host. Of a run without one (of an earlier release, or cut before its end) the verdicts come first.
  - Then come the worst pairs with what speaks for which end, maps of who reaches whom (sender by receiver, rail by host, leaf by
    leaf), trends with their baseline, collectives over their sizes, latency, devices, what was covered and what not, and failures.
  - The HTML is one file. It makes no request to anywhere, is whole without JavaScript (which only adds numbers under the pointer), speaks English and
    Chinese, follows the dark or light setting of its reader, is readable in grey and can be printed.
  - It is also written as Markdown for a ticket, as JSON for programs, and as metrics for Prometheus.
  - The page is made of the history alone, so the same history gives the same page.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - Size and checksum of the page are shown, not its text.
  idempotent:
    support: full
options:
  history:
    description:
      - The folder of the history on the controller. A relative path begins where C(ansible-playbook) was called.
      - Without it, the folder to which the callback writes this run (E(HCCN_RESULTS_DIR), which it sets), else E(HCCN_RESULTS_PATH),
        else C(~/.local/share/hccn.cluster/history).
    type: path
  run_id:
    description:
      - The run of which the page is made, whatever run this is.
      - Without it, this run if something was measured or failed in it so far, else the newest run of O(history) in which something was.
    type: str
  path:
    description:
      - The file on the controller. A relative path begins where C(ansible-playbook) was called. It is replaced in one step and has mode 0640.
      - Without it, C(reports/<run id>) with the format's ending in O(history).
    type: path
  format:
    description:
      - V(html) is the page. V(md) is Markdown in one language, without the maps.
      - V(json) is all of it as data, with the schema C(hccn.cluster/report/1), see C(docs/schemas) of the collection.
      - V(prom) are metrics for the textfile collector of node_exporter. No pair has a series of its own.
      - V(baseline) is what is normal by this run and the ones before it, as YAML that can be kept in git and reviewed there. It takes at least five
        complete runs of the same kind.
      - V(jsonl) is the run itself as a file of a history, with an end where it has none yet, to be sent to a host that keeps it.
    type: str
    choices: [html, md, json, prom, jsonl, baseline]
    default: html
  language:
    description:
      - Language of Markdown, and the one that the page shows first. What tools and the diagnosis said stays as it is.
    type: str
    choices: [en, zh]
    default: en
  baseline:
    description:
      - A file with pinned baselines, which the run is held to in place of the runs before it.
    type: path
  limit:
    description:
      - How many runs before this one count for trends and baselines, of those that have something to compare with it. 0 for none.
      - They are looked for among forty times as many.
    type: int
    default: 30
  mode:
    description:
      - Mode of the file, octal. node_exporter needs to read its metrics, so they mostly want V('0644').
      - Without it V('0640').
    type: raw
  title:
    description:
      - The title of the page.
    type: str
    default: Fabric report
notes:
  - This is an action plugin. It runs on the controller and opens no connection, whichever host it runs for.
    Run it once, with C(run_once) or for C(localhost).
  - As the last task of the playbook that measures it shows this run, of which all earlier tasks are already in the history.
    The page then says that the run was not over yet.
  - Under AWX the file system of the job is thrown away. Let O(path) lie in a mounted folder, or send the page to another host.
  - It reads the whole run. A C(.jsonl.part) of a run that was killed is read as far as it came, and the page says so.
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
  - module: hccn.cluster.history_info
"""

EXAMPLES = r"""
- name: Make the page of this run
  hccn.cluster.report:
    title: Fabric of cluster A
  run_once: true
  register: page

- name: Make the page of an earlier run
  hccn.cluster.report:
    history: /srv/hccn/history
    run_id: awx-1234
    path: /srv/www/fabric/awx-1234.html
    language: zh
  delegate_to: localhost
  run_once: true

- name: Write metrics for Prometheus
  hccn.cluster.report:
    format: prom
    path: /var/lib/node_exporter/textfile/hccn.prom
    mode: "0644"
  run_once: true

- name: Pin what is normal as a file in git
  hccn.cluster.report:
    format: baseline
    path: baselines/cluster-a.yml
    mode: "0644"
  run_once: true
"""

RETURN = r"""
path:
  description: The file of the page.
  type: str
  returned: success
  sample: /home/op/.local/share/hccn.cluster/history/reports/691f4ac5-0f1e2d3c4b5a6978.html
run_id:
  description: The run that the page shows.
  type: str
  returned: success
  sample: 691f4ac5-0f1e2d3c4b5a6978
incomplete:
  description:
    - Whether the history of the run has no end. Either the run was interrupted, or it is this very run.
  type: bool
  returned: success
state:
  description:
    - The run in one word, for a play or a workflow to branch on. V(failed) and V(slow) by the conclusion of the run, else by the worst verdict (C(degraded)
      and C(busy) count as V(slow)), V(regression) where something is worse than its baseline, V(incomplete), V(not_judged) where not all hosts have a
      verdict or were measured, else V(good).
  type: str
  returned: success
  sample: slow
summary:
  description:
    - A short summary that the role publishes as artifacts of an AWX job. C(hosts) counts hosts by class, C(findings) findings by severity (C(failed),
      C(slow), C(degraded), C(unknown), C(note)).
  type: dict
  returned: success
  sample:
    {run_id: awx-1234, path: /srv/hccn/history/reports/awx-1234.html, state: slow, hosts: {slow: 1, good: 63}, bad_hosts: [n17],
     findings: {slow: 1}, components: [], regressions: 0, worst: {source: n17 npu 3, target: n9 npu 3, value: 50.2, unit: Gbit/s},
     coverage: {hosts: 64, hosts_measured: 64, pairs_met: 128, pairs_possible: 2016}}
history_file:
  description: Where the file of the run lies in a history when the run is over, relative to the folder.
  type: str
  returned: success
  sample: 2026/11/20/20261120T101500Z-awx-1234.jsonl
counts:
  description: What the page is made of.
  type: dict
  returned: success
  contains:
    records:
      description: Records of measurements, devices and verdicts.
      type: int
      sample: 72
    failed:
      description: Records with the status C(failed).
      type: int
      sample: 1
    failed_tasks:
      description: Failed tasks and loop items.
      type: int
      sample: 0
    unreachable:
      description: Times that a host was unreachable.
      type: int
      sample: 1
    skipped_lines:
      description: Lines of the history that could not be read or are of a kind that this version does not know.
      type: int
      sample: 0
    hosts:
      description:
        - Number of hosts by the class of their verdict (C(failed), C(unreachable), C(slow), C(degraded), C(busy), C(not_measured),
          C(good)). The conclusion of the run decides it, where there is one.
          Hosts that were measured without a verdict count as C(not_judged). Classes without a host are absent.
      type: dict
      sample: {"slow": 1, "good": 63}
"""
