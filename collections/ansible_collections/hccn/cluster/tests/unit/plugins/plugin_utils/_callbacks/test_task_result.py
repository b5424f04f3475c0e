"""Task results of all supported releases of ansible-core."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.hccn.cluster.plugins.plugin_utils._callbacks import task_result


class Deprecating:
    """As in ansible-core 2.21."""

    result = {"rc": 0}
    _result = {"rc": 1}
    _task_fields = {"ignore_errors": True}

    @property
    def task_fields(self) -> dict[str, Any]:
        raise AssertionError("this prints a deprecation")


def test_parts_are_public_or_have_an_underscore() -> None:
    assert task_result.part(Deprecating(), "result") == {"rc": 0}
    assert task_result.part(SimpleNamespace(_result={"rc": 1}), "result") == {"rc": 1}


def test_task_fields_cause_no_deprecation() -> None:
    assert task_result.fields(Deprecating()) == {"ignore_errors": True}
