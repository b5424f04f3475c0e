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
    said = play(cluster, tmp_path, check_fabric_plan_only="true")
    assert "quick: 2 pairs of NPUs over 3 hosts in 2 rounds" in said
    assert "n1: " not in said
    assert [cluster.calls(name).count("0 client") for name in cluster.ports] == [0, 0, 0]


def test_invalid_limits_are_refused_before_the_measurement(cluster: Cluster, tmp_path: Path) -> None:
    said = play(cluster, tmp_path, code=FAILED, check_fabric_relative_floor="97", check_fabric_line_rate_floor="90", check_fabric_timeout="1")
    assert ("check_fabric_relative_floor is 97, not a number between 0 and 1 such as 0.97; check_fabric_line_rate_floor is 90, neither 0 nor a "
            "number below 1 such as 0.9; the plan takes about 1.2 s, longer than check_fabric_timeout with 1 s: raise it, or bound the plan by "
            "check_fabric_budget") in said
    assert [cluster.calls(name).count("0 client") for name in cluster.ports] == [0, 0, 0]


def test_numbers_as_text_of_a_survey_are_accepted(cluster: Cluster, tmp_path: Path) -> None:
    said = play(cluster, tmp_path, code=FAILED, check_fabric_floor_gbit_s="1000", check_fabric_relative_floor="0.4",
                check_fabric_line_rate_floor="0", check_fabric_timeout="60")
    assert "n1: slow. " in said


@pytest.mark.parametrize(("hosts", "forks", "asked", "seconds"), [
    (4, 5, 0.0, "120"), (256, 16, 0.0, "320"), (1000, 64, 0.0, "320"), (1000, 5, 0.0, "4000"), (1000, "5", "0", "4000"), (256, 16, 30, "30.0"),
])
def test_time_that_hosts_wait_for_the_start_of_the_others(hosts: int, forks: int | str, asked: float | str, seconds: str) -> None:
    """The limit applies if the controller does not announce that all have started."""
    expression = yaml.safe_load((COLLECTION / "roles/check_fabric/vars/main.yml").read_text())["__check_fabric_meeting_seconds"]
    found = jinja2.Environment().from_string(expression).render(
        ansible_play_hosts=["n"] * hosts, ansible_forks=forks, check_fabric_meeting_timeout=asked)
    assert found == seconds
