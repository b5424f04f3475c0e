"""Pages of simulated clusters with a slow sender, a failed, a lost and an excluded host and a slow path, with or without earlier runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import finding as made
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.conclusion import conclude
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.evidence import evidence
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import baseline, nights, query
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.reader import Run, RunFile
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.summary import summarise
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_record import plan_record
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import html, model

SCHEMA = "hccn.cluster/measurement/1"
SLOW, OF_A_LEAF = 16, 8
"""Index of the slow sender, and number of hosts per leaf. The path from leaf 1 to leaf 3 is slow."""


def hosts(count: int) -> list[str]:
    return [f"npu-node-{number:03d}" for number in range(1, count + 1)]


def dead(count: int) -> int:
    """Return the index of the host with which every pair fails."""
    return count - 5


def lost(count: int) -> int:
    """Return the index of the host that Ansible lost."""
    return count - 3


def rows(count: int, devices: int, seed: int, is_broken: bool = True) -> list[dict[str, Any]]:
    noise = random.Random(seed)  # noqa: S311
    names = hosts(count)
    found = []
    silent = (dead(count), lost(count), count - 9)
    for place, name in enumerate(names):
        for device in range(devices):
            values: list[float | None] = []
            for other in range(count):
                value = noise.gauss(195.6, 1.2) * (0.26 if is_broken and place == SLOW and device == 0 else 1)
                value *= 0.8 if is_broken and (place // OF_A_LEAF, other // OF_A_LEAF) == (1, 3) else 1
                out = {place, *((dead(count), lost(count)) if is_broken else ())}
                values.append(None if other in out or is_broken and place in (count - 9, lost(count)) else float(f"{value:.4g}"))
            found.append({
                "schema": SCHEMA, "id": f"r/{name}/{device}", "kind": "matrix", "status": "ok", "operation": "write", "measure": "bandwidth",
                "tool": {"name": "ib_write_bw", "version": "6.29"}, "source": {"host": name, "device": device}, "hosts": names,
                "context": {"line_rate_gbit_s": 200, "leaf": f"leaf{place // OF_A_LEAF}", "product": "A3"},
                "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": values}],
                "failed": {"retry_exceeded": [dead(count)] if is_broken and place not in silent else []},
                "started_at": f"2026-11-20T10:{16 + place % 8:02}:{place % 50 + 5:02}Z",
            })
    return found


def plan(count: int, devices: int) -> dict[str, Any]:
    """Return the record of a plan of all pairs of the hosts that are not excluded."""
    given = [{"host": name, "control_address": name, "control_port": 18514, "leaf": f"leaf{place // OF_A_LEAF}", "super_pod": place // 64,
              "devices": [{"id": device, "address": f"10.{device}.{place // 250}.{place % 250 + 1}"} for device in range(devices)]}
             for place, name in enumerate(hosts(count)) if place != count - 9]
    busy = [{"host": hosts(count)[-9], "device": device, "code": "device_busy", "message": "it is at work, pid 4711"} for device in range(devices)]
    return plan_record("r", make_plan(given, "full", compact=True), hosts(count), busy,
                       ["full: every pair, about 9 minutes", "Can detect slow components: node, device"])


def beside(count: int) -> list[dict[str, Any]]:
    """Return verdicts, devices, a collective and a latency."""
    names = hosts(count)
    classes = {SLOW: "slow", dead(count): "failed", count - 9: "not_measured", lost(count): "unreachable"}
    found: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        state = classes.get(place, "good")
        message = {"slow": "NPU 0 is slow with 3 of 3 proven-good partners: npu-node-001, npu-node-002, npu-node-009, 74 % below normal",
                   "failed": "NPU 0 failed with all of its partners",
                   "unreachable": "Ansible did not reach the host: Connection timed out"}.get(state, "")
        evidence = [f"{name} NPU 0 to {names[0]} NPU 0: 50.2 Gbit/s, normal is 195.9"] if state == "slow" else []
        found.append({"schema": SCHEMA, "id": f"v/{name}", "kind": "verdict", "status": "ok" if state == "good" else "failed", "source": {"host": name},
                      "started_at": "2026-11-20T11:10:00Z",
                      "samples": [{"class": state, "message": message, "evidence": evidence}]})
        for device in range(2 if state != "unreachable" else 0):
            odd = place == SLOW and device == 0
            found.append({
                "schema": SCHEMA, "id": f"d/{name}/{device}", "kind": "device", "status": "ok", "tool": {"name": "hccn_tool"},
                "source": {"host": name, "device": device, "address": f"10.78.{place % 250}.1{device}"}, "context": {"product": "A3"},
                "started_at": f"2026-11-20T10:15:{31 + place % 20:02}Z", "duration_s": 14.0,
                "samples": [{"lldp": {"system_name": f"leaf{place // OF_A_LEAF}", "port": f"400GE1/0/{place % OF_A_LEAF + 1}:{device + 1}"},
                             "link": "down" if place == dead(count) else "up", "health": "success", "tls": place == 3,
                             "optical": {"present": True, "temperature_c": 41.0, "rx_power0_mw": 0.3 if odd else 0.9},
                             "counters": {"roce_new_pkt_rty_num": 812 if odd else 0}}]})
    found.append({"schema": SCHEMA, "id": "v/fabric/1", "kind": "verdict", "status": "failed", "samples": [
        {"kind": "path", "name": "path leaf1-leaf3", "class": "slow", "certain": True, "message": "64 of its pairs are slow, 20 % below normal",
         "evidence": ["npu-node-009 NPU 0 to npu-node-025 NPU 0: 155.9 Gbit/s, normal is 195.1"]}]})
    steps = [{"size_bytes": 8192 * 4**step, "time_us": 30 * 1.7**step, "algbw_gbyte_s": 0.3 * 2.3**step, "busbw_gbyte_s": 0.5 * 2.3**step,
              "check": "success"} for step in range(7)]
    found.append({"schema": SCHEMA, "id": "c", "kind": "collective", "status": "ok", "operation": "all_reduce", "tool": {"name": "all_reduce_test"},
                  "hosts": names[:16], "ranks": 128, "samples": steps})
    found.append({"schema": SCHEMA, "id": "l", "kind": "rdma", "status": "ok", "operation": "send", "measure": "latency",
                  "source": {"host": names[0], "device": 0}, "target": {"host": names[1], "device": 0},
                  "samples": [{"size_bytes": 2, "latency_us": {"typical": 2.01, "avg": 2.1, "p99": 3.4}}]})
    return found


def conclusion(count: int) -> list[dict[str, Any]]:
    """Return findings of all severities, some of many hosts, and the conclusion."""
    names = hosts(count)
    slow, failed, out, gone = names[SLOW], names[dead(count)], names[count - 9], names[lost(count)]
    found = [
        made.finding("link_down", made.of_npus([(failed, 0)]), "the link is down", devices=[(failed, 0)],
                     next_step=f"On {failed}: hccn_tool -i 0 -optical -g",
                     evidence=[f"On {failed}: hccn_tool -i 0 -link -g says link status: DOWN", f"{failed} NPU 0 to {names[0]} NPU 0: failed"]),
        made.finding("slow_npu", made.of_npus([(slow, 0)]),
                     "it is slow with 3 of 3 proven-good partners: npu-node-001, npu-node-002, npu-node-009, 74 % below normal",
                     devices=[(slow, 0)],
                     next_step=f"On {slow}: hccn_tool -i 0 -optical -g",
                     evidence=[f"{slow} NPU 0 to {names[0]} NPU 0: 50.2 Gbit/s, normal is 195.9",
                               evidence("rx_power_low", host=slow, device=0, lane=2, value_mw=0.08, limit_mw=0.5),
                               evidence("counter_grew", host=slow, device=0, counter="mac_rx_fcs_err_pkt_num", growth=812, before=3, after=815),
                               evidence("switch_port", host=slow, device=0, switch="leaf2", port="400GE1/0/1:1")]),
        made.finding("unreachable_host", made.of_host(gone), "Ansible did not reach it: Connection timed out", hosts=[gone]),
        made.finding("slow_fabric", made.Component("path", "path leaf1-leaf3"), "64 of its pairs are slow, 20 % below normal", hosts=names[8:16],
                     next_step="Compare the ports, PFC, ECN and MTU of the switches on it with those of another one"),
        made.finding("busy_host", made.of_host(out), "NPUs 0-1 are at work, pid 4711", hosts=[out],
                     next_step=f"ansible-playbook hccn.cluster.check_fabric -e hccn_hosts={out}"),
        made.finding("collective_skipped", made.Component("cluster", "cluster"), "a host is busy", next_step=""),
        *(made.finding("mtu_differs", made.of_host(name), "its MTU is 1500, that of most hosts 4096", hosts=[name],
                       next_step=f"ansible-playbook hccn.cluster.bring_up --check --diff -e hccn_hosts={name}") for name in names[24:48])]
    return conclude(names, {slow: "slow", failed: "failed", out: "busy", gone: "unreachable"}, found).as_records()


def run(records: list[dict[str, Any]], night: int = 20) -> Run:
    stamp = f"202611{night:02}T101530Z"
    header = {"schema": "hccn.cluster/history/1", "run_id": f"awx-12{night:02}", "started_at": f"2026-11-{night:02}T10:15:30.000Z",
              "playbook": "check_fabric.yml", "controller": "c1", "ansible_core": "2.19.14", "collection": "1.0.0", "check_mode": False}
    end = {"end": True, "finished_at": f"2026-11-{night:02}T11:17:33.400Z", "records": len(records), "hosts": {}}
    return Run(RunFile(Path(f"/h/{stamp}-awx-12{night:02}.jsonl"), header["run_id"], stamp, part=False), header, records, [
        {"event": "failed", "host": "npu-node-004", "task": "Measure", "message": "it broke", "at": "2026-11-20T10:15:30.000Z", "ignored": True},
        {"event": "unreachable", "host": hosts(64)[lost(64)], "task": "Start", "message": "Connection timed out", "at": "2026-11-20T10:24:00.000Z"}], end)


def comparison(now: Run) -> query.BaselineComparison:
    """Compare ``now`` with six earlier nights of a smaller cluster with the same host names, whose faults began two nights before."""
    earlier = [summarise(run([*rows(18, 2, night, night > FIRST_BAD), *beside(18)], night)) for night in range(19, 13, -1)]
    known = baseline.compute_baselines(earlier)
    summary = summarise(now)
    return query.BaselineComparison(summary, earlier, known, baseline.find_regressions(summary, earlier, known))


FIRST_BAD = 17
"""The last good night. The NPU is slow since the night after it."""


def earlier_nights(count: int) -> list[nights.Night]:
    """Return the conclusions of the nights before, newest first: the slow NPU since FIRST_BAD, another host was slow for one night."""
    names, found = hosts(count), []
    for night in range(19, 9, -1):
        slow = [names[SLOW]] if night > FIRST_BAD else [names[5]] if night == 14 else []
        listed = [made.finding("slow_npu", made.of_npus([(name, 0)]), "it is slow", devices=[(name, 0)]) for name in slow]
        concluded = nights.of_records(f"awx-12{night}", f"202611{night}T101530Z", conclude(names, {}, listed).as_records())
        found += [concluded] if concluded else []
    return found


def page(count: int, devices: int = 1, with_history: bool = False, concluded: bool = False) -> model.Page:
    shown = run([plan(count, devices), *rows(count, devices, 1), *beside(count), *(conclusion(count) if concluded else [])])
    return model.build(shown, "Fabric of cluster A", comparison=comparison(shown) if with_history else None,
                       nights=earlier_nights(count) if with_history else ())


def good_page(count: int) -> model.Page:
    """Return the page of a run without findings."""
    names = hosts(count)
    return model.build(run([*rows(count, 1, 1, is_broken=False), *conclude(names, {}, []).as_records()]), "Fabric of cluster A")


def write(path: Path, shown: model.Page, language: str = "en") -> Path:
    path.write_text(html.render(shown, language), encoding="utf-8")
    return path
