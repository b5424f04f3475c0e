"""What release.py refuses, and the bill of materials that it writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.lab.versions import release

COLLECTION = release.COLLECTION


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments], cwd=root, check=True, capture_output=True, timeout=60)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose version is 1.10.0 everywhere."""
    files = {"galaxy.yml": "version: 1.10.0\n", "CHANGELOG.md": "# Changes\n\n## 1.10.0\n\n## 1.9.0\n", f"{COLLECTION}/galaxy.yml": "version: 1.10.0\n",
             f"{COLLECTION}/changelogs/changelog.yaml": "releases: {1.9.0: {}, 1.10.0: {}}\n", f"{COLLECTION}/changelogs/fragments/.keep": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "A release")
    return tmp_path


def test_consistent_release_has_no_problems(root: Path) -> None:
    assert release.problems(root) == []
    git(root, "tag", "v1.10.0")
    assert release.problems(root) == []


def test_each_problem_is_a_sentence(root: Path) -> None:
    git(root, "tag", "v1.10.0")
    (root / COLLECTION / "galaxy.yml").write_text("version: 1.11.0\n")
    (root / COLLECTION / "changelogs/fragments/tls.yml").write_text("bugfixes: [One.]\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Go on")
    (root / "notes.txt").write_text("x")
    assert release.problems(root) == [
        f"{COLLECTION}/galaxy.yml names version 1.11.0, galaxy.yml 1.10.0: make them equal",
        "1 fragments of the changelog are not released, the first is tls.yml: run make changelog",
        "the working copy has 1 changes, the first is ?? notes.txt: commit or remove them",
        "the tag v1.10.0 is at another commit: choose a new version",
    ]


def test_bill_of_materials_names_each_package_with_its_hash() -> None:
    package = {"metadata": {"name": "Jinja2", "version": "3.1.6"}, "download_info": {"archive_info": {"hashes": {"sha256": "ab" * 32}}}}
    bom = json.loads(release.bill_of_materials("1.10.0", [package]))
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert (bom["metadata"]["component"]["name"], bom["metadata"]["component"]["version"]) == ("hccn.cluster", "1.10.0")
    assert bom["components"] == [{"bom-ref": "pkg:pypi/jinja2@3.1.6", "type": "library", "name": "Jinja2", "version": "3.1.6", "purl": "pkg:pypi/jinja2@3.1.6",
                                  "hashes": [{"alg": "SHA-256", "content": "ab" * 32}]}]
    assert {one["ref"]: one.get("dependsOn", []) for one in bom["dependencies"]}["hccn.cluster"] == ["pkg:pypi/jinja2@3.1.6"]
