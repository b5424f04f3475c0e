# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see https://www.gnu.org/licenses/gpl-3.0.txt)
# ruff: noqa: E402  ansible-test wants the documentation before the imports
"""The results callback: writes the history through plugin_utils/_history and never fails a play."""

from __future__ import annotations

DOCUMENTATION = r"""
name: results
type: aggregate
short_description: Store the results of a run in a history file
version_added: 1.0.0
author:
  - The hccn.cluster authors (@hccn-cluster)
description:
  - Writes the measurements of each run to one JSON-lines file, C(<path>/YYYY/MM/DD/<utc>-<run id>.jsonl). P(hccn.cluster.report#module) renders a page from
    it.
  - It is independent of the measuring tools. It stores the elements of the list C(measurements) in the results of tasks and of loop items whose C(schema)
    begins with C(hccn.cluster/). A record with the same C(id) is stored once for each host.
    If a record has no C(source.host), it is set to the host of the result.
  - Verdicts and plans are accepted only from M(hccn.cluster.fabric_verdict) and M(hccn.cluster.fabric_plan), which run on the controller. All other records
    are accepted only from the host in their C(source.host). Records that a host returns in the name of others are dropped with a warning, and so are
    findings that are not those of a collective.
  - Failed tasks and unreachable hosts are stored as C(event) lines with the first 300 characters of the message.
  - The results of hosts are limited in size. A record is dropped if it is nested deeper than 32 levels or has more than a million characters and values, and
    so are all records after the first 16 million of one task result. Strings are truncated to 65536 characters. An C(event) C(dropped) states which
    record of which host was dropped, and why. The rest of the run is stored.
  - What a failed tool printed (C(output) of the result, at most 64 KiB) is written to a compressed file in O(log_dir), without secrets. C(output_file) in the
    C(error) of the record is its path. The record itself, and the finding about the failure, have the last 4 KiB.
  - Every task result is written to the disk before the play continues. Until the run ends, the name of the file ends in C(.jsonl.part). The file of a run that
    was killed keeps this name and has everything up to the last finished task.
  - Results with C(no_log), variables and the environment are never stored. In addition, secrets are removed from messages and tool output. Secrets are
    vaulted values, the values of variables and of the environment whose names indicate a secret (C(ansible_password), C(api_token)), and text that looks like
    a secret (C(password=...), private keys, tokens in headers and addresses). Templates in these variables are resolved, dictionaries and lists are
    searched, and variables that a task sets (C(set_fact), C(include_vars), C(register)) are known from then on.
  - The following secrets cannot be detected and are stored. They are strings of fewer than 4 characters, numbers below 100000 and words such as C(root) or
    C(true), secrets under a name that does not indicate a secret, values from a lookup other than C(env), C(file), C(unvault), C(ini) and C(csvfile), from
    C(hostvars) or from C(vars) (no server is queried and no program is run to learn a secret), secrets more than two levels inside a variable with another
    name, or in one with more than 64 entries, secrets of a host without any stored result so far in the messages of another host, and secrets that are
    encoded (base64), hashed or split. Set C(no_log) for tasks that handle such values.
  - A secret is detected in its quoted forms, which are JSON (also nested in JSON), YAML, Python's repr, a shell word and a URL, and line by line.
    Messages are truncated after secrets have been removed from them.
  - It never fails a play. If the folder is not writable or the disk is full, it warns once and stores nothing more of this run. The file keeps its name
    C(.jsonl.part), and a page that a task of the run renders from it is marked as incomplete.
  - Tasks of the same run find their history through the environment variables E(HCCN_RESULTS_FILE) (the C(.jsonl.part) of this run)
    and E(HCCN_RESULTS_DIR) (the folder of all runs), which this callback sets in the process of C(ansible-playbook) when a playbook starts.
    They are variables of that process on the controller, not of the hosts.
  - Folders are created with mode 0750, files with mode 0640.
  - At the end of a run, older runs are compressed (O(compress_after)) and deleted (O(keep)). Compressed runs can be read like others.
  - The lines of a file are described by the JSON Schemas in C(docs/schemas) of the collection.
requirements:
  - Enable it in C(ansible.cfg), with C(callbacks_enabled = hccn.cluster.results) below C([defaults]), or with E(ANSIBLE_CALLBACKS_ENABLED).
options:
  path:
    description:
      - Folder of the history. Several controllers can share it, since each run has a separate file.
      - Under AWX, it must be a mounted folder (C(Paths to expose to isolated jobs), or a volume of the container group), since the file system of an
        execution environment is discarded after the job. Set E(HCCN_RESULTS_PATH) in the extra environment variables of the jobs.
        If no folder can be mounted, the role P(hccn.cluster.report#role) can send run and page to a results host.
    type: path
    default: ~/.local/share/hccn.cluster/history
    env:
      - name: HCCN_RESULTS_PATH
    ini:
      - section: hccn_results
        key: path
    vars:
      - name: hccn_results_path
  log_dir:
    description:
      - Folder for the output of failed tools, with a folder for each run. By default C(logs) in the folder of the history (O(path)). There it is
        deleted together with the run (O(keep)).
    type: path
    env:
      - name: HCCN_LOG_DIR
    ini:
      - section: hccn_results
        key: log_dir
    vars:
      - name: hccn_results_log_dir
  run_id:
    description:
      - Name of the run, up to 64 letters, digits, dots, dashes and underscores. It should be different for each run.
      - The default is C(awx-) followed by the value of E(JOB_ID), which AWX sets in its jobs, or else the time and 64 random bits.
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
      - Whether to print one line at the end of the run with the number of records and the path of the file. With C(-v), it is always printed.
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
      - Days after which a run is compressed with gzip. V(0) disables compression.
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
      - Days after which a run is deleted, together with its pages in C(reports). V(0) disables deletion.
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
  - Options given as variables require ansible-core 2.21 or later, and must be extra variables.
  - A run that is interrupted (C(Ctrl-C), SIGTERM, SIGKILL) does not reach its statistics, so its file keeps the name C(.jsonl.part).
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
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import unpacked
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import screen
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import Conclusion
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import collect, logs, retention
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
    """Write records and events as they arrive, and print the final summary."""

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
            self._display.warning(f"hccn.cluster.results: {wanted!r} is not a valid run id (only letters, digits and ._- are allowed). "
                                  "A generated id is used instead.")
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
        self._keep_output(part(result, "host").get_name(), _content(result).get("output"), fresh)
        lines, refused = collect.lines(fresh, self._redactor)
        self._records += len(lines)
        host, task = _place(result)
        events = [collect.dropped(host, task, refused, utc())] if refused else []
        if event:
            found = collect.event(event, host, task, _content(result), utc(), self._redactor.value)
            self._summary.note_failure(host, task, found["message"], bool(part(result, "task").run_once))
            events.append({**found, "ignored": True} if ignored else found)
        self._writer.append([*lines, *collect.lines(events, self._redactor)[0]])

    def _keep_output(self, host: str, output: Any, fresh: list[dict[str, Any]]) -> None:
        """Write what a failed tool printed, and put the path into its record."""
        record = logs.failed(fresh)
        if not self._writer or record is None or not isinstance(output, str) or not output.strip():
            return
        folder = Path(self.get_option("log_dir") or Path(self.get_option("path")) / logs.FOLDER)
        try:
            path = logs.write(folder, self._writer.run_id, host, self._redactor.text(output))
        except OSError as error:
            self._display.warning(f"hccn.cluster.results cannot write the output of a failed tool: {folder}: {error.strerror or error}")
            return
        if path is not None:
            fresh[fresh.index(record)] = {**record, "error": {**record["error"], "output_file": str(path)}}

    def _new_records(self, result: Any) -> list[dict[str, Any]]:
        host = part(result, "host").get_name()
        fresh: list[dict[str, Any]] = []
        content = unpacked(_content(result))
        if not content.get("measurements"):
            return fresh
        by_controller = part(result, "task").resolved_action in CONTROLLER_ACTIONS
        foreign = {} if by_controller else collect.foreign(content, host)
        if foreign:
            self._display.warning(f"hccn.cluster.results: {sentence(host, foreign)}")
        for record in collect.records(content, host, by_controller):
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
            self._display.warning(f"hccn.cluster.results cannot compress or delete old runs of the history: {some(refused, 1)}")

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
        self._display.warning(f"hccn.cluster.results stores nothing more of this run: {reason}")


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
