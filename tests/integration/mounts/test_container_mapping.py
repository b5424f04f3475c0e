"""The playbook container_mapping: on simulated hosts it reports, and writes the CDI spec; on hosts of the testbed it finds real mount namespaces with NPUs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import testbed
from tests.lab.testbed import Lab, Unavailable
from tests.lib.playbook import run_playbook
from tests.lib.project import ROOT, skip

RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)
SPEC = "hccn-cluster-hccn-conf.json"
INSTRUCTIONS = """New containers see the file with one of these:
  docker, podman, nerdctl: -v /etc/hccn.conf:/etc/hccn.conf:ro
  CDI, with the spec:      --device hccn.cluster/conf=hccn-conf
  Kubernetes, in the pod:  volumes: [{"name": "hccn-conf", "hostPath": {"path": "/etc/hccn.conf", "type": "File"}}]
  and in its containers:   volumeMounts: [{"name": "hccn-conf", "mountPath": "/etc/hccn.conf", "readOnly": true}]
"""


def play(inventory: Path, *arguments: str, **variables: object) -> tuple[int, str, dict[str, tuple[int, int, int]]]:
    """Return exit status, output and by host the numbers (changed, unreachable, failed), with the settings that AWX uses: it does not display ok hosts."""
    done = run_playbook("hccn.cluster.container_mapping", inventory, "-e", json.dumps(variables), *arguments, ANSIBLE_DISPLAY_OK_HOSTS="false")
    output = done.stdout + done.stderr
    return done.returncode, output, {host: (int(changed), int(lost), int(failed)) for host, changed, lost, failed in RECAP.findall(output)}


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """Two hosts with hccn.conf in a folder. They share the processes of this machine, which has no containers with NPUs."""
    for name in ("n1", "n2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "hccn.conf").write_text("address_0=10.78.1.10\n")
    folder = f"{tmp_path}/{{{{ inventory_hostname }}}}"
    (tmp_path / "hosts").write_text(
        f"[npu]\nn1\nn2\n[npu:vars]\nansible_connection=local\nansible_python_interpreter={sys.executable}\nhccn_conf={folder}/hccn.conf\n"
        f"container_mapping_cdi_dir={folder}/cdi\n")
    return tmp_path


def files(folder: Path) -> dict[str, tuple[str, int]]:
    """Return the files of the hosts with content and time of change."""
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns) for path in folder.glob("n*/**/*") if path.is_file()}


@pytest.mark.smoke("container_mapping")
def test_report_changes_nothing_and_present_writes_the_spec_once(hosts: Path) -> None:
    before = files(hosts)
    code, output, recap = play(hosts / "hosts")
    assert code == 0, output
    assert "Containers with NPUs: 0 on 2 hosts, 0 of them see the hccn.conf of their host\nCDI spec absent: 2 hosts (n1, n2)\n" in output
    assert f"  docker, podman, nerdctl: -v {hosts}/n1/hccn.conf:/etc/hccn.conf:ro\n" in output
    assert recap == dict.fromkeys(("localhost", "n1", "n2"), (0, 0, 0))
    assert (files(hosts), (hosts / "n1/cdi").exists()) == (before, False)

    code, output, recap = play(hosts / "hosts", "--check", "--diff", container_mapping_state="present")
    assert (code, recap["n1"], files(hosts)) == (0, (1, 0, 0), before), output
    assert "CDI spec to be written: 2 hosts (n1, n2)\n" in output
    foreseen = [line for line in output.splitlines() if re.match(r"[+-](?![+-])", line)]

    code, output, recap = play(hosts / "hosts", "--diff", container_mapping_state="present")
    assert (code, recap["n1"], recap["n2"]) == (0, (1, 0, 0), (1, 0, 0)), output
    assert "CDI spec written: 2 hosts (n1, n2)\n" in output
    written = files(hosts)
    assert sorted(written) == ["n1/cdi/" + SPEC, "n1/hccn.conf", "n2/cdi/" + SPEC, "n2/hccn.conf"]
    shown = [line for line in output.splitlines() if re.match(r"[+-](?![+-])", line)]
    lines = [f"+{line}" for name in ("n1", "n2") for line in written[f"{name}/cdi/{SPEC}"][0].splitlines()]
    assert sorted(shown) == sorted(foreseen) == sorted(lines)

    code, output, recap = play(hosts / "hosts", "--diff", container_mapping_state="present")
    assert (code, recap["n1"], recap["n2"], files(hosts)) == (0, (0, 0, 0), (0, 0, 0), written), output
    assert "CDI spec up to date: 2 hosts (n1, n2)\n" in output and "\n+" not in output


def test_spec_is_removed_and_not_written_for_a_missing_file(hosts: Path) -> None:
    (hosts / "n1/cdi").mkdir()
    (hosts / "n1/cdi" / SPEC).write_text("{}\n")
    (hosts / "n2/hccn.conf").unlink()
    code, output, recap = play(hosts / "hosts", container_mapping_state="present")
    assert (code, recap["n1"], recap["n2"]) == (2, (1, 0, 1), (0, 0, 1)), output
    assert "the CDI spec was not written, since containers with its device could not start" in output
    assert f"n2: {hosts}/n2/hccn.conf: {hosts}/n2/hccn.conf does not exist on the host: docker -v would create a folder of that name" in output
    assert ('"kind": "hccn.cluster/conf"' in (hosts / "n1/cdi" / SPEC).read_text(), (hosts / "n2/cdi").exists()) == (True, False)

    code, output, recap = play(hosts / "hosts", container_mapping_state="absent", hccn_fail_on="never")
    assert (code, recap["n1"], recap["n2"]) == (0, (1, 0, 0), (0, 0, 0)), output
    assert "CDI spec absent: 1 host (n2)\nCDI spec removed: 1 host (n1)\n" in output
    assert list((hosts / "n1/cdi").iterdir()) == []


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    try:
        with testbed.lab(2, npus=1) as up:
            for name in up.hosts:
                # A character device that can be opened in place of the NPU; those in the containers are the same.
                up.exec(name, ["sh", "-c", "rm /dev/davinci0 && ln -s /dev/null /dev/davinci0"], check=True)
                up.path(name, "/srv/container").mkdir()
                shutil.copy(ROOT / "tests/integration/mounts/container.py", up.path(name, "/srv/container"))
            yield up
    except Unavailable as reason:
        skip("testbed", str(reason))


def test_containers_of_hosts(lab: Lab) -> None:
    """On node1, the first container has mounted the file before it was replaced, the second one has it, the third one does not."""
    wishes = [{"mount": "/etc/hccn.conf", "read_only": True}, {"mount": "/etc/hccn.conf", "read_only": True}, {}]
    running: list[subprocess.Popen[str]] = []
    try:
        for number, wish in enumerate(wishes):
            if number == 1:
                lab.exec("node1", ["sh", "-c", "cp /etc/hccn.conf /etc/newer; echo mtu_0=4200 >>/etc/newer; mv /etc/newer /etc/hccn.conf"], check=True)
            lab.path("node1", f"/srv/container/{number}").mkdir()
            wanted = json.dumps({"root": f"/srv/container/{number}", "npus": ["davinci0"], "held": ["davinci0"], **wish})
            argv = [*lab.enter("node1"), "python3", "/srv/container/container.py", wanted]
            running.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            assert running[-1].stdout is not None
            said = running[-1].stdout.readline()
            if said != "ready\n":
                skip("mount-namespaces", said)
        code, output, recap = play(lab.inventory)
        assert (code, recap["node1"][0], recap["node2"][0]) == (2, 0, 0), output
        assert "Containers with NPUs: 3 on 2 hosts, 1 of them see the hccn.conf of their host\n" in output
        where = r"^node1: container mnt:\[\d+\] pid \d+ \(python3[^)]*\): "
        stale = re.findall(where + r"/etc/hccn.conf is an older file: .* -> restart the container", output, re.MULTILINE)
        missing = re.findall(where + r"/etc/hccn.conf does not exist: .* -> mount /etc/hccn.conf of the host", output, re.MULTILINE)
        assert (len(stale), len(missing), "\nnode2: container" in output) == (1, 1, False), output
        assert "CDI spec absent: 2 hosts (node1, node2)\n" + INSTRUCTIONS in output
        assert "2 problems with hccn.conf in containers, the first: node1: container mnt:[" in " ".join(output.split())
        code, output, recap = play(lab.inventory, "--check", "--diff", hccn_fail_on="never")
        assert (code, recap) == (0, dict.fromkeys(("localhost", "node1", "node2"), (0, 0, 0))), output
        assert "CDI spec absent: 2 hosts (node1, node2)\n" + INSTRUCTIONS in output
    finally:
        for child in running:
            child.kill()
            child.wait()
        for pid in [pid for pid, argv in lab.processes("node1").items() if "/srv/container/container.py" in argv]:
            os.kill(pid, 9)
