# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""What one collective is asked for, whatever tool measures it."""

from __future__ import annotations

from dataclasses import dataclass

from .._core.errors import InputError


@dataclass(frozen=True)
class Options:
    """``begin`` and ``end`` as people write them (``8K``); ``factor`` above 1; ``data_type`` and ``reduction`` in the tool's own words."""

    operation: str = "all_reduce"
    ranks_per_host: int = 8
    begin: str = "8K"
    end: str = "64M"
    factor: int = 2
    iterations: int = 20
    warmup: int = 10
    data_type: str = "fp32"
    reduction: str = "sum"
    root: int = 0
    check: bool = True


def check_numbers(options: Options, ranks: int) -> None:
    """Raises InputError for a number that no tool takes."""
    for name, value, least in (("ranks_per_host", options.ranks_per_host, 1), ("iterations", options.iterations, 1),
                               ("warmup", options.warmup, 0), ("root", options.root, 0), ("sizes.factor", options.factor, 2)):
        if value < least:
            raise InputError("%s is %d, it must be %d or more" % (name, value, least))
    if options.root >= ranks:
        raise InputError("root is %d, but the ranks are 0 to %d" % (options.root, ranks - 1))
