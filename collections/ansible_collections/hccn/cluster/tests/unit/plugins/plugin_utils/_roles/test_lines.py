from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.filter import adopted_line, perf_tools_line

perf_tools = perf_tools_line.FilterModule().filters()["perf_tools_line"]
adopted = adopted_line.FilterModule().filters()["adopted_line"]


def tools(**versions):
    missing = [name for name, version in versions.items() if version is False]
    return {"tools": [{"name": name, "found": version is not False, "version": version or None} for name, version in versions.items()],
            "missing": missing, "packages": missing, "problems": [{"message": f"{name} is not installed", "hint": f"install {name}"} for name in missing]}


@pytest.mark.parametrize("found, foreseen, line", [
    (tools(perftest="6.24", rdma=None), False, "n1: perftest 6.24, rdma"),
    (tools(perftest=False, iperf3=False), False,
     "n1: none of the tools. Missing: perftest is not installed (install perftest); iperf3 is not installed (install iperf3)"),
    (tools(perftest="6.24", iperf3=False, rdma=False), True, "n1: perftest 6.24. Would be installed: iperf3, rdma"),
])
def test_the_tools_of_a_host(found, foreseen, line):
    assert perf_tools(found, "n1", foreseen) == line


INFO = {"devices": [{"id": 0}, {"id": 1}], "product": "A2"}
FILE = {"path": "/i/host_vars/n1.yml", "masked": [], "differs": False, "force": False, "written": True, "check_mode": False}
CONFIG = [{"id": 0, "settings": {"mtu": 4200, "arp": ["x"]}}, {"id": 1, "settings": {"mtu": 4200}}]


def found(*problems):
    return {"variables": {"bring_up_network": [{"id": 0}], "bring_up_config": CONFIG, "bring_up_tls_state": "disabled"}, "problems": list(problems)}


@pytest.mark.parametrize("file, outcome", [
    ({}, "written"),
    ({"check_mode": True}, "to be written"),
    ({"written": False}, "up to date"),
    ({"differs": True, "written": False}, "kept: the file exists with other content (adopt_force replaces it)"),
    ({"differs": True, "force": True, "check_mode": True}, "to be written"),
    ({"masked": ["/i/host_vars/n1.yaml"]},
     "not written: Ansible reads only one of /i/host_vars/n1.yaml and this file; move /i/host_vars/n1.yaml to /i/host_vars/n1/vars.yml first"),
])
def test_the_outcome_of_the_file(file, outcome):
    assert adopted(found(), "n1", INFO, {**FILE, **file}) == (
        f"n1: 2 NPUs (A2), addresses of 1, 3 other settings, TLS disabled, /i/host_vars/n1.yml {outcome}")


def test_the_first_problems_of_an_adopted_host():
    problems = [{"message": "the file has no newline at its end"}, *({"device": device, "message": "it differs"} for device in range(3))]
    line = adopted(found(*problems[:3]), "n1", {"devices": []}, FILE)
    assert line.startswith("n1: 0 NPUs (unknown product), ")
    assert line.endswith(" written. Problems (3): the file has no newline at its end; NPU 0: it differs; NPU 1: it differs")
    assert adopted(found(*problems), "n1", INFO, FILE).endswith(
        ". Problems (4): the file has no newline at its end; NPU 0: it differs; NPU 1: it differs; and 1 more")
