# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The base class of actions that call a host. It limits how long they wait and removes from answers the keys that Ansible would act upon."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from .._trust.clean_answers import CleanAnswers
from .deadline import NoAnswer, deadline
from .keepalive import keep_alive

CLEANUP_S = 30.0
"""Seconds to remove the temporary folder of a module, which exists only without pipelining."""


class BoundedAction(CleanAnswers, ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Wrap every call of a host in ``answered_within``."""

    @contextlib.contextmanager
    def answered_within(self, seconds: float | None) -> Iterator[None]:
        """Raise AnsibleConnectionFailure, which makes the host unreachable, if the body takes longer; None: only ssh's keepalive limits it."""
        keep_alive(self._connection)
        try:
            with deadline(seconds) if seconds is not None else contextlib.nullcontext():
                yield
        except NoAnswer:
            self._connection._shell.tmpdir = None  # removing the folder would wait for the same host
            raise AnsibleConnectionFailure(
                f"no answer within {seconds:.0f} s to {self._task.action}: the host or its connection has stopped. "
                "What it did since then is unknown") from None

    def cleanup(self, force: bool = False) -> None:
        """Remove the temporary folder within a separate limit, since the keyword ``timeout`` no longer applies at this point."""
        try:
            with self.answered_within(CLEANUP_S):
                super().cleanup(force)
        except AnsibleConnectionFailure as error:
            self._display.warning(f"A temporary folder is left on the host: {error}")
