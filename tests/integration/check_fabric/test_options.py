"""Options of the role check_fabric: a plan only, and invalid options, which are refused before the measurement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
import yaml

from tests.integration.check_fabric.cluster import Cluster
from tests.integration.check_fabric.role import FAILED, play
from tests.lib.project import COLLECTION


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", 3, 1)
    yield made
    made.close()


def test_plan_only_measures_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """With parts, it says the time and coverage of the whole."""
    leaves = {name: {"check_fabric_leaf": leaf} for name, leaf in {"n1": "A", "n2": "B", "n3": "C"}.items()}
    output = play(cluster, tmp_path, of_hosts=leaves, parts={"pod1": ["n1", "n2"]}, check_fabric_parts=["pod1"], check_fabric_plan_only="true")
    assert "quick: 2 pairs of NPUs over 3 hosts in 2 rounds" in output
    assert ("In parts: leaves in each of 1 part at the same time, at most 1 round (pod1), then quick over all hosts: about 2 s of measuring, "
            "2 of 3 pairs of leaves") in output
    assert "1 host in no part, measured only by quick over all hosts: n3" in output
    assert "n1: " not in output
    assert [cluster.calls(name).count("0 client") for name in cluster.ports] == [0, 0, 0]


@pytest.mark.long
def test_parts_that_are_no_groups_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    output = play(cluster, tmp_path, code=FAILED, check_fabric_parts=["pod9"])
    assert ("check_fabric_parts: the inventory has no group pod9; check_fabric_parts describes a plan and measures nothing: "
            "set check_fabric_plan_only as well") in output


def test_invalid_limits_are_refused_before_the_measurement(cluster: Cluster, tmp_path: Path) -> None:
    output = play(cluster, tmp_path, code=FAILED, check_fabric_relative_floor="97", check_fabric_line_rate_floor="90", check_fabric_timeout_s="1")
    assert ("check_fabric_relative_floor is 97, not a number between 0 and 1 such as 0.97; check_fabric_line_rate_floor is 90, neither 0 nor a "
            "number below 1 such as 0.9; check_fabric_timeout_s is 1 s but the plan needs about 1.2 s: raise it, or limit the plan with "
            "check_fabric_budget_minutes") in output
    assert [cluster.calls(name).count("0 client") for name in cluster.ports] == [0, 0, 0]


@pytest.mark.long
def test_numbers_as_text_of_a_survey_are_accepted(cluster: Cluster, tmp_path: Path) -> None:
    output = play(cluster, tmp_path, code=FAILED, check_fabric_floor_gbit_s="1000", check_fabric_relative_floor="0.4",
                  check_fabric_line_rate_floor="0", check_fabric_timeout_s="60")
    assert "n1: slow. " in output


@pytest.mark.parametrize(("hosts", "forks", "advanced", "seconds"), [
    (4, 5, {}, "120.0"), (256, 16, {}, "320.0"), (1000, 64, {}, "320.0"), (1000, "5", {}, "4000.0"), (256, 16, {"meeting_timeout_s": "30"}, "30.0"),
])
def test_time_that_runners_wait_for_each_other(hosts: int, forks: int | str, advanced: dict[str, str], seconds: str) -> None:
    """This limit applies if the controller does not announce that all runners have started."""
    expression = yaml.safe_load((COLLECTION / "roles/check_fabric/vars/main.yml").read_text())["__check_fabric_meeting_seconds"]
    found = jinja2.Environment().from_string(expression).render(
        ansible_play_hosts=["n"] * hosts, ansible_forks=forks, check_fabric_advanced=advanced)
    assert found == seconds
