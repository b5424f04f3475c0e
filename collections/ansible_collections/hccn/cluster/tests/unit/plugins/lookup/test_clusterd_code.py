from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleError

from ansible_collections.hccn.cluster.plugins.lookup.clusterd_code import LookupModule


def look_up(*terms: Any) -> list[Any]:
    return list(LookupModule().run(list(terms), {}))


def test_codes_are_explained_by_number_and_name_in_the_order_of_the_terms() -> None:
    assert look_up(504, "JobNotExist", "0") == [
        {"code": 504, "name": "SignalQueueBusy", "meaning": "the control signal was not enqueued", "hint": "try again later", "retryable": True,
         "documented": True},
        {"code": 402, "name": "JobNotExist", "meaning": "there is no such job", "hint": "the id of a job is the UID of its Kubernetes object",
         "retryable": False, "documented": True},
        {"code": 0, "name": "OK", "meaning": "accepted", "retryable": False, "documented": True}]


def test_all_codes_without_terms() -> None:
    found = look_up()
    assert [entry["code"] for entry in found] == [0, 200, 201, *range(400, 412), 413, 429, 499, *range(500, 511), 599]
    assert len([entry for entry in found if entry["documented"]]) == 22


def test_a_name_that_is_no_code_is_refused() -> None:
    with pytest.raises(AnsibleError, match="clusterd_code: 'Nope' is no return code of ClusterD .give a number such as 403, or a name such as"):
        look_up(403, "Nope")
