"""A job of AWX that is cut into four slices, run by ansible-runner, and the job that concludes them: it finds what one job over all hosts finds."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from tests.integration.awx.job import Job, Outcome, clone, synchronised
from tests.lib.hosts import node

HOSTS = {"npu1": 81, "npu2": 82, "npu3": 83, "npu4": 84}
STATES = {"npu2": ["0.link=0"], "npu3": ["*.tls=1"]}


class Site:
    """A project, four simulated hosts with one NPU each and a mounted folder for the history of each way to run the job."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._project = clone(place / "project")
        self._inventory = synchronised(self._project, "inventories/demo/hosts")
        for host, number in HOSTS.items():
            self._inventory["_meta"]["hostvars"][host]["demo_number"] = number
            states = [word for state in STATES.get(host, []) for word in ("--state", state)]
            node(place / "nodes" / host, "--address-template", f"10.78.{number}.1{{device}}", "--netmask", "255.255.0.0", "--switch-address", "10.78.0.1",
                 "--state", "*.gateway=10.78.0.1", "--state", "*.netdetect=10.78.0.1", *states, devices=1)

    def slice_of(self, hosts: list[str]) -> dict[str, Any]:
        """Return the inventory as AWX sends it to a slice: groups and variables are whole, and hosts of other slices are missing."""
        meta = {"hostvars": {host: self._inventory["_meta"]["hostvars"][host] for host in hosts}}
        groups = {name: {**group, "hosts": [host for host in group.get("hosts", []) if host in hosts]} if isinstance(group, Mapping) else group
                  for name, group in self._inventory.items() if name != "_meta"}
        return {**groups, "_meta": meta}

    def run(self, number: int, playbook: str, hosts: list[str], history: str) -> Outcome:
        environment = {"HCCN_DEMO_FOLDER": str(self._place / "nodes"), "HCCN_RESULTS_PATH": str(self._place / history)}
        job = Job(number, self._place / f"job{number}", f"playbooks/{playbook}.yml", self.slice_of(hosts), environment=environment,
                  variables={"bring_up_tls_state": "unchanged"})
        return job.run(self._project)

    def concluded(self, history: str, number: int) -> tuple[dict[str, list[str]], list[tuple[str, str, str]]]:
        """Return the hosts by class, and cause, component and message of all findings."""
        kept = reader.read(reader.find(self._place / history, f"awx-{number}")).records
        (conclusion,) = [record["samples"][0] for record in kept if record.get("kind") == "conclusion"]
        samples = [record["samples"][0] for record in kept if record.get("kind") == "finding"]
        return conclusion["hosts"], [(sample["cause"], sample["component"]["name"], sample["message"]) for sample in samples]


@pytest.mark.smoke("conclude_slices")
def test_four_slices_have_the_findings_of_one_run(tmp_path: Path) -> None:
    site = Site(tmp_path)
    whole = site.run(1, "bring_up", list(HOSTS), "whole")
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda part: site.run(part[0], "bring_up", [part[1]], "sliced"), enumerate(HOSTS, 11)))
    assert [part.status for part in parts] == ["successful", "failed", "successful", "successful"]
    joined = site.run(20, "conclude_slices", list(HOSTS), "sliced")
    assert (whole.status, joined.status) == ("failed", "failed"), joined.output
    assert joined.output.splitlines()[-4:-1] == [
        "Result: failed. 4 hosts: 2 failed, 2 good.", "failed npu2 NPU 0: the link is down -> On npu2: hccn_tool -i 0 -optical -g",
        "failed npu3: TLS is on, that of 3 other NPUs is off -> ansible-playbook hccn.cluster.tls -e tls_state=disabled"]
    assert site.concluded("sliced", 20) == site.concluded("whole", 1) == (
        {"failed": ["npu2", "npu3"], "good": ["npu1", "npu4"]},
        [("link_down", "npu2 NPU 0", "the link is down"), ("tls_differs", "npu3", "TLS is on, that of 3 other NPUs is off")])
