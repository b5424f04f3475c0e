"""device_state on a simulated host: the same results and the same host as the four modules that it replaces in bring_up, in one call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lib.hosts import node, set_state, tools
from tests.lib.module import call_module

ADDRESS = {"id": 0, "address": "10.79.1.5", "netmask": "255.255.255.0", "gateway": "10.79.1.1"}
CONF = """address_0=10.78.1.10
netmask_0=255.255.255.0
gateway_0=10.79.1.1
tls_enable_0=0
"""
SET = """address_0=10.79.1.5
netmask_0=255.255.255.0
gateway_0=10.79.1.1
send_arp_status_0=1
tls_enable_0=0
"""
TOPICS = ["address", "gateway", "tls", "link"]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu1", "--address-template", "10.78.1.1{device}", "--netmask", "255.255.255.0", devices=1)
    (root / "etc/hccn.conf").write_text(CONF)
    return root


def conf(host: Path) -> str:
    return (host / "etc/hccn.conf").read_text()


def files(host: Path) -> list[str]:
    return sorted(path.name for path in (host / "etc").iterdir())


def bring(host: Path, check: bool = False, diff: bool = False, **options: Any) -> dict[str, Any]:
    return call_module("device_state", {**tools(host), "gather": TOPICS, **options}, check=check, diff=diff)


def test_everything_is_set_verified_and_read_in_one_call(host: Path) -> None:
    """The gateway of the file lies outside the network of the present address: an error that the new address solves."""
    options = {"settings": {"send_arp_status": 1}, "network": [ADDRESS], "keep_previous": True, "complete": True}
    predicted = bring(host, check=True, diff=True, **options)
    assert (predicted["changed"], conf(host), files(host)) == (True, CONF, ["hccn.conf"])
    assert [one["after_header"] for one in predicted["diff"]] == [str(host / "etc/hccn.conf"), "device 0"]
    assert predicted["devices"][0]["address"] == "10.78.1.10"
    done = bring(host, **options)
    assert (done["changed"], done["hccn_conf"]["problems"], sorted(conf(host).splitlines())) == (True, [], sorted(SET.splitlines()))
    assert done["hccn_conf"]["previous"] == CONF
    assert [done["devices"][0][key] for key in ("address", "gateway", "link", "errors")] == ["10.79.1.5", "10.79.1.1", "up", []]
    assert [entry["source"] for entry in done["measurements"]] == [{"device": 0, "address": "10.79.1.5"}]
    assert files(host) == ["hccn.conf", "hccn.conf.restore.json"]
    again = bring(host, **options)
    assert (again["changed"], again["network"]["commands"], again["hccn_conf"]["changed"]) == (False, [], False)


def test_change_stays_marked_until_it_is_complete(host: Path) -> None:
    first = bring(host, settings={"send_arp_status": 1}, network=[ADDRESS], keep_previous=True)
    assert (first["hccn_conf"]["saved"]["unfinished"], files(host)) == (True, ["hccn.conf", "hccn.conf.restore.json", "hccn.conf.restore.unfinished"])
    bring(host, settings={}, keep_previous=True, complete=True)
    assert files(host) == ["hccn.conf", "hccn.conf.restore.json"]


def test_file_is_saved_before_a_query_writes_the_tls_flag(host: Path) -> None:
    before = CONF.replace("tls_enable_0=0\n", "")
    (host / "etc/hccn.conf").write_text(before)
    found = bring(host, settings={}, keep_previous=True)
    assert (found["changed"], conf(host), found["side_effects"][0]["key"]) == (False, CONF, "tls_enable_0")
    assert json.loads((host / "etc/hccn.conf.restore.json").read_text())["hccn_conf"] == before


def test_marker_that_cannot_be_removed_fails_the_call_but_keeps_its_results(host: Path) -> None:
    marker = host / "etc/hccn.conf.restore.unfinished"
    marker.mkdir()
    found = bring(host, settings={"send_arp_status": 1}, complete=True)
    assert (found["failed"], found["changed"], found["devices"], found["error"]["code"]) == (True, True, [], "not_completed")
    assert found["msg"].startswith(f"{marker}, which marks an unfinished change, cannot be removed: ")


def test_without_options_the_npus_are_read(host: Path) -> None:
    found = bring(host)
    assert {"hccn_conf", "network", "tls"} & set(found) == set()
    assert (found["changed"], found["devices"]) == (False, call_module("device_info", {**tools(host), "gather": TOPICS})["devices"])


def test_bad_file_ends_the_call_before_the_addresses_are_set(host: Path) -> None:
    text = "address_0=10.78.1.10netmask_0=255.255.255.0\nnetmask_0=255.255.255.0\n"
    (host / "etc/hccn.conf").write_text(text)
    found = bring(host, settings={}, network=[{"id": 0, "mtu": 4200}])
    assert (found["failed"], found["devices"], "network" in found, conf(host)) == (True, [], False, text)
    assert found["msg"].startswith(f"{host}/etc/hccn.conf has 1 problem(s) left, the first: line 1, netmask_0 is joined to the value of address_0")


def test_busy_npu_is_not_changed(host: Path) -> None:
    set_state(host, "0.process=4711:python3:100")
    found = bring(host, settings={}, network=[ADDRESS])
    assert (found["failed"], found["msg"], found["devices"]) == (True, "1 of 1 devices failed: NPU 0: device 0 is busy: pid 4711 (python3) "
                                                                 "(wait for the job to end, or set allow_busy: true)", [])
    assert conf(host) == CONF


def test_invalid_network_is_refused_before_anything_is_run(host: Path) -> None:
    found = bring(host, settings={"send_arp_status": 1}, network=[{"id": 0, "mtu": "many"}])
    assert (found["failed"], found["error"]["code"], conf(host)) == (True, "invalid_input", CONF)
    assert found["msg"].startswith("network: ") and "mtu" in found["msg"], found["msg"]


@pytest.mark.parametrize("state, changed", [("disabled", False), ("enabled", True)])
def test_tls_is_predicted(host: Path, state: str, changed: bool) -> None:
    found = bring(host, diff=True, tls_state=state, gather=[])
    assert (found["changed"], found["diff"]) == (False, [])
    tls = found["tls"]
    assert (tls["state"], [one["changed"] for one in tls["devices"]], "msg" in tls) == (state, [changed], False)


def test_prediction_of_tls_writes_nothing(host: Path) -> None:
    """The query of TLS would write the missing key."""
    (host / "etc/hccn.conf").write_text("")
    assert bring(host, tls_state="enabled", gather=[])["tls"]["devices"][0]["changed"] is True
    assert conf(host) == ""


def test_tls_that_cannot_be_set_is_a_result(host: Path) -> None:
    set_state(host, "0.tls_nocert=1")
    found = bring(host, tls_state="enabled", gather=[])
    assert ("failed" in found, found["tls"]["msg"].startswith("1 of 1 devices failed: NPU 0: tls: No certificate found")) == (False, True)
