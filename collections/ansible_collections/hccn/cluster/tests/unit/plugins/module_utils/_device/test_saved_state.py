from __future__ import annotations

import json
import os

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._device import saved_state

OLD = [{"id": 1, "address": "10.0.0.1", "netmask": "255.0.0.0", "gateway": None}]


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "hccn.conf"
    path.write_text("address_1=10.0.0.1\n")
    return str(path)


def record(conf):
    with open(saved_state.path_of(conf), encoding="ascii") as stream:
        found = json.load(stream)
    assert found.pop("schema") == "hccn.cluster/restore/2"
    assert found.pop("saved_at").endswith("Z")
    return found


def test_oldest_value_is_kept_while_a_change_is_unfinished(conf):
    saved_state.save(conf, "first\n", network=OLD)
    saved_state.save(conf, "second\n", network=[{"id": 1, "address": "10.9.9.9", "mtu": 1500}, {"id": 0, "mtu": 4200}], tls=[{"id": 0, "enabled": False}])
    saved_state.save(conf, None, tls=[{"id": 0, "enabled": True}, {"id": 2, "enabled": None}])
    assert record(conf) == {
        "hccn_conf": "first\n", "tls": [{"id": 0, "enabled": False}, {"id": 2, "enabled": None}],
        "network": [{"id": 0, "mtu": 4200}, {"id": 1, "address": "10.0.0.1", "netmask": "255.0.0.0", "gateway": None, "mtu": 1500}]}


def test_entries_of_a_mapping_are_merged(conf):
    saved_state.save(conf, "", network=[{"id": 0, "dscp_to_tc": {"33": 1}}])
    saved_state.save(conf, "", network=[{"id": 0, "dscp_to_tc": {"33": 2, "34": 3}}])
    assert record(conf)["network"] == [{"id": 0, "dscp_to_tc": {"33": 1, "34": 3}}]


def test_new_record_after_a_completed_change(conf):
    saved_state.save(conf, "first\n", network=OLD)
    os.unlink(saved_state.marker_of(conf))
    saved_state.save(conf, "second\n", tls=[{"id": 0, "enabled": True}])
    assert record(conf) == {"hccn_conf": "second\n", "network": [], "tls": [{"id": 0, "enabled": True}]}
    assert saved_state.state_of(conf) == {"path": conf + ".restore.json", "marker": conf + ".restore.unfinished", "exists": True, "unfinished": True}


def test_record_is_written_before_the_marker(conf, monkeypatch):
    """Otherwise a kill between the two writes would leave a marker with the record of an older change."""
    seen = []
    real = saved_state._replace
    monkeypatch.setattr(saved_state, "_replace", lambda path, text: (seen.append(os.path.exists(saved_state.marker_of(conf))), real(path, text)))
    saved_state.save(conf, "", network=OLD)
    assert seen == [False]
    assert os.path.exists(saved_state.marker_of(conf))


def test_files_are_synced_and_readable_by_the_owner_only(conf, monkeypatch, tmp_path):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(os.readlink("/proc/self/fd/%d" % descriptor)), real(descriptor)))
    umask = os.umask(0)
    try:
        saved_state.save(conf, "text\n", network=OLD)
    finally:
        os.umask(umask)
    folder = str(tmp_path)
    assert [path if path == folder else path.startswith(folder + "/.hccn-") for path in synced] == [True, folder, folder]
    assert [os.stat(path).st_mode & 0o777 for path in (saved_state.path_of(conf), saved_state.marker_of(conf))] == [0o600, 0o600]
    assert sorted(os.listdir(folder)) == ["hccn.conf", "hccn.conf.restore.json", "hccn.conf.restore.unfinished"]


def test_full_disk_is_an_error_and_leaves_no_temporary_file(conf, monkeypatch, tmp_path):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HccnError) as raised:
        saved_state.save(conf, "", network=OLD)
    assert (raised.value.code, raised.value.message) == (
        "not_saved", "the current settings cannot be saved in %s.restore.json: No space left on device; nothing was set" % conf)
    assert os.listdir(str(tmp_path)) == ["hccn.conf"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "hccn.cluster/restore/2"}', '{"schema": "hccn.cluster/restore/1", "network": [], "tls": []}',
                                  '{"schema": "hccn.cluster/restore/2", "network": [{}], "tls": []}', "\u00e9"])
def test_unreadable_record_is_not_overwritten_while_unfinished(conf, text):
    with open(saved_state.path_of(conf), "w", encoding="utf-8") as stream:
        stream.write(text)
    open(saved_state.marker_of(conf), "w").close()
    with pytest.raises(HccnError) as raised:
        saved_state.save(conf, "", network=OLD)
    assert raised.value.code == "not_saved"
    with open(saved_state.path_of(conf), encoding="utf-8") as stream:
        assert stream.read() == text
    os.unlink(saved_state.marker_of(conf))
    saved_state.save(conf, "", network=OLD)
    assert record(conf)["network"] == OLD


def test_link_to_hccn_conf_has_the_same_record(conf, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(conf)
    assert saved_state.path_of(str(link)) == conf + ".restore.json"


def test_non_utf_8_bytes_are_preserved(conf):
    text = b"address_1=\xff\n".decode("utf-8", "surrogateescape")
    saved_state.save(conf, text)
    assert record(conf)["hccn_conf"].encode("utf-8", "surrogateescape") == b"address_1=\xff\n"
