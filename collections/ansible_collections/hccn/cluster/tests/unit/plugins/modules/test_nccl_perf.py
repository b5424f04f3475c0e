"""The module's options: as documented, and handed on whole."""

from __future__ import annotations

from typing import Any

import yaml

from ansible_collections.hccn.cluster.plugins.doc_fragments._collective import ModuleDocFragment
from ansible_collections.hccn.cluster.plugins.module_utils._perf.nccl_tests_tool import NCCL_TESTS, NcclOptions
from ansible_collections.hccn.cluster.plugins.modules import nccl_perf


def documented(options: "dict[str, Any]") -> "dict[str, Any]":
    """The documentation's options as an argument spec."""
    spec = {}
    for name, option in options.items():
        entry = {key: option[key] for key in ("type", "elements", "default", "choices") if key in option}
        if "suboptions" in option:
            entry["options"] = documented(option["suboptions"])
        spec[name] = entry
    return spec


def params(**changes: object) -> "dict[str, Any]":
    whole = {name: option.get("default") for name, option in nccl_perf.argument_spec().items()}
    whole.update(changes)
    return whole


def test_argument_spec_is_the_documentation() -> None:
    options = {**yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"], **yaml.safe_load(nccl_perf.DOCUMENTATION)["options"]}
    assert nccl_perf.argument_spec() == documented(options)


def test_defaults() -> None:
    request = nccl_perf.request(params())
    assert (request.options, request.tool) == (NcclOptions(), NCCL_TESTS)
    assert (request.hosts, request.folder, request.mpirun, request.smi, request.allow_busy) == ((), "", "mpirun", "nvidia-smi", False)
    assert len(request.run_id) == 25


def test_everything_is_handed_on() -> None:
    request = nccl_perf.request(params(
        operation="reduce", hosts=["a", "b"], host_names=["A", "B"], ranks_per_host=16, gpus_per_process=4, sizes={"begin": "1K", "end": "2K", "factor": 4},
        iterations=3, warmup=2, data_type="half", reduction="max", root=1, check=False, nccl_tests_dir="/t", mpirun="/m",
        environment={"NCCL_IB_TC": 128}, timeout=9, check_hosts=False, run_id="r", attempt=2, nvidia_smi="/s", allow_busy=True))
    assert request.options == NcclOptions("reduce", 16, "1K", "2K", 4, 3, 2, "half", "max", 1, False, 4)
    assert (request.hosts, request.names, request.folder, request.mpirun, request.environment) == (
        ("a", "b"), ("A", "B"), "/t", "/m", {"NCCL_IB_TC": "128"})
    assert (request.timeout, request.check_hosts, request.run_id, request.attempt, request.smi, request.allow_busy) == (9, False, "r", 2, "/s", True)
    assert (request.ranks, request.processes) == (32, 8)


def test_examples_are_yaml() -> None:
    spec = nccl_perf.argument_spec()
    tasks = [task for task in yaml.safe_load(nccl_perf.EXAMPLES) if "hccn.cluster.nccl_perf" in task]
    assert len(tasks) == 4
    for task in tasks:
        assert set(task["hccn.cluster.nccl_perf"] or {}) <= set(spec)
