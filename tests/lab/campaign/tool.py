"""Run a stand-in tool of the simulator, log the call before it starts, and kill module, tool or both at a call selected by the environment.

Usage: ``tool.py NODE NAME ARGUMENT...``. A log line includes the devices that have a job when the call starts.
"""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

LOG = "commands"
CALL, KILL = "HCCN_CAMPAIGN_CALL", "HCCN_CAMPAIGN_KILL"


def busy(root: str) -> list[int]:
    """Return the devices with a process in npu-smi's table."""
    with open(os.path.join(root, "state", "devices.json"), encoding="utf-8") as stream:
        state = json.load(stream)
    return sorted(int(device) for device, values in state.items() if device.isdigit() and values.get("process"))


def log(root: str, entry: dict[str, object]) -> int:
    """Append a line, and return the number of the call within its module call, from 1."""
    with open(os.path.join(root, LOG), "a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        number = 1 + sum(json.loads(line)["call"] == entry["call"] for line in stream)
        stream.write(json.dumps(entry) + "\n")
    return number


def strike(moment: str, number: int) -> None:
    """Kill module, tool or both: ``KILL`` is ``WHAT:MOMENT:NUMBER``, before or after that call."""
    what, when, chosen = os.environ.get(KILL, "::0").split(":")
    if (when, int(chosen)) != (moment, number):
        return
    if what in ("module", "both"):
        os.kill(os.getppid(), signal.SIGKILL)
    if what in ("tool", "both"):
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    root, name, *arguments = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "simulator"))
    from hccn_sim import npu_smi, tool

    number = log(root, {"call": os.environ.get(CALL, ""), "tool": name, "arguments": arguments, "busy": busy(root), "at": time.monotonic()})
    strike("before", number)
    program = tool.main if name == "hccn_tool" else npu_smi.main
    code = program([os.path.join(root, "bin", name), *arguments])
    strike("after", number)
    return code


if __name__ == "__main__":
    sys.exit(main())
