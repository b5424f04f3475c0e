"""``python -m tests.lab.fault_matrix.observe FOLDER PLAYBOOK[/FAULT] ...``: print current results of fault cases in the form of expected.yml.

The outputs are kept in the folder. Use it to add a playbook or a fault; it compares nothing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.fault_matrix.cases import Observed, run
from tests.lab.fault_matrix.faults import FAULTS
from tests.lab.fault_matrix.matrix import SIDE_BY_SIDE
from tests.lab.fault_matrix.table import row_of


def _one(kept: Path, playbook: str, fault: str) -> str:
    place = f"{kept}/{playbook}.{fault.replace(' ', '-')}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen: Observed = run(playbook, fault, Path(folder))
        except Exception:
            Path(f"{place}.error").write_text(traceback.format_exc())
            return f"{playbook} / {fault}: error, see {place}.error"
    Path(f"{place}.out").write_text(seen.output)
    row = row_of(seen)
    left = {str(key): value for key, value in seen.left.items()}
    Path(f"{place}.json").write_text(json.dumps({**row, "left": left, "conf": seen.conf_problems, "seconds": round(seen.seconds, 1)}))
    bad = (f" LEFT {seen.left}" if seen.left else "") + (f" BLAMED {seen.blamed}" if seen.blamed else "")
    return f"{playbook} / {fault}: {json.dumps(row)} {seen.seconds:.0f} s{bad}{' CONF ' + str(seen.conf_problems) if seen.conf_problems else ''}"


def main(folder: str, *wanted: str) -> int:
    kept = Path(folder)
    kept.mkdir(parents=True, exist_ok=True)
    cases = []
    for words in wanted:
        playbook, _, fault = words.partition("/")
        cases += [(playbook, one) for one in ([fault] if fault else FAULTS)]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for line in pool.map(lambda case: _one(kept, *case), cases):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
