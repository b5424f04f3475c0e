"""Hosts of a pattern, and the message if there are none."""

from __future__ import annotations

import pytest

from ansible.parsing.dataloader import DataLoader

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles import inventory

GROUPS = {"all": ["npu2", "npu1", "login"], "ungrouped": ["login"], "npu": ["npu2", "npu1"], "a2": ["npu1"], "empty": []}


@pytest.mark.parametrize("pattern, limit, hosts", [
    ("npu", None, ["npu2", "npu1"]), ("all:!a2", None, ["npu2", "login"]), ("npu1,login", None, ["npu1", "login"]), (["npu1", "npu2"], None, ["npu1", "npu2"]),
    ("npu", "npu1:localhost", ["npu1"]), ("~npu[12]", None, ["npu2", "npu1"]), ("npus", None, []), ("", None, []), ("empty", None, []),
    ([], None, []),
])
def test_hosts_of_a_pattern(pattern, limit, hosts):
    assert inventory.matched(DataLoader(), GROUPS, pattern, limit) == hosts


def test_an_unknown_group_is_reported_with_the_known_ones():
    found = inventory.no_hosts(GROUPS, "npus")
    assert (found.cause, found.hosts) == ("no_hosts", ())
    assert found.message == ("The pattern 'npus' matches no host of the inventory. Did you mean npu? The groups are a2 (1 host), npu (2 hosts). "
                             "Give a group or hosts with -e hccn_hosts=NAME")


def test_the_list_of_groups_is_limited():
    found = inventory.no_hosts({"all": ["x"], **{f"rack{number}": ["x"] for number in range(20)}}, "\x1bzzz")
    assert "The pattern '?zzz' matches no host" in found.message
    assert "rack0 (1 host), rack1 (1 host)" in found.message and "rack7 (1 host) and 12 more. Give" in found.message


def test_a_limit_is_named():
    assert inventory.no_hosts(GROUPS, "npu", "login,localhost").message.startswith(
        "The pattern 'npu' matches no host of the inventory under --limit login,localhost.")


def test_an_inventory_without_groups_or_hosts():
    assert inventory.no_hosts({"all": ["a", "b"], "ungrouped": ["a", "b"]}, "npu").message == (
        "The pattern 'npu' matches no host of the inventory. It has no groups, and 2 hosts. Give a group or hosts with -e hccn_hosts=NAME")
    assert inventory.no_hosts({"all": []}, "npu").message == "The inventory has no hosts: give one with -i"
