"""The module's options: as documented, and handed on whole."""

from __future__ import annotations

from typing import Any

import yaml

from ansible_collections.hccn.cluster.plugins.doc_fragments._collective import ModuleDocFragment
from ansible_collections.hccn.cluster.plugins.module_utils._perf.collective_tool import CollectiveOptions
from ansible_collections.hccn.cluster.plugins.modules import hccl_perf


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
    whole = {name: option.get("default") for name, option in hccl_perf.argument_spec().items()}
    whole.update(changes)
    return whole


def test_argument_spec_is_the_documentation() -> None:
    options = {**yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"], **yaml.safe_load(hccl_perf.DOCUMENTATION)["options"]}
    assert hccl_perf.argument_spec() == documented(options)


def test_defaults() -> None:
    request = hccl_perf.request(params())
    assert request.options == CollectiveOptions()
    assert (request.hosts, request.folder, request.mpirun) == ((), "", "mpirun")
    assert (request.timeout, request.check_hosts, request.attempt) == (600, True, 1)
    assert len(request.run_id) == 25


def test_everything_is_handed_on() -> None:
    request = hccl_perf.request(params(
        operation="reduce", hosts=["a", "b"], ranks_per_host=16, sizes={"begin": "1K", "end": "2K", "factor": 4}, iterations=3, warmup=2,
        data_type="int8", reduction="max", root=1, check=False, hccl_test_dir="/t", mpirun="/m", environment={"HCCL_BUFFSIZE": 200}, timeout=9,
        check_hosts=False, run_id="r", attempt=2))
    assert request.options == CollectiveOptions("reduce", 16, "1K", "2K", 4, 3, 2, "int8", "max", 1, False)
    assert (request.hosts, request.folder, request.mpirun, request.environment) == (("a", "b"), "/t", "/m", {"HCCL_BUFFSIZE": "200"})
    assert (request.timeout, request.check_hosts, request.run_id, request.attempt, request.ranks) == (9, False, "r", 2, 32)


def test_examples_are_yaml() -> None:
    tasks = yaml.safe_load(hccl_perf.EXAMPLES)
    assert [task["hccn.cluster.hccl_perf"] for task in tasks if "hccn.cluster.hccl_perf" in task][0] is None
    spec = hccl_perf.argument_spec()
    for task in tasks:
        assert set(task.get("hccn.cluster.hccl_perf") or {}) <= set(spec)
