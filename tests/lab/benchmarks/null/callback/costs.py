"""Record the cost of each task on the controller: CPU of its process and of exited workers."""

from __future__ import annotations

import json
import os
import resource
import time
from typing import Any

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "costs"

    def __init__(self) -> None:
        super().__init__()
        self.stream = open(os.environ["BENCH_COSTS"], "w")

    def write(self, task: str) -> None:
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = {"cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, "main_cpu": own.ru_utime + own.ru_stime}
        print(json.dumps({"task": task, **spent, "wall": time.monotonic()}), file=self.stream, flush=True)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self.write(task.get_name())

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self.write("")
