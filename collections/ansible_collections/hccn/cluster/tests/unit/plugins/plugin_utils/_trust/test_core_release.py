from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible.errors import AnsibleActionFail
from ansible_collections.hccn.cluster.plugins.plugin_utils._trust import core_release
from packaging.specifiers import SpecifierSet

RUNTIME = Path(core_release.__file__).parents[3] / "meta/runtime.yml"


@pytest.mark.parametrize("release, fixed", [
    ("2.15.13", False), ("2.16.0", False), ("2.16.13", False), ("2.16.14", True), ("2.16.14.post0", True), ("2.17.0", False), ("2.17.6", False),
    ("2.17.7", True), ("2.18.0", False), ("2.18.0rc2", False), ("2.18.1", True), ("2.19.0", True), ("2.21.5", True), ("3.0.0", True), ("unknown", False)])
def test_supported_releases(release, fixed):
    assert core_release.is_fixed(release) is fixed


def test_requires_ansible_matches_the_supported_releases():
    wanted = SpecifierSet(yaml.safe_load(RUNTIME.read_text())["requires_ansible"])
    releases = ["2.%d.%d" % (minor, patch) for minor in range(15, 23) for patch in range(30)]
    assert [release for release in releases if wanted.contains(release)] == [release for release in releases if core_release.is_fixed(release)]


def test_a_vulnerable_release_is_refused(monkeypatch):
    core_release.require_fixed()
    monkeypatch.setattr(core_release, "_THIS_IS_FIXED", False)
    with pytest.raises(AnsibleActionFail, match="^hccn.cluster does not run with ansible-core .*CVE-2024-11079.*Upgrade ansible-core to 2.16.14, "):
        core_release.require_fixed()
