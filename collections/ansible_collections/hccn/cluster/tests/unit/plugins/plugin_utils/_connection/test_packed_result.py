"""Large results that the controller keeps in a compressed form."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._connection import packed_result
from ansible_collections.hccn.cluster.plugins.plugin_utils._connection.packed_result import PACKED, packed, to_register, unpacked
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings import run

DEVICES = [{"id": number, "address": f"10.78.1.1{number}", "lldp": {"system_name": "叶"}, "errors": []} for number in range(8)]
RESULT = {"changed": False, "product": "A2", "devices": DEVICES, "measurements": [{"id": f"r/{device['id']}", "samples": [device]} for device in DEVICES]}


def text_of(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def test_a_packed_result_is_small_and_has_the_same_values():
    kept = packed(RESULT)
    assert sorted(kept) == ["changed", PACKED, "product"]
    assert len(json.dumps(kept)) * 4 < len(json.dumps(RESULT))
    assert unpacked(kept) == RESULT


def test_a_result_without_devices_stays_without_them():
    assert unpacked(packed({"failed": True, "msg": "no hccn_tool"})) == {"failed": True, "msg": "no hccn_tool"}


@pytest.mark.parametrize("value", [None, "text", [1], {"devices": []}])
def test_other_values_are_returned_unchanged(value):
    assert unpacked(value) == value


@pytest.mark.parametrize("text", [7, None, "%%", "abc", text_of(b"["), text_of(b"[]"), text_of(b"7"), text_of(b"[" * 100_000), text_of(b"{}")[:-8]])
def test_a_text_that_the_controller_did_not_make_is_left_out(text):
    assert unpacked({"changed": False, PACKED: text}) == {"changed": False}


def test_other_keys_and_large_texts_are_left_out(monkeypatch):
    whole = text_of(json.dumps({"devices": DEVICES, "ansible_facts": {"a": 1}}).encode())
    assert unpacked({PACKED: whole}) == {"devices": DEVICES}
    monkeypatch.setattr(packed_result, "MOST_BYTES", 100)
    assert unpacked({PACKED: whole}) == {}


def test_a_result_that_is_too_large_to_be_unpacked_is_not_packed(monkeypatch):
    monkeypatch.setattr(packed_result, "MOST_BYTES", 100)
    assert packed(RESULT) == RESULT


@pytest.mark.parametrize("name, is_packed", [("check_fabric_result", True), ("bring_up_devices", True), ("mine", False), (None, False)])
def test_only_results_of_roles_are_packed(name, is_packed):
    kept = to_register(RESULT, name)
    assert (PACKED in kept, unpacked(kept)) == (is_packed, RESULT)


def test_all_readings_of_devices_that_a_conclusion_uses_are_packed():
    assert {name for _stage, name in (*run.DEVICES, *run.PORTS)} <= packed_result.REGISTERED
