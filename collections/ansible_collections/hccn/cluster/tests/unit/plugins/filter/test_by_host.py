from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.hccn.cluster.plugins.filter.by_host import FilterModule

by_host = FilterModule().filters()["by_host"]


class HostVars(Mapping):
    """Counts how often the variables of a host are read."""

    def __init__(self, variables):
        self.variables, self.reads = variables, []

    def __getitem__(self, host):
        self.reads.append(host)
        return self.variables[host]

    def __contains__(self, host):
        return host in self.variables

    def __iter__(self):
        return iter(self.variables)

    def __len__(self):
        return len(self.variables)


def test_the_variable_of_each_host_is_read_once():
    hostvars = HostVars({f"n{number}": {"npus": {"devices": [number]}, "other": 1} for number in range(100)})
    asked = [f"n{number}" for number in range(0, 100, 2)]
    assert by_host(asked, hostvars, "npus") == {host: {"devices": [int(host[1:])]} for host in asked}
    assert hostvars.reads == asked


def test_hosts_without_the_variable_are_omitted_or_get_the_default():
    hostvars = {"n1": {"npus": 1}, "n2": {}, "n3": {"npus": 3}}
    assert by_host(["n3", "n2", "n1", "n4"], hostvars, "npus") == {"n3": 3, "n1": 1}
    assert by_host(["n1", "n2", "n4"], hostvars, "npus", default={"failed": True}) == {"n1": 1, "n2": {"failed": True}, "n4": {"failed": True}}


def test_keys_can_be_mapped_to_other_names():
    assert by_host(["n1", "n2"], {"n1": {"npus": 1}, "n2": {"npus": 2}}, "npus", names={"n2": "worker-2", "n9": "worker-9"}) == {"n1": 1, "worker-2": 2}
