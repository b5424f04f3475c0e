"""The playbook check_fabric with different releases of perftest. `make roce` also runs long_runner.py."""

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


def test_two_releases(four: list[Machine], tmp_path: Path) -> None:
    examine(four[1:3], tmp_path, "write", check_fabric_rdma_device="rxe0")


def test_options_of_the_role(four: list[Machine], tmp_path: Path) -> None:
    play = Play(four[2:], tmp_path, check_fabric_rdma_device="rxe0", check_fabric_rdma_port=1, check_fabric_gid_index=1, check_fabric_qps=4,
                check_fabric_mtu=1024, check_fabric_bidirectional=True, check_fabric_operation="send")
    assert play.end() == 0, play.output
    (record,) = play.records("rdma")
    assert " ".join(record["command"]) == (
        "ib_send_bw -d rxe0 -i 1 -x 1 -F -p 18515 -b -s 8192 -n 40 -q 4 -m 1024 --report_gbits " + record["target"]["address"])
    assert (record["status"], record["options"]) == (
        "ok", {"size_bytes": 8192, "iterations": 40, "qps": 4, "mtu": 1024, "gid_index": 1, "bidirectional": True})
    assert [(sample["size_bytes"], sample["iterations"]) for sample in record["samples"]] == [(8192, 160)]
