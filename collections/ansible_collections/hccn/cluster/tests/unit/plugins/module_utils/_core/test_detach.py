"""Test background processes that outlive their module."""

from __future__ import annotations

import os
import time

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.detach import detach
from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError


def test_process_that_ends_before_it_is_ready():
    with pytest.raises(HccnError) as raised:
        detach(lambda ready: None, ())
    assert raised.value.code == "not_started"


def test_process_has_no_streams_of_the_caller(tmp_path):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    kept = os.open(str(tmp_path / "kept"), os.O_WRONLY | os.O_CREAT)

    def work(ready):
        ready()
        os.write(kept, b"here")

    detach(work, (kept,))
    os.close(kept)
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)
    end = time.monotonic() + 10
    while (tmp_path / "kept").read_text() != "here":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_process_has_a_new_session_and_working_directory(tmp_path):
    output = os.open(str(tmp_path / "output"), os.O_WRONLY | os.O_CREAT)

    def work(ready):
        os.write(output, ("%d %s" % (os.getsid(0), os.getcwd())).encode())
        ready()

    detach(work, (output,))
    os.close(output)
    session, folder = (tmp_path / "output").read_text().split()
    assert (int(session) != os.getsid(0), folder) == (True, "/")
