"""Ids that ClusterD refuses."""

from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._clusterd import options
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import InputError


@pytest.mark.parametrize("job_id, shown", [("\u4f5c\u4e1a-1", "\u4e1a \u4f5c"), ("job 1", " "), ("job\n", "?"), ("caf\u00e9", "\u00e9")])
def test_foreign_characters(job_id, shown):
    with pytest.raises(InputError) as caught:
        options.check_job_id(job_id)
    assert caught.value.message.endswith(" contains " + shown)


@pytest.mark.parametrize("job_id", ["", "0d3c2b1a-1111-4222-8333-444455556666", "mindie_1.prod"])
def test_ids_of_kubernetes(job_id):
    options.check_job_id(job_id)
