from __future__ import annotations

import gc

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.garbage import collection_paused


@pytest.fixture(autouse=True)
def enabled():
    before = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if before else gc.disable)()


def test_collection_is_paused_also_if_the_work_fails():
    states = []
    with pytest.raises(KeyError), collection_paused():
        states.append(gc.isenabled())
        raise KeyError
    assert [*states, gc.isenabled()] == [False, True]


def test_collection_that_was_disabled_stays_so():
    gc.disable()
    with collection_paused(), collection_paused():
        pass
    assert gc.isenabled() is False
