"""Measure what runs once on the controller for ten thousand hosts with eight NPUs each: plan, verdict, rank table, conclusion and page.

Each part runs in a process of its own, whose CPU seconds and largest memory are compared with bounds. The seconds are printed together with those of a fixed
piece of Python, since machines differ. ``make bench`` prints the table; HCCN_LARGEST sets another number of hosts.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HOSTS, DEVICES, LEAF = int(os.environ.get("HCCN_LARGEST", "10000")), 8, 32
SLOW = 4711
"""The host of which one NPU has half of the usual bandwidth."""


class Bound(NamedTuple):
    """The most CPU seconds, and the most memory of the process in MiB with the input of the part."""

    seconds: float
    mebibytes: int


BOUNDS = {"plan": Bound(10, 1024), "verdict": Bound(60, 2048), "rank_table": Bound(5, 1024), "conclusion": Bound(30, 2048), "page": Bound(60, 4096)}
MOST_PAGE_BYTES = 2_000_000


def names() -> list[str]:
    return [f"node{number:05d}" for number in range(HOSTS)]


def address(number: int, device: int) -> str:
    return f"10.{number // 250}.{number % 250}.{device + 1}"


def plan() -> dict[str, Any]:
    make_plan = _of("plugin_utils._plan.pair_plan").make_plan
    hosts = [{"host": name, "control_address": name, "control_port": 1, "leaf": {device: f"leaf{number // LEAF}-{device}" for device in range(DEVICES)},
              "devices": [{"id": device, "address": address(number, device)} for device in range(DEVICES)]} for number, name in enumerate(names())]
    found: dict[str, Any] = make_plan(hosts, "quick", compact=True)
    return found


def results(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the records of the plan by host, as rdma_perf_info returns them."""
    rounds_of = _of("plugin_utils._plan.plan_forms").rounds_of
    record = _of("module_utils._core.record").record
    slow = names()[SLOW % HOSTS]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names()}
    for pairs in rounds_of(given):
        for pair in pairs:
            source, target = pair["source"], pair["target"]
            is_slow = (slow, 3) in ((source["host"], source["device"]), (target["host"], target["device"]))
            value = (97.0 if is_slow else 195.0) + hash((source["host"], target["host"])) % 20 / 10
            found[source["host"]].append(record(
                "rdma", f"r/{pair['id']}/forward/0", tool={"name": "roce_test"}, operation="write", measure="bandwidth", source=source, target=target,
                options={"qps": 1, "iterations": 5000}, context={"product": "A2", "rail": source["device"], "line_rate_gbit_s": 200.0},
                samples=[{"size_bytes": 65536, "iterations": 5000, "bandwidth_gbit_s": value}], started_at="2026-11-27T00:00:00.000Z", duration_s=8.2))
    return {name: {"run_id": "r", "state": "finished", "measurements": records} for name, records in found.items()}


def verdict(given: Mapping[str, Any], measured: Mapping[str, Any]) -> Any:
    """Return the diagnosis. Its time includes the plan of the confirmation run."""
    diagnosis, confirmation = _of("plugin_utils._diagnose.diagnosis"), _of("plugin_utils._diagnose.confirmation_run")
    found = diagnosis.diagnose(names(), measured, None, 0.97, [], given, diagnosis.LINE_RATE_FLOOR, None)
    confirmation.plan_confirmation_run(given, found, measured)
    return found


def device_info(number: int) -> dict[str, Any]:
    devices = [{"id": device, "address": address(number, device), "netmask": "255.0.0.0", "gateway": "10.255.255.254", "tls": False, "link": "up",
                "health": "ok", "mtu": 4096, "speed_mbit_s": 200000, "optical": {"temperature_c": 41.0 + device}, "errors": []} for device in range(DEVICES)]
    return {"changed": False, "product": "A2", "dialect": "910", "machine": f"{number:016x}", "devices": devices}


def measure_plan() -> str:
    return f"{timed(plan)['summary']['pairs']} pairs"


def measure_verdict() -> str:
    given = plan()
    measured = results(given)
    found = timed(verdict, given, measured)
    return f"named: {', '.join(component['name'] for component in found.components)}"


def measure_rank_table() -> str:
    assemble, checks, document, formats, model = (_of(f"module_utils._rank_table.{name}") for name in ("assemble", "checks", "document", "formats", "model"))
    expand = _of("module_utils._device.host").expand
    nodes = {name: device_info(number) for number, name in enumerate(names())}

    def make() -> str:
        assembly = assemble.assemble(nodes, assemble.HostAddresses, assemble.TableOptions(), expand)
        text: str = document.to_text(formats.build("hccl", model.one_group(assembly.servers, assembly.version)))
        assert checks.check_text(text, ["hccl"], "A2") == []
        return text

    return f"{timed(make).count('rank_id')} ranks"


def registered(given: Mapping[str, Any], found: Any) -> Callable[[str, str], Any]:
    """Return the variables that bring_up and check_fabric register on the hosts."""
    number = {name: place for place, name in enumerate(names())}
    judged = {"changed": False, "run_id": "r", **found.as_dict(), "failed": False}
    return lambda host, name: {"bring_up_devices": device_info(number[host]), "check_fabric_probe": device_info(number[host]),
                               "check_fabric_verdict": judged}.get(name)


def measure_conclusion() -> str:
    run, conclusion, screen = (_of(f"plugin_utils._findings.{name}") for name in ("run", "conclusion", "screen"))
    given = plan()
    known = registered(given, verdict(given, results(given)))
    cached: dict[tuple[str, str], Any] = {(host, name): known(host, name) for host in names() for name in ("bring_up_devices", "check_fabric_probe",
                                                                                                             "check_fabric_verdict")}

    def make() -> Any:
        found = run.of_run(names(), lambda host, name: cached.get((host, name)))
        return conclusion.conclude(names(), found.classes, found.findings, "slow", found.ports)

    return str(screen.lines(timed(make))[:2])


def measure_page() -> str:
    pages, model, reader, record = (_of(name) for name in ("plugin_utils._report.html", "plugin_utils._report.model", "plugin_utils._history.reader",
                                                          "module_utils._core.record"))
    given = plan()
    measured = results(given)
    found = verdict(given, measured)
    records = [one for result in measured.values() for one in result["measurements"]]
    records += [record.record("device", f"r/{name}/{device['id']}", source={"host": name, "device": device["id"]}, samples=[device],
                              started_at="2026-11-27T00:00:00.000Z") for number, name in enumerate(names()) for device in device_info(number)["devices"]]
    records += _of("action.fabric_verdict").records_of(found, "r")
    records.append(_of("plugin_utils._plan.plan_record").plan_record("r", given, names()))
    file = reader.RunFile(Path("/h/20261127T000000Z-r.jsonl"), "r", "20261127T000000Z", part=False)
    run = reader.Run(file, {"run_id": "r", "started_at": "2026-11-27T00:00:00.000Z"}, records, [], {"end": True, "finished_at": "2026-11-27T00:01:00.000Z"})
    size = len(timed(lambda: pages.render(model.build(run))).encode())
    assert size <= MOST_PAGE_BYTES, size
    return f"{size} bytes"


def _of(name: str) -> Any:
    return importlib.import_module(f"ansible_collections.hccn.cluster.plugins.{name}")


_TIME: dict[str, float] = {}


def timed(function: Callable[..., Any], *arguments: Any) -> Any:
    start = time.process_time()
    result = function(*arguments)
    _TIME["seconds"] = time.process_time() - start
    return result


def measured_part(part: str) -> tuple[float, int, str]:
    """Return CPU seconds, MiB and what was made. It runs in a process of its own."""
    text = globals()[f"measure_{part}"]()
    return _TIME["seconds"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, text


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
