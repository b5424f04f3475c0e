"""The limits that the manual of hccl_test requires."""

from __future__ import annotations

import subprocess

from ansible_collections.hccn.cluster.plugins.module_utils._perf import collective_hosts


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
