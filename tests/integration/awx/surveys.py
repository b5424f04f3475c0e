"""The filters of roles/awx for tests, and the surveys that they make."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import yaml

from tests.lib.module import import_file
from tests.lib.project import COLLECTION, ROOT

ROLES = COLLECTION / "roles"


def plugin(name: str) -> ModuleType:
    return import_file(ROOT / f"roles/awx/filter_plugins/{name}.py")


def jobs() -> list[dict[str, Any]]:
    """Return the job templates that roles/awx makes."""
    return yaml.safe_load((ROOT / "roles/awx/vars/main.yml").read_text())["__awx_jobs"]


def survey(role: str) -> dict[str, Any]:
    return plugin("awx_survey").awx_surveys([{"name": role, "role": role}], str(ROLES))[role]
