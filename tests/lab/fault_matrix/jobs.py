"""The playbooks of the fault matrix: when each is in the middle of its part, and how the state of a host is read from files and devices without the product."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._history import writer
from tests.lab.fault_matrix import states
from tests.lab.fault_matrix.clusterd import nic_switch, switch_upgrade
from tests.lab.fault_matrix.faults import VICTIM
from tests.lab.fault_matrix.play import LEFT_SECONDS, Play
from tests.lab.fault_matrix.stage import Stage, called
from tests.lab.testbed import Lab

TABLE = "/etc/rank_table.json"
SUBNETS = [{"cidr": "10.79.0.0/16", "gateway": "10.79.0.1"}]
BRING_UP = {"bring_up_subnets": SUBNETS, "bring_up_tls_state": "enabled"}
CHECK_FABRIC = {"check_fabric_iterations": 20000, "check_fabric_relative_floor": 0.4, "check_fabric_confirm": False,
                "check_fabric_advanced": {"server_start_delay_s": 0.2, "meeting_timeout_s": 20}}
"""The iterations set the deadline of a pair, 40 s. All hosts share this machine's cores, so only values that are far below the others count as slow."""
COLLECTIVE = {"check_collective_mpirun": str(Path(sys.executable).with_name("mpirun")), "check_collective_ranks_per_host": 2,
              "check_collective_sizes": {"begin": "8K", "end": "8K"}, "check_collective_timeout_s": 40, "check_collective_iterations": 200}
FABRIC_SECONDS, RANK_SECONDS = 90.0, 110.0
"""A runner gives up unreachable partners, and ranks exit one minute after the limit of their run."""
EXPOSED = {"expose": (str(Path(sys.executable).parent.parent), sys.base_prefix)}
"""The hosts have no mpirun; they use the one of this Python."""
TEST_SECONDS = 40
A3 = {"products": ("A3", "A3", "A3")}


@dataclass(frozen=True)
class Other:
    """The playbook that disturbs a job most, with the variables that the job's own stage does not set.

    ``during``: when it is in the middle of its part on VICTIM; the job starts then. None if the job takes long enough for the other playbook to start in the
    middle of it.
    """

    playbook: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    during: Callable[[Lab], Callable[[Play], bool]] | None = None
    prepare: Callable[[Lab], None] = lambda _lab: None


def _long_tests(lab: Lab) -> None:
    """Make a test take TEST_SECONDS, so that a playbook that starts meanwhile conflicts with it."""
    for name in lab.hosts:
        path = lab.node_path(name, "sim.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "measure_seconds": TEST_SECONDS, "measure_bytes": 1 << 40}))


CHECK_COMES = Other("check_fabric", CHECK_FABRIC)
CHECK_RUNS = Other("check_fabric", {**CHECK_FABRIC, "check_fabric_duration_s": TEST_SECONDS},
                   called("-roce_test", but="reset"), _long_tests)
CHANGE_RUNS = Other("bring_up", BRING_UP, called("-ip", "-s"))
TLS_RUNS = Other("tls", {"tls_state": "enabled"}, called("-tls", "-s"))
UPGRADE_COMES = Other("switch_upgrade")


@dataclass(frozen=True)
class Job:
    """A playbook of the matrix. ``late``: a line that the run prints after VICTIM's part. ``stage`` is set up for one run of the fault case and removed after
    it.

    ``other``: the playbook of the fault "other playbook", None if the job contacts no host.

    ``left_seconds``: how long a process on an unreachable host may run after the end of the run: the longest time limit on hosts.
    """

    playbook: str
    late: str
    stage: Callable[[Lab, Path], AbstractContextManager[Stage]]
    lab: Mapping[str, Any] = field(default_factory=dict)
    left_seconds: float = LEFT_SECONDS
    other: Other | None = None


def on_hosts(during: Callable[[Lab], Callable[[Play], bool]], variables: Mapping[str, Any], state: Callable[[Lab, str], str] = states.network_and_tls,
             prepare: Callable[[Lab], None] = lambda lab: None) -> Callable[[Lab, Path], AbstractContextManager[Stage]]:
    """Return the stage of a playbook that needs only the hosts."""

    @contextmanager
    def stage(lab: Lab, _folder: Path) -> Iterator[Stage]:
        prepare(lab)
        lab.set_state(VICTIM, "*.latency=0.4")  # slow enough for a fault in the middle
        yield Stage(variables, during(lab), lambda name: state(lab, name))

    return stage


def _has_started(task: str) -> Callable[[Play], bool]:
    """Return a function that returns True after the run has started the task."""
    return lambda play: f"TASK [{task}]" in play.output


@contextmanager
def _restore(lab: Lab, _folder: Path) -> Iterator[Stage]:
    """The saved configuration has another network with TLS on, so that everything must be set."""
    for name, host in lab.hosts.items():
        network = [{"id": device, "address": address.replace("10.78.", "10.79."), "netmask": host.netmask} for device, address in enumerate(host.addresses)]
        tls = [{"id": device, "enabled": True} for device in range(host.devices)]
        lab.path(name, "/etc/hccn.conf.restore.json").write_text(json.dumps(
            {"schema": "hccn.cluster/restore/2", "saved_at": "2026-01-02T03:04:05Z", "hccn_conf": None, "network": network, "tls": tls}))
    lab.set_state(VICTIM, "*.latency=0.4")
    yield Stage({}, called("-ip", "-s")(lab), lambda name: states.network_and_tls(lab, name))


@contextmanager
def _adopt(lab: Lab, _folder: Path) -> Iterator[Stage]:
    lab.set_state(VICTIM, "*.latency=0.4")
    written = lab.folder / "adopted"
    yield Stage({"adopt_inventory": str(written)}, called("-ip", "-g")(lab), lambda name: states.network_and_tls(lab, name),
                lambda: {"host_vars": states.adopted(written / "host_vars", lab)})


def _iperf3(lab: Lab) -> None:
    """Install programs that print their version, slowly on VICTIM."""
    for name in lab.hosts:
        path = lab.path(name, "/usr/local/bin/iperf3")
        path.write_text(f"#!/bin/sh\n{'sleep 2' if name == VICTIM else ':'}\necho 'iperf 3.99 (made for a test)'\n")
        path.chmod(0o755)


SLOW_PYTHON = "/usr/local/bin/slow-python"


def _slow_python(lab: Lab) -> None:
    """Install a Python that waits on VICTIM, for a module that would be too fast for a fault in the middle."""
    for name in lab.hosts:
        path = lab.path(name, SLOW_PYTHON)
        path.write_text(f"#!/bin/sh\n{'sleep 5' if name == VICTIM else ':'}\nexec /usr/bin/python3 \"$@\"\n")
        path.chmod(0o755)


def _only_victim_works(lab: Lab) -> Callable[[Play], bool]:
    waits = called("sleep", "5")(lab)
    return lambda play: waits(play) and all(states.cdi_spec(lab, name) == "spec" for name in lab.hosts if name != VICTIM)


@contextmanager
def _datadist(lab: Lab, _folder: Path) -> Iterator[Stage]:
    lab.set_state(VICTIM, "*.latency=0.4")
    hosts = list(lab.hosts)
    ends = [{"cluster": number, "role": "prefill" if number < len(hosts) else "decode", "host": name, "device": 0,
             "ip_infos": [{"ip": lab.host(name).address, "port": 26000 + number}]} for number, name in enumerate(hosts, start=1)]
    variables = {"datadist_ready_clusters": ends, "datadist_ready_product": "800I A2"}
    yield Stage(variables, called("-tls", "-g")(lab), lambda name: states.network_and_tls(lab, name))


@contextmanager
def _validate(lab: Lab, _folder: Path) -> Iterator[Stage]:
    yield Stage({"bring_up_subnets": SUBNETS, "validate_devices": 2, "validate_unknown": "warning"},
                _has_started("hccn.cluster.validate : Check variables and declared addresses"), lambda name: states.network_and_tls(lab, name))


@contextmanager
def _report(lab: Lab, folder: Path) -> Iterator[Stage]:
    """Report an earlier run in which one ping failed."""
    kept = folder / "kept"
    measured = {"schema": "hccn.cluster/measurement/1", "kind": "ping", "source": {"host": "node1", "device": 0}, "target": {"host": "node2", "device": 0}}
    earlier = writer.RunWriter(kept, {"schema": "hccn.cluster/history/1", "run_id": "earlier", "started_at": "2026-01-02T03:04:05Z",
                                      "playbook": "measure.yml"})
    earlier.write([{**measured, "id": "earlier/1", "status": "ok"}, {**measured, "id": "earlier/2", "status": "failed"}])
    earlier.finish({"end": True, "finished_at": "2026-01-02T03:05:05Z", "records": 2, "hosts": {}})
    yield Stage({"report_history": str(kept)}, _has_started("hccn.cluster.report : Write the page"), lambda name: states.network_and_tls(lab, name),
                lambda: {"page": states.pages(kept)})


@contextmanager
def _compare(lab: Lab, folder: Path) -> Iterator[Stage]:
    """Compare two earlier runs, the second of which is slower."""
    kept = folder / "kept"
    measured = {"schema": "hccn.cluster/measurement/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
                "source": {"host": "node1", "device": 0}, "target": {"host": "node2", "device": 0}}
    for number, value in ((1, 195.0), (2, 150.0)):
        earlier = writer.RunWriter(kept, {"schema": "hccn.cluster/history/1", "run_id": f"earlier{number}", "started_at": f"2026-01-0{number}T03:04:05Z",
                                          "playbook": "check_fabric.yml"})
        earlier.write([{**measured, "id": "pair", "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}])
        earlier.finish({"end": True, "finished_at": f"2026-01-0{number}T03:05:05Z", "records": 1, "hosts": {}})
    yield Stage({"compare_history": str(kept)}, _has_started("hccn.cluster.compare : Compare the runs"), lambda name: states.network_and_tls(lab, name))


@contextmanager
def _quarantine(lab: Lab, folder: Path) -> Iterator[Stage]:
    """Use a command that takes three seconds."""
    begun, ended = folder / "begun", folder / "ended"
    folder.mkdir(parents=True, exist_ok=True)
    command = ["sh", "-c", f"echo >> {begun}; sleep 3; echo >> {ended}"]
    yield Stage({"quarantine_host": VICTIM, "quarantine_enabled": True, "quarantine_command": command}, lambda _play: begun.exists(),
                lambda name: states.network_and_tls(lab, name), lambda: {"command": states.times(begun, ended)})


def _fabric(variables: Mapping[str, Any]) -> Callable[[Lab, Path], AbstractContextManager[Stage]]:
    return on_hosts(called("-roce_test", but="reset"), variables, states.fabric)


def _pairs() -> list[dict[str, Any]]:
    hosts = ["node1", "node2", "node3"]
    return [{"source": {"host": hosts[place], "device": 0}, "target": {"host": hosts[(place + 1) % 3], "device": 0}} for place in range(3)]


def _collective(lab: Lab) -> Callable[[Play], bool]:
    return lambda _play: any(word.endswith("/bin/all_reduce_test") for argv in lab.processes(VICTIM).values() for word in argv[:3])


JOBS = {job.playbook: job for job in (
    Job("bring_up", "TASK [hccn.cluster.tls : Set the TLS flag of all NPUs to ", on_hosts(called("-ip", "-s"), BRING_UP), other=CHECK_RUNS),
    Job("tls", "TASK [hccn.cluster.tls : Show the TLS flag of the host]", on_hosts(called("-tls", "-s"), {"tls_state": "enabled"}),
        other=CHECK_RUNS),
    Job("rank_table", "TASK [hccn.cluster.rank_table : Show the rank table path]",
        on_hosts(called("-ip", "-g"), {"rank_table_path": TABLE}, lambda lab, name: states.table(lab, name, TABLE)), other=CHANGE_RUNS),
    Job("restore", "TASK [hccn.cluster.restore : Show what was restored]", _restore, other=CHECK_RUNS),
    Job("adopt", "TASK [hccn.cluster.adopt : Create the folder host_vars]", _adopt, other=CHANGE_RUNS),
    Job("check_fabric", "TASK [hccn.cluster.check_fabric : Diagnose the fabric]", _fabric(CHECK_FABRIC), left_seconds=FABRIC_SECONDS, other=CHANGE_RUNS),
    Job("check_reachability", "TASK [hccn.cluster.check_reachability : Show what is not reachable]", on_hosts(called("-ping"), {}), other=CHANGE_RUNS),
    Job("retest", "TASK [hccn.cluster.check_fabric : Diagnose the fabric]", _fabric({**CHECK_FABRIC, "retest_pairs": _pairs()}), left_seconds=FABRIC_SECONDS,
        other=CHECK_RUNS),
    Job("check_collective", "TASK [hccn.cluster.check_collective : Show the result of the collective]", on_hosts(_collective, COLLECTIVE), EXPOSED,
        RANK_SECONDS, CHECK_COMES),
    Job("site", "TASK [hccn.cluster.report : Write the page]",
        on_hosts(called("-ip", "-s"), {**BRING_UP, **CHECK_FABRIC, **COLLECTIVE, "rank_table_path": TABLE},
                 lambda lab, name: f"{states.fabric(lab, name)}, table {states.table(lab, name, TABLE)}"), EXPOSED, FABRIC_SECONDS, CHECK_COMES),
    Job("container_mapping", "TASK [hccn.cluster.container_mapping : Show which containers see hccn.conf]",
        on_hosts(_only_victim_works, {"container_mapping_state": "present", "ansible_python_interpreter": SLOW_PYTHON}, states.cdi_spec, _slow_python),
        other=CHANGE_RUNS),
    Job("datadist_ready", "TASK [hccn.cluster.datadist_ready : Check the planned links]", _datadist, other=TLS_RUNS),
    Job("nic_switch", "TASK [hccn.cluster.nic_switch : Switch the NPUs of job uid-b]", nic_switch, A3, other=UPGRADE_COMES),
    Job("switch_upgrade", "TASK [hccn.cluster.switch_upgrade : Find the jobs]", switch_upgrade, A3, other=CHECK_RUNS),
    Job("perf_tools", "TASK [hccn.cluster.perf_tools : Show the tools of the host]",
        on_hosts(called("/usr/local/bin/iperf3"), {"perf_tools_wanted": ["iperf3"], "perf_tools_install": False}, prepare=_iperf3), other=CHECK_RUNS),
    Job("quarantine", "TASK [hccn.cluster.quarantine : Show what was done]", _quarantine),
    Job("compare", "TASK [hccn.cluster.compare : Show what changed]", _compare),
    Job("report", "TASK [hccn.cluster.report : Publish a summary as an artifact of the job]", _report),
    Job("check_fabric_pods", "TASK [hccn.cluster.check_fabric : Delete the pods]", _fabric(CHECK_FABRIC)),
    Job("validate", "TASK [hccn.cluster.validate : Show what was checked]", _validate),
)}

