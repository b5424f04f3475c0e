"""Install hccn.project, the collection at the root of the repository, from a git repository as a user does, and run its playbooks and roles there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.integration.awx.job import clone
from tests.lib.playbook import ansible_environment, run_playbook
from tests.lib.project import COLLECTION, ROOT

GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text())
SUBFOLDER = "#/collections/ansible_collections/hccn/cluster"
COMMAND = str(Path(sys.executable).with_name("ansible-galaxy"))
NOWHERE = "http://127.0.0.1:9/"
"""A Galaxy server that refuses connections."""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a git repository with all files of this checkout."""
    made = clone(tmp_path_factory.mktemp("git") / "hccn.git")
    git(made, "init", "--quiet", "--initial-branch", "main")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "All files")
    git(made, "tag", "v1.0.0")
    return made


def install(place: Path, repository: Path, *arguments: str, published: bool = True) -> subprocess.CompletedProcess[str]:
    """Run ``ansible-galaxy collection install`` without network. ``published``: the address in galaxy.yml leads to the repository, else to nothing."""
    published_at = next(iter(GALAXY["dependencies"])).removeprefix("git+").removesuffix(SUBFOLDER)
    target = f"file://{repository}" if published else f"file://{place}/nothing"
    environment = ansible_environment(
        HOME=str(place), ANSIBLE_COLLECTIONS_PATH=str(place / "collections"), ANSIBLE_GALAXY_SERVER=NOWHERE, GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0=f"url.{target}.insteadOf", GIT_CONFIG_VALUE_0=published_at)
    argv = [COMMAND, "collection", "install", "-p", str(place / "collections"), *arguments]
    return subprocess.run(argv, cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def installed(place: Path) -> dict[str, str]:
    """Return the versions of the installed collections."""
    manifests = [json.loads(path.read_text())["collection_info"] for path in (place / "collections/ansible_collections").glob("*/*/MANIFEST.json")]
    return {f"{info['namespace']}.{info['name']}": info["version"] for info in manifests}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """Return a folder in which the repository was installed by its address alone."""
    made = tmp_path_factory.mktemp("installed")
    done = install(made, repository, f"git+file://{repository}")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.mark.slow
def test_one_address_installs_both_collections(place: Path) -> None:
    assert installed(place) == {"hccn.cluster": "1.0.0", "hccn.project": "1.0.0"}


@pytest.mark.slow
def test_a_folder_and_a_tag_can_be_chosen(tmp_path: Path, repository: Path) -> None:
    done = install(tmp_path, repository, f"git+file://{repository}{SUBFOLDER},v1.0.0", published=False)
    assert (done.returncode, installed(tmp_path)) == (0, {"hccn.cluster": "1.0.0"}), done.stdout + done.stderr


@pytest.mark.slow
def test_both_are_installed_from_a_mirror_without_dependencies(tmp_path: Path, repository: Path) -> None:
    address = f"git+file://{repository}"
    done = install(tmp_path, repository, "--no-deps", f"{address},v1.0.0", f"{address}{SUBFOLDER},v1.0.0", published=False)
    assert (done.returncode, sorted(installed(tmp_path))) == (0, ["hccn.cluster", "hccn.project"]), done.stdout + done.stderr


@pytest.mark.slow
def test_the_package_contains_what_its_playbooks_need_and_nothing_else(place: Path) -> None:
    folder = place / "collections/ansible_collections/hccn/project"
    files = [entry["name"] for entry in json.loads((folder / "FILES.json").read_text())["files"] if entry["ftype"] == "file"]
    assert {name.split("/")[0] for name in files} == {
        "CHANGELOG.md", "LICENSE", "README.md", "README.zh-CN.md", "inventories", "meta", "playbooks", "roles", "tests"}
    assert {name for name in files if name.startswith(("inventories/", "meta/"))} == {"inventories/demo/hosts", "meta/runtime.yml"}
    assert {"/".join(name.split("/")[:2]) for name in files if name.startswith("tests/")} == {"tests/simulator"}
    assert [name for name in files if "test_simulator" in name or "__pycache__" in name or "ansible_collections" in name] == []
    kept = sorted(str(path.relative_to(ROOT)) for part in ("playbooks", "roles") for path in (ROOT / part).rglob("*.yml"))
    assert sorted(name for name in files if name.startswith(("playbooks/", "roles/")) and name.endswith(".yml")) == kept


@pytest.mark.slow
def test_installed_role_makes_a_simulated_host(place: Path, tmp_path: Path) -> None:
    project = place / "collections/ansible_collections/hccn/project"
    options = {"hccn_tool": "{{ hccn_tool }}", "npu_smi": "{{ npu_smi }}", "hccn_conf": "{{ hccn_conf }}"}
    tasks = [{"hccn.cluster.device_info": options, "register": "read"}, {"ansible.builtin.assert": {"that": "read.devices | length == 8"}}]
    play = {"hosts": "npu1", "gather_facts": False, "roles": ["hccn.project.simulated_cluster"], "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    done = run_playbook("play.yml", project / "inventories/demo/hosts", cwd=tmp_path, ANSIBLE_COLLECTIONS_PATH=str(place / "collections"),
                        HCCN_DEMO_FOLDER=str(tmp_path / "nodes"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_installed_awx_playbook_makes_the_surveys_of_the_installed_roles(place: Path, tmp_path: Path) -> None:
    data = tmp_path / "controller.yml"
    done = run_playbook("hccn.project.awx", "localhost,", "-e", "awx_project_url=x", "-e", "awx_state=data", "-e", f"awx_data_path={data}", cwd=tmp_path,
                        ANSIBLE_COLLECTIONS_PATH=str(place / "collections"), HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "variable: check_fabric_plan" in data.read_text()


@pytest.mark.parametrize("key", ["version", "license", "repository"])
def test_both_collections_state_the_same(key: str) -> None:
    assert GALAXY[key] == yaml.safe_load((COLLECTION / "galaxy.yml").read_text())[key]


def test_both_collections_require_the_same_ansible() -> None:
    texts = [(folder / "meta/runtime.yml").read_text() for folder in (ROOT, COLLECTION)]
    assert len({yaml.safe_load(text)["requires_ansible"] for text in texts}) == 1


def test_the_dependency_is_the_collection_in_this_repository() -> None:
    assert GALAXY["dependencies"] == {f"git+{GALAXY['repository']}.git{SUBFOLDER}": "*"}
