"""An action for the tests of the callback. It returns the results that its arguments describe, as an action of the collection would."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        arguments = self._task.args
        if arguments.get("outcome") == "unreachable":
            raise AnsibleConnectionFailure("no route to host")
        if "wait" in arguments:
            # Write the pid of the worker, which the test kills.
            waiting = Path(arguments["wait"])
            waiting.with_suffix(".new").write_text(str(os.getpid()))
            waiting.with_suffix(".new").rename(waiting)
            time.sleep(60)
        measurements = list(arguments.get("measurements", []))
        if "variable" in arguments:
            # The untemplated value of the variable, so that a vaulted one is still encrypted.
            measurements = [{**record, "variable": task_vars[arguments["variable"]]} for record in measurements]
        result.update(measurements=measurements, variables=[name for name in os.environ if name.startswith("HCCN_RESULTS_")])
        if arguments.get("outcome") == "failed":
            result.update(failed=True, msg=arguments.get("msg", "it broke"))
        return result
