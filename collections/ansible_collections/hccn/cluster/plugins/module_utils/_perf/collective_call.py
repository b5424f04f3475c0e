# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What the modules of all collectives do with one call: judge a log, plan in check mode, or run."""

from __future__ import annotations

from typing import Any

from .._core.errors import HccnError
from . import collective


def call(module: Any, wanted: collective.Request) -> None:
    """Ends the module. ``module``: Ansible's, with ``log`` and ``sizes`` among its options."""
    try:
        if module.params["log"]:
            outcome = collective.judge_log_file(wanted, module.params["log"], bool(module.params["sizes"]))
        elif module.check_mode:
            made = collective.plan(wanted)
            module.exit_json(changed=False, measurements=[], command=list(made.argv), hostfile=made.hostfile)
        else:
            outcome = collective.run(wanted)
    except HccnError as error:
        module.fail_json(msg=error.message, hint=error.hint)
    for warning in outcome.warnings:
        module.warn(warning)
    if outcome.failed:
        module.fail_json(msg=outcome.sentence, **outcome.result())
    module.exit_json(**outcome.result())
