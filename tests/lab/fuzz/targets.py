"""Targets of fuzzing and their seed texts: every public function of module_utils whose name begins with parse, and functions that read documents.

The seeds are the texts of the unit tests: all literals with more than one line, or that are passed to the parser of the file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import leaf_topology
from ansible_collections.hccn.cluster.plugins.module_utils._core.process import Result
from ansible_collections.hccn.cluster.plugins.module_utils._device import cdi, conf_check, failures
from ansible_collections.hccn.cluster.plugins.module_utils._fabric.plan import pack, parse_plan, unpack
from ansible_collections.hccn.cluster.plugins.module_utils._perf import hccl_errors, nccl_errors
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose_records
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs import job
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan import address_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from tests.lib.project import ROOT

PACKAGE = "ansible_collections.hccn.cluster.plugins.module_utils"
UTILS = ROOT / "collections" / PACKAGE.replace(".", "/")
UNITS = ROOT / "collections/ansible_collections/hccn/cluster/tests/unit/plugins"
DOCUMENTS_ONLY = {"_clusterd.leaf_topology.parse", "_datadist.link_plan.parse", "_fabric.plan.parse_plan", "_fabric.schedule.parse_schedule"}

Target = Callable[[Any], Any]

CALLS: dict[str, Callable[[Callable[..., Any], str], Any]] = {
    "_perf.mpirun.parse_version": lambda parse, text: parse("/usr/bin/mpirun", text),
    "_perf.mpirun.parse_placement": lambda parse, text: [parse(flavour, text, ["n1", "n2"]) for flavour in ("mpich", "openmpi")],
    "_device.host.parse_device_files": lambda parse, text: parse(text.split("\n")),
    "_fabric.journal.parse_journal": lambda parse, text: parse(text.encode("utf-8", "surrogatepass")),
    "_device.rdma_checks.parse_memlock": lambda parse, text: parse(text, text),
}
"""Parsers whose arguments are not a single text."""


def text_targets() -> dict[str, Target]:
    """Return the parsers of texts by name."""
    found: dict[str, Target] = {}
    for path in sorted(UTILS.rglob("*.py")):
        short = ".".join(path.relative_to(UTILS).with_suffix("").parts)
        for name, parse in inspect.getmembers(importlib.import_module(f"{PACKAGE}.{short}"), inspect.isfunction):
            full = f"{short}.{name}"
            if name.startswith("parse") and parse.__module__ == f"{PACKAGE}.{short}" and full not in DOCUMENTS_ONLY:
                call = CALLS.get(full)
                found[full] = parse if call is None else lambda text, parse=parse, call=call: call(parse, text)
    found["_device.conf_check.check"] = conf_check.check
    found["_device.cdi.read"] = lambda text: _read_file(cdi.read, text)
    found["_device.failures.failure_of"] = lambda text: [failures.failure_of(_done(text, 1)), failures.set_failure_of(_done(text, 0))]
    found["_perf.hccl_errors.find_errors"] = hccl_errors.find_errors
    found["_perf.nccl_errors.find_errors"] = nccl_errors.find_errors
    found["_rank_table.checks.check_text"] = lambda text: checks.check_text(text, checks.READERS)
    return found


def _done(output: str, code: int) -> Result:
    return Result(("hccn_tool", "-i", "0", "-link", "-g"), code, output, output, False, 0.0, 0.1)


def _read_file(read: Callable[[str], Any], text: str) -> Any:
    path = Path(_folder()) / "input"
    path.write_text(text, errors="surrogatepass")
    return read(str(path))


@lru_cache(maxsize=1)
def _folder() -> str:
    import tempfile
    return tempfile.mkdtemp(prefix="hccn-fuzz-")


@lru_cache(maxsize=1)
def seeds() -> dict[str, list[str]]:
    """Return the texts of the unit tests by the stem of the file under test; "" has the texts of all files."""
    found: dict[str, list[str]] = {"": []}
    for path in sorted(UNITS.rglob("test_*.py")):
        known = list(dict.fromkeys(_texts(ast.parse(path.read_text()))))
        found.setdefault(path.stem[len("test_"):], []).extend(known)
        found[""] += known
    return found


def _texts(tree: ast.AST) -> Iterator[str]:
    documented = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
                  and node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented and ("\n" in node.value or ":" in node.value):
            yield node.value


def _record(source: str, target: str, number: int) -> dict[str, Any]:
    return {"id": f"r/{number}/forward/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "options": {"qps": 1},
            "context": {"round": 1, "line_rate_gbit_s": 200}, "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 195.0}]}


HOSTS = [{"host": f"n{number}", "control_address": f"10.0.0.{number}", "control_port": 18514, "leaf": f"L{number % 2}",
          "devices": [{"id": device, "address": f"10.1.{device}.{number}"} for device in range(2)]} for number in range(1, 5)]

TABLE = {"version": "1.0", "server_count": "2", "status": "completed", "server_list": [
    {"server_id": f"10.0.0.{server}", "device": [{"device_id": str(device), "device_ip": f"10.1.{device}.{server}", "rank_id": str((server - 1) * 2 + device)}
                                                 for device in range(2)]} for server in (1, 2)]}
SUPER = {"version": "1.2", "server_count": "1", "status": "completed", "server_list": [
    {"server_id": "10.0.0.1", "host_ip": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "10.1.0.1", "super_device_id": "0", "rank_id": "0"}]}],
    "super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "10.0.0.1"}]}]}
RANKS = {"version": "2.0", "status": "completed", "rank_count": 1, "rank_list": [
    {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": [{"net_layer": 0, "net_instance_id": "a", "net_type": "TOPO_FILE_DESC", "net_attr": "",
     "rank_addr_list": [{"addr_type": "EID", "addr": "0" * 32, "ports": ["0/0"], "plane_id": "0"}]}]}]}
GROUPS = {"status": "completed", "group_count": "1", "group_list": [{"group_name": "g", "device_count": "1", "instance_count": "1", "instance_list": [
    {"pod_name": "p", "server_id": "10.0.0.1", "devices": [{"device_id": "0", "device_ip": "10.1.0.1"}]}]}]}
GLOBAL = {"version": "1.0", "status": "completed", "server_group_list": [{"group_id": "0", "server_count": "1", "server_list": [
    {"server_id": "10.0.0.1", "server_ip": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "10.1.0.1", "rank_id": "0"}]}]}]}
PREFILL = {"prefill_device_list": [{"server_id": "10.0.0.1", "device_id": "0", "device_ip": "10.1.0.1", "cluster_id": "1"}],
           "decode_device_list": [{"server_id": "10.0.0.2", "device_id": "0", "device_ip": "10.1.0.2", "cluster_id": "2"}],
           "status": "completed", "version": "1.0"}
ENDPOINTS = {"version": "1.3", "net_instance_id": "a", "endpoint_list": [{"protocol": "roce", "comm_id": "10.1.0.1", "placement": "device"}]}


def document_targets() -> dict[str, tuple[Target, list[Any]]]:
    """Return the parsers of documents by name, with seed documents."""
    tables = [TABLE, SUPER, RANKS, GROUPS, GLOBAL, PREFILL, ENDPOINTS]
    plans = [make_plan(HOSTS, kind, compact=compact) for kind in ("quick", "full", "leaves") for compact in (False, True)]
    records = [[_record("n1", "n2", 1), _record("n2", "n3", 2), _record("n3", "n1", 3), {**_record("n1", "n4", 4), "status": "failed", "samples": [],
                                                                                         "error": {"code": "retry_exceeded", "message": "it broke"}}]]
    networks = [[{"host": "n1", "devices": [0, 1], "config": [{"id": 0, "address": "10.0.0.1", "netmask": "255.255.255.0"}]},
                 {"host": "n2", "devices": [0, 1]}]]
    jobs = [{"name": "check", "image": "a/b:1", "replicas": 2, "ranks_per_host": 8, "operation": "all_reduce",
             "sizes": {"begin": "8K", "end": "1M", "factor": 2},
             "environment": {"HCCL_BUFFSIZE": "200"}, "tolerations": [{"key": "npu", "operator": "Exists"}], "labels": {"team": "a"},
             "mounts": [{"name": "data", "host_path": "/data", "type": "Directory"}]}]
    leaves = [[{"leaf": "L1", "backup": "L2", "nodes": ["n1"], "qdds": [{"qdd": "q1", "backup": "q2", "ports": {"A": 0, "B": 8}}]}]]
    return {
        "rank_table_check": (lambda table: checks.examine_document(table, checks.READERS) if isinstance(table, dict) else None, tables),
        "rank_table_check of text": (lambda table: checks.check_text(json.dumps(table, allow_nan=True), checks.READERS), tables),
        "parse_plan": (lambda plan: parse_plan(unpack(plan), "n1", "r1"), [*plans, pack(plans[0])]),
        "pair_plan": (lambda hosts: [make_plan(hosts, kind) for kind in ("quick", "full", "leaves", "devices")], [HOSTS]),
        "diagnose": (diagnose_records, records),
        "address_plan": (lambda hosts: address_plan.plan_addresses(hosts, ["10.0.0.0/24"]), networks),
        "collective job": (job.read, jobs),
        "topology of leaves": (lambda given: leaf_topology.parse(given) if isinstance(given, list) else None, leaves),
    }
