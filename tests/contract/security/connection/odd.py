"""A connection that contacts no host (tests/lab/benchmarks/null). Hosts answer with results for the plan that they received, and one host's answer is mutated.

HCCN_ODD is JSON with ``host``, ``module`` and ``seed`` of the answer to mutate; ``others`` are names that the mutation may insert. If it has ``facts`` or
``records`` instead of a seed, these are added to the answer.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

from ansible_collections.hccn.cluster.plugins.module_utils._fabric import plan as plans
from ansible_collections.hccn.cluster.plugins.plugin_utils._plan.plan_forms import pairs_of

from tests.lab.benchmarks.null.connection import canned
from tests.contract.security.mutations import mutated

DOCUMENTATION = """
name: odd
short_description: Return answers from files and mutate one of them
description: A connection of the tests.
author: The hccn.cluster authors
options:
  name:
    description: The host's name in the inventory.
    vars: [{name: inventory_hostname}]
"""

PACKED = re.compile(rb'"packed\\?": ?\\?"([A-Za-z0-9+/=]+)')
RUN_ID = re.compile(rb'"run_id\\?": ?\\?"([\w.-]+)')


class Connection(canned.Connection):
    transport = "odd"

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        self._sent = in_data or b""
        return super().exec_command(cmd, in_data, sudoable)

    def _answer(self, module: str) -> bytes:
        host, odd = str(self.get_option("name")), json.loads(os.environ["HCCN_ODD"])
        content = super()._answer(module)
        if module == "rdma_perf":
            self._keep_plan()
        if module == "rdma_perf_info":
            content = json.dumps(self._measured(host, json.loads(content))).encode()
        if host == odd["host"] and module == odd["module"]:
            answer = json.loads(content)
            if "seed" in odd:
                done, answer = mutated(random.Random(odd["seed"]), answer, odd["others"])  # noqa: S311
            else:
                done = "carries more"
                answer.update({"ansible_facts": odd["facts"]} if "facts" in odd else {"measurements": [*answer["measurements"], *odd["records"]]})
            (Path(os.environ["HCCN_ODD_PLACE"]) / "mutations").open("a").write(done + "\n")
            content = json.dumps(answer).encode()
        return content

    def _keep_plan(self) -> None:
        plan, run = PACKED.search(self._sent), RUN_ID.search(self._sent)
        assert plan and run, "rdma_perf received no plan"
        (Path(os.environ["HCCN_ODD_PLACE"]) / f"{run.group(1).decode()}.plan").write_bytes(plan.group(1))

    def _measured(self, host: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with records of the pairs that this host initiates by the plan of the run."""
        run = RUN_ID.search(self._sent)
        assert run, "rdma_perf_info received no run ID"
        name = run.group(1).decode()
        plan = plans.unpack({plans.PACKED: (Path(os.environ["HCCN_ODD_PLACE"]) / f"{name}.plan").read_text()})
        like = answer["measurements"][0]
        records = []
        for pair, (source, target) in pairs_of(plan):
            if source[0] == host:
                records.append({**like, "id": f"{name}/{pair}/forward/1", "source": {"host": source[0], "device": source[1]},
                                "target": {"host": target[0], "device": target[1]}})
        return {**answer, "run_id": name, "measurements": records}
