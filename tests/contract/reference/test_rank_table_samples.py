"""Check rank tables from manuals and from the tests of their readers: valid tables pass, and each invalid table fails with the expected problem."""

from __future__ import annotations

import re

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._rank_table import checks, document
from tests.lib.project import shared

FOLDER = "samples/ranktable"

OLD_SCHEMA = {"required_keys": "error", "value_types": "error"}

# By sample: its format, its reader, and the rules that it violates. Listed samples that are absent are skipped.
EXPECTED: dict[str, tuple[str, str, dict[str, str]]] = {
    "hccl_v1.0_910_doc.json": ("hccl", "hccl", {}),
    "hccl_v1.0_a2_doc.json": ("hccl", "hccl", {}),
    "hccl_v1.0_a3_classic_doc.json": ("hccl", "hccl", {}),
    "hccl_v1.0_300iduo_doc.json": ("hccl", "hccl", {}),
    "hccl_v1.0_hcomm_example.json": ("hccl", "hccl", {}),
    "pymotor_hccl_a2.json": ("hccl", "hccl", {}),
    # Its SDIDs are 0 to 7.
    "hccl_v1.2_a3_two_superpods_doc.json": ("hccl", "hccl", {"sdid": "warning"}),
    # Ranks 0 and 7 only.
    "pymotor_hccl_a3.json": ("hccl", "hccl", {"rank_ids": "error"}),
    "mindie_llm_ut_ranktable.json": ("hccl", "mindie_llm", {}),
    "mindie_llm_fuzz_ranktable.json": ("hccl", "mindie_llm", {}),
    # An excerpt: the count says four servers, the table contains one.
    "a2_4nodes_mindie.json.txt": ("hccl", "mindie_llm", {"server_count": "error"}),
    # Tables that are not completed yet.
    "motor_example_global_ranktable.json": ("", "mindie_motor", {"status": "warning", "group_list": "error"}),
    "hccl_grouplist_910_doc.json": ("group_list", "hccl", {}),
    "hccl_v2.0_a5_ipv4_doc.json": ("hccl_2.0", "hccl", {}),
    "hccl_v2.0_a5_eid_doc.json": ("hccl_2.0", "hccl", {}),
    "hccl_v2.0_test_2p_ut.json": ("hccl_2.0", "hccl", {}),
    "hccl_v2.0_hcomm_example.json": ("hccl_2.0", "hccl", {}),
    # rank_count is a string; older names of keys.
    "hccl_v2.0_oldschema_ut_levels.json": ("hccl_2.0", "hccl", OLD_SCHEMA),
    "hccl_v2.0_test_2p.json": ("hccl_2.0", "hccl", OLD_SCHEMA),
    "hccl_v2.0_test_2p_error.json": ("hccl_2.0", "hccl", OLD_SCHEMA),
    "hccl_v2.0_test_4p_2x2.json": ("hccl_2.0", "hccl", OLD_SCHEMA),
    "motor_global_rank_table_cross_node.json": ("global", "mindie_motor", {}),
    # MindIE-Motor does not check the fields that are wrong here.
    "motor_global_rank_table.json": ("global", "mindie_motor", {"server_count": "warning", "server_unique": "warning"}),
    "motor_global_rank_table_6group.json": ("global", "mindie_motor", {"server_unique": "warning"}),
    "motor_global_rank_table_cross_node_a2.json": ("global", "mindie_motor", {"super_pods": "warning"}),
    "motor_global_rank_table_cross_node_a3.json": ("global", "mindie_motor", {"super_pods": "warning"}),
    # Placeholders and one group of three.
    "clusterd_global_ranktable_v1.0_doc.json": ("global", "mindie_motor", {
        "group_count": "error", "coordinator_group": "error", "server_addresses": "error", "device_values": "error", "device_ip": "error"}),
    "clusterd_global_ranktable_v1.2_doc.json": ("global", "mindie_motor", {
        "group_count": "error", "coordinator_group": "error", "server_addresses": "error", "device_values": "error", "device_ip": "error"}),
    "vllm_ascend_pd_ranktable_ut.json": ("vllm_pd", "vllm", {"device_lists": "error"}),
    "hixl_local_comm_res_v1.3_L109.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L117.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L218.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L226.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L243.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L259.json": ("local_comm_res", "hixl", {}),
    "hixl_local_comm_res_v1.3_L275.json": ("local_comm_res", "hixl", {}),
    # A placeholder instead of the address.
    "llm_datadist_local_comm_res_v1.0_doc.json": ("hccl", "hixl", {"device_ip": "error"}),
    # Not JSON: comments, surplus or missing commas, omissions.
    "a2_v1.0.json.txt": ("", "hccl", {"json": "error"}),
    "a3_plain_v1.0.json.txt": ("", "hccl", {"json": "error"}),
    "a3_superpod_v1.2.json.txt": ("", "hccl", {"json": "error"}),
    "ascend_operator_hccl_v1.0_doc.txt": ("", "hccl", {"json": "error"}),
    "ascend_operator_hccl_v1.2_doc.txt": ("", "hccl", {"json": "error"}),
    "ascend_operator_hccl_v2.0_doc.txt": ("", "hccl", {"json": "error"}),
    "llm_datadist_local_comm_res_v1.2_invalid_doc.txt": ("", "hixl", {"json": "error"}),
    # No rank table.
    "a5_topo_file_doc.json": ("topology", "hccl", {"format": "error"}),
}

PRODUCTS = {"hccl_v1.0_910_doc.json": "910A", "hccl_v1.0_a2_doc.json": "A2", "hccl_v1.0_a3_classic_doc.json": "A3", "pymotor_hccl_a2.json": "A2",
            "hccl_v1.0_300iduo_doc.json": "310P", "hccl_grouplist_910_doc.json": "910A", "hccl_v2.0_a5_ipv4_doc.json": "950",
            "hccl_v2.0_a5_eid_doc.json": "950", "hccl_v1.2_a3_two_superpods_doc.json": "A3"}

# The problems that the rules of HCCL report for tables of other readers or of no reader: (rule, place, code).
HCCL_SAYS: dict[str, list[tuple[str, str | None, str | None]]] = {
    "mindie_llm_ut_ranktable.json": [],
    "llm_datadist_local_comm_res_v1.0_doc.json": [
        ("required_keys", "server_list[0].device[0].rank_id", "EI0017"), ("device_ip", "server_list[0].device[0].device_ip", "EI0014")],
    "a2_4nodes_mindie.json.txt": [("server_count", "server_count", "EI0014")],
    "motor_example_global_ranktable.json": [("status", "status", "EI0004"), ("server_list", "server_list", "EI0017")],
    "a2_v1.0.json.txt": [("json", None, "EI0004")],
    "motor_global_rank_table.json": [("format", None, None)],
    "hixl_local_comm_res_v1.3_L117.json": [("format", None, None)],
    "a5_topo_file_doc.json": [("format", None, None)],
}


def present() -> dict[str, bytes]:
    """Return the samples that are available."""
    return {path.name: path.read_bytes() for path in sorted(shared(FOLDER).iterdir()) if path.name != "sources.tsv"}


def test_samples_have_the_expected_problems() -> None:
    samples = present()
    assert len(samples) >= 37 and set(samples) <= set(EXPECTED)
    found = {}
    for name, content in samples.items():
        reader = EXPECTED[name][1]
        verdict = checks.examine_text(content, [reader], PRODUCTS.get(name))
        found[name] = (verdict.format, reader, {problem.rule: problem.severity for problem in verdict.problems})
    assert found == {name: EXPECTED[name] for name in samples}


@pytest.mark.parametrize("name", HCCL_SAYS)
def test_hccl_problems_of_other_tables(name: str) -> None:
    problems = checks.check_text(shared(f"{FOLDER}/{name}").read_bytes())
    assert [(problem.rule, problem.where, problem.error_code) for problem in problems] == HCCL_SAYS[name]


def test_unsupported_format_is_one_problem() -> None:
    """A table in a format that a reader does not accept is one problem."""
    for name, content in present().items():
        shape = EXPECTED[name][0]
        others = [reader for reader, taken in checks.RULES.items() if shape and shape not in taken]
        assert [(problem.reader, problem.rule) for problem in checks.check_text(content, others)] == [(reader, "format") for reader in others], name


@pytest.mark.parametrize("version", ["1.0", "1.2"])
def test_global_table_of_the_manual_has_only_warnings_unless_its_reader_is_named(version: str) -> None:
    """The manual shows one group of instances. Its placeholders are filled in."""
    text = shared(f"{FOLDER}/clusterd_global_ranktable_v{version}_doc.json").read_text()
    for placeholder, value in (("xx.xx.xx.xx", "192.0.2.1"), ("xxxxx", "37748736"), ('"x"', '"0"')):
        text = text.replace(placeholder, value)
    found = {named: [(problem.rule, problem.severity) for problem in checks.check(document.parse(text), ["mindie_motor"], named=named)]
             for named in (False, True)}
    assert found == {False: [("group_count", "warning"), ("coordinator_group", "warning")], True: [("group_count", "error"), ("coordinator_group", "error")]}


@pytest.mark.parametrize(("name", "products"), [
    ("a2_v1.0.json.txt", ["A2", None]), ("a3_plain_v1.0.json.txt", ["A3", "A2", None])])
def test_manual_samples_are_valid_without_comments(name: str, products: list[str | None]) -> None:
    text = re.sub(r"//.*", "", shared(f"{FOLDER}/{name}").read_text())
    assert [checks.check_text(text, product=product) for product in products] == [[]] * len(products)


def test_manual_super_pods_are_valid_except_for_sdids() -> None:
    text = re.sub(r"//.*", "", shared(f"{FOLDER}/a3_superpod_v1.2.json.txt").read_text())
    for product in ("A3", None):
        problem, = checks.check_text(text, product=product)
        assert (problem.rule, problem.severity) == ("sdid", "warning")
        assert problem.message == "no super_device_id of the table is an SDID of A3: all of them are below 65536, so they are placeholders"


@pytest.mark.parametrize(("name", "line"), [("a2_v1.0.json.txt", 2), ("a3_plain_v1.0.json.txt", 2)])
def test_comments_are_reported(name: str, line: int) -> None:
    problem, = checks.check_text(shared(f"{FOLDER}/{name}").read_bytes())
    assert problem.message.startswith(f"not JSON: line {line} ")
    assert problem.hint == "JSON has no comments: remove them"


def test_mindie_llm_reports_missing_fields() -> None:
    found = {name: [problem.rule for problem in checks.check_text(shared(f"{FOLDER}/{name}").read_bytes(), ["mindie_llm"])]
            for name in ("hccl_v1.0_a2_doc.json", "pymotor_hccl_a2.json")}
    assert found == {"hccl_v1.0_a2_doc.json": ["container_ip", "container_ip"], "pymotor_hccl_a2.json": ["server_count"]}


def test_valid_samples_survive_a_round_trip() -> None:
    samples = {name: document.parse(content) for name, content in present().items() if EXPECTED[name][0] == "hccl" and not EXPECTED[name][2]}
    assert len(samples) >= 6
    for name, table in samples.items():
        text = document.to_text(table)
        assert (document.parse(text), list(document.parse(text))) == (table, list(table)), name
        assert text.count('"rank_id"') == sum(len(server["device"]) for server in table["server_list"])
