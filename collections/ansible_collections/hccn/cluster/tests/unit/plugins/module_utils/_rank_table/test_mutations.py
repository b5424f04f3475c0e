"""Every rule of every reader has a mutation, and finds it; valid tables of every format have no problem."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, formats

from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table import tables
from ansible_collections.hccn.cluster.tests.unit.plugins.module_utils._rank_table.mutations import MUTATIONS


@pytest.mark.parametrize("reader, name, table", [pytest.param(*valid, id="%s-%s-%d" % (valid[0], valid[1], place)) for place, valid in enumerate(tables.VALID)])
def test_a_valid_table_has_no_problem(reader, name, table):
    assert name in checks.RULES[reader]
    assert checks.check(table, [reader]) == []


@pytest.mark.parametrize("name, table", [
    ("hccl", tables.hccl()), ("hccl", tables.super_pods()), ("hccl_2.0", tables.rank_list()), ("group_list", tables.group_list()),
    ("global", tables.global_table()), ("vllm_pd", tables.prefill_decode()), ("local_comm_res", tables.endpoints()), ("hccl", tables.one_device()),
    ("local_comm_res", {"version": "1.3"}), ("hccl_1.1", {"version": "1.1", "server_list": []}), ("topology", {"version": "2.0", "peer_list": []}),
    ("", {"status": "initializing"}), ("", {})])
def test_formats_are_recognised_by_content(name, table):
    assert formats.recognise(table).name == name


@pytest.mark.parametrize("mutation", [pytest.param(one, id="%s-%s-%s-%s" % one[:4]) for one in MUTATIONS])
def test_a_mutation_is_caught_by_its_rule(mutation):
    table = mutation.table()
    before = copy.deepcopy(table)
    rules = {problem.rule for problem in checks.check(mutation.apply(table), [mutation.reader], mutation.product)}
    assert mutation.rule in rules
    assert table == before


def test_every_rule_has_a_mutation():
    wanted = {(reader, name, rule.name) for reader, by_format in checks.RULES.items() for name, rules in by_format.items() for rule in rules}
    assert {mutation[:3] for mutation in MUTATIONS} == wanted
