# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: a sentence with code, values and place."""

from __future__ import annotations

import string

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.evidence import PLACE, TEMPLATES, Evidence, evidence, of_text
from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.finding import Finding, finding, of_npus

PORT = {"code": "switch_port", "message": "NPU 5 of npu3 is connected to port 400GE1/1/5:1 of leaf-1",
        "place": {"host": "npu3", "device": 5, "switch": "leaf-1", "port": "400GE1/1/5:1"}}
GREW = {"code": "counter_grew", "message": "NPU 5 of npu3: mac_rx_fcs_err_pkt_num grew by 7 during the run, from 3 to 10",
        "values": {"counter": "mac_rx_fcs_err_pkt_num", "growth": 7, "before": 3, "after": 10}, "place": {"host": "npu3", "device": 5}}


def test_a_piece_has_the_sentence_of_its_code_with_values_and_place() -> None:
    port = evidence("switch_port", host="npu3", device=5, switch="leaf-1", port="400GE1/1/5:1")
    grew = evidence("counter_grew", host="npu3", device=5, counter="mac_rx_fcs_err_pkt_num", growth=7, before=3, after=10)
    assert (port.as_sample(), grew.as_sample()) == (PORT, GREW)
    assert port == "NPU 5 of npu3 is connected to port 400GE1/1/5:1 of leaf-1"


def test_a_finding_keeps_the_pieces_through_its_record() -> None:
    one = finding("link_down", of_npus([("npu3", 5)]), "the link is down", devices=[("npu3", 5)],
                  evidence=[evidence("switch_port", host="npu3", device=5, switch="leaf-1", port="400GE1/1/5:1"), "it is down"])
    kept = one.as_sample()
    assert kept["evidence"] == [PORT, {"code": "text", "message": "it is down"}]
    again = Finding.of_sample(kept)
    assert again == one and again is not None and again.as_sample() == kept


def test_a_sentence_of_an_older_record_is_a_piece_without_values() -> None:
    assert [piece and piece.as_sample() for piece in map(Evidence.of_sample, ("it is down", 7, {"code": "x"}, {"message": "y"}))] == [
        {"code": "text", "message": "it is down"}, None, None, None]


@pytest.mark.parametrize("odd", ["x", ["host"], {"host": ["npu3"], "device": True, "extra": 5}])
def test_an_odd_place_or_value_of_a_record_is_dropped(odd: object) -> None:
    piece = Evidence.of_sample({"code": "switch_port", "message": "m", "place": odd, "values": {"a": None, "b": 1.5, 7: 8}})
    assert piece is not None and piece.as_sample() == {"code": "switch_port", "message": "m", "values": {"b": 1.5}}


def test_texts_of_hosts_are_printable_and_bounded() -> None:
    piece = evidence("switch_port", host="npu3", device=5, switch="leaf\x1b[31m", port="p" * 5000)
    assert "\x1b" not in piece and "\x1b" not in str(piece.place["switch"]) and len(str(piece.place["port"])) == 200
    assert len(of_text("x" * 9000)) == 2000


def test_a_switch_name_is_not_a_template() -> None:
    assert evidence("switch_port", host="npu3", device=5, switch="{port}", port="1") == "NPU 5 of npu3 is connected to port 1 of {port}"


def test_every_template_is_about_a_host_and_has_no_final_stop() -> None:
    for code, template in TEMPLATES.items():
        names = {name for _text, name, _format, _conversion in string.Formatter().parse(template) if name}
        assert "host" in names and not template.endswith("."), code
        assert names - set(PLACE) or code == "switch_port", code
