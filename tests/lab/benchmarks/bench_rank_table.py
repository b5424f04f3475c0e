"""Measure the cost of assembling, writing and checking rank tables, as ratios of CPU seconds of one process, and compare them with the references in this file.

The inventory is real. An action of this benchmark runs in ansible-playbook and measures the steps of the action rank_table, reading the same variables,
json.dumps of the same table, and a template with loops that makes the same table. `make bench` prints the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lib.playbook import ANSIBLE_PLAYBOOK, ansible_environment
from tests.lib.project import ROOT

HOSTS, DEVICES = 1000, 16
MOST_CPU_OF_WRITING = 3.0
"""Ratio of reading, assembling and writing to json.dumps(indent) of the table plus reading the hostvars."""
LEAST_CPU_OF_A_TEMPLATE = 5.0
"""Ratio of a template with loops to reading, assembling and writing."""
MOST_CPU_OF_A_CHECK = 10.0
"""Ratio of a check of the text to json.dumps(indent) of the table."""
MOST_RANKS, MOST_MEMORY_MIB = 65536, 2048

ACTION = '''
import json
import time

from ansible.plugins.action import ActionBase
from ansible_collections.hccn.cluster.plugins.action import rank_table
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document
from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table import compose, host_vars


def seconds(call, repeat=3):
    """Return the CPU seconds of the fastest of some calls, and its result."""
    found = []
    for _ in range(repeat):
        start = time.process_time()
        result = call()
        found.append((time.process_time() - start, result))
    return min(found, key=lambda pair: pair[0])


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        hostvars, names, reader = task_vars["hostvars"], self._task.args["hosts"], self._task.args["readers"]
        self._task.args = {"hosts": names, "register_name": "npu", "path": "/etc/hccl/hccl.json"}
        _validation, options = self.validate_argument_spec(rank_table.ARGUMENTS)

        def read():
            """Every variable of device_info that a table of this product needs, once."""
            return [(device["id"], device["address"], device.get("super_pod", {}).get("sdid"), device["errors"])
                    for name in names for device in hostvars[name].get("npu")["devices"]]

        def write(readers=None):
            composed = compose.compose(dict(options, readers=readers), host_vars.HostVars(hostvars), None)
            return composed, document.to_text(composed.table)

        reading, _ = seconds(read)
        writing, _ = seconds(lambda: write([]))
        checked, (composed, text) = seconds(write)
        dumping, _ = seconds(lambda: json.dumps(composed.table, indent=2))
        checking, _ = seconds(lambda: checks.check_text(text, reader, task_vars["product"]))
        templating, page = seconds(lambda: self._templar.template(task_vars["table_template"]), 1)
        # The template is to be an honest rival: it makes the same table.
        page = json.loads(page) if isinstance(page, str) else page
        return dict(result, reading=reading, writing=writing, checked=checked, dumping=dumping, checking=checking, templating=templating,
                    same=page == composed.table, problems=len(composed.problems), ranks=composed.rank_count)
'''

TEMPLATE = """
{"status": "completed", "version": "VERSION", "server_count": "{{ groups['all'] | length }}", "server_list": [
{% set rank = namespace(next=0) %}
{% for host in groups['all'] %}
  {"server_id": "{{ hostvars[host].ansible_host }}", "device": [
{% for device in hostvars[host].npu.devices | sort(attribute='id') %}
    {"device_id": "{{ device.id }}", "device_ip": "{{ device.address }}", DEVICE"rank_id": "{{ rank.next }}"}{{ '' if loop.last else ',' }}
{% set rank.next = rank.next + 1 %}
{% endfor %}
  ]}{{ '' if loop.last else ',' }}
{% endfor %}
]PODS}
"""
PODS = """, "super_pod_list": [
{% for pod in range(21) %}
  {"super_pod_id": "{{ pod }}", "server_list": [
{% for host in groups['all'][pod * 48:pod * 48 + 48] %}
    {"server_id": "{{ hostvars[host].ansible_host }}"}{{ '' if loop.last else ',' }}
{% endfor %}
  ]}{{ '' if loop.last else ',' }}
{% endfor %}
]"""
# By product, the parts of the template that differ: version, additional keys of a device, list of super pods.
PARTS = {"A2": ("1.0", "", ""), "A3": ("1.2", '"super_device_id": "{{ device.super_pod.sdid }}", ', PODS)}


def template(product: str) -> str:
    text = TEMPLATE
    for word, part in zip(("VERSION", "DEVICE", "PODS"), PARTS[product]):
        text = text.replace(word, part)
    return text


def inventory(product: str) -> dict[str, object]:
    def device(server: int, number: int) -> dict[str, object]:
        found: dict[str, object] = {"id": number, "address": f"10.{server // 250}.{server % 250}.{number + 1}", "netmask": "255.255.0.0", "errors": []}
        if product == "A3":
            index = server % 48
            found["super_pod"] = {"sdid": index << 22 | number // 2 << 18 | number % 2 << 16 | number, "super_pod_size": 768,
                                  "super_pod_id": server // 48, "server_index": index}
        return found

    def host(server: int) -> dict[str, object]:
        return {"ansible_host": f"192.0.{server // 250}.{server % 250 + 1}",
                "npu": {"changed": False, "product": product, "dialect": "910", "devices": [device(server, number) for number in range(DEVICES)]}}

    return {"all": {"hosts": {f"n{server}": host(server) for server in range(HOSTS)}, "vars": {"ansible_connection": "local"}}}


@pytest.mark.parametrize("product", ["A2", "A3"])
def test_cost_of_a_large_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str], product: str) -> None:
    (tmp_path / "hosts.json").write_text(json.dumps(inventory(product)))
    for folder, text in (("action", ACTION), ("library", "# the action is all of it\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bench_rank_table.py").write_text(text)
    (tmp_path / "table.j2").write_text(template(product))
    tasks = [{"bench_rank_table": {"hosts": "{{ groups['all'] }}", "readers": ["hccl"]}, "register": "bench", "run_once": True,
              "vars": {"table_template": "{{ lookup('ansible.builtin.template', 'table.j2') }}", "product": product}},
             {"ansible.builtin.copy": {"content": "{{ bench | to_json }}", "dest": str(tmp_path / "bench.json")}, "run_once": True}]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    env = ansible_environment(ANSIBLE_ACTION_PLUGINS=str(tmp_path / "action"), ANSIBLE_LIBRARY=str(tmp_path / "library"))
    done = subprocess.run([ANSIBLE_PLAYBOOK, "-i", str(tmp_path / "hosts.json"), str(tmp_path / "play.yml")],
                          env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "bench.json").read_text())
    assert (found["ranks"], found["problems"], found["same"]) == (HOSTS * DEVICES, 0, True)
    reference = found["dumping"] + found["reading"]
    shown = {name: f"{found[name]:.2f}" for name in ("reading", "writing", "checked", "dumping", "checking", "templating")}
    with capsys.disabled():
        print(f"\nrank_table, {HOSTS} hosts x {DEVICES} {product}: {shown['writing']} CPU-s to read, assemble and write ({shown['checked']} with the check); "
              f"json.dumps {shown['dumping']} + reading {shown['reading']}: ratio {found['writing'] / reference:.2f} (reference {MOST_CPU_OF_WRITING})")
        print(f"  a template with loops {shown['templating']} CPU-s: ratio {found['templating'] / found['writing']:.2f} (reference at least "
              f"{LEAST_CPU_OF_A_TEMPLATE}); a check of the text {shown['checking']}: ratio to json.dumps {found['checking'] / found['dumping']:.2f} "
              f"(reference {MOST_CPU_OF_A_CHECK})")
    assert found["writing"] / reference <= MOST_CPU_OF_WRITING
    assert found["checking"] / found["dumping"] <= MOST_CPU_OF_A_CHECK
    assert found["templating"] / found["writing"] >= LEAST_CPU_OF_A_TEMPLATE


LARGEST = """
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import assemble, checks, document, formats, model
from tests.lib.processes import peak_mib

def device(server, number):
    return {"id": number, "address": "10.%d.%d.%d" % (server // 250, server % 250, number + 1), "netmask": "255.0.0.0", "errors": []}

nodes = {"n%d" % server: {"product": "A2", "devices": [device(server, number) for number in range(16)]} for server in range(4096)}
assembly = assemble.assemble(nodes, assemble.HostAddresses, assemble.TableOptions(), expand)
table = formats.build("hccl", model.one_group(assembly.servers, assembly.version))
text = document.to_text(table)
assert [problem.message for problem in checks.check_text(text, ["hccl"], "A2")] == []
print(sum(len(server["device"]) for server in table["server_list"]), len(text), round(peak_mib()))
"""


def test_memory_of_the_largest_table(capsys: pytest.CaptureFixture[str]) -> None:
    env = {**ansible_environment(), "PYTHONPATH": f"{ROOT / 'collections'}:{ROOT}"}
    done = subprocess.run([sys.executable, "-c", LARGEST], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    ranks, size, memory = map(int, done.stdout.split())
    with capsys.disabled():
        print(f"{ranks} ranks assembled, written and checked: {size / 2 ** 20:.1f} MiB of text, {memory} MiB of memory (reference {MOST_MEMORY_MIB})")
    assert ranks == MOST_RANKS
    assert memory <= MOST_MEMORY_MIB
