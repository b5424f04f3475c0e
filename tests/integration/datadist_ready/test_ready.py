"""The playbook datadist_ready on hosts of the testbed: a TLS mismatch, a stale mount, a link that is down, 513 links of an NPU, and a port in use."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._datadist import check

from tests.lab import testbed
from tests.lib.hosts import node, tools
from tests.lib.playbook import run_playbook
from tests.lib.project import COLLECTION, skip

NPUS = 2
PREFILL, DECODE = ("node1", "node2"), "node3"

# A minimal container: a separate root with one NPU and an old hccn.conf. Its parent exits at once, so it runs until the host ends.
CONTAINER = """\
mkdir /run/c && mount -t tmpfs none /run/c && cd /run/c && mkdir usr dev etc && mount --rbind /usr usr && ln -s usr/lib usr/lib64 .
touch dev/davinci0 && mount --bind /dev/davinci0 dev/davinci0 && echo address_0=192.0.2.99 > etc/hccn.conf
exec setsid chroot /run/c /usr/bin/sleep 300 < /dev/null > /dev/null 2>&1 &
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[testbed.Lab]:
    try:
        with testbed.lab(3, product="A3", npus=NPUS, variables={"ansible_ssh_timeout": 5}) as made:
            yield made
    except testbed.Unavailable as reason:
        skip("testbed", str(reason))


def clusters(count: int) -> list[dict[str, Any]]:
    """Return one decode cluster on NPU 0 of node3 and this number of prefill clusters on all NPUs of the other hosts."""
    found = [{"cluster": 1000, "role": "decode", "host": DECODE, "device": 0, "ip_infos": [{"ip": "10.77.0.3", "port": 26000}]}]
    for number in range(count):
        place, device = number % 2, number // 2 % NPUS
        found.append({"cluster": number, "role": "prefill", "host": PREFILL[place], "device": device,
                      "ip_infos": [{"ip": f"10.77.0.{place + 1}", "port": 30000 + number}]})
    return found


def play(lab: testbed.Lab, folder: Path, **variables: Any) -> tuple[int, str]:
    (folder / "vars.json").write_text(json.dumps({"hccn_hosts": "all", "datadist_ready_timeout_ms": 2000, **variables}))
    done = run_playbook("hccn.cluster.datadist_ready", lab.inventory, "-e", f"@{folder}/vars.json")
    return done.returncode, done.stdout + done.stderr


def failure_lines(output: str) -> list[str]:
    """Return the message with which the play failed."""
    return json.loads(output.split("FAILED! => ")[1].split("\n\nPLAY RECAP")[0])["msg"]


@pytest.mark.smoke("datadist_ready")
def test_four_problems_are_reported(lab: testbed.Lab, tmp_path: Path) -> None:
    code, output = play(lab, tmp_path, datadist_ready_clusters=clusters(16))
    assert code == 0, output
    assert "LLM-DataDist: 16 links of 17 clusters on 5 NPUs, 0 problems" in output

    lab.set_state("node1", "1.tls=1")
    lab.fault("node2", npu=1, link_down=True)
    lab.exec("node1", ["unshare", "-m", "sh", "-ec", CONTAINER], check=True)
    code, output = play(lab, tmp_path, datadist_ready_clusters=clusters(513))
    assert code != 0
    summary, *found = failure_lines(output)
    assert summary == "LLM-DataDist: 513 links of 514 clusters on 5 NPUs, 4 problems"
    expected = [
        ("error: node1 NPU 0: a container with NPU 0 of node1 does not see the host's /etc/hccn.conf: its content differs, ",
         "mount /etc/hccn.conf of the host read-only at /etc/hccn.conf in the container and restart it"),
        ("error: node1 NPU 1: TLS is on on NPU 1 of node1 and off on the 4 others: they cannot link. ",
         "make it equal on all, with hccn.cluster.tls (tls_state: disabled to follow the others)"),
        ("error: node2 NPU 1: the link of NPU 1 of node2 is down. ", "repair the link, or remove the NPU from the plan."),
        ("error: node3 NPU 0: 513 links are planned on NPU 0 of node3: the limit is 512 (LLM_PARAM_INVALID, Link num is over limit). ",
         "plan fewer links, spread")]
    assert [line for line, (start, remedy) in zip(sorted(found), expected, strict=True) if not line.startswith(start) or remedy not in line] == []


def test_hccn_conf_is_checked_if_the_inventory_names_it(tmp_path: Path) -> None:
    host = {**tools(node(tmp_path / "p1", "--product", "A3", devices=2)), "ansible_connection": "local"}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": {"p1": host}}}))
    planned = [{"cluster": device, "role": role, "host": "p1", "device": device, "ip_infos": [{"ip": "127.0.0.1", "port": 36000 + device}]}
               for device, role in enumerate(("prefill", "decode"))]
    variables = {"hccn_hosts": "all", "datadist_ready_clusters": planned, "datadist_ready_timeout_ms": 2000, "hccn_fail_on": "never"}
    done = run_playbook("hccn.cluster.datadist_ready", tmp_path / "hosts.json", "-v", "-e", json.dumps(variables))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LLM-DataDist: 1 links of 2 clusters on 2 NPUs" in done.stdout
    assert f'"{host["hccn_conf"]}:/etc/hccn.conf:ro"' in done.stdout


def test_probe_makes_the_planned_links(tmp_path: Path) -> None:
    """Checks the variables of the role; test_link.py checks the links."""
    declared = [{"cluster": 1000, "remotes": [2, 0], "timeout_ms": 300}, {"cluster": 1000, "remotes": [1]}, {"cluster": 7, "remotes": [1]}]
    expected = {"none.json": ([], [[[0, 1, 2], 700]]), "declared.json": (declared, [[[0, 2], 300], [[1], 1000]])}
    plays = [{"hosts": "all", "gather_facts": False, "vars_files": [str(COLLECTION / "roles/datadist_ready/vars/main.yml")],
              "vars": {"datadist_ready_clusters": clusters(3), "datadist_ready_calls": calls, "datadist_ready_timeout_ms": 700},
              "tasks": [{"ansible.builtin.copy": {"content": "{{ __datadist_ready_own_calls | to_json }}", "dest": str(tmp_path / name)}}]}
             for name, (calls, _linked) in expected.items()]
    (tmp_path / "play.yml").write_text(json.dumps(plays))
    run_playbook(tmp_path / "play.yml", f"{DECODE},", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}").check_returncode()
    for name, (_calls, linked) in expected.items():
        found = json.loads((tmp_path / name).read_text())
        assert [[[remote["cluster"] for remote in call["remotes"]], call["timeout_ms"]] for call in found] == linked, name
        assert {call["own"]["cluster"] for call in found} == {1000}


def test_ports_of_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert check.port_state("127.0.0.1", port) == "used"
    assert check.port_state("127.0.0.1", port) == "free"
    assert check.port_state("192.0.2.1", port) == "no_address"
