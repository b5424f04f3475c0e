"""Run playbooks with the role check_fabric on simulated hosts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.integration.check_fabric.cluster import Cluster
from tests.lib.playbook import run_playbook, unfolded

UNREACHABLE = 4
"""Exit status of ansible-playbook if no task failed and a host is unreachable."""
FAILED = 2


def play(cluster: Cluster, tmp_path: Path, playbook: str = "check_fabric", lost: str | None = None, code: int = 0,
         environment: Mapping[str, str] | None = None, of_hosts: Mapping[str, Mapping[str, Any]] | None = None,
         parts: Mapping[str, Iterable[str]] | None = None, **variables: Any) -> str:
    """Run the playbook and return its output. ``lost``: a host whose ssh port refuses connections. ``code``: the expected exit status.
    ``of_hosts``: the hosts of the play with further variables; by default all hosts. ``parts``: further groups of the inventory."""
    hosts: dict[str, dict[str, Any]] = {
        entry["host"]: {"root": cluster.root(entry["host"]), "check_fabric_control_port": entry["control_port"], **(of_hosts or {}).get(entry["host"], {})}
        for entry in cluster.hosts() if of_hosts is None or entry["host"] in of_hosts}
    if lost is not None:
        hosts[lost] |= {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_ssh_retries": 0}
    common = {
        "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "check_fabric_control_address": "127.0.0.1",
        "hccn_tool": "{{ root }}/bin/counted", "npu_smi": "{{ root }}/bin/npu-smi", "hccn_conf": "{{ root }}/etc/hccn.conf",
        "check_fabric_state_dir": "{{ root }}/runs", "check_fabric_advanced": {"server_start_delay_s": 0.3}, "check_fabric_relative_floor": 0.2,
        "check_fabric_iterations": 1000, "check_fabric_timeout_s": 60, **variables,
    }
    groups = {group: {"hosts": dict.fromkeys(names)} for group, names in (parts or {}).items()}
    (tmp_path / "hosts.json").write_text(json.dumps({"npu": {"hosts": hosts, "vars": common}, **groups}))
    done = run_playbook(f"hccn.cluster.{playbook}", "hosts.json", cwd=tmp_path, **(environment or {}))
    assert done.returncode == code, done.stdout + done.stderr
    return unfolded(done.stdout)


def verdicts(output: str) -> dict[str, str]:
    """Return the class of each host that the output names."""
    return dict(re.findall(r"(n\d): (good|slow|failed|busy|unreachable|not_measured)\. ", output))
