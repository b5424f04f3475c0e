"""The variables of a job: defaults of the tools, and invalid values."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError
from ansible_collections.hccn.cluster.plugins.plugin_utils._jobs.job import ASCEND_MOUNTS, read

LEAST = {"image": "registry/hccl:1", "replicas": 2}


def test_defaults_of_hccl_test() -> None:
    job = read({**LEAST, "replicas": None, "nodes": ["a", "b", "c"]})
    assert (job.replicas, job.ranks, job.processes_per_host, job.resource, job.devices_per_pod) == (3, 24, 8, "huawei.com/Ascend910", 8)
    assert (job.options.data_type, job.ssh_port, job.deadline, job.mounts, job.security_context) == ("fp32", 22, 960, ASCEND_MOUNTS, {})


def test_defaults_of_nccl_tests() -> None:
    job = read({**LEAST, "tool": "nccl_tests", "gpus_per_process": "4", "host_network": "yes"})
    assert (job.replicas, job.ranks, job.processes_per_host, job.resource, job.devices_per_pod) == (2, 16, 2, "nvidia.com/gpu", 8)
    assert (job.options.data_type, job.options.begin, job.ssh_port, job.mounts) == ("float", "32M", 2222, ())
    assert job.security_context == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_text_values_are_converted() -> None:
    job = read({**LEAST, "replicas": "4", "sizes": {"begin": 8192, "factor": "4"}, "check": "no", "environment": {"HCCL_BUFFSIZE": 300}})
    assert (job.replicas, job.options.begin, job.options.factor, job.options.check, job.environment) == (4, "8192", 4, False, {"HCCL_BUFFSIZE": "300"})


@pytest.mark.parametrize(("changes", "message"), [
    ({"image": ""}, "image is missing"),
    ({"tool": "osu"}, "tool is 'osu'"),
    ({"ndoes": []}, "unknown keys: ndoes"),
    ({"gpus_per_process": 2}, "unknown keys: gpus_per_process"),
    ({"replicas": 0}, "the number of pods is unknown: neither nodes nor replicas is given"),
    ({"nodes": ["a"]}, "replicas is 2, but nodes has 1 names"),
    ({"nodes": ["a", "a"]}, "nodes has a duplicate"),
    ({"nodes": "a"}, "nodes is 'a', it must be a list"),
    ({"replicas": "two"}, "replicas is 'two', it must be a whole number"),
    ({"timeout": True}, "timeout is True, it must be a whole number"),
    ({"timeout": 0}, "timeout is 0, it must be 1 or more"),
    ({"host_network": "maybe"}, "host_network is 'maybe', it must be true or false"),
    ({"labels": "x"}, "labels is 'x', it must be a dictionary"),
    ({"queue": ["x"]}, "queue is ['x'], it must be text"),
    ({"mpi": "intel"}, "mpi is 'intel'"),
    ({"sizes": {"from": 1}}, "sizes must be a dictionary with begin, end and factor"),
    ({"operation": "sendrecv"}, "operation is sendrecv, which hccl_test does not support"),
    ({"data_type": "float"}, "data_type is float, which hccl_test does not support"),
    ({"root": 16}, "root is 16, but the ranks are 0 to 15"),
    ({"environment": {"LD_PRELOAD": "x"}}, "environment: LD_PRELOAD is not allowed"),
    ({"environment": {"HCCL_IF_IP": "10.0.0.1"}}, "environment: HCCL_IF_IP would give all ranks the address of one host"),
])
def test_invalid_settings_are_refused(changes: "dict[str, object]", message: str) -> None:
    with pytest.raises(InputError) as caught:
        read({**LEAST, **changes})
    assert caught.value.message == message


def test_settings_must_be_a_dictionary() -> None:
    with pytest.raises(InputError, match="must be a dictionary of variables, not str"):
        read("image")
