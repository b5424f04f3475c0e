"""Rank tables of ClusterD: each recorded pair of inputs and table, byte for byte as JSON, for the version that sent it.

ClusterD numbers the instances in no fixed order, so instances are compared in the order of their texts, without their numbers.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import rank_table_config_maps
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError

from tests.lib.project import shared

Table = dict[str, Any]
NAMES = ("a3", "all-initializing", "count-differs", "extra-keys", "logical-id", "no-container-ip", "no-coordinator", "no-hccl-json", "no-host-ip-a3",
         "no-mx-consumer-cim", "no-status", "not-json", "one-initializing", "plain", "server-label", "two-per-instance", "two-servers-a3")
VERSIONS = ("v7.1.RC1", "v7.2.RC1", "v7.3.0", "v26.0.1", "master")
SILENT = ("all-initializing", "no-coordinator", "no-hccl-json", "not-json")
"""Inputs for which ClusterD sends nothing."""
REASONS = {
    "no-coordinator": (
        "app_missing", "there is no pod of mindie-ms-coordinator with the label jobID=mindie-no-coordinator: ClusterD sends no table without it"),
    "no-hccl-json": ("config_map", "the ConfigMap has no key hccl.json: ClusterD sends no table of this job at all"),
    "not-json": ("config_map", "not JSON: line 1 column 2: Expecting property name enclosed in double quotes: ClusterD sends no table of this job at all"),
}
OMITTED = {"no-mx-consumer-cim": "config_map_label", "no-status": "instance_incomplete", "one-initializing": "instance_incomplete"}


class Api:
    """A Kubernetes API with the recorded objects."""

    def __init__(self, namespace: str, recorded: Table) -> None:
        self._objects = {
            "configmaps": [{"metadata": {"name": one["name"], "namespace": namespace, "labels": one["labels"]}, "data": one["data"]}
                           for one in recorded["configmaps"]],
            "pods": [{"metadata": {"name": one["name"], "namespace": namespace, "labels": one["labels"]},
                      "status": {key: one[key] for key in ("hostIP", "podIP", "phase") if one.get(key)}} for one in recorded["pods"]]}

    def items(self, _group: str, plural: str, namespace: str = "", labels: str = "") -> list[Table]:
        wanted = dict(part.split("=") for part in labels.split(",") if part)
        return [item for item in self._objects.get(plural, []) if wanted.items() <= item["metadata"]["labels"].items()
                and namespace in ("", item["metadata"]["namespace"])]


@cache
def recorded() -> dict[str, Table]:
    lines = shared("oracle/clusterd_tables.jsonl").read_text().splitlines()
    return {one["id"]: one for one in map(json.loads, lines) if one["kind"] == "pair"}


def as_text(table: Table) -> str:
    """Return the JSON text of a table, with its keys in their order, and the instances in the order of their texts."""
    fixed, instances = table["server_group_list"][:2], table["server_group_list"][2:]
    assert [group["group_id"] for group in instances] == [str(2 + place) for place in range(len(instances))]
    unnumbered = sorted(({**group, "group_id": ""} for group in instances), key=json.dumps)
    return json.dumps({**table, "server_group_list": fixed + unnumbered}, separators=(",", ":"))


def built(pair: Table) -> rank_table_config_maps.GlobalTable:
    api = Api(pair["namespace"], pair["input"])
    found = rank_table_config_maps.instances(api, pair["namespace"], pair["job_id"], "")  # type: ignore[arg-type]
    return rank_table_config_maps.global_of(api, pair["namespace"], pair["job_id"], found, pair["version"])  # type: ignore[arg-type]


def test_all_recorded_pairs_are_compared() -> None:
    assert sorted(recorded()) == sorted(f"{version}/pair/{name}" for version in VERSIONS for name in NAMES)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SILENT])
def test_table(name: str, version: str) -> None:
    pair = recorded()[f"{version}/pair/{name}"]
    found = built(pair)
    assert found.table is not None
    assert [as_text(found.table)] == [as_text(table) for table in pair["pushed"]]
    assert [problem.rule for problem in found.problems] == ([OMITTED[name]] if name in OMITTED else [])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SILENT)
def test_no_table(name: str, version: str) -> None:
    pair = recorded()[f"{version}/pair/{name}"]
    assert pair["pushed"] == []
    if name == "all-initializing":
        with pytest.raises(HccnError, match="no instance of job mindie-all-initializing is complete yet") as caught:
            built(pair)
        assert caught.value.code == "no_rank_table"
        return
    found = built(pair)
    assert found.table is None
    assert [(problem.rule, problem.message, problem.severity) for problem in found.problems] == [(*REASONS[name], "error")]
