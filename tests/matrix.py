# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints which cells of tests/versions.yml can run with the interpreters of this machine; ``--demo``: only the releases for the demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from interpreters import found

CORES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("versions.yml").read_text())["cores"]


def main() -> None:
    wanted = sorted({version for core in CORES for version in core["controller"] + core["target"]}, key=lambda version: int(version.split(".")[1]))
    here = found(wanted)
    runnable = not_runnable = 0
    for core in CORES:
        print(f"ansible-core {core['release']}")
        for controller in core["controller"]:
            ready = [target for target in core["target"] if controller in here and target in here]
            lacking = [target for target in core["target"] if target not in ready]
            runnable += len(ready)
            not_runnable += len(lacking)
            print(f"  controller {controller:4}  hosts {' '.join(ready) or '-'}" + (f"  (cannot run here: {' '.join(lacking)})" if lacking else ""))
    missing = [version for version in wanted if version not in here]
    print(f"{runnable} cells can run here, {not_runnable} cannot; missing interpreters: {' '.join(missing) or 'none'}.")
    print("The demo runs on the cells that `make demo-cores` names; running all of them comes with issue 4.")


if __name__ == "__main__":
    if sys.argv[1:] == ["--demo"]:
        print(*(core["release"] for core in CORES if core.get("demo")))
    else:
        main()
