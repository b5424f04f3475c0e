# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks against rank tables from manuals and from the tests of their readers: what is valid passes, what is not fails for its reason."""

from __future__ import annotations

import re

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document, hccl
from tests.support import shared

FOLDER = "samples/ranktable"

# What reader hccl says: (rule, place, code). Products as their file names say them.
EXPECTED: dict[str, list[tuple[str, str | None, str | None]]] = {
    "hccl_v1.0_910_doc.json": [],
    "hccl_v1.0_a2_doc.json": [],
    "hccl_v1.0_a3_classic_doc.json": [],
    "hccl_v1.0_hcomm_example.json": [],
    "mindie_llm_ut_ranktable.json": [],
    "pymotor_hccl_a2.json": [],
    # One device's local_comm_res in the shape of a table: no rank, a placeholder for the address.
    "llm_datadist_local_comm_res_v1.0_doc.json": [
        ("required_keys", "server_list[0].device[0].rank_id", "EI0017"), ("device_ip", "server_list[0].device[0].device_ip", "EI0014")],
    # An excerpt: four servers are counted, one is shown.
    "a2_4nodes_mindie.json.txt": [("server_count", "server_count", "EI0014")],
    # What is not ready yet.
    "motor_example_global_ranktable.json": [("status", "status", "EI0004"), ("server_list", "server_list", "EI0017")],
    # Not JSON: comments, commas too many or too few, omissions.
    "a2_v1.0.json.txt": [("json", None, "EI0004")],
    "a3_plain_v1.0.json.txt": [("json", None, "EI0004")],
    "ascend_operator_hccl_v1.0_doc.txt": [("json", None, "EI0004")],
    "llm_datadist_local_comm_res_v1.2_invalid_doc.txt": [("json", None, "EI0004")],
    # Other formats.
    "hccl_grouplist_910_doc.json": [("format", None, None)],
    "hccl_v2.0_a5_ipv4_doc.json": [("format", None, None)],
    "motor_global_rank_table.json": [("format", None, None)],
    "hixl_local_comm_res_v1.3_L117.json": [("format", None, None)],
    "a5_topo_file_doc.json": [("format", None, None)],
}

PRODUCTS = {"hccl_v1.0_910_doc.json": "910A", "hccl_v1.0_a2_doc.json": "A2", "hccl_v1.0_a3_classic_doc.json": "A3", "pymotor_hccl_a2.json": "A2"}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_hccl_says(name: str) -> None:
    problems = checks.check_text(shared(f"{FOLDER}/{name}").read_bytes(), product=PRODUCTS.get(name))
    assert [(problem.rule, problem.where, problem.error_code) for problem in problems] == EXPECTED[name]


@pytest.mark.parametrize(("name", "products"), [("a2_v1.0.json.txt", ["A2", None]), ("a3_plain_v1.0.json.txt", ["A3", "A2", None])])
def test_the_samples_of_the_manual_are_valid_without_their_comments(name: str, products: list[str | None]) -> None:
    text = re.sub(r"//.*", "", shared(f"{FOLDER}/{name}").read_text())
    assert [checks.check_text(text, product=product) for product in products] == [[]] * len(products)


@pytest.mark.parametrize(("name", "line"), [("a2_v1.0.json.txt", 2), ("a3_plain_v1.0.json.txt", 2)])
def test_comments_are_named_as_what_they_are(name: str, line: int) -> None:
    problem, = checks.check_text(shared(f"{FOLDER}/{name}").read_bytes())
    assert problem.message.startswith(f"not JSON: line {line} ")
    assert problem.hint == "JSON has no comments: remove them"


def test_mindie_llm_takes_its_own_sample_and_names_what_others_lack() -> None:
    said = {name: [problem.rule for problem in checks.check_text(shared(f"{FOLDER}/{name}").read_bytes(), ["mindie_llm"])]
            for name in ("mindie_llm_ut_ranktable.json", "hccl_v1.0_a2_doc.json", "pymotor_hccl_a2.json")}
    assert said == {"mindie_llm_ut_ranktable.json": [], "hccl_v1.0_a2_doc.json": ["container_ip", "container_ip"],
                    "pymotor_hccl_a2.json": ["server_count"]}


@pytest.mark.parametrize("name", [name for name, problems in EXPECTED.items() if not problems])
def test_a_valid_sample_survives_a_round_trip(name: str) -> None:
    table = document.parse(shared(f"{FOLDER}/{name}").read_bytes())
    text = document.text_of(table)
    assert document.parse(text) == table
    assert list(document.parse(text)) == list(table)
    assert text.count('"rank_id"') == hccl.rank_count(table)
