# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The time limit of each module of this collection on a host: longer than its own deadlines, so that its own error comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._device.read import DEFAULT_TOPICS, MAX_PARALLEL, SMI_TOPICS
from ...module_utils._device.recover import TIMEOUT as RECOVERY_S
from ...module_utils._device.npu_smi import TIMEOUT as SMI_S
from ...module_utils._perf.bisection import BUDGET

CONNECTION_S = 60.0
"""For login, discovery of Python and transfer of the module, on a busy controller."""
SMI_CALLS = 5
"""Sequential calls of npu-smi: the NPUs, their processes, versions and super pod."""
CALLS_A_DEVICE = 4
"""Calls of hccn_tool that may hang on a device while it is changed. Devices are changed one after the other."""
COLLECTIVE_S = 240.0
"""Duration of a collective beyond its timeout: placement, probes of hosts that hang, grace period."""
GROUPS = 32
"""Groups of hosts that one call measures when it does not isolate slow hosts."""
SMALL_S = 300.0
"""For a module that reads a few files or calls a few programs, each with its own deadline."""

Arguments = Mapping[str, Any]


def seconds(module: str, arguments: Arguments) -> float | None:
    """Return the seconds after which a host that has not answered is unreachable; None if the module may wait as long as its measurements take."""
    bound = _BOUNDS.get(module.rpartition(".")[2], _small)
    return bound(arguments)


def number(value: Any, default: float) -> float:
    """Return a numeric option that the module has not validated yet, ``default`` if it is not a number."""
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return default


def _small(_arguments: Arguments) -> float:
    return CONNECTION_S + SMALL_S


def _call(arguments: Arguments) -> float:
    return number(arguments.get("timeout"), 30.0)


def _reading(arguments: Arguments) -> float:
    """Devices are read in parallel, one topic after the other; TLS one device after the other."""
    wanted = arguments.get("gather")
    topics = list(DEFAULT_TOPICS) if wanted is None else wanted if isinstance(wanted, list) else [wanted]
    calls = 1 + len([topic for topic in topics if topic not in SMI_TOPICS]) + (MAX_PARALLEL if "tls" in topics else 0)
    return CONNECTION_S + SMI_CALLS * SMI_S + calls * _call(arguments)


def _changing(arguments: Arguments) -> float:
    recovery = MAX_PARALLEL * RECOVERY_S if arguments.get("recover") else 0.0
    return CONNECTION_S + SMI_CALLS * SMI_S + CALLS_A_DEVICE * MAX_PARALLEL * _call(arguments) + recovery


def _bringing(arguments: Arguments) -> float:
    """hccn.conf is verified twice, and one device after the other may be changed and asked for its TLS flag before all are read."""
    return 3 * _changing(arguments) + _reading(arguments)


def _pinging(arguments: Arguments) -> float:
    targets = arguments.get("targets")
    return _changing(arguments) + _call(arguments) * (len(targets) if isinstance(targets, list) else 0)


def _measuring(arguments: Arguments) -> float | None:
    """Without ``wait`` the module only cleans up after an earlier run and starts the runner."""
    wait = str(arguments.get("wait", True)).lower() in ("true", "yes", "1", "on", "y", "t", "1.0") and arguments.get("state") != "absent"
    return None if wait else CONNECTION_S + SMI_CALLS * SMI_S + MAX_PARALLEL * _call(arguments)


def _collective(arguments: Arguments) -> float:
    plain = arguments.get("groups") in (None, "all", ["all"]) and not arguments.get("isolate") and arguments.get("floor_gbyte_s") is None
    runs = 1.0 if plain else GROUPS + number(arguments.get("isolate_budget"), BUDGET)
    return CONNECTION_S + runs * (number(arguments.get("timeout"), 600.0) + COLLECTIVE_S)


def _unlimited(_arguments: Arguments) -> None:
    """Return no limit, since the module calls a server, usually from the controller, with a deadline for each call."""


def _installing(arguments: Arguments) -> float:
    return CONNECTION_S + SMALL_S + number(arguments.get("timeout"), 1800.0)


def _linking(arguments: Arguments) -> float:
    return CONNECTION_S + SMALL_S + number(arguments.get("timeout"), 60.0)


_BOUNDS: Mapping[str, Callable[[Arguments], float | None]] = {
    "clusterd_fault_info": _unlimited,
    "clusterd_job_info": _unlimited,
    "clusterd_nic_switch": _unlimited,
    "clusterd_rank_table_info": _unlimited,
    "device_info": _reading,
    "device_network": _changing,
    "device_ping": _pinging,
    "device_state": _bringing,
    "device_tls": _changing,
    "hccn_conf": _changing,
    "rdma_perf": _measuring,
    "hccl_perf": _collective,
    "nccl_perf": _collective,
    "datadist_link": _linking,
    "perf_tools": _installing,
}
