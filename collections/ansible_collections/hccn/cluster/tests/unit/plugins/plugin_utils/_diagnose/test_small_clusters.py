"""Clusters of a few hosts, whose values vary much: there are too few of them to know by how much."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose_records


def record(name, source, target, value, **more):
    made = {"id": f"r1/{name}/forward/1", "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
            "source": {"host": source[0], "device": source[1]}, "target": {"host": target[0], "device": target[1]}, "samples": [], **more}
    if isinstance(value, str):
        return {**made, "status": "failed", "error": {"code": value, "message": "it is at work"}}
    return {**made, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}


def measured(*cells):
    return [record(f"p{number:02d}", *cell) for number, cell in enumerate(cells, 1)]


def npu(host, device=0):
    return host, device


def latencies(*cells):
    """Return records of source, target, typical latency and 99th percentile."""
    return [{**record(f"p{number:02d}", source, target, 1.0), "measure": "latency",
             "samples": [{"size_bytes": 2, "latency_us": {"typical": typical, "p99": p99}}]}
            for number, (source, target, typical, p99) in enumerate(cells, 1)]


QUICK = ((npu("n1"), npu("n2"), 0.021), (npu("n3"), npu("n4"), 0.24), (npu("n2", 1), npu("n1", 1), 0.15), (npu("n4", 1), npu("n3", 1), "device_busy"),
         (npu("n2"), npu("n3"), 0.019), (npu("n4"), npu("n1"), 0.20), (npu("n1", 1), npu("n4", 1), 0.23), (npu("n3", 1), npu("n2", 1), "device_busy"))
"""Two rounds of four hosts with two NPUs. The rate of n2 NPU 0 is a tenth, and n3 NPU 1 is at work."""

CONFIRMED = ((npu("n2"), npu("n1"), 0.022), (npu("n3"), npu("n2"), 0.018), (npu("n2"), npu("n4"), 0.030), (npu("n1"), npu("n2"), 0.013),
             (npu("n2"), npu("n3"), 0.027), (npu("n2", 1), npu("n1", 1), 0.25), (npu("n1", 1), npu("n4", 1), 0.17), (npu("n3"), npu("n4"), 0.19))
"""What the confirmation run measured. Repeated values differ by a third."""


@pytest.mark.parametrize("cells", [QUICK, QUICK + CONFIRMED], ids=["plan", "confirmed"])
def test_an_npu_at_a_tenth_of_the_rate_is_named(cells):
    found = diagnose_records(measured(*cells))
    assert [(part["kind"], part["name"]) for part in found.components if part["class"] == "slow"] == [("npu", "n2 NPU 0")]
    assert found.by_class() == {"good": ["n1", "n4"], "slow": ["n2"], "failed": [], "busy": ["n3"], "unreachable": [], "not_measured": []}


def test_noise_of_few_values_is_not_slow():
    """The same without the bad NPU: the lowest value is 40 % below the highest."""
    found = diagnose_records(measured(*(cell for cell in QUICK + CONFIRMED if npu("n2") not in cell[:2])))
    assert [part["name"] for part in found.components if part["class"] == "slow"] == []


def test_repeated_measurements_of_a_bad_npu_do_not_change_the_normal_value():
    """n6 is bad. The plan measured each NPU twice, the confirmation run measured n6 eight times more, so that most values are its own."""
    plan = [(npu("n1"), npu("n2"), 200.0), (npu("n3"), npu("n4"), 191.0), (npu("n5"), npu("n6"), 140.0),
            (npu("n2"), npu("n3"), 190.0), (npu("n4"), npu("n5"), 201.0), (npu("n6"), npu("n1"), 141.0)]
    values = ((1, 139.0), (2, 142.0), (3, 138.0), (4, 143.0), (5, 141.0), (1, 140.0), (2, 139.0), (3, 140.0))
    again = [(npu("n6"), npu(f"n{partner}"), value) for partner, value in values]
    found = diagnose_records(measured(*plan, *again))
    assert [(part["kind"], part["name"]) for part in found.components] == [("npu", "n6 NPU 0")]
    assert "n6 NPU 0 to n3 NPU 0: 138 Gbit/s, normal is 190" in found.verdicts[-1].evidence


def test_an_npu_that_all_bad_pairs_of_a_rail_have_in_common_is_not_a_rail():
    """Three hosts in two rounds: one NPU of each rail rests, and n1 NPU 0 is in both pairs of rail 0."""
    found = diagnose_records(measured((npu("n1"), npu("n2"), 20.0), (npu("n3"), npu("n1"), 20.0), (npu("n1", 1), npu("n2", 1), 200.0),
                                      (npu("n3", 1), npu("n1", 1), 200.0), (npu("n2", 1), npu("n3", 1), 200.0)))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == [("npu", "n1 NPU 0", "probable")]
    assert found.by_class()["slow"] == ["n1"]


@pytest.mark.parametrize("share, certainty, unproven", [(0.1, "certain", []), (0.7, "probable", [npu("n1")])])
def test_noise_of_unknown_size_does_not_take_half_of_the_bandwidth_each_time(share, certainty, unproven):
    """Twelve values with a spread of 3 %. n1 NPU 0 is slow in both of its measurements, and is measured again only if that may be noise."""
    values = (200 * share, 206.0, 197.0, 200 * share, 193.0, 203.0, 199.0, 208.0, 196.0, 190.0, 204.0, 201.0)
    hosts = ("n1", "n2", "n3", "n4", "n5", "n6")
    pairs = [(npu(one, device), npu(other, device)) for device in (0, 1) for one, other in ((0, 1), (2, 3), (4, 5), (5, 0), (1, 2), (3, 4))
             for one, other in ((hosts[one], hosts[other]),)]
    found = diagnose_records(measured(*((*pair, value) for pair, value in zip(pairs, values))))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == [("npu", "n1 NPU 0", certainty)]
    assert found.unproven == unproven


@pytest.mark.parametrize("slow, certainty", [((20.0, 21.0), "certain"), ((75.0, 74.0), "probable"), ((151.0, 167.0), None)])
def test_a_single_normal_value_says_nothing_about_noise(slow, certainty):
    """Three hosts: the values of n3 are lower than the only other one. It is measured again unless they are below a fifth of that, and above half of it, it is
    not named."""
    found = diagnose_records(measured((npu("n1"), npu("n2"), 200.0), (npu("n2"), npu("n3"), slow[0]), (npu("n3"), npu("n1"), slow[1])))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == ([("npu", "n3 NPU 0", certainty)] if certainty else [])
    assert found.by_class()["slow"] == (["n3"] if certainty else [])
    assert (found.uncertain != []) is (certainty != "certain")


@pytest.mark.parametrize("other, again, named", [
    (199.0, [], [("npu", "n3 NPU 0", "probable")]),
    (185.0, [], []),
    (199.0, [140.4, 139.5, 140.1], [("npu", "n3 NPU 0", "certain")]),
    (199.0, [155.0, 131.0, 147.0], []),
])
def test_few_values_show_whether_noise_explains_a_slow_npu(other, again, named):
    """Latencies of virtual machines vary by a third, and what slows one of them down for the time of a run changes all its values."""
    plan = [(npu("n1"), npu("n2"), 200.0), (npu("n2"), npu("n1"), other), (npu("n2"), npu("n3"), 141.0), (npu("n3"), npu("n1"), 139.0)]
    found = diagnose_records(measured(*plan, *[(npu("n2"), npu("n3"), value) for value in again]))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == named


@pytest.mark.parametrize("rare, named", [((18756.4, 20012.4, 13623.6), []), ((6700.0, 8100.0, 3100.0), [("npu", "n2 NPU 0", "probable")])])
def test_a_latency_that_single_operations_of_other_pairs_reach_is_noise(rare, named):
    """Three virtual machines, of which one pair is near the normal latency. ``rare``: 99th percentiles."""
    pairs = [(npu("n3"), npu("n2"), 6662.0), (npu("n2"), npu("n4"), 8083.3), (npu("n4"), npu("n3"), 3067.5)]
    found = diagnose_records(latencies(*((*pair, p99) for pair, p99 in zip(pairs, rare))))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == named
    assert found.uncertain != []


@pytest.mark.parametrize("rare, named", [(1.0, []), (0.25, [("n2 NPU 0", "certain", "154 % above normal: the fault is intermittent")])])
def test_latency_of_single_operations_is_noise_even_if_some_pairs_agree(rare, named):
    """Three virtual machines. n2 had more than twice the latency for the time of a run, as single operations of the others have. ``rare``: share of these."""
    found = diagnose_records(latencies(*((npu(source), npu(target), typical, max(1.05 * typical, p99 * rare)) for source, target, typical, p99 in (
        ("n2", "n4", 2845.4, 9919.4), ("n4", "n3", 1496.2, 6372.1), ("n3", "n2", 3491.5, 10368.3), ("n3", "n4", 1467.9, 6833.4),
        ("n2", "n4", 3758.1, 9687.1), ("n2", "n3", 1314.7, 6935.5), ("n2", "n4", 3140.2, 8203.0), ("n4", "n2", 3769.5, 9767.6)))))
    assert [(part["name"], part["certainty"], part["message"].rpartition(", ")[2]) for part in found.components] == named
    assert (found.uncertain != []) is (rare == 1.0)


@pytest.mark.parametrize("p99", ["many", -1.0, float("nan"), float("inf"), [], True, 1e30])
def test_a_percentile_that_is_no_latency_is_ignored(p99):
    """n2 has twice the latency of the other pair."""
    found = diagnose_records(latencies((npu("n1"), npu("n2"), 4.4, p99), (npu("n2"), npu("n3"), 4.2, p99), (npu("n3"), npu("n1"), 2.1, p99)))
    assert (found.problems, [part["name"] for part in found.components]) == ([], ["n2 NPU 0"])


def test_a_slow_host_does_not_hide_behind_its_own_percentiles():
    """Single operations of the slow host vary much, those of the good pair do not."""
    found = diagnose_records(latencies((npu("n1"), npu("n3"), 2.0, 2.4), (npu("n3"), npu("n2"), 9.0, 50.0), (npu("n2"), npu("n1"), 8.0, 50.0)))
    assert [part["name"] for part in found.components] == ["n2 NPU 0"]


TENTH = ((npu("n1"), npu("n2"), 200.0), (npu("n2"), npu("n1"), 201.0), (npu("n1"), npu("n3"), 199.0), (npu("n2"), npu("n3"), 200.0),
         (npu("n3"), npu("n1"), 20.0), (npu("n3"), npu("n2"), 20.2))
"""n3 sends at a tenth."""


@pytest.mark.parametrize("source, target, failed", [("n3", "n1", 0), ("n1", "n3", 2)])
def test_test_of_more_queue_pairs_that_a_slow_pair_does_not_end_in_time_is_slow(source, target, failed):
    """It moves four times the data. Of a pair that was not slow, it is a failure."""
    again = [record(f"again-{number}", npu(source), npu(target), "perftest_timeout", options={"qps": 4}) for number in (1, 2)]
    found = diagnose_records(measured(*TENTH) + again)
    assert found.by_class()["slow"] == ["n3"]
    assert found.coverage["pairs_failed"] == failed


@pytest.mark.parametrize("value, state", [(140.0, "failed"), (90.0, "slow")])
def test_value_that_is_not_that_low_does_not_explain_a_timeout(value, state):
    """n1 to n3 is slow, and its test with more queue pairs does not end."""
    slow = [*TENTH[:2], (npu("n1"), npu("n3"), value), TENTH[3], (npu("n3"), npu("n1"), 200.0), (npu("n3"), npu("n2"), 202.0)]
    again = [record(f"again-{number}", npu("n1"), npu("n3"), "perftest_timeout", options={"qps": 4}) for number in (1, 2)]
    found = diagnose_records(measured(*slow) + again)
    assert (found.coverage["pairs_failed"], found.coverage["pairs_slow"]) == ((2, 1) if state == "failed" else (0, 3))
    assert [part["class"] for part in found.components if part["name"] == "path n1 NPU 0 to n3 NPU 0"][:1] == [state]


def test_a_slow_direction_is_not_the_noise_of_the_other_one():
    found = diagnose_records(measured(*TENTH))
    assert [(part["kind"], part["name"], part["certainty"]) for part in found.components] == [("npu", "n3 NPU 0", "certain")]


@pytest.mark.parametrize("share, named", [(0.7, []), (0.3, ["path n1 NPU 0 to n2 NPU 0"])])
def test_a_pair_that_noise_of_unknown_size_explains_is_mentioned_and_measured_again(share, named):
    """Each NPU is good with the third one. n1 is slow with n2 three times."""
    plan = [(npu("n1"), npu("n2"), 200 * share), (npu("n2"), npu("n3"), 206.0), (npu("n3"), npu("n1"), 197.0)]
    again = [(npu("n1"), npu("n2"), 203 * share), (npu("n2"), npu("n1"), 201 * share), (npu("n3"), npu("n2"), 193.0), (npu("n1"), npu("n3"), 203.0)]
    found = diagnose_records(measured(*plan, *again))
    assert [part["name"] for part in found.components] == named
    assert (found.uncertain != []) is (share == 0.7)
    mentioned = ("a pair was slow, but too few values are near the normal one to know how much they vary, so nothing is blamed: n1 NPU 0 to n2 NPU 0: 140 "
                 "Gbit/s, normal is ")
    assert (mentioned in found.detection_limit["text"]) is (share == 0.7)


READS = ((npu("n3"), npu("n4"), 54.4), (npu("n4"), npu("n3"), 71.6), (npu("n4"), npu("n2"), 82.1), (npu("n2"), npu("n3"), 66.2),
         (npu("n4"), npu("n3"), 74.5), (npu("n3"), npu("n2"), 81.1), (npu("n2"), npu("n4"), 38.4), (npu("n4"), npu("n3"), 66.9))
"""As virtual machines that share cores read: n4 is slow as a target, once by more than half."""


@pytest.mark.parametrize("others, named", [({}, []), ({71.6: 81.2, 66.2: 80.5, 74.5: 81.3, 66.9: 80.9}, ["n4 NPU 0"])])
def test_the_spread_of_good_values_is_noise_as_well(others, named):
    """Few values are near the normal one of 81 Gbit/s, and others are good, but up to 18 % below it. If they are near it, the slow ones are no noise."""
    found = diagnose_records(measured(*((source, target, others.get(value, value)) for source, target, value in READS)))
    assert [part["name"] for part in found.components] == named


NOISY = ((npu("n3"), npu("n2"), 101.0), (npu("n2"), npu("n4"), 77.0), (npu("n4"), npu("n3"), 11.8), (npu("n3"), npu("n4"), 60.0),
         (npu("n4"), npu("n2"), 11.7), (npu("n3"), npu("n2"), 63.0), (npu("n3"), npu("n2"), 130.0), (npu("n4"), npu("n3"), 11.8))
"""n4 sends at a tenth. The values of the others differ by a factor of two."""


def test_values_of_a_slow_npu_are_not_the_noise_of_the_others():
    found = diagnose_records(measured(*NOISY))
    assert [(part["kind"], part["name"], part["direction"], part["certainty"]) for part in found.components] == [("npu", "n4 NPU 0", "source", "certain")]
    assert found.by_class() == {"good": ["n3", "n2"], "slow": ["n4"], "failed": [], "busy": [], "unreachable": [], "not_measured": []}


def test_noise_of_a_factor_of_two_is_not_a_slow_npu():
    """The same without the fault."""
    healthy = [(source, target, value if value > 20 else 4 * value) for source, target, value in NOISY]
    assert diagnose_records(measured(*healthy)).components == []


HIDDEN = ((npu("n3"), npu("n2"), 110.0), (npu("n2"), npu("n4"), 31.0), (npu("n4"), npu("n3"), 10.0), (npu("n3"), npu("n4"), 95.0),
          (npu("n4"), npu("n2"), 10.2), (npu("n2"), npu("n3"), 43.0), (npu("n3"), npu("n2"), 60.0), (npu("n2"), npu("n3"), 36.0))
"""n4 sends at a tenth. The values of the others differ by a factor of more than three, so that it may be noise."""


@pytest.mark.parametrize("target, timeouts, named, message", [
    ("n3", 0, [], ""),
    ("n3", 1, [("path n4 NPU 0 to n3 NPU 0", "slow", "possible")], "also bad with another source port or number of queue pairs: too little was measured to "
     "exclude a bad direction of an NPU or a bad path between the leaves"),
    ("n2", 1, [("n4 NPU 0", "slow", "possible")], "only as source"),
    ("n2", 2, [("n4 NPU 0", "slow", "certain")], "only as source"),
])
def test_timeout_of_a_pair_that_noise_may_hide_is_not_a_failed_path(target, timeouts, named, message):
    """10 Gbit/s to n3 is just below the gate, 10.2 to n2 just above it."""
    again = [record(f"again-{number}", npu("n4"), npu(target), "perftest_timeout", options={"qps": 4}) for number in range(timeouts)]
    found = diagnose_records(measured(*HIDDEN) + again)
    assert [(part["name"], part["class"], part["certainty"]) for part in found.components] == named
    assert "".join(part["message"].partition(" below normal: ")[2] for part in found.components) == message
    assert found.coverage["pairs_failed"] == 0


HALF = ((npu("n4"), npu("n3"), 28.30), (npu("n3"), npu("n2"), 140.0), (npu("n2"), npu("n4"), 130.0), (npu("n2"), npu("n3"), 210.0),
        (npu("n4"), npu("n2"), 28.35), (npu("n4"), npu("n3"), 28.44))
"""n4 sends at a tenth, and half of the values are its own."""


@pytest.mark.parametrize("lowest, named", [(130.0, [("n4 NPU 0", "source", "certain")]), (50.0, [])])
def test_half_of_all_values_are_not_normal_if_all_of_them_are_of_one_npu(lowest, named):
    again = [record("again", npu("n4"), npu("n3"), "perftest_timeout", options={"qps": 4})]
    found = diagnose_records(measured(*((*pair, lowest if value == 130.0 else value) for *pair, value in HALF)) + again)
    assert [(part["name"], part["direction"], part["certainty"]) for part in found.components if part["kind"] == "npu"] == named
