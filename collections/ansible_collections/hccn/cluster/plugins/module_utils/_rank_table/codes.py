# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The texts with which HCCL refuses a rank table, by code; %s stands for what it fills in.

Source: hcomm docs/zh/error_codes; for EI0001 the line of its log. Where a refusal is only a line of HCCL's log, the code is that of
the nearest report.
"""

from __future__ import annotations

from typing import Dict, Iterable

from .._core.problems import Problem

TEXTS: Dict[str, str] = {
    "EI0001": "device ip family[%s] is not same",
    "EI0004": "Failed to parse the ranktable file %s. Reason: %s",
    "EI0014": "Value %s for ranktable variable %s is invalid. Expected value: %s.",
    "EI0017": "Config %s is missing in the ranktable file.",
}


def texts_of(problems: Iterable[Problem]) -> Dict[str, str]:
    """The texts of the codes that the problems have."""
    return {code: TEXTS[code] for code in sorted({problem.error_code for problem in problems if problem.error_code})}
