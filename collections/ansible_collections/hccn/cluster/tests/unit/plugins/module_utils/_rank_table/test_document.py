from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import document, hccl
from ansible_collections.hccn.cluster.plugins.module_utils._rank_table.model import Device, Server, one_group

TEXT = """{
  "status": "completed",
  "version": "1.0",
  "server_count": "2",
  "server_list": [
    {
      "server_id": "192.0.2.11",
      "device": [
        {"device_id": "2", "device_ip": "192.168.100.102", "rank_id": "0"},
        {"device_id": "10", "device_ip": "192.168.100.110", "rank_id": "1"}
      ]
    },
    {
      "server_id": "192.0.2.12",
      "device": [
        {"device_id": "0", "device_ip": "192.168.101.101", "rank_id": "2"}
      ]
    }
  ]
}
"""

SERVERS = (Server("node-1", "192.0.2.11", (Device(2, "192.168.100.102"), Device(10, "192.168.100.110"))),
           Server("node-2", "192.0.2.12", (Device(0, "192.168.101.101"),)))


def test_the_canonical_layout_of_a_table():
    table = hccl.build(one_group(SERVERS, "1.0"))
    assert document.to_text(table) == TEXT
    assert document.parse(TEXT) == table


def test_the_layout_of_an_empty_table():
    assert hccl.build(one_group((), "1.0")) == {"status": "completed", "version": "1.0", "server_count": "0", "server_list": []}


@pytest.mark.parametrize("value, text", [
    ({}, "{}\n"),
    ({"a": []}, '{\n  "a": []\n}\n'),
    ({"a": ["1", "2"]}, '{\n  "a": ["1", "2"]\n}\n'),
    ({"a": [{"b": "}, {"}, {"b": ",\n"}]}, '{\n  "a": [\n    {"b": "}, {"},\n    {"b": ",\\n"}\n  ]\n}\n'),
    ({"a": [{"b": "1", "c": "2"}, {}]}, '{\n  "a": [\n    {"b": "1", "c": "2"},\n    {}\n  ]\n}\n'),
    ({"a": [{"b": "1"}, {"c": [{"d": "2"}]}]}, '{\n  "a": [\n    {"b": "1"},\n    {\n      "c": [\n        {"d": "2"}\n      ]\n    }\n  ]\n}\n'),
    ({"a": ["1", {"b": "2"}]}, '{\n  "a": [\n    "1",\n    {"b": "2"}\n  ]\n}\n'),
    ({"a": "\u00e9"}, '{"a": "\\u00e9"}\n'),
])
def test_the_layout_does_not_depend_on_the_content_of_strings(value, text):
    assert document.to_text(value) == text
    assert document.parse(text) == value


def test_bytes_and_a_byte_order_mark_are_accepted():
    assert document.parse('\ufeff{"status": "completed"}'.encode()) == {"status": "completed"}


@pytest.mark.parametrize("content, message, hint", [
    ("", "not JSON: line 1 column 1: Expecting value", ""),
    ('{\n  "status": "completed",  // ready\n  "version": "1.0"\n}',
     "not JSON: line 2 column 27: Expecting property name enclosed in double quotes", "JSON has no comments: remove them"),
    ('{"a": NaN}', "not JSON: NaN is not JSON", ""),
    ('[{"a": "1"}]', "not a rank table: the JSON value is not an object but a list", ""),
    ('"completed"', "not a rank table: the JSON value is not an object but a str", ""),
    (b'{"a": "\xff"}', "not JSON: byte 7 is not UTF-8", ""),
])
def test_invalid_text_is_refused(content, message, hint):
    with pytest.raises(ParseError) as caught:
        document.parse(content)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_excessive_nesting_is_refused():
    with pytest.raises(ParseError, match="^not JSON: "):
        document.parse('{"a":' * 200000)
