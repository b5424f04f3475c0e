"""The playbook check_fabric with different releases of perftest. `make roce` also runs long_*.py."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from tests.lab.roce.images import PERFTEST
from tests.lab.roce.machines import Machine
from tests.lab.roce.playbook import Play, left


def examine(machines: list[Machine], folder: Path, operation: str, **options: object) -> None:
    """Assert that all pairs are measured with the version of perftest of the source, and that no process is left."""
    play = Play(machines, folder, check_fabric_operation=operation, **options)
    assert play.end() == 0, play.output
    assert play.classes() == {machine.name: "good" for machine in machines}
    measured = play.records("rdma")
    assert sorted(tuple(sorted((record["source"]["host"], record["target"]["host"]))) for record in measured) == list(
        combinations([machine.name for machine in machines], 2))
    versions = {machine.name: PERFTEST[machine.release] for machine in machines}
    kind = "lat" if options.get("check_fabric_measure") == "latency" else "bw"
    assert [(record["status"], record["tool"]) for record in measured] == [
        ("ok", {"name": f"ib_{operation}_{kind}", "version": versions[record["source"]["host"]]}) for record in measured]
    assert left(machines) == {}


def test_two_releases(two: list[Machine], tmp_path: Path) -> None:
    examine(two, tmp_path, "write", check_fabric_rdma_device="rxe0")
