"""The filters of roles/awx for tests, and the surveys that they make."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import yaml

from tests.lib.project import COLLECTION, ROOT

ROLES = COLLECTION / "roles"


def plugin(name: str) -> ModuleType:
    path = ROOT / f"roles/awx/filter_plugins/{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def jobs() -> list[dict[str, Any]]:
    """Return the job templates that roles/awx makes."""
    return yaml.safe_load((ROOT / "roles/awx/vars/main.yml").read_text())["__awx_jobs"]


def survey(role: str) -> dict[str, Any]:
    return plugin("awx_survey").awx_surveys([{"name": role, "role": role}], str(ROLES))[role]
