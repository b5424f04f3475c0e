"""Uplinks, spines and other components of the fabric, with rails of their own leaves: NPU i of the hosts of a group is on leaf RiGn."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.confirmation_run import plan_confirmation_run
from ansible_collections.hccn.cluster.plugins.plugin_utils._diagnose.diagnosis import diagnose, diagnose_records
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.pair_plan import make_plan
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import extended, pairs_of

HOSTS = ["n%02d" % number for number in range(1, 17)]
GROUP = {host: place // 4 for place, host in enumerate(HOSTS)}
DEVICES = 2


def leaf(host, device):
    return "R%dG%d" % (device, GROUP[host])


ENTRIES = [{"host": host, "control_address": "192.0.2.%d" % place, "control_port": 18514,
            "devices": [{"id": device, "address": "198.51.%d.%d" % (device, place), "leaf": leaf(host, device)} for device in range(DEVICES)]}
           for place, host in enumerate(HOSTS, 1)]
FULL = make_plan(ENTRIES, "full")


def measured(plan, share, **options):
    """Return results of 200 Gbit/s times ``share(number, source, target, device)``; ``number`` counts the pairs between leaves."""
    found = {host: {"run_id": "r1", "state": "finished", "measurements": []} for host in HOSTS}
    crossing = itertools.count()
    for name, ((source, device), (target, _other)) in pairs_of(plan):
        number = next(crossing) if leaf(source, device) != leaf(target, device) else -1
        value = 200.0 * share(number, source, target, device)
        found[source]["measurements"].append({
            "id": "r1/%s/forward/1" % name, "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "options": dict(options),
            "source": {"host": source, "device": device}, "target": {"host": target, "device": device},
            "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]})
    return found


def named(found):
    return [(part["kind"], part["name"], part["certainty"]) for part in found.components]


def bad(found):
    return [verdict.host for verdict in found.verdicts if verdict.verdict != "good"]


def diagnosed(share, plan=None, **options):
    plan = plan or FULL
    return diagnose(HOSTS, measured(plan, share, **options), plan=plan)


def touches(name, number, source, target, device):
    return number >= 0 and name in (leaf(source, device), leaf(target, device))


def test_all_uplinks_of_a_leaf_of_one_rail():
    """Its NPUs are good with each other, so they are not intermittent, which the count over both rails made them."""
    found = diagnosed(lambda *pair: 0.6 if touches("R1G2", *pair) else 1.0)
    assert (named(found), bad(found)) == ([("leaf", "leaf R1G2", "certain")], [])


def test_one_of_several_uplinks():
    found = diagnosed(lambda number, *pair: 0.6 if touches("R1G2", number, *pair) and number // 2 % 4 == 0 else 1.0)
    assert (named(found), bad(found)) == ([("uplink", "uplink of leaf R1G2", "certain")], [])
    assert ": one of its uplinks. Find it with the counters of the leaf's ports" in found.components[0]["message"]
    assert "% of its pairs with other leaves are affected" in found.components[0]["message"]


def test_one_of_several_spines():
    found = diagnosed(lambda number, *_pair: 0.6 if number >= 0 and number // 2 % 4 == 0 else 1.0)
    assert (named(found), bad(found)) == ([("spine", "spine", "certain")], [])
    assert "on all leaves alike: one of the spines, or its links" in found.components[0]["message"]


def test_the_path_between_two_leaves_of_a_rail():
    found = diagnosed(lambda number, source, target, device: 0.6 if {leaf(source, device), leaf(target, device)} == {"R0G1", "R0G3"} else 1.0)
    assert (named(found), bad(found)) == ([("path", "path R0G1-R0G3", "certain")], [])


def test_two_uplinks_are_not_a_spine():
    def share(number, *pair):
        return 0.6 if number // 2 % 4 == 0 and (touches("R1G2", number, *pair) or touches("R0G0", number, *pair)) else 1.0

    found = diagnosed(share)
    assert ({name for _kind, name, _sure in named(found)}, bad(found)) == ({"uplink of leaf R1G2", "uplink of leaf R0G0"}, [])


def test_two_uplinks_that_cross_most_leaves_are_not_a_spine():
    """With three leaves of a rail, every pair between leaves touches one of two of them, so that each alone is hardly better than noise."""
    def share(number, source, target, device):
        touched = [name for name in ("R1G0", "R1G1") if touches(name, number, source, target, device)]
        return 0.6 if touched and number // 2 % 4 == (0 if touched[0] == "R1G0" else 1) else 1.0

    found = diagnosed(share)
    assert ({name for _kind, name, _sure in named(found)}, bad(found)) == ({"uplink of leaf R1G0", "uplink of leaf R1G1"}, [])


def test_all_npus_of_a_host_are_bad_if_most_are_and_a_spine_explains_the_others():
    """NPU 3 of n06 was measured over the bad spine only. A node is more likely than a fault of each of the others."""
    hosts = [{**entry, "devices": [{"id": device, "address": "198.51.%d.%d" % (device, place), "leaf": leaf(entry["host"], device)} for device in range(4)]}
             for place, entry in enumerate(ENTRIES, 1)]
    plan = make_plan(hosts, "full")
    only = {("n06", 3): "n10"}

    def share(number, source, target, device):
        if "n06" in (source, target):
            return 0.6
        return 0.7 if number >= 0 and number // 4 % 4 == 0 else 1.0

    results = measured(plan, share)
    for result in results.values():  # of n06 NPU 3, keep the pairs between leaves
        result["measurements"] = [record for record in result["measurements"] if not any(
            (record[side]["host"], record[side]["device"]) in only and GROUP[record[other]["host"]] == GROUP["n06"]
            for side, other in (("source", "target"), ("target", "source")))]
    found = diagnose(HOSTS, results, plan=plan)
    assert (sorted(name for _kind, name, _sure in named(found)), bad(found)) == (["n06", "spine"], ["n06"])


@pytest.mark.parametrize("others, certainty", [([], "possible"), ([("n02", "n06"), ("n03", "n07")], "certain")])
def test_a_bad_pair_between_leaves_may_be_their_path(others, certainty):
    """n01 and n05 are good with others. Only other pairs of their leaves show that the path between these is good."""
    pairs = [("n01", "n05"), ("n01", "n02"), ("n03", "n01"), ("n05", "n06"), ("n07", "n05"), ("n03", "n04"), ("n07", "n08"), ("n09", "n10"), *others]
    plan = make_plan(ENTRIES, "pairs", pairs=list(map(list, pairs)))
    whole = measured(plan, lambda number, source, target, device: 0.6 if (source, target, device) == ("n01", "n05", 0) else 1.0)
    again = [{**record, "id": record["id"].replace("forward", "again")} for result in whole.values() for record in result["measurements"]
             if record["samples"][0]["bandwidth_gbit_s"] == 120.0]
    whole["n01"]["measurements"] += again
    assert named(diagnose(HOSTS, whole, plan=plan)) == [("pair", "path n01 NPU 0 to n05 NPU 0", certainty)]


def test_a_bad_pair_may_be_one_direction_of_an_npu():
    """n01 sends to n02 only, so it may be bad as a source."""
    pairs = [("n01", "n02"), ("n03", "n01"), ("n04", "n01"), ("n02", "n03"), ("n04", "n02"), ("n03", "n04"), ("n05", "n06"), ("n07", "n08")]
    plan = make_plan(ENTRIES, "pairs", pairs=list(map(list, pairs)))
    results = measured(plan, lambda number, source, target, device: 0.6 if (source, target, device) == ("n01", "n02", 0) else 1.0)
    (first,) = [record for record in results["n01"]["measurements"] if record["samples"][0]["bandwidth_gbit_s"] == 120.0]
    results["n01"]["measurements"].append({**first, "id": "r1/again/forward/1"})
    assert named(diagnose(HOSTS, results, plan=plan)) == [("pair", "path n01 NPU 0 to n02 NPU 0", "possible")]


def test_leaves_of_different_rails_are_no_pairs_that_were_missed():
    """Two rails of four leaves have twelve pairs of leaves, each measured by four hosts of both."""
    assert diagnosed(lambda *pair: 1.0).detection_limit["blind"] == []
    found = diagnosed(lambda *pair: 1.0, make_plan(ENTRIES, "pairs", pairs=[["n01", "n05"], ["n06", "n02"], ["n09", "n13"]]))
    assert found.detection_limit["blind"][1] == "paths between 10 of 12 pairs of leaves were not measured by two hosts on each leaf"


def test_an_npu_and_an_uplink_of_its_leaf():
    def share(number, source, target, device):
        if ("n09", 1) in ((source, device), (target, device)):
            return 0.7
        return 0.6 if touches("R1G2", number, source, target, device) and number // 2 % 4 == 0 else 1.0

    found = diagnosed(share)
    assert ({name for _kind, name, _sure in named(found)}, bad(found)) == ({"uplink of leaf R1G2", "n09 NPU 1"}, ["n09"])


def test_an_npu_that_sends_slowly_is_not_a_path_inside_its_leaf():
    """One bad pair of two hosts of a leaf is not two hosts on either side."""
    quick = make_plan(ENTRIES, "pairs", pairs=[*zip(HOSTS[::4], HOSTS[1::4]), *zip(HOSTS[2::4], HOSTS[3::4]), *zip(HOSTS[1::4], HOSTS[2::4]), ["n04", "n05"]])
    found = diagnosed(lambda number, source, target, device: 0.6 if (source, device) == ("n02", 0) else 1.0, quick)
    assert not any(kind == "path" for kind, _name, _sure in named(found))


def test_slow_pairs_between_leaves_prove_nothing_in_long_tests():
    """Pairs of a round share the links between leaves while they last. The confirmation run measures the NPUs inside their leaves."""
    pairs = [[one, other] for one, other in itertools.combinations(HOSTS, 2) if GROUP[one] != GROUP[other]][::5]
    plan = make_plan(ENTRIES, "pairs", pairs=pairs)

    def share(number, source, target, device):
        return 0.5 if number >= 0 and number % 2 or (source, device) == ("n01", 0) or (target, device) == ("n01", 0) else 1.0

    assert bad(diagnosed(share, plan)) != []
    found = diagnosed(share, plan, duration_s=5)
    assert (named(found), bad(found)) == ([], [])
    assert ("n01", 0) in found.behind_path
    results = measured(plan, share, duration_s=5)
    whole = extended(plan, plan_confirmation_run(plan, found, results).rounds)
    assert bad(diagnosed(share, whole, duration_s=5)) == ["n01"]


@pytest.mark.parametrize("ports, certainty", [(False, "probable"), (True, "certain")])
def test_only_a_port_that_was_set_shows_which_path_is_bad(ports, certainty):
    """Bad twice as before and good with another port or number of queue pairs."""
    results = measured(FULL, lambda number, source, target, device: 0.6 if {source, target} == {"n01", "n02"} and device == 0 else 1.0,
                       **({"source_port": 50000} if ports else {}))
    (first,) = [record for result in results.values() for record in result["measurements"] if record["samples"][0]["bandwidth_gbit_s"] == 120.0]
    good = {**first, "id": "r1/again/forward/1", "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 200.0}]}
    good["options"] = {"source_port": 50001} if ports else {"qps": 4}
    results["x"] = {"measurements": []}
    results[first["source"]["host"]]["measurements"] += [good, {**first, "id": "r1/same/forward/1"}]
    found = diagnose_records(results, plan={"topology": FULL["topology"]})
    assert [sure for _kind, _name, sure in named(found)] == [certainty]


@pytest.mark.parametrize("good, bad, ending", [
    ([["192.0.2.1", "192.0.2.11"]] * 2, [["192.0.2.1", "192.0.2.12"]] * 2, "; each bad measurement that was traced passed 192.0.2.12, and no good one did"),
    ([["192.0.2.1", "192.0.2.11", "192.0.2.21"]] * 2, [["192.0.2.1", "192.0.2.12", "192.0.2.22"]],
     "; each bad measurement that was traced passed 192.0.2.12/192.0.2.22, and no good one did"),
    ([["192.0.2.1", "192.0.2.11"]] * 2, [["192.0.2.1", "192.0.2.12"], ["192.0.2.1", "192.0.2.13"]], ""),
    ([["192.0.2.1", "192.0.2.11"]] * 2, [["192.0.2.12"], ["192.0.2.13"], ["192.0.2.12", "192.0.2.14"], ["192.0.2.13", "192.0.2.15"]],
     "; each bad measurement that was traced passed one of 192.0.2.12, 192.0.2.13, and no good one did"),
    ([["192.0.2.1", "192.0.2.11"]] * 2, [["192.0.2.12"], ["192.0.2.12"], ["192.0.2.1"]], ""),
    ([["192.0.2.1", "192.0.2.11"]] * 2, [["192.0.2.1"], ["192.0.2.1"]], ""),
    ([["192.0.2.1", "192.0.2.11"], ["192.0.2.1"]], [["192.0.2.1", "192.0.2.12"]] * 2, ""),  # the second good one may lack a router that did not answer
    ([[], []], [["192.0.2.1", "192.0.2.12"]] * 2, ""),
])
def test_routers_that_only_bad_measurements_passed_are_named(good, bad, ending):
    results = measured(FULL, lambda number, source, target, device: 0.6 if {source, target} == {"n01", "n02"} and device == 0 else 1.0, source_port=50000)
    (first,) = [record for result in results.values() for record in result["measurements"] if record["samples"][0]["bandwidth_gbit_s"] == 120.0]
    again = [{**first, "id": "r1/same/forward/%d" % number, "context": {"routers": routers}} for number, routers in enumerate(bad)]
    swept = [{**first, "id": "r1/again/forward/%d" % number, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 200.0}],
              "options": {"source_port": 50001 + number}, "context": {"routers": routers}} for number, routers in enumerate(good)]
    results["x"] = {"measurements": []}
    results[first["source"]["host"]]["measurements"] += [*again, *swept]
    (found,) = diagnose_records(results, plan={"topology": FULL["topology"]}).components
    assert found["message"].endswith("bad again as before: one of several links of the path is bad, not the host" + ending)


def _record(source, target, name, port, gbit_s, routers=()):
    return {"id": "r1/%s/forward/1" % name, "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth", "options": {"source_port": port},
            "source": {"host": source, "device": 0}, "target": {"host": target, "device": 0}, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": gbit_s}],
            **({"context": {"routers": list(routers)}} if routers else {})}


def _with_bad_paths(pairs, router=lambda target: "203.0.113.9"):
    """Return a diagnosis of results in which these pairs are slow with the port of the run, again with it and with another one, and good with two others.

    A path passes the router of its leaf, and a spine, which answers with the port that the packet enters, ``router(target)`` for the bad one.
    """
    results = measured(FULL, lambda number, source, target, device: 0.6 if device == 0 and (source, target) in pairs else 1.0, source_port=50000)
    for source, target in pairs:
        results[source]["measurements"] += [
            *(_record(source, target, "%s-bad-%d" % (source, port), port, 120.0, ["203.0.113.1", router(target)]) for port in (50000, 50001)),
            *(_record(source, target, "%s-good-%d" % (source, port), port, 200.0, ["203.0.113.1", "203.0.113.2"]) for port in (50002, 50003))]
    return diagnose(HOSTS, results, plan=FULL)


def _direction(one, other):
    """Return the two hosts as source and target of the pair in the plan."""
    return next((source, target) for _name, ((source, device), (target, _other)) in pairs_of(FULL) if device == 0 and {source, target} == {one, other})


def test_bad_paths_of_one_leaf_that_pass_the_same_router_are_its_uplink():
    """Both cross uplinks of the leaf of n01 and n02, to different leaves."""
    found = _with_bad_paths([_direction("n01", "n05"), _direction("n02", "n09")])
    assert (named(found), bad(found)) == ([("uplink", "uplink of leaf R0G0", "certain")], [])
    assert found.components[0]["message"].endswith("each bad measurement that was traced passed 203.0.113.9, and no good one did")


def test_bad_paths_with_one_host_in_common_are_not_the_host():
    found = _with_bad_paths([_direction("n01", "n05"), _direction("n01", "n09")])
    assert (named(found), bad(found)) == ([("uplink", "uplink of leaf R0G0", "certain")], [])


def test_bad_paths_between_the_same_two_leaves_do_not_show_which_one():
    found = _with_bad_paths([_direction("n01", "n05")])
    assert [kind for kind, _name, _sure in named(found)] == ["pair"]


def test_bad_paths_of_one_leaf_that_pass_different_routers_are_not_its_uplink():
    """Two uplinks are bad, those of the leaves of n05 and n09."""
    found = _with_bad_paths([_direction("n01", "n05"), _direction("n02", "n09")], lambda target: "203.0.113.%d" % (7 + (target in ("n02", "n09"))))
    assert [(kind, sure) for kind, _name, sure in named(found)] == [("pair", "certain")] * 2


def test_a_host_of_paths_that_were_not_traced_may_be_bad():
    """A port also selects a link of a bond, which is not traced."""
    pairs = [_direction("n01", "n05"), _direction("n01", "n09")]
    results = measured(FULL, lambda number, source, target, device: 0.6 if device == 0 and (source, target) in pairs else 1.0, source_port=50000)
    for source, target in pairs:
        results[source]["measurements"] += [_record(source, target, "%s-%d" % (target, number), port, gbit_s) for number, (port, gbit_s) in enumerate(
            [(50000, 120.0), (50001, 120.0), (50002, 200.0), (50003, 200.0)])]
    assert [kind for kind, _name, _sure in named(diagnose(HOSTS, results, plan=FULL))] == ["pair", "pair"]


def test_a_pair_that_is_bad_again_and_again_does_not_hide_the_good_ones_of_its_npus():
    """Both NPUs have one other partner, with which they are good."""
    source, target = _direction("n01", "n05")
    results = measured(FULL, lambda *_pair: 1.0, source_port=50000)
    for result in results.values():
        result["measurements"] = [record for record in result["measurements"] if record["source"]["device"] or {
            record[side]["host"] for side in ("source", "target")}.isdisjoint(("n01", "n05"))]
    results["n01"]["measurements"].append(_record("n01", "n02", "a", 50000, 200.0))
    results["n05"]["measurements"].append(_record("n05", "n06", "b", 50000, 200.0))
    results[source]["measurements"] += [_record(source, target, "again-%d" % number, 50000 + number, 120.0) for number in range(9)]
    found = diagnose_records(results, plan={"topology": FULL["topology"]})
    assert [kind for kind, _name, _sure in named(found)] == ["pair"]


def test_a_confirmation_run_is_bounded():
    """Every third pair between leaves is slow by other traffic, far more than can be measured again."""
    results = measured(FULL, lambda number, *_pair: 0.6 if number >= 0 and number % 3 == 0 and number % 7 else 1.0)
    further = plan_confirmation_run(FULL, diagnose(HOSTS, results, plan=FULL), results)
    assert further is None or len(further.rounds) <= 8 + 15 // 10


def test_another_port_is_swept_if_the_run_set_one():
    results = measured(FULL, lambda number, source, target, device: 0.6 if {source, target} == {"n01", "n02"} and device == 0 else 1.0, source_port=50000)
    further = plan_confirmation_run(FULL, diagnose(HOSTS, results, plan=FULL), results)
    ports = [entry["options"]["source_port"] for one in further.rounds for entry in one]
    assert sorted(ports) == [50000] * 3 + list(range(50001, 50008))  # twice with other partners, and once as it was
    assert len(further.rounds) == 9


def test_many_bad_hosts_are_not_a_spine():
    """40 of 96 hosts are slow. A spine would make as many pairs bad, but not all pairs of each of these hosts."""
    hosts = ["m%02d" % number for number in range(96)]
    slow = sorted(hosts[::3] + hosts[1::12])
    entries = [{"host": host, "control_address": "192.0.2.%d" % place, "control_port": 18514,
                "devices": [{"id": device, "address": "198.51.%d.%d" % (device, place), "leaf": "G%d" % (place // 8)} for device in range(2)]}
               for place, host in enumerate(hosts)]

    def results(plan):
        found = {host: {"run_id": "r1", "state": "finished", "measurements": []} for host in hosts}
        for name, ((source, device), (target, _other)) in pairs_of(plan):
            found[source]["measurements"].append({
                "id": "r1/%s/forward/1" % name, "kind": "rdma", "status": "ok", "operation": "write", "measure": "bandwidth",
                "source": {"host": source, "device": device}, "target": {"host": target, "device": device},
                "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": 200.0 if {source, target}.isdisjoint(slow) else 140.0}]})
        return found

    plan = make_plan(entries, "quick", seed=1)
    whole = extended(plan, plan_confirmation_run(plan, diagnose(hosts, results(plan), plan=plan), results(plan)).rounds)
    found = diagnose(hosts, results(whole), plan=whole)
    assert (sorted(name for _kind, name, _sure in named(found)), bad(found)) == (slow, slow)
