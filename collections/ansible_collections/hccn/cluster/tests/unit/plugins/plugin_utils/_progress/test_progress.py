from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._progress.progress import Extent, extent, is_stale, line

FABRIC = {
    "hosts": 64, "hosts_heard": 64, "hosts_over": 0, "silent": [], "hosts_silent": 0, "over": False, "pairs_done": 500, "pairs_failed": 2, "round": 16,
    "slowest": {"value": 50.23, "unit": "Gbit/s", "source": "n3 NPU 1", "target": "n7 NPU 1"}, "seconds": 100.0, "age": 1.0}
WHOLE = Extent(2000, 63, 8.0)


@pytest.mark.parametrize("changes, expected", [
    ({}, "round 16 of 63, 500 of 2000 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 NPU 1 to n7 NPU 1), about 5 min left"),
    ({"pairs_done": 1900}, "round 16 of 63, 1900 of 2000 pairs done, 2 failed, slowest 50.2 Gbit/s (n3 NPU 1 to n7 NPU 1), about 5 s left"),
    ({"pairs_done": 0, "pairs_failed": 0, "round": 0, "slowest": None, "hosts_heard": 60},
     "round 1 of 63, 0 of 2000 pairs done, 0 failed, about 8 min left according to the plan; 4 hosts have not started"),
    ({"seconds": 36000.0, "slowest": None}, "round 16 of 63, 500 of 2000 pairs done, 2 failed, about 30.0 h left"),
    ({"silent": ["n1", "n2"], "hosts_silent": 3, "slowest": None},
     "round 16 of 63, 500 of 2000 pairs done, 2 failed, about 5 min left; no report from n1, n2 and 1 more"),
    ({"over": True, "pairs_done": 1998, "hosts_heard": 63, "hosts_silent": 1, "silent": ["n9"], "slowest": None},
     "1998 of 2000 pairs done, 2 failed, finished; no report from n9"),
])
def test_the_progress_line(changes, expected):
    assert line({**FABRIC, **changes}, WHOLE) == expected


def test_the_extent_of_a_plan():
    assert extent({"summary": {"pairs": 12, "rounds": 3, "seconds_per_pair": 2}}) == (12, 3, 2.0)
    both_ways = extent({"summary": {"pairs": 1, "rounds": 2, "seconds_per_pair": 2}, "rounds": [[{}], [{}]]})
    assert both_ways == (2, 2, 2.0)
    counted = extent({"rounds": [[{}, {}], [{}]]})
    assert counted == (3, 2, None)
    assert line({**FABRIC, "pairs_done": 0, "slowest": None}, counted) == "round 2 of 2, 0 of 3 pairs done, 2 failed, time left unknown"


@pytest.mark.parametrize("hosts, age, stale", [(2, 31.0, True), (2, 30.0, False), (1000, 120.0, False), (1000, 131.0, True)])
def test_a_reporter_without_recent_data_is_stale(hosts, age, stale):
    assert is_stale({"hosts": hosts, "age": age}) is stale
