# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback gc_freeze in a real run: what Ansible's workers and its controller collect."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, ansible_environment

FILTER = """
import gc


class FilterModule:
    def filters(self):
        return {"frozen": lambda name: "%s %s %s" % (name, "frozen" if gc.get_freeze_count() > 10000 else gc.get_freeze_count(), gc.isenabled())}
"""
CALLBACK = """
import gc

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_NAME = "controller"
    CALLBACK_TYPE = "aggregate"

    def v2_playbook_on_stats(self, stats):
        self._display.display("controller %d %s" % (gc.get_freeze_count(), gc.isenabled()))
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - debug:
        msg: "{{ 'worker' | frozen }}"
"""


@pytest.mark.parametrize("callbacks, worker", [("", "worker 0 True"), ("hccn.cluster.gc_freeze", "worker frozen True")])
def test_workers_leave_alone_what_they_share(tmp_path: Path, callbacks: str, worker: str) -> None:
    for name, text in {"filter/frozen.py": FILTER, "callback/controller.py": CALLBACK, "play.yml": PLAY}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = ansible_environment(ANSIBLE_FILTER_PLUGINS=str(tmp_path / "filter"), ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callback"),
                                      ANSIBLE_CALLBACKS_ENABLED=f"controller,{callbacks}".rstrip(","), ANSIBLE_NOCOLOR="1")
    done = subprocess.run([str(Path(sys.executable).with_name("ansible-playbook")), "-i", "a,b,", str(tmp_path / "play.yml")], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(re.findall(r"(?:worker|controller) \w+ \w+", done.stdout)) == ["controller 0 True", worker, worker]


def test_the_project_has_it() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg")
    assert settings["defaults"]["callbacks_enabled"].split(", ") == ["hccn.cluster.results", "hccn.cluster.gc_freeze"]
