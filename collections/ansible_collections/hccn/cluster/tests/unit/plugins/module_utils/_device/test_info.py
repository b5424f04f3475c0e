"""Test the machine id of a host."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._device.info import machine_id


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "machine-id", tmp_path / "product_uuid"]
    paths[0].write_text("0123456789abcdef0123456789abcdef\n")
    paths[1].write_text("4C4C4544-0044-4210-8031-B4C04F4B4E32\n")
    return paths


def test_machine_id_is_stable(files):
    found = machine_id("/nowhere/hccn.conf", [str(path) for path in files])
    assert found == "fa10b0a01e86f9ce"
    assert machine_id("/nowhere/../nowhere/hccn.conf", [str(path) for path in files]) == found


def test_machine_id_depends_on_each_source(files):
    paths = [str(path) for path in files]
    first = machine_id("/etc/hccn.conf", paths)
    assert machine_id("/nodes/npu2/etc/hccn.conf", paths) != first
    files[1].write_text("4C4C4544-0044-4210-8031-B4C04F4B4E33\n")
    assert machine_id("/etc/hccn.conf", paths) != first, "installed from the same image"
    files[1].unlink()
    assert len(machine_id("/etc/hccn.conf", paths)) == 16


def test_machine_id_is_none_without_sources(files):
    files[0].write_text("\n")
    files[1].unlink()
    assert machine_id("/etc/hccn.conf", [str(path) for path in files]) is None
