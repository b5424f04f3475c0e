"""The callback controller_memory in real runs: garbage collection of workers and controller, and memory of large arguments."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

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
        self._display.display("zebras held: %d" % self.held)
"""
SPECIFICATION = """
argument_specs:
  main:
    options:
      zebra: {type: int, description: A name that occurs nowhere else.}
"""
HOSTS = 12
"""The number of hosts of a play."""
LARGE = ",".join(f"h{number}" for number in range(200))
SMALL = LARGE.rpartition(",")[0]
CALLBACK_UNDER_TEST = "hccn.cluster.controller_memory"
VALIDATE = f"- hosts: all[0:{HOSTS - 1}]\n  gather_facts: false\n  roles: [zoo]\n"
MEASURE = f"""
- hosts: all[0:{HOSTS - 1}]
  gather_facts: false
  connection: local
  tasks:
    - hccn.cluster.rdma_perf: {{run_id: r, plan: {{zebra: {{}}}}, host: h0, key: {"0" * 32}}}
      failed_when: false
"""
PLAY = """
- hosts: h0,h1
  gather_facts: false
  tasks:
    - debug:
        msg: "{{ 'worker' | frozen }}"
"""


def played(folder: Path, files: dict[str, str], callbacks: str, *arguments: str) -> str:
    """Write the files, run play.yml and return its output."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    environment = ansible_environment(ANSIBLE_FILTER_PLUGINS=str(folder / "filter"), ANSIBLE_CALLBACK_PLUGINS=str(folder / "callback"),
                                      ANSIBLE_CALLBACKS_ENABLED=callbacks, ANSIBLE_NOCOLOR="1")
    done = subprocess.run([ANSIBLE_PLAYBOOK, *arguments, str(folder / "play.yml")], env=environment, cwd=folder,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("callbacks, inventory, worker", [
    ("controller", LARGE, "worker 0 True"),
    (f"controller,{CALLBACK_UNDER_TEST}", SMALL, "worker 0 True"),
    (f"controller,{CALLBACK_UNDER_TEST}", LARGE, "worker frozen True"),
], ids=["without", "199 hosts", "200 hosts"])
def test_workers_do_not_collect_shared_objects(tmp_path: Path, callbacks: str, inventory: str, worker: str) -> None:
    output = played(tmp_path, {"filter/frozen.py": FILTER, "callback/controller.py": CALLBACK, "play.yml": PLAY}, callbacks, "-i", inventory)
    assert sorted(re.findall(r"(?:worker|controller) \w+ \w+", output)) == ["controller 0 True", worker, worker]


def test_limit_makes_an_inventory_small(tmp_path: Path) -> None:
    output = played(tmp_path, {"filter/frozen.py": FILTER, "play.yml": PLAY}, CALLBACK_UNDER_TEST, "-i", LARGE, "-l", "h0,h1")
    assert re.findall(r"worker \w+ \w+", output) == ["worker 0 True"] * 2


@pytest.mark.parametrize("play", [VALIDATE, MEASURE], ids=["specification", "plan"])
def test_memory_of_large_arguments_does_not_grow_with_hosts(play: str, tmp_path: Path) -> None:
    files = {"roles/zoo/meta/argument_specs.yml": SPECIFICATION, "callback/holding.py": HOLDING, "play.yml": play}
    options = ("-e", f"zebra=1 ansible_python_interpreter={sys.executable}")
    both = f"{CALLBACK_UNDER_TEST},holding"
    saving, small, usual = (int(re.findall(r"zebras held: (\d+)", played(tmp_path, files, callbacks, "-i", inventory, *options))[0])
                            for callbacks, inventory in ((both, LARGE), (both, SMALL), ("holding", LARGE)))
    assert saving < HOSTS <= usual and usual - saving >= HOSTS - 1
    assert small == usual


def test_project_enables_the_callback() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg")
    assert settings["defaults"]["callbacks_enabled"].split(", ") == ["hccn.cluster.results", CALLBACK_UNDER_TEST]
