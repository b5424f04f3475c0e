from __future__ import annotations

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.link_counts import LinkCounts

LINKS = [(0, 2), (2, 0), (0, 2), (1, 2), (3, 1), (0, 1)]
HOSTS = {0: "a", 1: "a", 2: "b", 3: "c"}


def test_a_link_counts_for_both_owners_as_often_as_it_occurs() -> None:
    counts = LinkCounts(LINKS, HOSTS.__getitem__)
    assert counts.counts == {"a": 6, "b": 4, "c": 1}
    assert counts.largest(2) == ["a", "b"]
    assert counts.links("b") == [(0, 2), (2, 0), (0, 2), (1, 2)]


def test_removed_links_are_removed_for_both_owners() -> None:
    counts = LinkCounts(LINKS, lambda npu: npu)
    counts.remove(counts.links(0))
    assert counts.counts == {0: 0, 1: 2, 2: 1, 3: 1}
    assert counts.largest(9) == [1, 2, 3]
    assert counts.links(2) == [(1, 2)]
    assert counts.links(0) == []


def test_owners_with_equal_counts_are_sorted_by_name() -> None:
    assert LinkCounts([(10, 9), (9, 10)], lambda npu: npu).largest(1) == [10]
