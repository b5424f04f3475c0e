"""Test the content of the CDI spec, and writing and removing it."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device import cdi

SPEC = """{
  "cdiVersion": "0.3.0",
  "kind": "hccn.cluster/conf",
  "devices": [
    {
      "name": "hccn-conf",
      "containerEdits": {
        "mounts": [
          {
            "hostPath": "/data/hccn.conf",
            "containerPath": "/etc/hccn.conf",
            "options": [
              "ro",
              "nosuid",
              "nodev",
              "bind"
            ]
          }
        ]
      }
    }
  ]
}
"""


def test_spec_content():
    assert cdi.text("/data/hccn.conf", "/etc/hccn.conf") == SPEC
    assert cdi.NAME == "hccn.cluster/conf=hccn-conf"


def test_spec_is_written_read_and_removed(tmp_path):
    spec = str(tmp_path / "new" / "cdi" / "a.json")
    assert cdi.read(spec) is None
    before = os.umask(0o077)
    try:
        cdi.write(spec, "first\n")
        cdi.write(spec, "second\n")
    finally:
        os.umask(before)
    assert cdi.read(spec) == "second\n"
    assert stat.S_IMODE(os.stat(spec).st_mode) == 0o644
    assert stat.S_IMODE(os.stat(os.path.dirname(spec)).st_mode) == 0o755
    assert os.listdir(os.path.dirname(spec)) == ["a.json"]
    cdi.remove(spec)
    cdi.remove(spec)
    assert os.listdir(os.path.dirname(spec)) == []


def test_failed_write_leaves_no_temporary_file(tmp_path):
    spec = tmp_path / "a.json"
    (spec / "in the way").mkdir(parents=True)
    with pytest.raises(HccnError) as caught:
        cdi.write(str(spec), "text")
    assert (caught.value.code, caught.value.message) == ("cdi_unwritable", "%s: Is a directory" % spec)
    assert os.listdir(str(tmp_path)) == ["a.json"]


def test_read_and_remove_errors_name_the_file(tmp_path):
    spec = tmp_path / "a.json"
    spec.mkdir()
    with pytest.raises(HccnError) as caught:
        cdi.read(str(spec))
    assert (caught.value.code, caught.value.message) == ("cdi_unreadable", "%s: Is a directory" % spec)
    with pytest.raises(HccnError) as caught:
        cdi.remove(str(spec))
    assert caught.value.code == "cdi_unwritable"
