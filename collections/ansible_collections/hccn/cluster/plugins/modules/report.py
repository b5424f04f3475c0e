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
  - Reads one run of the history that P(hccn.cluster.results#callback) keeps, and writes it as one HTML file on the controller.
  - The verdict of each host comes first, then what was run, failures, bandwidth, latency, collectives and devices.
  - It makes no request to anywhere, needs no JavaScript, follows the dark or light setting of its reader, and can be printed.
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
      - Without it, C(reports/<run id>.html) in O(history).
    type: path
  format:
    description:
      - What is written.
    type: str
    choices: [html]
    default: html
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
  - It reads the whole run. A C(.jsonl.part) of a run that was killed is read as far as it came, and the page says so.
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
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
  delegate_to: localhost
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
        - Number of hosts by the class of their verdict (C(failed), C(unreachable), C(slow), C(busy), C(not_measured), C(good)).
          Hosts that were measured without a verdict count as C(not_judged). Classes without a host are absent.
      type: dict
      sample: {"slow": 1, "good": 63}
"""
