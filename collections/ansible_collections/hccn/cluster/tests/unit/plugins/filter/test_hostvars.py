"""The cost of filters that read variables of all hosts grows linearly with the number of hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.hccn.cluster.plugins.filter.address_hosts import address_hosts
from ansible_collections.hccn.cluster.plugins.filter.measurable_hosts import measurable_hosts
from ansible_collections.hccn.cluster.plugins.filter.tls_differences import tls_differences
from ansible_collections.hccn.cluster.plugins.filter.tls_rollout import tls_rollout


class Counted(dict):
    """The variables of all hosts; counts how often those of a host are read."""

    reads = 0

    def __getitem__(self, host: str) -> Any:
        self.reads += 1
        return super().__getitem__(host)


class Names(list):
    """Names of hosts; counts how often they are searched or iterated over."""

    walks = 0

    def __contains__(self, name: object) -> bool:
        self.walks += 1
        return super().__contains__(name)

    def __iter__(self) -> Any:
        self.walks += 1
        return super().__iter__()


FILTERS: dict[str, Callable[[Names, Counted], Any]] = {
    "address_hosts": lambda hosts, hostvars: address_hosts(hosts, hostvars, "npus"),
    "measurable_hosts": lambda hosts, hostvars: measurable_hosts(hosts, hostvars, "npus", 18514),
    "tls_differences": lambda hosts, hostvars: tls_differences(hosts, hostvars, "npus"),
    "tls_rollout": lambda hosts, hostvars: tls_rollout(hosts, hostvars, hosts, hosts),
}


@pytest.mark.parametrize("count", [10, 1000])
@pytest.mark.parametrize("name", FILTERS)
def test_each_host_is_read_once(name: str, count: int) -> None:
    answers = {f"n{place}": {"devices": [{"id": 0, "address": f"10.0.{place // 250}.{place % 250}", "tls": {"enabled": False}}]} for place in range(count)}
    hostvars = Counted({host: {"npus": answer, "tls_dry_run": answer, "tls_devices": {"state": "enabled", **answer}} for host, answer in answers.items()})
    hosts = Names(hostvars)
    FILTERS[name](hosts, hostvars)
    assert hostvars.reads == count
    assert hosts.walks <= 5
