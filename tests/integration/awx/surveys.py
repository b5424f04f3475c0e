"""The surveys that the role awx makes, for tests."""

from __future__ import annotations

from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._awx import questions

from tests.lib.project import COLLECTION

ROLES = COLLECTION / "roles"


def survey(role: str) -> dict[str, Any]:
    return questions.surveys_of([{"name": role, "role": role}], ROLES)[role]
