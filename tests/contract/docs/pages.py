"""Follow the pages of docs/ like a reader: write their files, run their commands and compare the output.

A ``console`` block has commands after ``$``, each followed by lines that its output must contain. The class of a block marks exceptions: ``fails`` (the last
command fails), ``npu`` (it touches a real NPU; here a simulated one) or ``not-run`` (the command is in NOT_RUN). Every other block with a caption is the file
of that name.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.lib.project import ROOT

DOCS = ROOT / "docs"
DEADLINE = 300
BLOCK = re.compile(r"^\.\. code-block:: (?P<language>\w+)\n(?P<options>(?: {3}:[^\n]*\n)*)\n(?P<text>(?:(?: {3}[^\n]*)?\n)+)", re.MULTILINE)
OPTION = re.compile(r"^ {3}:(\w+): *(.*)$", re.MULTILINE)

AWX = "it needs an AWX; tests/integration/awx runs the playbook over a stand-in"
CARDS = "it needs RDMA cards; tests/integration/check_fabric/test_perftest.py runs the role on a made-up card"
CLUSTERD = "it needs a ClusterD; tests/integration/clusterd runs the playbook over a stand-in"
DEMO = "it needs the installation that the page shows before; make demo runs the playbook"
GIT = "it needs the published repository; tests/contract/test_project_collection.py runs the same commands with a clone"
PODS = "it needs a Kubernetes cluster; tests/integration/kubernetes_jobs/test_runners.py"
GALAXY = "it needs a release on Galaxy; tests/contract/docs/long_tutorial.py installs the tarball"
NOT_RUN = {
    "python3 -m venv venv && . venv/bin/activate": GALAXY,
    "pip install ansible-core netaddr": GALAXY,
    "ansible-galaxy collection install hccn.cluster": GALAXY,
    "ansible-galaxy collection install hccn.cluster --upgrade": GALAXY,
    "git clone https://github.com/hccn-cluster/hccn.cluster.git && cd hccn.cluster": DEMO,
    "make demo": DEMO,
    "ansible-galaxy collection install git+https://github.com/hccn-cluster/hccn.cluster.git": GIT,
    "ansible-galaxy collection install git+https://github.com/hccn-cluster/hccn.cluster.git#/collections/ansible_collections/hccn/cluster,v1.0.0": GIT,
    "ansible-galaxy collection install --no-deps git+https://git.example/npu/hccn.git,v1.0.0 "
    "git+https://git.example/npu/hccn.git#/collections/ansible_collections/hccn/cluster,v1.0.0": GIT,
    "export HCCN_DEMO_FOLDER=$PWD/nodes HCCN_RESULTS_PATH=$PWD/history ANSIBLE_CALLBACKS_ENABLED=hccn.cluster.results": DEMO,
    "ansible-playbook -i ~/.ansible/collections/ansible_collections/hccn/project/inventories/demo/hosts hccn.project.demo": DEMO,
    "ansible-builder create --file execution-environment.yml --context build/execution-environment": "make lint runs it",
    "ansible-builder create --file execution-environment-kubernetes.yml --context build/execution-environment-kubernetes": "make lint runs it",
    "export CONTROLLER_HOST=https://awx.example CONTROLLER_OAUTH_TOKEN=...": AWX,
    "ansible-playbook -i inventories/site/hosts playbooks/awx.yml -e @awx.yml": AWX,
    "ansible-playbook -i inventories/site/hosts hccn.cluster.awx -e @awx.yml -e awx_state=data -e awx_data_path=controller.yml":
        "its settings name a git server; tests/integration/awx writes the file with others",
    "ansible-playbook infra.aap_configuration.configure_aap -e @controller.yml": "the collection cannot be reached, and it needs an AWX",
    "ansible-playbook hccn.cluster.check_fabric_pods -e @pods.yml -e check_fabric_plan_only=true": PODS,
    "ansible-playbook hccn.cluster.check_fabric_pods -e @pods.yml": PODS,
    "ansible gpu -m hccn.cluster.rdma_info -a 'rdma_device=mlx5_0 rdma_port=2'": CARDS,
    "ansible-playbook -i inventory hccn.cluster.check_fabric -e hccn_hosts=gpu -e @cards.yml": CARDS,
    "ansible-playbook -i inventory hccn.cluster.datadist_ready -e @datadist.yml":
        "it needs small hosts; tests/integration/datadist_ready runs the playbook on them",
    "ansible-playbook -i inventory hccn.cluster.nic_switch --check -e @switch.yml": CLUSTERD,
    "ansible-playbook -i inventory hccn.cluster.nic_switch -e @switch.yml -e nic_switch_confirm=true": CLUSTERD,
    "ansible-playbook -i inventory hccn.cluster.switch_upgrade --check -e @leaf-1.yml": CLUSTERD,
    "ansible-playbook -i inventory hccn.cluster.switch_upgrade -e @leaf-1.yml -e switch_upgrade_confirm=true": CLUSTERD,
    "ansible-playbook hccn.cluster.container_mapping -e container_mapping_state=present": "it writes /etc/cdi; tests/integration/mounts writes another folder",
    **dict.fromkeys((
        "docker run -d --name prefill --device /dev/davinci0 -v /etc/hccn.conf:/etc/hccn.conf:ro registry.example/mindie:1",
        "docker run -d --name prefill --device /dev/davinci0 --device hccn.cluster/conf=hccn-conf registry.example/mindie:1",
        "ctr run -d --device hccn.cluster/conf=hccn-conf registry.example/mindie:1 prefill"), "it needs a container engine and NPUs"),
    "ansible-playbook -i inventory hccn.cluster.quarantine -e quarantine_host=npu3 -e quarantine_enabled=true -e quarantine_provider=slurm "
    "-e quarantine_state=in": "it needs Slurm; tests/integration/eda/test_quarantine_providers.py runs the playbook over a stand-in",
    "ansible-playbook -i inventory hccn.cluster.quarantine -e quarantine_host=npu3 -e quarantine_enabled=true -e quarantine_provider=kubernetes":
        "it needs a Kubernetes cluster; tests/integration/eda/test_quarantine_providers.py runs the playbook over a stand-in",
    "kubectl create -f job.yml": "it needs a Kubernetes cluster with Volcano",
    "ansible localhost -m hccn.cluster.report -a 'history=history format=baseline path=baseline.yml'":
        "it needs five comparable runs in the history; tests/integration/history/test_info.py writes a baseline",
    **dict.fromkeys((
        "ansible-playbook hccn.cluster.check_fabric -e hccn_hosts=pod1 -e check_fabric_plan=leaves",
        "ansible-playbook hccn.cluster.check_fabric -e hccn_hosts=npu -e check_fabric_plan=quick",
        "ansible-playbook hccn.cluster.conclude_slices -e hccn_hosts=npu -e conclude_slices_of=check_fabric"),
        "they need several pods; tests/integration/conclude/test_fabric_parts.py runs the playbooks on small ones"),
    """ansible-playbook hccn.cluster.check_fabric -e '{"check_fabric_parts": ["pod1", "pod2"]}' -e check_fabric_plan_only=true""":
        "it needs several pods; tests/integration/check_fabric/test_options.py runs it on a small one",
    "ansible-playbook hccn.cluster.report -e report_path=page.html": "it needs a run in the history; the tutorial runs the same command",
    "ansible-playbook hccn.cluster.compare": "it needs a good run in the history; tests/integration/history/test_compare.py runs the playbook",
    "ansible-rulebook -r hccn.cluster.degraded -i inventory -e eda.yml": "it needs Java; tests/integration/eda runs the rulebook where that is installed",
}
"""Commands of the pages that are not run, with the reason."""


@dataclass
class Command:
    line: str
    kind: str = ""
    shown: list[str] = field(default_factory=list)


@dataclass
class File:
    path: str
    text: str


def steps(page: str) -> list[Command | File]:
    """Return the commands and files of a page in their order."""
    found: list[Command | File] = []
    for block in BLOCK.finditer((DOCS / page).read_text() + "\n"):
        options = dict(OPTION.findall(block["options"]))
        lines = [line[3:] for line in block["text"].rstrip("\n").splitlines()]
        if block["language"] == "console":
            found += _commands(lines, options.get("class", ""))
        elif "caption" in options:
            found.append(File(options["caption"], "\n".join(lines) + "\n"))
    return found


def _commands(lines: list[str], kind: str) -> Iterator[Command]:
    made: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            made.append(Command(line[2:], kind if kind != "fails" else ""))
        elif line.strip() and made:
            made[-1].shown.append(" ".join(line.split()))
    if made and kind == "fails":
        made[-1].kind = kind
    return iter(made)


class Reader:
    """Run commands in ``place`` as in one shell: folder and variables persist from command to command."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self.place, self._environment = place, environment
        (place / ".shell").mkdir(parents=True)
        (place / ".shell/folder").write_text(f"{place}\n")
        (place / ".shell/variables").write_text("")

    def follow(self, page: str) -> None:
        for step in steps(page):
            self.take(step)

    def take(self, step: Command | File) -> None:
        if isinstance(step, File):
            path = self.place / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        elif step.kind != "not-run":
            code, output = self.run(step.line)
            assert (code != 0) == (step.kind == "fails"), f"$ {step.line}\n{output}"
            missing = [line for line in step.shown if line not in " ".join(output.split())]
            assert not missing, f"$ {step.line}\n{output}"

    def run(self, line: str) -> tuple[int, str]:
        shell = self.place / ".shell"
        script = f'cd "$(cat {shell}/folder)" && . {shell}/variables\n{line}\ncode=$?\nexport -p >{shell}/variables; pwd >{shell}/folder; exit $code\n'
        with subprocess.Popen(["bash", "-c", script], env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, start_new_session=True) as shell_of_line:
            try:
                output, _ = shell_of_line.communicate(timeout=DEADLINE)
            except subprocess.TimeoutExpired:
                os.killpg(shell_of_line.pid, signal.SIGKILL)
                raise
        return shell_of_line.returncode, output
