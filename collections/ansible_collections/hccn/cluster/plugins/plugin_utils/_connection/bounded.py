# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The base of every action of this collection that calls a host: it waits for no answer without a bound, and takes no instruction from one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from .._trust.clean_answers import CleanAnswers
from .deadline import NoAnswer, deadline
from .keepalive import keep_alive

CLEANUP_S = 30.0
"""To remove the temporary folder of a module, which is there without pipelining."""


class BoundedAction(CleanAnswers, ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Calls of a host go into ``answered_within``, and of their answers only what describes the host comes back."""

    @contextlib.contextmanager
    def answered_within(self, seconds: float | None) -> Iterator[None]:
        """Raise AnsibleConnectionFailure, by which the host is unreachable, where the body takes longer; None: no bound but ssh's keepalive."""
        keep_alive(self._connection)
        try:
            with deadline(seconds) if seconds is not None else contextlib.nullcontext():
                yield
        except NoAnswer:
            self._connection._shell.tmpdir = None  # removing it would wait for the same host
            raise AnsibleConnectionFailure(
                f"no answer within {seconds:.0f} s to {self._task.action}: the host or its connection has stopped. "
                "Nothing is known of what it did since") from None

    def cleanup(self, force: bool = False) -> None:
        """Remove the temporary folder. Ansible does it outside of the time that the keyword ``timeout`` gives the action."""
        try:
            with self.answered_within(CLEANUP_S):
                super().cleanup(force)
        except AnsibleConnectionFailure as error:
            self._display.warning(f"A temporary folder is left on the host: {error}")
