"""``python tests/lab/versions/release.py``: check a release and put what a person uploads into build/release. Nothing is uploaded and no tag is made.

A release is refused if the working copy has changes, if a fragment of the changelog is not released, if a file names another version, or if the tag of the
version is at another commit. ``make release`` runs the checks of Galaxy before.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
COLLECTION = "collections/ansible_collections/hccn/cluster"
REQUIREMENTS = ("requirements.txt", "requirements-clusterd.txt")


def versions(root: Path) -> dict[str, str]:
    """Return the version by each file that names one."""
    changelog = yaml.safe_load((root / COLLECTION / "changelogs/changelog.yaml").read_text())
    headings = re.findall(r"^## v?(\d\S*)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = max(changelog["releases"], key=_ordered)
    return {
        f"{COLLECTION}/galaxy.yml": str(yaml.safe_load((root / COLLECTION / "galaxy.yml").read_text())["version"]),
        "galaxy.yml": str(yaml.safe_load((root / "galaxy.yml").read_text())["version"]),
        f"{COLLECTION}/changelogs/changelog.yaml": str(newest),
        "CHANGELOG.md": max(headings, key=_ordered, default="none"),
    }


def _ordered(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def problems(root: Path) -> list[str]:
    """Return why the working copy cannot be released, a sentence each."""
    found = versions(root)
    version = found["galaxy.yml"]
    why = [f"{path} names version {other}, galaxy.yml {version}: make them equal" for path, other in found.items() if other != version]
    fragments = sorted(path.name for path in (root / COLLECTION / "changelogs/fragments").glob("*.y*ml"))
    if fragments:
        why.append(f"{len(fragments)} fragments of the changelog are not released, the first is {fragments[0]}: run make changelog")
    changed = _git(root, "status", "--porcelain").splitlines()
    if changed:
        why.append(f"the working copy has {len(changed)} changes, the first is {changed[0].strip()}: commit or remove them")
    tag = f"v{version}"
    if _git(root, "tag", "--list", tag) and _git(root, "rev-parse", f"{tag}^{{commit}}") != _git(root, "rev-parse", "HEAD"):
        why.append(f"the tag {tag} is at another commit: choose a new version")
    return why


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def resolved() -> list[Mapping[str, Any]]:
    """Return what pip would install on a controller: pip's installation report, which has a hash for each file."""
    wanted = [word for name in REQUIREMENTS for word in ("--requirement", name)]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", *wanted]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    installed: list[Mapping[str, Any]] = json.loads(done.stdout)["install"]
    return installed


def bill_of_materials(version: str, packages: Iterable[Mapping[str, Any]]) -> str:
    """Return a CycloneDX 1.6 document: the collection, which contains no third-party code, and the packages that a controller needs."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from packageurl import PackageURL

    bom = Bom()
    bom.metadata.component = Component(name="hccn.cluster", version=version, type=ComponentType.APPLICATION, bom_ref="hccn.cluster")
    needed = []
    for package in packages:
        name, number = package["metadata"]["name"], package["metadata"]["version"]
        sha256 = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        purl = PackageURL("pypi", None, name.lower().replace("_", "-"), number)
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else []
        needed.append(Component(name=name, version=number, type=ComponentType.LIBRARY, purl=purl, bom_ref=str(purl), hashes=hashes))
    bom.components.update(needed)
    bom.register_dependency(bom.metadata.component, needed)
    return str(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2))


def main() -> int:
    why = problems(ROOT)
    if why:
        print("\n".join(f"Not released: {sentence}." for sentence in why), file=sys.stderr)
        return 1
    version = versions(ROOT)["galaxy.yml"]
    tarball = ROOT / f"build/hccn-cluster-{version}.tar.gz"
    folder = ROOT / "build/release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(tarball, folder)
    shutil.copy(ROOT / COLLECTION / "CHANGELOG.md", folder)
    (folder / "sbom.cdx.json").write_text(bill_of_materials(version, resolved()))
    files = sorted(folder.iterdir())
    (folder / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    print(f"hccn.cluster {version} is in build/release: {', '.join(sorted(path.name for path in folder.iterdir()))}. To publish it:\n"
          f"  git tag -a v{version} -m 'hccn.cluster {version}' && git push origin v{version}\n"
          f"  ansible-galaxy collection publish build/release/{tarball.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
