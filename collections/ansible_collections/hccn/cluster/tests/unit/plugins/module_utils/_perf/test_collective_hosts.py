"""The limits that the manual of hccl_test requires, and the hosts that a failed run names."""

from __future__ import annotations

import subprocess

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError
from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective_hosts
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_hosts import Placed
from ansible_collections.hccn.cluster.plugins.module_utils._perf.launch_failure import Place, of_code
from ansible_collections.hccn.cluster.plugins.module_utils._perf.ranks import Suspects


def test_parse_limits():
    assert collective_hosts.parse_limits("1024\n4096\n65535\n") == {"ulimit -n": 1024, "net.core.somaxconn": 4096, "net.ipv4.tcp_max_syn_backlog": 65535}
    assert collective_hosts.parse_limits("unlimited\n") == {"ulimit -n": None}
    assert collective_hosts.parse_limits("sh: what?\n4096\n") == {"net.core.somaxconn": 4096}


def test_hosts_with_low_limits_are_grouped_by_limits():
    answers = {"10.0.0.%d" % number: "1024\n65535\n128\n" for number in range(1, 8)}
    answers.update({"10.0.1.1": "65535\n4096\n65535\n", "10.0.1.2": "unlimited\n65535\n65535\n", "10.0.1.3": ""})
    assert collective_hosts.limits_warning(answers, {"10.0.0.1": "n1"}) == (
        "the manual of hccl_test requires limits of 65535 for many ranks: 10.0.1.1 has net.core.somaxconn 4096; "
        "n1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5 and 2 more has ulimit -n 1024, net.ipv4.tcp_max_syn_backlog 128")
    assert collective_hosts.limits_warning({"a": "65535\n65535\n65535\n"}, {}) is None


def test_limits_command_runs_on_this_host():
    done = subprocess.run(collective_hosts.LIMITS_ARGV, stdout=subprocess.PIPE, timeout=20, check=True)
    assert "ulimit -n" in collective_hosts.parse_limits(done.stdout.decode())


PLACED = Placed(("10.0.0.1", "10.0.0.2"), ("npu1", "npu2"), 8)
FOUND = Suspects(("npu1",), "npu1: does not answer")


def test_hosts_that_the_output_names_and_hosts_that_were_found():
    lost = of_code("host_lost", "Connection to 10.0.0.2 closed by remote host.", [Place("10.0.0.2")])
    named = collective_hosts.culprits(lost, PLACED)
    assert named == ("npu2",)
    assert collective_hosts.all_hosts(lost, named, FOUND) == ("npu1", "npu2")
    error = collective_hosts.with_suspects(collective_hosts.with_culprits(lost, named), FOUND)
    assert error.message == "npu2: Connection to 10.0.0.2 closed by remote host.; npu1: does not answer"


def test_cause_that_names_its_host_is_kept():
    missing = of_code("program_missing", "execvp error", [Place(rank=9)])
    named = collective_hosts.culprits(missing, PLACED)
    assert collective_hosts.all_hosts(missing, named, FOUND) == ("npu2",)
    assert collective_hosts.with_suspects(collective_hosts.with_culprits(missing, named), FOUND).message == "npu2: execvp error"
    assert collective_hosts.culprits(HccnError("hccl_7", "m"), PLACED) == ()
    assert collective_hosts.all_hosts(HccnError("hccl_7", "m"), (), FOUND) == ("npu1",)
