from __future__ import annotations

import pytest

from ansible.errors import AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter import datadist_calls, datadist_lines

calls = datadist_calls.FilterModule().filters()["datadist_calls"]
lines = datadist_lines.FilterModule().filters()["datadist_lines"]


def cluster(number, role, host):
    return {"cluster": number, "role": role, "host": host, "device": 0, "ip_infos": [{"ip": f"192.0.2.{number}", "port": 26000 + number}]}


CLUSTERS = [cluster(1, "prefill", "p1"), cluster(2, "prefill", "p2"), cluster(3, "decode", "d1"), cluster(4, "decode", "d1"), cluster(5, "decode", "d2")]


def linked(host, *planned, timeout_ms=700):
    return [(call["own"]["cluster"], [remote["cluster"] for remote in call["remotes"]], call["timeout_ms"])
            for call in calls(CLUSTERS, host, list(planned), timeout_ms)]


def test_without_planned_calls_all_prefill_clusters_are_linked():
    assert linked("d1") == [(3, [1, 2], 700), (4, [1, 2], 700)]
    assert linked("p1") == linked("elsewhere") == []
    assert calls(CLUSTERS, "d2") == [{"own": CLUSTERS[4], "timeout_ms": 1000, "remotes": [
        {"cluster": 1, "ip": "192.0.2.1", "port": 26001}, {"cluster": 2, "ip": "192.0.2.2", "port": 26002}]}]


def test_planned_calls_are_those_of_the_clusters_of_the_host():
    planned = [{"cluster": 3, "remotes": [2, 1], "timeout_ms": 300}, {"cluster": 5, "remotes": [1]}, {"cluster": 3, "remotes": [2]}]
    assert linked("d1", *planned) == [(3, [1, 2], 300), (3, [2], 1000)]
    assert linked("d2", *planned) == [(5, [1], 1000)]


def test_a_prefill_cluster_without_an_address_is_an_error():
    with pytest.raises(AnsibleFilterError) as raised:
        calls([{**CLUSTERS[0], "ip_infos": []}, CLUSTERS[2]], "d1")
    assert str(raised.value) == "datadist_calls: the prefill cluster 1 has no ip_infos (give the address and port at which it listens)"


def test_problems_are_formatted_as_lines():
    problems = [{"severity": "error", "host": "p2", "device": 1, "message": "the link of NPU 1 of p2 is down", "hint": "mend the link"},
                {"severity": "warning", "message": "7 more problems of the rule link", "rule": "link"}]
    assert lines({"planned": {"links": 4, "clusters": 5, "devices": 3, "calls": 2}, "problems": problems}) == [
        "LLM-DataDist: 4 links of 5 clusters on 3 NPUs, 2 problems", "error: p2 NPU 1: the link of NPU 1 of p2 is down. mend the link",
        "warning: 7 more problems of the rule link"]
