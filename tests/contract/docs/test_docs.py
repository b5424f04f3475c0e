"""Check the text of the documentation: links of Markdown files (Sphinx checks those of docs/), commands, error codes and the reference."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._perf import hccl_errors
from tests.lab.benchmarks import scale_chart
from tests.contract.docs import clusterd_codes, collective_codes, findings, supported_versions
from tests.contract.docs.pages import DOCS, NOT_RUN, Command, steps
from tests.lib.project import COLLECTION, ROOT

PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.rst"))
LINK = re.compile(r"\]\(([^)#\s]+)")
FILE = re.compile(r"`([\w./-]+\.(?:py|yml))`")
PACKAGE = re.compile(r"`(_[a-z_]+)`")


def markdown() -> list[Path]:
    folders = [ROOT, ROOT / "tests", ROOT / "collections/ansible_collections/hccn/cluster"]
    found = set(folders[0].glob("*.md")) | {path for folder in folders[1:] for path in folder.rglob("*.md")}
    return sorted(path for path in found if "output" not in path.parts)


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in markdown()])
def test_links_resolve(path: str) -> None:
    targets = [target for target in LINK.findall((ROOT / path).read_text()) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in targets if not ((ROOT / path).parent / target).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_named_files_exist(page: str) -> None:
    files = ["/" + path.relative_to(ROOT).as_posix() for folder in ("collections", "tests", "playbooks", "roles") for path in (ROOT / folder).rglob("*.*")]
    named = {name for name in FILE.findall((ROOT / page).read_text()) if "NAME" not in name}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not any(path.endswith("/" + name) for path in files)] == []


def test_contributing_names_every_package() -> None:
    plugins = ROOT / "collections/ansible_collections/hccn/cluster/plugins"
    packages = {path.parent.name for path in plugins.glob("*_utils/_*/__init__.py")}
    assert packages - set(PACKAGE.findall((ROOT / "CONTRIBUTING.md").read_text())) == set()


def test_at_most_one_command_in_ten_touches_an_npu() -> None:
    commands = [step for page in PAGES for step in steps(page) if isinstance(step, Command)]
    assert len(commands) > 20
    assert len([command for command in commands if command.kind == "npu"]) <= len(commands) / 10


def test_every_command_that_is_not_run_is_registered() -> None:
    lines = {step.line for page in PAGES for step in steps(page) if isinstance(step, Command) and step.kind == "not-run"}
    assert lines == set(NOT_RUN)


def test_every_error_code_is_explained() -> None:
    text = (DOCS / "troubleshooting.rst").read_text()
    numbers = [*hccl_errors._EI_HINTS, *(f"retcode: {number}" for number in hccl_errors._ACL_HINTS if number != "100000")]
    assert [number for number in numbers if number not in text] == []


def test_findings_page_is_up_to_date() -> None:
    assert (DOCS / "explanation/findings.rst").read_text() == findings.page(), "python -m tests.contract.docs.findings > docs/explanation/findings.rst"


def test_page_of_collective_codes_is_up_to_date() -> None:
    expected = "python -m tests.contract.docs.collective_codes > docs/explanation/collective_codes.rst"
    assert (DOCS / "explanation/collective_codes.rst").read_text() == collective_codes.page(), expected


def test_page_of_clusterd_codes_is_up_to_date() -> None:
    expected = "python -m tests.contract.docs.clusterd_codes > docs/explanation/clusterd_codes.rst"
    assert (DOCS / "explanation/clusterd_codes.rst").read_text() == clusterd_codes.page(), expected


def test_page_of_supported_versions_is_up_to_date() -> None:
    expected = "python -m tests.contract.docs.supported_versions > docs/supported_versions.rst"
    assert (DOCS / "supported_versions.rst").read_text() == supported_versions.page(), expected


def test_page_of_jobs_lists_every_playbook() -> None:
    listed = re.findall(r"^   \* - ``(\w+)``$", (DOCS / "jobs.rst").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def test_every_plugin_and_role_is_in_one_topic_of_the_reference() -> None:
    listed = re.findall(r"^   \S.* </reference/(\w+)>$", "".join(path.read_text() for path in sorted(DOCS.glob("plugins/*.rst"))), re.MULTILINE)
    folders = {"module": "plugins/modules", "filter": "plugins/filter", "lookup": "plugins/lookup", "callback": "plugins/callback"}
    present = [f"{path.stem}_{kind}" for kind, folder in folders.items() for path in (COLLECTION / folder).glob("*.py")]
    present += [f"{path.name}_role" for path in (COLLECTION / "roles").iterdir()]
    assert sorted(listed) == sorted([*present, "environment_variables"])


def test_chart_matches_its_figures() -> None:
    drawn = scale_chart.draw(json.loads(scale_chart.FIGURES.read_text()))
    assert scale_chart.CHART.read_text() == drawn
    assert all(word in drawn for word in ("bring_up 237", "check_fabric 513", "rank_table 166", "prefers-color-scheme: dark"))
