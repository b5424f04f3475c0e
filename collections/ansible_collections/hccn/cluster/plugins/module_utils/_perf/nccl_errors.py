# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""Map the error texts of nccl-tests and NCCL to errors with code, message and hint.

Causes come before their consequences. Sources: nccl-tests (common.cu, common.h), the warnings in the source of NCCL, published issues.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from .._core.errors import HccnError
from .launch_failure import decisive, later, line_of
from .tool_output import known, once, search

_GPUS_HINT = "fewer GPUs are visible than ranks_per_host: check nvidia-smi -L, CUDA_VISIBLE_DEVICES and the GPUs of the container"

# Errors of the program: arguments, devices.
_PROGRAM = (
    known("too_few_gpus", r"Invalid number of GPUs: [0-9]+ requested but only [0-9]+ were found", _GPUS_HINT),
    known("invalid_argument", r"invalid option '|invalid sizes? (?:specified )?for '|nRanks [0-9]+ is not a power of 2",
          "the program rejected its arguments; compare them with the nccl-tests of these hosts"),
)

# Errors in the log of NCCL, which it prints from level WARN on. Bounded repetitions keep the search linear for lines of megabytes.
_LOG = (
    known("no_interface", r"NCCL WARN Bootstrap : no socket interface found",
          "no network interface matches NCCL_SOCKET_IFNAME: correct it in environment"),
    known("ib_completion_error", r"NCCL WARN [^\n]{0,300}Got completion (?:from peer|with)[^\n]*",
          "an RDMA packet was lost after all retries: check NCCL_IB_GID_INDEX, link, optics and PFC between the hosts"),
    known("connection_failed", r"NCCL WARN [^\n]{0,300}[Cc]onnect[^\n]{0,300}(?:refused|timed out|No route to host|unreachable)[^\n]*",
          "two hosts cannot reach each other over NCCL_SOCKET_IFNAME: check firewall, routes, and the name of the interface on both hosts"),
)

_TIMEOUT = (
    known("test_timeout", r"Test timeout \([0-9]+s\)", "a collective did not end in time: one rank hangs; check the links between the hosts"),
)

_CUDA = re.compile(r"Test CUDA failure [^'\n]*'([^'\n]*)'")
_CUDA_CODES: Tuple[Tuple[str, str, str], ...] = (
    ("out of memory", "cuda_out_of_memory", "use a smaller end size, or end other processes on the GPU"),
    ("no CUDA-capable device", "no_device", "no GPU is visible: check the driver, the permissions on /dev/nvidia*, and the GPUs of the container"),
    ("invalid device ordinal", "too_few_gpus", _GPUS_HINT),
    ("driver version is insufficient", "driver_too_old", "the driver of this host is too old for the CUDA version of the program: update the driver"),
)
_CUDA_HINT = "see nvidia-smi and dmesg (Xid) on the host that the line names"

_NCCL = re.compile(r"Test NCCL failure [^'\n]*'([^'/\n(]*)")
_NCCL_CODES: Dict[str, Tuple[str, str]] = {
    "unhandled cuda error": ("nccl_cuda_error", "run with NCCL_DEBUG=WARN in environment to see the CUDA call; see also nvidia-smi and dmesg (Xid)"),
    "unhandled system error": ("nccl_system_error", "a system call failed: run with NCCL_DEBUG=INFO in environment. Frequent causes are a small /dev/shm, "
                                                    "a low limit of locked memory, and a wrong NCCL_SOCKET_IFNAME"),
    "internal error": ("nccl_internal_error", "run with NCCL_DEBUG=INFO in environment and read the first WARN line"),
    "invalid argument": ("nccl_invalid_argument", "run with NCCL_DEBUG=WARN in environment to see the argument"),
    "invalid usage": ("nccl_invalid_usage", "run with NCCL_DEBUG=WARN in environment. Often two ranks use the same GPU"),
    "remote process exited or there was a network error": ("nccl_remote_error", "the cause is on another rank: find the first failure in the output"),
}
_NCCL_HINT = "run with NCCL_DEBUG=INFO in environment and read the first WARN line"

EXITS: Dict[int, str] = {1: "an internal error", 2: "a CUDA error", 3: "an NCCL error", 4: "a timeout", 5: "a function that is not implemented",
                         6: "invalid usage", 7: "wrong results or low bandwidth"}
"""testResult_t of common.h. Up to 2.17.2, wrong results and low bandwidth have status 1."""


def find_errors(stdout: str, stderr: str = "") -> List[HccnError]:
    """Return every known error once, the likely cause first. ``message`` is the line that the tool printed."""
    text = stdout + "\n" + stderr
    found = decisive(text) + search(_PROGRAM, text) + _cuda(text) + search(_LOG, text)
    return once(found + _nccl(text) + search(_TIMEOUT, text) + later(text))


def _cuda(text: str) -> List[HccnError]:
    found = []
    for match in _CUDA.finditer(text):
        code, hint = next(((code, hint) for words, code, hint in _CUDA_CODES if words in match.group(1)), ("cuda_error", _CUDA_HINT))
        found.append(HccnError(code, line_of(text, match.start(), match.end()), hint))
    return found


def _nccl(text: str) -> List[HccnError]:
    """Return the errors of NCCL calls. A remote error is the consequence of another one, so it comes last."""
    found = []
    for match in _NCCL.finditer(text):
        # Some releases append advice to the text.
        code, hint = next((entry for start, entry in _NCCL_CODES.items() if match.group(1).startswith(start)), ("nccl_error", _NCCL_HINT))
        found.append(HccnError(code, line_of(text, match.start(), match.end()), hint))
    return sorted(found, key=lambda error: error.code == "nccl_remote_error")
