#!/usr/bin/python
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Write a report of a run
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Reads one run and the runs before it from the history that P(hccn.cluster.results#callback) writes, and writes a page on the controller.
  - The page starts with the number of hosts in each class, followed by the findings, each with its component, evidence and next step. The conclusion of
    the run determines the class of each host. For a run without a conclusion (of an earlier release, or interrupted), the page lists the verdict on each
    host that is not good.
  - The page continues with the worst pairs and the evidence which side is at fault, heatmaps (sender by receiver, rail by host, leaf by leaf), trends
    with baselines, collectives by size, latency, devices, coverage, and failures.
  - The HTML page is a single file. It makes no network requests, is complete without JavaScript (which only shows the value under the pointer), is
    available in English and Chinese, follows the dark or light setting of the browser, is readable in greyscale, and can be printed.
  - Other formats are Markdown for tickets, JSON for programs, and metrics for Prometheus.
  - The page depends only on the history, so the same history gives the same page.
  - The task is changed if the content of the file differs. The page of the current run without O(path) is never a change, since every run adds its own page
    to the history, as it adds its own file.
extends_documentation_fragment:
  - hccn.cluster._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - The diff shows size and checksum of the file instead of its content.
  idempotent:
    support: full
options:
  history:
    description:
      - Folder of the history on the controller. A relative path starts at the working directory of C(ansible-playbook).
      - If omitted, the folder to which the callback writes this run (E(HCCN_RESULTS_DIR), set by the callback), else E(HCCN_RESULTS_PATH),
        else C(~/.local/share/hccn.cluster/history).
    type: path
  run_id:
    description:
      - Id of the run to report.
      - If omitted, the current run if anything was measured or failed in it so far, else the newest such run of O(history).
    type: str
  path:
    description:
      - File on the controller. A relative path starts at the working directory of C(ansible-playbook). The file is replaced atomically; O(mode) sets its
        mode.
      - If omitted, C(reports/<run id>) in O(history), with the file name extension of the format. Pages there are listed in C(reports/index.html) and link
        to the previous and the next one.
    type: path
  format:
    description:
      - V(html) writes the HTML page. V(md) writes Markdown in one language, without heatmaps.
      - V(json) writes the content of the page as data with the schema C(hccn.cluster/report/1), see C(docs/schemas) of the collection.
      - V(prom) writes metrics for the textfile collector of node_exporter, which are also valid OpenMetrics. There are no series for single pairs, and at
        most 100 that name a host or NPU.
      - V(baseline) writes the baselines of this run and the runs before it as YAML, which can be kept in git and reviewed there. At least five complete
        runs of the same kind are required.
      - V(jsonl) writes the run itself as a file of a history, for a host that archives it. An end line is added if the run is not over yet.
    type: str
    choices: [html, md, json, prom, jsonl, baseline]
    default: html
  language:
    description:
      - Language of Markdown, and the language that the HTML page shows first. Messages of tools and of the diagnosis are not translated.
    type: str
    choices: [en, zh]
    default: en
  baseline:
    description:
      - File with pinned baselines, which are used instead of those of the runs before this one.
    type: path
  limit:
    description:
      - Maximum number of earlier runs for trends and baselines, of which only runs with comparable values count. V(0) uses none.
      - To find them, up to forty times as many runs are examined.
    type: int
    default: 30
  mode:
    description:
      - Mode of the file as an octal number. Metrics must be readable by node_exporter, which usually requires V('0644').
      - If omitted, V('0640').
    type: raw
  title:
    description:
      - Title of the page.
    type: str
    default: Fabric report
notes:
  - This is an action plugin. It runs on the controller and opens no connection to the host of the task. Run it once, with C(run_once) or for
    C(localhost).
  - As the last task of a playbook that measures, it reports the current run, since all earlier tasks are already in the history.
    The page then states that it was written before the end of the run.
  - Under AWX, the file system of a job is discarded when the job ends. Set O(path) to a mounted folder, or send the page to another host.
  - A C(.jsonl.part) file of a run that was killed is read up to its last complete line, and the page states that the run is incomplete.
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
  - module: hccn.cluster.history_info
"""

EXAMPLES = r"""
- name: Write the page of this run
  hccn.cluster.report:
    title: Fabric of cluster A
  run_once: true
  register: page

- name: Write the page of an earlier run in Chinese
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

- name: Write the baselines to a file in git
  hccn.cluster.report:
    format: baseline
    path: baselines/cluster-a.yml
    mode: "0644"
  run_once: true
"""

RETURN = r"""
path:
  description: File of the page.
  type: str
  returned: success
  sample: /home/op/.local/share/hccn.cluster/history/reports/691f4ac5-0f1e2d3c4b5a6978.html
run_id:
  description: Id of the run that the page shows.
  type: str
  returned: success
  sample: 691f4ac5-0f1e2d3c4b5a6978
incomplete:
  description:
    - Whether the history of the run has no end line, because the run was interrupted or is the current run.
  type: bool
  returned: success
state:
  description:
    - State of the run, for a play or a workflow to branch on.
    - V(failed) and V(slow) come from the conclusion of the run, else from the worst verdict; C(degraded) and C(busy) count as V(slow).
      Otherwise V(regression) if a value is worse than its baseline, V(incomplete) if the run was interrupted, V(not_judged) if not all hosts were measured
      and have a verdict, else V(good).
  type: str
  returned: success
  sample: slow
summary:
  description:
    - Short summary, which the role publishes as artifacts of an AWX job. C(hosts) has the number of hosts by class, C(findings) the number of findings by
      severity (C(failed), C(slow), C(degraded), C(unknown), C(note)).
  type: dict
  returned: success
  sample:
    {run_id: awx-1234, path: /srv/hccn/history/reports/awx-1234.html, state: slow, hosts: {slow: 1, good: 63}, bad_hosts: [n17],
     findings: {slow: 1}, components: [], regressions: 0, worst: {source: n17 NPU 3, target: n9 NPU 3, value: 50.2, unit: Gbit/s},
     coverage: {hosts: 64, hosts_measured: 64, pairs_met: 128, pairs_possible: 2016}}
history_file:
  description: Final path of the file of the run, relative to the folder of the history.
  type: str
  returned: success
  sample: 2026/11/20/20261120T101500Z-awx-1234.jsonl
counts:
  description: Numbers of records, failures and hosts on the page.
  type: dict
  returned: success
  contains:
    records:
      description: Number of records of measurements, devices and verdicts.
      type: int
      sample: 72
    failed:
      description: Number of records with the status C(failed).
      type: int
      sample: 1
    failed_tasks:
      description: Number of failed tasks and loop items.
      type: int
      sample: 0
    unreachable:
      description: Number of times that a host was unreachable.
      type: int
      sample: 1
    skipped_lines:
      description: Number of lines of the history that could not be read or are of a kind unknown to this version.
      type: int
      sample: 0
    hosts:
      description:
        - Number of hosts by the class of their verdict (C(failed), C(unreachable), C(slow), C(degraded), C(busy), C(not_measured),
          C(good)), which the conclusion of the run determines if there is one.
        - Hosts that were measured but have no verdict count as C(not_judged). Classes without a host are absent.
      type: dict
      sample: {"slow": 1, "good": 63}
"""
