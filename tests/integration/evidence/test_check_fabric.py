"""check_fabric on NPUs whose ports have faults: each is named in the finding about the NPU, with its numbers and the switch port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, play
from tests.integration.evidence.history import codes, findings, piece
from tests.lib.hosts import set_state_after

SLOW = "slow_npu n2 NPU 0"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def cluster(*arguments: Any, **settings: Any) -> Cluster:
        made.append(Cluster(tmp_path / "cluster", *arguments, **settings))
        return made[-1]

    yield cluster
    for entry in made:
        entry.close()


def check(cluster: Cluster, folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    kept = {"ANSIBLE_CALLBACKS_ENABLED": "hccn.cluster.results", "HCCN_RESULTS_PATH": str(folder / "history")}
    play(cluster, folder, environment=kept, **options)
    return findings(folder / "history")


def port_calls(cluster: Cluster, name: str) -> dict[str, int]:
    """Return the number of calls of hccn_tool that read a port."""
    calls = [line.split()[2] for line in cluster.calls_file(name).read_text().splitlines() if len(line.split()) > 2]
    return {command: calls.count(command) for command in ("-optical", "-stat", "-link_stat", "-lldp")}


@pytest.mark.long
def test_healthy_hosts_have_no_finding_and_are_read_once(make: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make(4, 2)
    assert check(cluster, tmp_path) == {}
    assert [port_calls(cluster, name) for name in cluster.ports] == [{"-optical": 2, "-stat": 2, "-link_stat": 2, "-lldp": 0}] * 4


def test_ports_explain_a_slow_npu_and_only_it(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """n2 NPU 0 has dim optics, and its errors and link failures grow during the measurement. n4 NPU 1 is slow for another reason, n3 NPU 0 is only hot."""
    cluster = make(4, 2)
    cluster.set_state("n2", "*.optical_limits=1", "0.rate_mbit=20", "0.optical_rx_power=0.0123", "0.stat_fcs=3", "0.lldp_system=leaf-7",
                      "0.lldp_port=400GE1/2/5:1")
    cluster.set_state("n3", "*.optical_limits=1", "0.optical_temperature=91")
    cluster.set_state("n4", "*.optical_limits=1", "1.rate_mbit=20")
    set_state_after(Path(cluster.root("n2")), 1, "0.stat_fcs=17", "0.stat.mac_rx_pfc_pkt_num=400", "0.flaps=2", matching="hccn_tool -i 0 -roce_test reset")
    found = check(cluster, tmp_path, code=FAILED)
    assert list(found) == [SLOW, "slow_npu n4 NPU 1", "optics_out_of_range n3 NPU 0"]
    pieces = {code: [one for one in found[SLOW]["evidence"] if one["code"] == code] for code in codes(found[SLOW])}
    assert [one["values"] for one in pieces["rx_power_low"]] == [{"lane": lane, "value_mw": 0.0123, "limit_mw": 0.1445} for lane in range(4)]
    assert [one["values"] for one in pieces["counter_grew"]] == [
        {"counter": "mac_rx_fcs_err_pkt_num", "growth": 14, "before": 3, "after": 17},
        {"counter": "mac_rx_pfc_pkt_num", "growth": 400, "before": 0, "after": 400}]
    assert [one["message"] for one in pieces["link_flapped"]] == ["NPU 0 of n2: the link went down 2 times during the run"]
    assert [one["place"] for one in pieces["switch_port"]] == [{"host": "n2", "device": 0, "switch": "leaf-7", "port": "400GE1/2/5:1"}]
    assert set(codes(found["slow_npu n4 NPU 1"])) == {"pair", "switch_port", "versions"}
    hot = found["optics_out_of_range n3 NPU 0"]
    assert (hot["severity"], hot["message"]) == ("degraded", "its optical module is out of range: the optical module has 91.0 °C, its upper limit is 70.0 °C")
    read_again = {"-optical": 4, "-stat": 4, "-link_stat": 4, "-lldp": 2}
    once = {"-optical": 2, "-stat": 2, "-link_stat": 2, "-lldp": 0}
    assert {name: port_calls(cluster, name) for name in cluster.ports} == {"n1": once, "n2": read_again, "n3": once, "n4": read_again}


@pytest.mark.long  # on a busy machine, one of the few pairs fails and nothing is concluded about n2
def test_counters_that_grow_during_the_confirmation_run_are_evidence(make: Callable[..., Cluster], tmp_path: Path) -> None:
    """n1 and n2 are only measured with each other, so a confirmation run follows. The errors begin after the first reading of the suspects."""
    cluster = make(4, 1)
    cluster.set_state("n2", "0.rate_mbit=20")
    set_state_after(Path(cluster.root("n2")), 2, "0.stat_fcs=9", matching="-stat -g")
    found = check(cluster, tmp_path, code=FAILED, check_fabric_plan="pairs", check_fabric_pairs=[["n1", "n2"], ["n3", "n4"]])
    assert list(found) == [SLOW]
    assert piece(found[SLOW], "counter_grew")["values"] == {"counter": "mac_rx_fcs_err_pkt_num", "growth": 9, "before": 0, "after": 9}
    assert port_calls(cluster, "n2")["-stat"] == 3
