"""Measure what runs once on the controller for ten thousand hosts with eight NPUs each: plan, verdict, rank table, conclusion, the comparison with the run
before, and page.

Each part runs in a process of its own, whose CPU seconds and largest memory are compared with bounds. The seconds are printed together with those of a fixed
piece of Python, since machines differ. ``make bench`` prints the table; HCCN_LARGEST sets another number of hosts.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ansible_collections.hccn.cluster.plugins.action.fabric_verdict import records_of
from ansible_collections.hccn.cluster.plugins.module_utils._core.record import record
from ansible_collections.hccn.cluster.plugins.module_utils._device.host import expand
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import assemble, checks, document, formats, model
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose import diagnosis
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import conclusion, run, screen
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader, since_last_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import model as page_model
from tests.lab.benchmarks.null import answers
from tests.lib.processes import peak_mib

HOSTS, DEVICES, LEAF = int(os.environ.get("HCCN_LARGEST", "10000")), 8, 32
SLOW = 4711
"""The host of which one NPU has half of the usual bandwidth."""


class Bound(NamedTuple):
    """The most CPU seconds, and the most memory of the process in MiB with the input of the part."""

    seconds: float
    mebibytes: int


BOUNDS = {"plan": Bound(10, 1024), "verdict": Bound(60, 2048), "rank_table": Bound(5, 1024), "conclusion": Bound(30, 2048),
          "changes": Bound(60, 2048), "page": Bound(60, 4096)}
MOST_PAGE_BYTES = 2_000_000


NAMES = answers.names(HOSTS)
OPTICAL = {f"{side}_power{lane}_mw": 0.9 + lane / 10 for side in ("tx", "rx") for lane in range(4)}


def plan() -> dict[str, Any]:
    leaves = [{device: f"leaf{number // LEAF}-{device}" for device in range(DEVICES)} for number in range(HOSTS)]
    return make_plan([{**host, "leaf": leaf} for host, leaf in zip(answers.hosts(HOSTS), leaves)], "quick", compact=True)


def results(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the records of the plan by host, with some spread, as rdma_perf_info returns them."""
    found = answers.measured(given)
    slow = {"host": NAMES[SLOW % HOSTS], "device": 3}
    noise = random.Random(1)  # noqa: S311
    for one in itertools.chain.from_iterable(found.values()):
        is_slow = any({key: one[side][key] for key in slow} == slow for side in ("source", "target"))
        one["samples"][0]["bandwidth_gbit_s"] = (97.0 if is_slow else 195.0) + noise.randrange(20) / 10
    return {name: {"run_id": "r", "state": "finished", "measurements": records} for name, records in found.items()}


def verdict(given: Mapping[str, Any], measured: Mapping[str, Any]) -> diagnosis.Diagnosis:
    """Return the diagnosis. Its time includes the plan of the confirmation run."""
    found = diagnosis.diagnose(NAMES, measured, None, 0.97, [], given, diagnosis.LINE_RATE_FLOOR, None)
    plan_confirmation_run(given, found, measured)
    return found


def device_info(number: int) -> dict[str, Any]:
    devices = [{"id": device, "address": f"{answers.network(number)}1{device}", "netmask": "255.0.0.0", "gateway": "10.255.255.254", "tls": False,
                "link": "up", "health": "ok", "mtu": 4096, "speed_mbit_s": 200000, "optical": {**OPTICAL, "temperature_c": 41.0 + device},
                "link_changes": {"ups": 2, "downs": 1, "records": []}, "errors": []} for device in range(DEVICES)]
    return {"changed": False, "product": "A2", "dialect": "910", "machine": f"{number:016x}", "devices": devices}


def measure_plan() -> str:
    return f"{timed(plan)['summary']['pairs']} pairs"


def measure_verdict() -> str:
    given = plan()
    measured = results(given)
    found = timed(verdict, given, measured)
    return f"named: {', '.join(component['name'] for component in found.components)}"


def measure_rank_table() -> str:
    nodes = {name: device_info(number) for number, name in enumerate(NAMES)}

    def make() -> str:
        assembly = assemble.assemble(nodes, assemble.HostAddresses, assemble.TableOptions(), expand)
        text: str = document.to_text(formats.build("hccl", model.one_group(assembly.servers, assembly.version)))
        assert checks.check_text(text, ["hccl"], "A2") == []
        return text

    return f"{timed(make).count('rank_id')} ranks"


def measure_conclusion() -> str:
    given = plan()
    judged = {"changed": False, "run_id": "r", **verdict(given, results(given)).as_dict(), "failed": False}
    probed = {name: device_info(number) for number, name in enumerate(NAMES)}

    def registered(host: str, name: str) -> Any:
        """Return what bring_up and check_fabric register on the hosts."""
        return judged if name == "check_fabric_verdict" else probed[host] if name in ("bring_up_devices", "check_fabric_probe") else None

    def make() -> Any:
        found = run.of_run(NAMES, registered)
        return conclusion.conclude(NAMES, found.classes, found.findings, "slow", found.ports)

    return str(screen.lines(timed(make))[:2])


def device_records(number: int) -> list[dict[str, Any]]:
    return [record("device", f"r/{NAMES[number]}/{device['id']}", source={"host": NAMES[number], "device": device["id"]}, samples=[device],
                   started_at="2026-11-27T00:00:00.000Z") for device in device_info(number)["devices"]]


def measure_changes() -> str:
    """Compare all NPUs with the run before, in which one of them had another MTU."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "2026/11/26/20261126T000000Z-before.jsonl")
        before.parent.mkdir(parents=True)
        found = {name: device_records(number) for number, name in enumerate(NAMES)}
        lines = [{"schema": "hccn.cluster/history/1", "run_id": "before", "started_at": "2026-11-26T00:00:00.000Z"},
                 *itertools.chain.from_iterable(found.values()),
                 {"end": True, "finished_at": "2026-11-26T00:01:00.000Z", "records": DEVICES * HOSTS, "hosts": {}}]
        before.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        found[NAMES[SLOW % HOSTS]][3]["samples"] = [{**device_info(SLOW % HOSTS)["devices"][3], "mtu": 1500}]
        changes = timed(lambda: since_last_run.changes(
            NAMES, lambda host, _name: {"measurements": found[host]}, [("bring_up", "bring_up_devices")], lambda _host: [], Path(folder),
            Path("this.jsonl.part")))
    (one,) = changes
    return f"{one.component.name}: {one.message}"


def measure_page() -> str:
    given = plan()
    measured = results(given)
    found = verdict(given, measured)
    records = [one for result in measured.values() for one in result["measurements"]]
    records += itertools.chain.from_iterable(map(device_records, range(HOSTS)))
    records += records_of(found, "r")
    records.append(plan_record("r", given, NAMES))
    file = reader.RunFile(Path("/h/20261127T000000Z-r.jsonl"), "r", "20261127T000000Z", part=False)
    whole = reader.Run(file, {"run_id": "r", "started_at": "2026-11-27T00:00:00.000Z"}, records, [], {"end": True, "finished_at": "2026-11-27T00:01:00.000Z"})
    size = len(timed(lambda: html.render(page_model.build(whole))).encode())
    assert size <= MOST_PAGE_BYTES, size
    return f"{size} bytes"


_TIME: dict[str, float] = {}


def timed(function: Callable[..., Any], *arguments: Any) -> Any:
    start = time.process_time()
    result = function(*arguments)
    _TIME["seconds"] = time.process_time() - start
    return result


def measured_part(part: str) -> tuple[float, int, str]:
    """Return CPU seconds, MiB and what was made. It runs in a process of its own."""
    text = globals()[f"measure_{part}"]()
    return _TIME["seconds"], round(peak_mib()), text


def reference() -> float:
    """Return the CPU seconds of ten million additions, by which machines can be compared."""
    start = time.process_time()
    total = 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - start


@pytest.mark.parametrize("part", BOUNDS)
def test_part_of_the_controller(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, mebibytes, text = pool.apply(measured_part, (part,))
    bound = BOUNDS[part]
    with capsys.disabled():
        print(f"\n{part}, {HOSTS} hosts x {DEVICES}: {seconds:.1f} CPU-s of at most {bound.seconds:g}, {mebibytes} MiB of at most {bound.mebibytes}; {text} "
              f"(ten million additions: {reference():.2f} CPU-s)")
    assert (seconds <= bound.seconds, mebibytes <= bound.mebibytes) == (True, True)
