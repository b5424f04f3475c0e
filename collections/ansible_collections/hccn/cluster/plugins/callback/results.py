# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""The results callback: writes the history through plugin_utils/_history and never fails a play."""

from __future__ import annotations

DOCUMENTATION = r"""
name: results
type: aggregate
short_description: Keeps the results of a run as a history file
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Keeps what was measured, one JSON-lines file per run, C(<path>/YYYY/MM/DD/<utc>-<run id>.jsonl). P(hccn.cluster.report#module) makes a page of it.
  - It knows no tool. It takes the elements of the list C(measurements) in the results of tasks and of loop items whose C(schema) begins with
    C(hccn.cluster/). A record with the same C(id) is kept once for each host.
    A record that names no host gets the host of the result as C(source.host).
  - Verdicts and plans are kept from M(hccn.cluster.fabric_verdict) and M(hccn.cluster.fabric_plan) only, which run on the controller. All other records
    are kept only from the host that they name as C(source.host). What a host sends in the name of others is dropped with a warning, and so are findings
    that are not those of a collective.
  - Failed tasks and unreachable hosts are kept too, as C(event) lines with the first 300 characters of the message.
  - What a host returns is bounded. A record that is nested deeper than 32 levels, or has more than a million characters and values, is not kept, and neither
    are those after the first 16 million of one task result. Of a text, the first 65536 characters are. An C(event) C(dropped) says which record of
    which host is not kept, and why; everything else of the run is kept.
  - Every task result is on the disk before the play goes on. Until the run is over the file is called C(.jsonl.part); a run that was killed keeps
    that name and everything up to its last finished task.
  - Nothing of a result with C(no_log) is kept, no variable and nothing of the environment. The values of variables and of the environment whose names
    say that they are secrets (C(ansible_password), C(api_token)) and vaulted values are taken out of messages and tool output, too, and so is what looks
    like a secret (C(password=...), private keys, tokens in headers and addresses). Templates among them are resolved, dictionaries and lists looked
    through, and variables that a task sets (C(set_fact), C(include_vars), C(register)) are known from then on.
  - What it cannot know as a secret is kept. These are texts of fewer than 4 characters, numbers below 100000 and words such as C(root) or C(true), secrets
    under a name that does not say so, values that come from a lookup other than C(env), C(file), C(unvault), C(ini) and C(csvfile), from C(hostvars) or
    from C(vars) (no server is asked and no program run to learn a secret), secrets more than two levels inside of a variable with another name, or in one
    with more than 64 entries, secrets of a host of which nothing was kept yet in the messages of another one, and forms of a secret that are encoded (base64),
    hashed or broken up. Give tasks that handle such values C(no_log).
  - A secret is found in the forms that quoting gives it, in JSON (also in JSON), YAML, Python's repr, a word of a shell and an address, and line by line.
    Messages are cut after secrets were taken out of them.
  - It never fails a play. If the folder cannot be written or the disk is full, it warns once and keeps nothing more in this run. What was kept until then
    stays a C(.jsonl.part), and a page that a task of the run makes of it says that it is incomplete.
  - Tasks of the same run find their history through the environment variables E(HCCN_RESULTS_FILE) (the C(.jsonl.part) of this run)
    and E(HCCN_RESULTS_DIR) (the folder of all runs), which this callback sets in the process of C(ansible-playbook) when a playbook starts.
    They are the process's own variables on the controller, not those of the hosts.
  - Folders are made with mode 0750, files with mode 0640.
  - When a run is over, older runs are compressed (O(compress_after)) and deleted (O(keep)). The reader takes compressed runs like others.
  - The lines of a file are described by the JSON Schemas in C(docs/schemas) of the collection.
requirements:
  - Enable it in C(ansible.cfg), with C(callbacks_enabled = hccn.cluster.results) below C([defaults]), or with E(ANSIBLE_CALLBACKS_ENABLED).
options:
  path:
    description:
      - The folder of the history. It may be shared by many controllers, each run has a file of its own.
      - Under AWX it must be a mounted folder (C(Paths to expose to isolated jobs), or a volume of the container group), since the file system of an
        execution environment is thrown away after the job. Set E(HCCN_RESULTS_PATH) in the extra environment variables of the jobs.
        Where nothing can be mounted, the role P(hccn.cluster.report#role) sends run and page to a results host.
    type: path
    default: ~/.local/share/hccn.cluster/history
    env:
      - name: HCCN_RESULTS_PATH
    ini:
      - section: hccn_results
        key: path
    vars:
      - name: hccn_results_path
  run_id:
    description:
      - The name of the run, up to 64 letters, digits, dots, dashes and underscores. It should be different for each run.
      - Without it, C(awx-) and the value of E(JOB_ID), which AWX sets in its jobs; else the time and 64 random bits.
    type: str
    env:
      - name: HCCN_RUN_ID
    ini:
      - section: hccn_results
        key: run_id
    vars:
      - name: hccn_run_id
  show_path:
    description:
      - Print one line at the end of the run with the number of records and the path of the file. It is printed with C(-v) in any case.
    type: bool
    default: false
    env:
      - name: HCCN_RESULTS_SHOW_PATH
    ini:
      - section: hccn_results
        key: show_path
    vars:
      - name: hccn_results_show_path
  compress_after:
    description:
      - Days after which a run is compressed with gzip. 0 for never.
    type: int
    default: 30
    env:
      - name: HCCN_RESULTS_COMPRESS_AFTER
    ini:
      - section: hccn_results
        key: compress_after
    vars:
      - name: hccn_results_compress_after
  keep:
    description:
      - Days after which a run is deleted, with the pages that lie in C(reports). 0 for never.
    type: int
    default: 0
    env:
      - name: HCCN_RESULTS_KEEP
    ini:
      - section: hccn_results
        key: keep
    vars:
      - name: hccn_results_keep
notes:
  - Options as variables are read by ansible-core 2.21 and later, and only from extra variables.
  - A run that is interrupted (C(Ctrl-C), SIGTERM, SIGKILL) never comes to its statistics, so its file stays a C(.jsonl.part).
seealso:
  - module: hccn.cluster.report
"""

EXAMPLES = r"""
ansible.cfg: |
  [defaults]
  callbacks_enabled = hccn.cluster.results

  [hccn_results]
  path = /srv/hccn/history
  show_path = true
  compress_after = 14
  keep = 730

for one run: |
  ANSIBLE_CALLBACKS_ENABLED=hccn.cluster.results HCCN_RESULTS_PATH=/srv/hccn/history ansible-playbook hccn.cluster.check_fabric
"""

import contextlib
import datetime
import os
import socket
from pathlib import Path
from typing import Any
from collections.abc import Iterator

import yaml
from ansible import context
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__ as ansible_version
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import utc
from ansible_collections.hccn.cluster.plugins.module_utils._core.words import some
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.final_summary import FinalSummary
from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks.task_result import fields, part
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import screen
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import Conclusion
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect, retention
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import (
    FILE_VARIABLE,
    FOLDER_VARIABLE,
    LOST_VARIABLE,
    SCHEMA,
    HistoryError,
    is_run_id,
    new_run_id,
    part_path,
)
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.secret_variables import secret_values
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.redact import Redactor
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.play_secrets import PlaySecrets
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.writer import RunWriter
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust.provenance import CONTROLLER_ACTIONS, of_conclusion, sentence

MOST_OF_KEY = 1000
"""Characters of an id that are compared to recognise a record that was already kept."""


class CallbackModule(CallbackBase):
    """Writes records and events as they arrive, and prints the final summary."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "hccn.cluster.results"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._writer: RunWriter | None = None
        self._seen: set[tuple[str, str]] = set()
        self._records = 0
        self._summary = FinalSummary()
        self._lost = ""
        self._redactor = Redactor()
        self._secrets = PlaySecrets(self._redactor)

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._summary = FinalSummary()
        if not self._lost:
            with self._never_raising():
                self._begin(os.path.basename(playbook._file_name))

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._secrets.start_play(play)

    def v2_runner_on_ok(self, result: Any) -> None:
        with self._never_raising(result):
            self._learn(result)
            if not _is_loop_summary(result):
                self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        with self._never_raising(result):
            self._learn(result)
            if not _is_loop_summary(result):
                self._keep(result, "failed", ignore_errors)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        with self._never_raising(result):
            self._keep(result, "unreachable")

    def v2_runner_item_on_ok(self, result: Any) -> None:
        with self._never_raising(result):
            self._learn(result)
            self._keep(result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        with self._never_raising(result):
            self._learn(result)
            # An unreachable host is reported again, as unreachable, when the loop is over.
            reported_later = _content(result).get("unreachable")
            ignored = fields(result).get("ignore_errors") is True
            self._keep(result, "" if reported_later else "failed", ignored)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        with self._never_raising():
            self._finish(stats)

    def _begin(self, playbook: str) -> None:
        if self._writer:
            self._writer.close()
        folder = Path(self.get_option("path"))
        header = {
            "schema": SCHEMA,
            "run_id": self._run_id(),
            "started_at": utc(),
            "playbook": playbook,
            "controller": socket.gethostname(),
            "ansible_core": ansible_version,
            "collection": _collection_version(),
            "check_mode": bool(context.CLIARGS.get("check")),
        }
        # Set before anything can fail, so that no task of this run uses the history of another run.
        os.environ.pop(LOST_VARIABLE, None)
        os.environ[FOLDER_VARIABLE] = str(folder)
        os.environ[FILE_VARIABLE] = str(part_path(folder, header["started_at"], header["run_id"]))
        self._seen.clear()
        self._records = 0
        self._redactor.learn(secret_values(os.environ))
        self._writer = RunWriter(folder, header)
        os.environ[FILE_VARIABLE] = str(self._writer.path)

    def _run_id(self) -> str:
        job = os.environ.get("JOB_ID")
        wanted = self.get_option("run_id") or (f"awx-{job}" if job else "")
        if wanted and not is_run_id(wanted):
            self._display.warning(f"hccn.cluster.results: {wanted!r} cannot be a run id (letters, digits, ._- only), one is made instead.")
            wanted = ""
        return wanted or new_run_id()

    def _learn(self, result: Any) -> None:
        self._secrets.learn_from_result(part(result, "host"), part(result, "task"), _content(result))
        self._summary.note_result(part(result, "task").resolved_action, _content(result))

    def _keep(self, result: Any, event: str = "", ignored: bool = False) -> None:
        """Append the new records of a result and, for a failure, its event."""
        if self._lost:
            return
        fresh = self._new_records(result) if event != "unreachable" else []
        if not self._writer or not (fresh or event):
            return
        self._secrets.learn_host(part(result, "host"), part(result, "task"))
        lines, refused = collect.lines(fresh, self._redactor)
        self._records += len(lines)
        host, task = _place(result)
        events = [collect.dropped(host, task, refused, utc())] if refused else []
        if event:
            found = collect.event(event, host, task, _content(result), utc(), self._redactor.value)
            self._summary.note_failure(host, task, found["message"])
            events.append({**found, "ignored": True} if ignored else found)
        self._writer.append([*lines, *collect.lines(events, self._redactor)[0]])

    def _new_records(self, result: Any) -> list[dict[str, Any]]:
        host = part(result, "host").get_name()
        fresh: list[dict[str, Any]] = []
        if not _content(result).get("measurements"):
            return fresh
        by_controller = part(result, "task").resolved_action in CONTROLLER_ACTIONS
        foreign = {} if by_controller else collect.foreign(_content(result), host)
        if foreign:
            self._display.warning(f"hccn.cluster.results: {sentence(host, foreign)}")
        for record in collect.records(_content(result), host, by_controller):
            name = record.get("id")
            key = (host, str(name)[:MOST_OF_KEY]) if isinstance(name, (str, int)) else None
            # A run that concludes again repeats its ids, and its last conclusion counts.
            if key is None or key not in self._seen or (by_controller and of_conclusion(record)):
                fresh.append(record)
            if key is not None:
                self._seen.add(key)
        return fresh

    def _drop(self, result: Any, error: Exception) -> None:
        """Append the event that nothing of a result is kept, without quoting the result."""
        if self._writer:
            event = collect.dropped(*_place(result), [f"the result could not be examined: {type(error).__name__}"], utc())
            self._writer.append(collect.lines([event], self._redactor)[0])

    def _finish(self, stats: Any) -> None:
        if self._lost and self._summary.concluded:
            self._display.display("\n".join(["", *self._summary.lines(why_no_report=self._lost)]))
        if not self._writer:
            return
        hosts = sorted(stats.processed)
        ending = None if self._summary.concluded else self._summary.fallback(hosts, stats.failures, stats.dark)
        if ending is not None:
            lines, _refused = collect.lines(ending.as_records(), self._redactor)
            self._records += len(lines)
            self._writer.append(lines)
        run_id = self._writer.run_id
        path = self._writer.finish(collect.end(utc(), self._records, hosts, {host: stats.summarize(host) for host in hosts}))
        self._writer = None
        _forget_variables()
        self._tidy(path)
        self._show(ending, path, run_id)
        if self.get_option("show_path") or self._display.verbosity:
            self._display.display(f"hccn.cluster.results: {self._records} records in {path}")

    def _show(self, ending: Conclusion | None, path: Path, run_id: str) -> None:
        """Print the summary; if the run never concluded, write its report first."""
        if ending is None and not self._summary.concluded:
            return
        lines = self._summary.lines() if ending is None else [*screen.lines(ending), _report(path, run_id)]
        self._display.display("\n".join(["", *lines]))

    def _tidy(self, path: Path) -> None:
        """Compress and delete old runs. A folder that does not permit it causes a warning only."""
        days = self.get_option("compress_after"), self.get_option("keep")
        try:
            refused = retention.apply(path.parents[3], datetime.datetime.now(datetime.timezone.utc), *days).errors
        except OSError as error:
            refused = [str(error)]
        if refused:
            self._display.warning(f"hccn.cluster.results cannot tidy up the history: {some(refused, 1)}")

    @contextlib.contextmanager
    def _never_raising(self, result: Any = None) -> Iterator[None]:
        """Catch all errors: an unexpected result is dropped, a file that cannot be written ends the history of this run."""
        try:
            try:
                yield
            except HistoryError:
                raise
            except Exception as error:
                if result is None:
                    raise
                self._drop(result, error)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Stop writing the history of this run; the conclusion is still printed at the end."""
        if self._lost:
            return
        if self._writer:
            self._writer.close()
            self._writer = None
        reason = f"{error.message}. {error.hint}" if isinstance(error, HistoryError) else f"{type(error).__name__}: {error}"
        self._lost = reason
        # Tells later tasks that the history of this run is incomplete.
        os.environ[LOST_VARIABLE] = reason
        self._display.warning(f"hccn.cluster.results keeps nothing more of this run: {reason}")


def _content(result: Any) -> dict[str, Any]:
    return part(result, "result")


def _is_loop_summary(result: Any) -> bool:
    content = _content(result)
    # Without items there were no item events, so the failure of the loop itself counts.
    return part(result, "task").loop is not None and ("results" in content or "censored" in content)


def _place(result: Any) -> tuple[str, str]:
    """Return the names of host and task, the latter as written in the playbook, since its templates may resolve to secrets."""
    return part(result, "host").get_name(), part(result, "task").get_name()


def _forget_variables() -> None:
    for name in (FILE_VARIABLE, FOLDER_VARIABLE, LOST_VARIABLE):
        os.environ.pop(name, None)


def _report(run: Path, run_id: str) -> str:
    """Write the report of a finished run and return the line with its path."""
    from ansible_collections.hccn.cluster.plugins.plugin_utils._report import page  # rarely needed, and every fork pays for imported modules

    try:
        return screen.report_line(str(page.write(run.parents[3], run_id).path))
    except (HistoryError, OSError) as error:
        return screen.report_line(None, str(error))


def _collection_version() -> str:
    """Return the version from the manifest of an installed collection, else from galaxy.yml, else ``unknown``."""
    root = Path(__file__).resolve().parents[2]
    for name, keys in (("MANIFEST.json", ("collection_info", "version")), ("galaxy.yml", ("version",))):
        with contextlib.suppress(OSError, yaml.YAMLError, KeyError, TypeError):
            content = yaml.safe_load((root / name).read_text(encoding="utf-8"))
            for key in keys:
                content = content[key]
            return str(content)
    return "unknown"
