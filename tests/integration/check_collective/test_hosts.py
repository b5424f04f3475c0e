"""hccl_perf on eight hosts of the testbed, with a real MPICH over a real ssh: each failure names the host and leaves no process.

The tests share the hosts. Their order matters, since later tests break more of them.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.check_collective.hosts import EXPOSED, Call, left, ranks, stop
from tests.integration.check_collective.mpi import mpirun
from tests.lab.fault_matrix.play import Play
from tests.lib.project import skip
from tests.lab.testbed import Lab, Unavailable, lab

HOSTS = [f"node{number}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Lab]:
    mpirun()
    try:
        with lab(n=8, npus=2, expose=EXPOSED) as made:
            yield made
    except Unavailable as reason:
        skip("testbed", str(reason))


def test_eight_hosts(hosts: Lab) -> None:
    result = Call(hosts, "node1", HOSTS).result()
    record = result["measurements"][0]
    assert (record["status"], record.get("error"), record["hosts"], record["ranks"], len(record["samples"])) == ("ok", None, HOSTS, 16, 2)
    # A namespace begins with the kernel's own limits.
    assert re.search(r"requires limits of 65535 for many ranks: node1, node2, node3, node4, node5 and 3 more has .*somaxconn \d+", str(result["warnings"]))
    assert "context" not in record
    assert left(hosts) == {}


def test_groups_of_hosts(hosts: Lab) -> None:
    """2, 4 and 8 hosts and each rail, started on a host that is not part of some groups. All results are below the floor."""
    result = Call(hosts, "node8", HOSTS, groups=["scaling", "rails"], floor_gbyte_s=10000.0, relative_floor=0.01, isolate=True,
                  sizes={"begin": "16K", "end": "16K"}).result()
    measured = [record for record in result["measurements"] if record["kind"] == "collective"]
    named = [record["context"]["group"] for record in measured]
    assert named[:5] == ["all", "2 hosts", "4 hosts", "device 0", "device 1"]
    assert [(record["status"], record["ranks"]) for record in measured[:5]] == [("ok", 16), ("ok", 4), ("ok", 8), ("ok", 8), ("ok", 8)]
    assert measured[4]["options"]["environment"] == {"HCCL_TEST_USE_DEVS": "1"}
    assert len({record["id"] for record in result["measurements"]}) == len(result["measurements"])
    assert (result["slow"], [(found["kind"], found["hosts"]) for found in result["findings"]]) == (True, [("everywhere", HOSTS)])
    assert left(hosts) == {}


def test_wrong_result_names_the_host_of_the_rank(hosts: Lab) -> None:
    record = Call(hosts, "node1", HOSTS, {"SIM_HCCL_CORRUPT": "1", "SIM_HCCL_RANKS": "9"}).record()
    assert (record["status"], record["error"]["code"], record["context"]) == ("failed", "check_failed", {"suspects": ["node5"]})
    assert record["error"]["message"] == "check result failed on rank 9 for 8192, 16384 bytes, on node5"
    assert [sample["check"] for sample in record["samples"]] == ["success", "success"]
    assert left(hosts) == {}


FOUR = HOSTS[:4]


def authorized(hosts: Lab) -> set[str]:
    return {hosts.path(name, "/root/.ssh/authorized_keys").read_text() for name in FOUR}


def keys(hosts: Lab) -> list[str]:
    return sorted(f"{name} {path.name}" for name in FOUR for path in hosts.path(name, "/root/.ssh").iterdir() if path.name != "authorized_keys")


@pytest.fixture
def without_keys(hosts: Lab) -> Iterator[None]:
    """Remove the ssh keys with which the hosts log in to each other."""
    kept = {name: hosts.path(name, "/root/.ssh/id_ed25519") for name in FOUR}
    text = kept["node1"].read_text()
    for path in kept.values():
        path.unlink()
    yield
    for path in kept.values():
        path.write_text(text)
        path.chmod(0o600)


@pytest.mark.usefixtures("without_keys")
@pytest.mark.long
def test_temporary_key_for_one_run(hosts: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is killed. The next one removes the remaining key of the first and measures groups with a new key."""
    before = authorized(hosts)
    refused = Call(hosts, "node1", FOUR[:3]).record()["error"]
    assert (refused["code"], refused["message"].count("Permission denied (publickey)")) == ("ssh_refused", 2)
    variables = {"hccn_hosts": ":".join(FOUR), "check_collective_mpirun": mpirun(), "check_collective_ranks_per_host": 2, "check_collective_iterations": 2,
                 "check_collective_sizes": {"begin": "8K", "end": "16K", "factor": 2}, "check_collective_ssh_trust": "temporary"}
    killed = Play(hosts, tmp_path / "killed", "check_collective", {**variables, "check_collective_timeout_s": 4})
    killed.wait_for("a rank on node4", lambda: bool(ranks(hosts, "node4")))
    stop(ranks(hosts, "node4")[0])
    killed.signal(signal.SIGKILL)
    killed.end()
    assert left(hosts) == {}
    assert not authorized(hosts) & before and len(keys(hosts)) == 1
    monkeypatch.setenv("ANSIBLE_VERBOSITY", "3")
    play = Play(hosts, tmp_path / "next", "check_collective", {
        **variables, "check_collective_groups": ["all", "scaling"], "check_collective_isolate": "clean", "check_collective_fabric_clean": True,
        "check_collective_floor_gbyte_s": 10000.0, "hccn_fail_on": "failed"})
    assert play.end() == 0, play.output
    assert (authorized(hosts), keys(hosts), left(hosts)) == (before, [], {})
    measured = [one for one in play.runs()[0].records if one["kind"] == "collective"]
    assert [(one["status"], one["hosts"]) for one in measured[:2]] == [("ok", FOUR), ("ok", FOUR[:2])]
    assert "Slow: every measured group is slow" in play.output
    written = play.output + "".join(path.read_text() for path in tmp_path.rglob("*.jsonl*"))
    assert "PRIVATE KEY" not in written and "/root/.ssh/hccn.cluster-2" in written
    assert {count for name, count in play.changed().items() if name != "localhost"} == {0}, "writing the report is no change of a host"


def test_stopped_program_is_reported(hosts: Lab) -> None:
    call = Call(hosts, "node1", HOSTS, timeout=4)
    for pid in call.wait_for_ranks("node4"):
        stop(pid)
    record = call.record()
    assert (record["status"], record["error"]["code"], record["context"]) == ("failed", "timed_out", {"suspects": ["node4"]})
    assert record["error"]["message"].endswith("; node4: rank 6 is stopped by a signal, rank 7 is stopped by a signal")
    assert left(hosts) == {}


def test_killed_module(hosts: Lab) -> None:
    """One rank is stopped, so that no other rank ends by itself."""
    call = Call(hosts, "node1", HOSTS, timeout=600)
    stop(call.wait_for_ranks("node3")[0])
    for name in HOSTS:
        call.wait_for_ranks(name)
    call.kill()
    assert left(hosts) == {}


def test_hosts_that_hang_or_die_during_the_run(hosts: Lab) -> None:
    call = Call(hosts, "node1", HOSTS, {"SIM_HCCL_HANG": "1", "SIM_HCCL_RANKS": "0"}, timeout=6)
    for name in HOSTS:
        call.wait_for_ranks(name)
    hosts.fault("node6", "pause")
    hosts.fault("node8", "kill")
    record = call.record()
    assert (record["status"], record["error"]["code"], record["context"]) == ("failed", "host_lost", {"suspects": ["node6", "node8"]})
    message = record["error"]["message"]
    assert "; node6: does not answer (" in message and "; node8: does not answer (" in message
    assert left(hosts, "node6") == {}


def test_hosts_that_hang_or_are_dead_from_the_start(hosts: Lab) -> None:
    record = Call(hosts, "node1", HOSTS, timeout=600).record()
    assert (record["status"], record["error"]["code"], record["context"]) == ("not_run", "host_unreachable", {"suspects": ["node6", "node8"]})
    message = record["error"]["message"]
    assert message.startswith("2 of 8 hosts accept no login from node1: ")
    hung, dead = (hosts.host(name).address for name in ("node6", "node8"))
    assert f"{hung}: Connection timed out during banner exchange" in message or f"{hung}: no answer" in message
    assert f"{dead}: ssh: connect to host {dead} port 22: " in message
    hosts.heal("node6")
    assert left(hosts) == {}
