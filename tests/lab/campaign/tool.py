"""Run a stand-in tool of the simulator, log the call before it starts, and kill module, tool or both at a call selected by the environment.

Usage: ``tool.py NODE NAME ARGUMENT...``. A log line includes the devices that have a job when the call starts. A sequence makes hundreds of calls, so that
modules that take long to import, such as json, are not used here.
"""

import fcntl
import os
import sys
import time

LOG = "commands"
CALL, KILL = "HCCN_CAMPAIGN_CALL", "HCCN_CAMPAIGN_KILL"


def busy(state: dict[str, dict[str, str]]) -> list[int]:
    """Return the devices with a process in npu-smi's table."""
    return sorted(int(device) for device, values in state.items() if device.isdigit() and values.get("process"))


def log(root: str, entry: dict[str, object]) -> int:
    """Append the entry as a line, which begins with its ``call``, and return the number of the call within its module call, from 1."""
    beginning = f"{{'call': {entry['call']!r},"
    with open(os.path.join(root, LOG), "a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        number = 1 + sum(line.startswith(beginning) for line in stream)
        stream.write(f"{entry!r}\n")
    return number


def strike(moment: str, number: int) -> None:
    """Kill module, tool or both: ``KILL`` is ``WHAT:MOMENT:NUMBER``, before or after that call."""
    what, when, chosen = os.environ.get(KILL, "::0").split(":")
    if (when, int(chosen)) != (moment, number):
        return
    import signal

    if what in ("module", "both"):
        os.kill(os.getppid(), signal.SIGKILL)
    if what in ("tool", "both"):
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    root, name, *arguments = sys.argv[1:]
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "simulator"))
    from hccn_sim.json_files import read_json

    jobs = busy(read_json(os.path.join(root, "state", "devices.json")))
    number = log(root, {"call": os.environ.get(CALL, ""), "tool": name, "arguments": arguments, "busy": jobs, "at": time.monotonic()})
    strike("before", number)
    if name == "hccn_tool":
        from hccn_sim.tool import main as program
    else:
        from hccn_sim.npu_smi import main as program
    code = program([os.path.join(root, "bin", name), *arguments])
    strike("after", number)
    return code


if __name__ == "__main__":
    sys.exit(main())
