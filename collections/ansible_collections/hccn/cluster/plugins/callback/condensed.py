# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""Display the same result of many hosts once."""

from __future__ import annotations

DOCUMENTATION = r"""
name: condensed
type: stdout
short_description: Display the same result of many hosts in one line
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Displays results as P(ansible.builtin.default#callback) does, but the same result of several hosts only once, with their names. Results are the same if
    their states are, and for failures also their messages, apart from the name and the addresses of the host.
  - They are displayed when the task has ended on all hosts. Of more than five different failures of a task, the first five are displayed with the number of the
    other hosts. The history and the report have all of them.
  - With C(-v) or C(--diff), the result of each host is displayed as it arrives.
requirements:
  - Set it in C(ansible.cfg), with C(stdout_callback = hccn.cluster.condensed) below C([defaults]), or with E(ANSIBLE_STDOUT_CALLBACK).
extends_documentation_fragment:
  - default_callback
  - result_format_callback
seealso:
  - plugin: hccn.cluster.results
    plugin_type: callback
"""

EXAMPLES = r"""
ansible.cfg: |
  [defaults]
  stdout_callback = hccn.cluster.condensed
  callbacks_enabled = hccn.cluster.results
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ansible import constants, context
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.same_results import Results, key_of, label_of
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.task_result import part

CURRENT = "_current_task_result"
"""The attribute in which ansible-core 2.19 and later keep the result that a callback displays."""
MOST_FAILURES = 5
"""Different failures of a task that are displayed."""


class _Shown(NamedTuple):
    """How a result is displayed, and whether it is a failure. ``error``: the error of which ansible-core 2.19 and later display the origin."""

    display: Callable[[], None]
    failure: bool
    error: Any


class CallbackModule(Default):
    """Collect the results of a task, and display each distinct one when anything else is to be displayed."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "hccn.cluster.condensed"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._results: Results[_Shown] = Results()
        self._label = ""

    def host_label(self, result: Any) -> str:  # type: ignore[override]  # static in Ansible, which calls it on the instance
        return self._label or Default.host_label(result)

    def v2_runner_on_ok(self, result: Any) -> None:
        # Of most results nothing is displayed. Their content is not read, because Ansible converts it on the first access.
        if result.is_changed():
            self._collect("changed", result, partial(super().v2_runner_on_ok, result))
        elif self.get_option("display_ok_hosts"):
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._collect("ignored" if ignore_errors else "failed", result, partial(super().v2_runner_on_failed, result, ignore_errors))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._collect("unreachable", result, partial(super().v2_runner_on_unreachable, result))

    def v2_playbook_on_include(self, included_file: Any) -> None:
        if self._display.verbosity:
            super().v2_playbook_on_include(included_file)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._flush()
        super().v2_playbook_on_task_start(task, is_conditional)

    def v2_playbook_on_cleanup_task_start(self, task: Any) -> None:
        self._flush()
        super().v2_playbook_on_cleanup_task_start(task)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._flush()
        super().v2_playbook_on_handler_task_start(task)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._flush()
        super().v2_playbook_on_play_start(play)

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        self._flush()
        super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._flush()
        super().v2_playbook_on_stats(stats)

    def _collect(self, state: str, result: Any, display: Callable[[], None]) -> None:
        if self._display.verbosity or context.CLIARGS.get("diff"):
            display()
        else:
            task, host, content = part(result, "task"), part(result, "host"), part(result, "result")
            self._handle_warnings(content)
            key = (task._uuid, *key_of(state, content, host.get_name(), str(host.vars.get("ansible_host", ""))))
            self._results.add(key, Default.host_label(result), _Shown(display, state != "changed", getattr(self, CURRENT, None)))

    def _flush(self) -> None:
        collected = self._results.take()
        failures = [names for names, shown in collected if shown.failure]
        hidden = sum(map(len, failures[MOST_FAILURES:]))
        for names, shown in [one for one in collected if not one[1].failure] + [one for one in collected if one[1].failure][:MOST_FAILURES]:
            self._label = label_of(names)
            setattr(self, CURRENT, shown.error)
            try:
                shown.display()
            finally:
                self._label = ""
                setattr(self, CURRENT, None)
        if hidden:
            self._display.display(f"... and other failures on {hidden} more host{'' if hidden == 1 else 's'}", color=constants.COLOR_ERROR)
