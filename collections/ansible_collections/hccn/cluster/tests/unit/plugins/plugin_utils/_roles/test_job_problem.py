"""Wording and limits of the problems of a job."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._roles.job_problem import JobProblem, merged, message

HOSTS = tuple(f"npu{number}" for number in range(1, 513))


@pytest.mark.parametrize("hosts, devices, sentence", [
    ((), (), "it is wrong"),
    (("npu1",), (), "npu1: it is wrong"),
    (("npu3",), (("npu3", 5),), "npu3 NPU 5: it is wrong"),
    (("npu3",), (("npu3", 0), ("npu3", 1), ("npu3", 2)), "npu3 NPUs 0-2: it is wrong"),
    (("npu3",), (("npu3", 0), ("npu3", 5)), "npu3 NPUs 0, 5: it is wrong"),
    (("npu3",), (("npu3", 0), ("npu3", 1), ("npu3", 5)), "npu3 NPUs 0-1, 5: it is wrong"),
    (HOSTS[:4], (), "npu1, npu2, npu3 and 1 more: it is wrong"),
    (HOSTS, (), "all 512 hosts: it is wrong"),
    (("np\x1bu",), (), "np?u: it is wrong"),
])
def test_a_sentence_begins_with_the_hosts(hosts, devices, sentence):
    assert JobProblem("address_invalid", "it is wrong", hosts, devices).sentence(512) == sentence


def test_a_few_hosts_are_listed_even_if_they_are_all():
    assert JobProblem("address_invalid", "it is wrong", HOSTS[:2]).sentence(2) == "npu1, npu2: it is wrong"


def test_the_message_is_limited_to_twenty_lines_and_a_count():
    lines = message([JobProblem("no_hosts", f"problem {number}") for number in range(25)], 4).split("\n")
    assert (lines[0], lines[19], lines[20:]) == ("problem 0", "problem 19", ["... and 5 more"])
    assert message([JobProblem("no_hosts", "one")], 4) == "one"


def test_the_size_of_a_result_is_limited():
    found = JobProblem("address_invalid", "x" * 9000, HOSTS, tuple((host, 0) for host in HOSTS)).as_dict()
    assert (found["cause"], found["host_count"], found["hosts"][-1], len(found["hosts"]), len(found["devices"])) == ("address_invalid", 512, "npu20", 20, 20)
    assert len(found["message"]) == 2000
    assert JobProblem("no_hosts", "none").as_dict() == {"cause": "no_hosts", "message": "none", "hosts": [], "host_count": 0}


def test_equal_problems_are_merged():
    found = merged([JobProblem("address_invalid", "a", ("n1",), (("n1", 0),)), JobProblem("address_invalid", "b", ("n1",)),
                    JobProblem("address_invalid", "a", ("n1",), (("n1", 1),)), JobProblem("address_conflict", "a", ("n2",))])
    assert found == [JobProblem("address_invalid", "a", ("n1",), (("n1", 0), ("n1", 1))), JobProblem("address_invalid", "b", ("n1",)),
                     JobProblem("address_conflict", "a", ("n2",))]
