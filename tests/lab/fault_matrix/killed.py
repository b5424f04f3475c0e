"""``python -m tests.lab.fault_matrix.killed LAB PLAYBOOK``: run a playbook while one host of a lab is dead, and check the result from outside.

The Molecule scenarios use it: the dead host must be unreachable or failed, the others succeed, the exit status is not zero, and no process is left.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.lab.fault_matrix.faults import VICTIM
from tests.lab.fault_matrix.play import PLAY_SECONDS, RECAP, remaining_processes
from tests.lab.testbed import load


def main(folder: str, playbook: str) -> int:
    lab = load(Path(folder))
    lab.fault(VICTIM, "kill")
    argv = ["ansible-playbook", "-i", str(lab.inventory), "-i", str(Path(playbook).with_name("variables")), playbook]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PLAY_SECONDS, check=False)
    # localhost concludes the job, and fails because of the lost host.
    bad = {host for host, _changed, unreachable, failed in RECAP.findall(done.stdout) if int(unreachable) or int(failed)} - {"localhost"}
    left = remaining_processes(lab)
    faults = []
    if done.returncode == 0:
        faults.append("the exit status is 0")
    if bad != {VICTIM}:
        faults.append(f"unreachable or failed are {', '.join(sorted(bad)) or 'none'}, not {VICTIM} alone")
    if left:
        faults.append(f"left on the hosts: {left}")
    print("; ".join(faults) or f"{VICTIM} is lost, {len(lab.hosts) - 1} hosts are done, exit status {done.returncode}, nothing is left")
    if faults:
        print(re.sub(r"\n{2,}", "\n", done.stdout))
    return len(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
