"""A part of the checks of ``make simulate``, with fixed seeds and a random one, which is printed if it fails."""

from __future__ import annotations

import secrets

import pytest

from tests.lab.fabric_simulation import __main__ as table
from tests.lab.fabric_simulation import checks
from tests.lab.fabric_simulation.cost import cost, cost_with_confirmation

FRESH = secrets.randbelow(10**9)


def passed(figures):
    assert figures.good, "\n".join((figures.found, *figures.details))
    return figures.found


def test_plans_have_the_minimum_of_rounds():
    assert passed(checks.rounds_of_plans([64, 65])) == "6 of 6 plans"


def test_quick_names_every_bad_node_and_npu():
    # Of fresh seeds, about one in sixty names the NPUs of a bad node one by one, or a good NPU. make simulate counts them.
    seeds = [0, 1, 20, 41, 60, 66, 75, 80, 1001]
    assert passed(checks.npus(seeds, 128)).startswith("exact in 9 of 9; rounds: ")


def test_quick_is_exact_with_a_thousand_hosts():
    trial = checks.npu_trial(19, 1024)
    assert (trial.world.count, trial.world.devices) == (1024, 1)
    assert trial.is_exact()
    assert trial.rounds == 2


def test_bad_rails_leaves_and_paths_are_named():
    assert passed(checks.fabric([0, 1, 2, 3, 4, 5, 8, 10, 14, 22, 16, FRESH])).startswith("exact in 12 of 12: ")


def test_an_intermittent_node_is_named():
    assert passed(checks.flapping([0, FRESH], 32)) == "named in 2 of 2"


@pytest.mark.parametrize("plan, count, devices", [("quick", 1024, 2), ("full", 256, 1)])
def test_nothing_is_named_on_a_healthy_fabric(plan, count, devices):
    assert passed(checks.false_blames([0, 1], plan, count, devices)) == "0 of 2 runs"


def test_full_detects_a_drop_of_five_percent():
    assert passed(checks.misses([0, 1, 2], "full", 64, 1, 0.05)) == "0 of 12 missed, 0 named without cause"


@pytest.mark.parametrize("adaptive", [True, False])
def test_quick_detects_a_drop_of_its_detection_limit(adaptive):
    assert passed(checks.misses([0, 1, 2, 3], "quick", 128, 2, None, adaptive)) == "0 of 16 missed, 0 named without cause"


@pytest.mark.parametrize("hosts, device_only, most", [(1, False, 1.4), (3, False, 2.0), (1, True, 1.4)])
def test_hung_hosts_cost_little_time(hosts, device_only, most):
    figures = checks.hung([0], hosts, device_only=device_only)
    assert f"at most {most:g} x" in figures.wanted
    assert passed(figures).endswith("coverage 100 %")


def test_late_hosts_are_measured():
    assert passed(checks.late([0], 32)).endswith("coverage 100 %")


@pytest.mark.parametrize("fault, named", [("nothing", []), ("node", ["n018"]), ("rail", ["rail 1"]), ("path", ["path L2-L4"])])
def test_the_fault_of_a_matrix_of_rows_is_named(fault, named):
    assert cost(128, 2, fault).named == named


def test_the_fault_of_rows_is_named_after_a_confirmation_run():
    assert cost_with_confirmation(128, 2).named == ["spine"]


def test_a_host_with_wrong_reports_changes_no_other_verdict():
    assert passed(checks.claims([*range(15), FRESH])).startswith("0 of 16 runs in which another verdict changed")


def test_the_table_of_results_is_printed(monkeypatch, capsys):
    rows = [checks.Row("one", "found", "wanted", True, 1.0), checks.Row("two", "found", "wanted", False, 2.0, ["seed 3: x"])]
    monkeypatch.setattr(table, "rows", lambda trials, fresh, largest: iter(rows[:trials]))
    assert table.main(["--trials", "1", "--seed", "7"]) == 0
    assert table.main(["--trials", "2", "--seed", "7"]) == 1
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "seeds 0 to 1, and 7", "good  one: found (wanted: wanted) [1 s]", "BAD   two: found (wanted: wanted) [2 s]", "      seed 3: x"]
