"""A stream of 150 s with the real times of ClusterD: longer than three keepalive pings of a client that pings every 30 s, and than the timeout of nginx."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import nic_switch
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd.grpc_channel import Channel, Server

from tests.integration.clusterd.conftest import Start
from tests.integration.clusterd.nginx import Nginx
from tests.simulator.clusterd_sim.profiles import PROFILES
from tests.simulator.clusterd_sim.world import Job, Times, World

pytestmark = pytest.mark.usefixtures("no_proxy")
SWITCH, RESULT = "/Recover/SwitchNicTrack", "/Recover/SubscribeSwitchNicSignal"
SECONDS = 150


def switched(address: str) -> nic_switch.Outcome:
    with Channel(Server(address), 5) as channel:
        return nic_switch.switch(channel, nic_switch.request("job-1", {"node-1": [0]}, "failover"), 300)


@pytest.mark.parametrize("version", PROFILES)
def test_switch_of_150_seconds(tmp_path: Path, clusterd: Start, version: str) -> None:
    """On one stream without a proxy; on three through an nginx with its default timeout of 60 s."""
    one = clusterd(World((Job("job-1", {"node-1": ["0"]}),), Times(switch=SECONDS, reset=5), version=version))
    assert (switched(one.address).status, one.paths()) == ("finished", [SWITCH, RESULT])
    behind = clusterd(World((Job("job-1", {"node-1": ["0"]}),), Times(switch=SECONDS, reset=5), version=version))
    with Nginx(tmp_path / "nginx", behind.port) as nginx:
        assert (switched(nginx.address).status, behind.paths()) == ("finished", [SWITCH, RESULT, RESULT, RESULT])
