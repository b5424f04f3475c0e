# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback lean in a real run: what Ansible's workers and its controller collect, and what the controller holds of validated arguments."""

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
HOLDING = """
import gc

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_NAME = "holding"
    CALLBACK_TYPE = "aggregate"

    def v2_runner_on_ok(self, result):
        self.held = sum(isinstance(thing, dict) and isinstance(thing.get("zebra"), dict) for thing in gc.get_objects())

    def v2_playbook_on_stats(self, stats):
        self._display.display("specifications held: %d" % self.held)
"""
SPECIFICATION = """
argument_specs:
  main:
    options:
      zebra: {type: int, description: Of a name that nothing else has.}
"""
HOSTS = 12
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - debug:
        msg: "{{ 'worker' | frozen }}"
"""


@pytest.mark.parametrize("callbacks, worker", [("", "worker 0 True"), ("hccn.cluster.lean", "worker frozen True")])
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


def test_no_host_adds_a_specification_to_what_is_held(tmp_path: Path) -> None:
    for name, text in {"roles/zoo/meta/argument_specs.yml": SPECIFICATION, "callback/holding.py": HOLDING,
                       "play.yml": "- hosts: all\n  gather_facts: false\n  roles: [zoo]\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    held = []
    for callbacks in ("hccn.cluster.lean,holding", "holding"):
        environment = ansible_environment(ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callback"), ANSIBLE_CALLBACKS_ENABLED=callbacks, ANSIBLE_NOCOLOR="1")
        names = "".join(f"h{number}," for number in range(HOSTS))
        done = subprocess.run([str(Path(sys.executable).with_name("ansible-playbook")), "-i", names, "-e", "zebra=1", str(tmp_path / "play.yml")],
                              env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        held.append(int(re.findall(r"specifications held: (\d+)", done.stdout)[0]))
    assert held[0] < HOSTS <= held[1] and held[1] - held[0] >= HOSTS - 1


def test_the_project_has_it() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg")
    assert settings["defaults"]["callbacks_enabled"].split(", ") == ["hccn.cluster.results", "hccn.cluster.lean"]
