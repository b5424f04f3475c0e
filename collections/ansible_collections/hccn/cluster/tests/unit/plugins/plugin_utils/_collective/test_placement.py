from __future__ import annotations

import pytest
from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.hccn.cluster.plugins.filter.collective_placement import collective_placement
from ansible_collections.hccn.cluster.plugins.plugin_utils._collective.placement import placement

KEY = "ssh-ed25519 AAAA"


def npu(number=0, processes=(), **more):
    return {"id": number, "processes": None if processes is None else list(processes), **more}


def in_pod(pod, index=1):
    return {"devices": [npu(super_pod={"super_pod_id": pod, "server_index": index})]}


def placed(variables, rank_order="super_pod", **addresses):
    return placement(variables, variables.__getitem__, "probe", "trust", addresses, rank_order)


@pytest.mark.parametrize("probes, rank_order, expected", [
    ({"n1": in_pod(3), "n2": in_pod(4), "n3": in_pod(3)}, "super_pod", ["n1", "n3", "n2"]),
    ({"n1": in_pod(3), "n2": in_pod(4), "n3": in_pod(3)}, "given", ["n1", "n2", "n3"]),
    # The server index of a host outside of a super pod.
    ({"n1": in_pod(0, 1023), "n2": in_pod(0), "n3": in_pod(0, 1023), "n4": in_pod(0)}, "super_pod", ["n1", "n2", "n4", "n3"]),
    ({"n1": in_pod(1), "n2": {"devices": [npu()]}, "n3": {"devices": [npu(super_pod=None)]}, "n4": {}, "n5": in_pod(1)}, "super_pod",
     ["n1", "n5", "n2", "n3", "n4"]),
    ({"n1": {"skipped": True}, "n2": None, "n3": 5}, "super_pod", ["n1", "n2", "n3"]),
    # The number of a super pod is not mistaken for the name of a host.
    ({"7": {}, "n2": in_pod("7"), "n3": in_pod("7")}, "super_pod", ["7", "n2", "n3"]),
    ({"n1": in_pod([]), "n2": in_pod([]), "n3": in_pod(True)}, "super_pod", ["n1", "n2", "n3"]),
])
def test_hosts_of_a_super_pod_are_adjacent(probes, rank_order, expected):
    assert placed({host: {"probe": probe} for host, probe in probes.items()}, rank_order).hosts == expected


def test_addresses_and_keys_are_in_rank_order():
    trust = {host: {"host_keys": [f"{KEY} {host}"]} for host in ("n1", "n2", "n3")}
    variables = {"n1": {"probe": in_pod(1), "trust": trust["n1"], "ansible_host": "10.0.0.1"},
                 "n2": {"probe": in_pod(2), "trust": trust["n2"], "ansible_host": "10.0.0.2"}, "n3": {"probe": in_pod(1), "trust": trust["n3"]}}
    found = placed(variables, n1="192.0.2.1")
    assert (found.hosts, found.addresses) == (["n1", "n3", "n2"], ["192.0.2.1", "n3", "10.0.0.2"])
    assert found.known_hosts == [f"192.0.2.1,[192.0.2.1]:* {KEY} n1", f"n3,[n3]:* {KEY} n3", f"10.0.0.2,[10.0.0.2]:* {KEY} n2"]
    assert (found.busy, found.unready) == ([], [])


def test_busy_npus_are_named_in_the_order_of_the_hosts():
    variables = {"n1": {"probe": {"devices": [npu(0, [{"pid": 11}, {"pid": 12}]), npu(1)]}},
                 "n2": {"probe": {"devices": [npu(6, None), "x"], "msg": "cannot read"}}}
    found = placed(variables)
    assert found.busy == ["n1 NPU 0 (pid 11, 12)", "n2 NPU 6 (processes unknown)", "n2 NPU None (processes unknown)"]
    assert found.unready == [], "what is known of its NPUs is what counts"


def test_processes_on_gpus_of_any_host_are_busy():
    variables = {"n1": {"probe": {"gpu_processes": []}}, "n2": {"probe": {"gpu_processes": [{"pid": 11, "name": "a"}, {"pid": 12, "name": "b"}]}},
                 "n3": {"probe": {"msg": "nvidia-smi does not report whether the GPUs are busy", "failed": True}}}
    found = placed(variables)
    assert (found.busy, found.unready) == (["n2 GPUs (pid 11, 12)"], ["n3: nvidia-smi does not report whether the GPUs are busy"])


@pytest.mark.parametrize("result, reasons", [
    ({"msg": "npu-smi is missing"}, ["n1: npu-smi is missing"]),
    ({"msg": "MODULE FAILURE", "module_stderr": "Traceback\nOSError: full\n", "module_stdout": "x"}, ["n1: MODULE FAILURE: OSError: full"]),
    ({"msg": "MODULE FAILURE", "module_stderr": "", "module_stdout": "killed\n"}, ["n1: MODULE FAILURE: killed"]),
    ({"msg": "MODULE FAILURE", "module_stderr": " \n"}, ["n1: MODULE FAILURE"]),
    ({"msg": "said", "skipped": True}, []),
    ({"changed": False}, []),
])
@pytest.mark.parametrize("name", ["probe", "trust"])
def test_failed_modules_make_a_host_unready(result, reasons, name):
    assert placed({"n1": {name: result}}).unready == reasons


def test_a_host_may_have_two_failures():
    assert placed({"n1": {"probe": {"msg": "a"}, "trust": {"msg": "b"}}}).unready == ["n1: a", "n1: b"]


class Counted(dict):
    """Variables of hosts that count how often they and their values are read."""

    asked = 0
    read = 0

    def variables(self, host):
        self.asked += 1
        return self[host]

    def host(self, **values):
        everything = self

        class Variables(dict):
            def __getitem__(self, name):
                everything.read += 1
                return super().__getitem__(name)

            def get(self, name, default=None):
                everything.read += 1
                return super().get(name, default)

        return Variables(values)


@pytest.mark.parametrize("pods", [1, 8, 10000])
def test_the_cost_grows_linearly_with_the_hosts(pods):
    def work(count):
        counted = Counted()
        counted.update((f"n{number}", counted.host(probe=in_pod(number % pods), trust={"host_keys": [KEY]})) for number in range(count))
        found = placement(counted, counted.variables, "probe", "trust", {}, "super_pod")
        assert len(found.hosts) == len(found.addresses) == len(found.known_hosts) == count
        return counted.asked, counted.read

    assert work(10) == (10, 30)
    assert work(1000) == (1000, 3000)


def test_the_filter_returns_a_dictionary():
    variables = {"n1": {"probe": in_pod(1)}, "n2": {"probe": {"msg": "lost"}}}
    assert collective_placement(["n1", "n2", "n3"], variables, "probe", "trust", {"n2": "192.0.2.2"}) == {
        "hosts": ["n1", "n2", "n3"], "addresses": ["n1", "192.0.2.2", "n3"], "known_hosts": [], "busy": [], "unready": ["n2: lost"]}


def test_a_variable_that_cannot_be_templated_is_an_error():
    class Broken(dict):
        def get(self, name, default=None):
            raise AnsibleError("no such filter")

    with pytest.raises(AnsibleFilterError, match="collective_placement: a variable of a host cannot be read: no such filter"):
        collective_placement(["n1"], {"n1": Broken()}, "probe", "trust")
