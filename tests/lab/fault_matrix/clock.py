"""Step the wall clock of a host while it is working.

The kernel has one wall clock for all namespaces. Therefore only the clock of the host's Python processes steps, including those that are already running: the
product runs only Python on hosts. sshd, the shell and file times keep the machine's clock.
"""

from __future__ import annotations

import time

from tests.lab.testbed import Lab

LATE_SECONDS = 60.0
OFFSET = "/run/lab-clock"
MODULE = f"""\
import time

_TIME, _TIME_NS = time.time, time.time_ns


def _offset():
    try:
        with open({OFFSET!r}) as stream:
            return int(stream.read() or 0)
    except (OSError, ValueError):
        return 0


time.time = lambda: _TIME() + _offset()
time.time_ns = lambda: _TIME_NS() + _offset() * 1000000000
"""


def prepare(lab: Lab, name: str) -> None:
    """Prepare the host before the run, because a Python process loads the clock when it starts."""
    where = "import site; print(site.getsitepackages()[0])"
    folder = lab.path(name, lab.exec(name, [lab.settings.python, "-I", "-c", where], check=True).stdout.strip())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab_clock.py").write_text(MODULE)
    (folder / "lab_clock.pth").write_text("import lab_clock\n")


def step(lab: Lab, name: str, seconds: int) -> None:
    """Step the clock for all processes of the host at once, and check it with a Python process there."""
    path = lab.path(name, OFFSET)
    new = path.with_name("lab-clock.new")
    new.write_text(str(seconds))
    new.replace(path)
    seen = float(lab.exec(name, [lab.settings.python, "-c", "import time; print(time.time())"], check=True).stdout) - time.time()
    assert abs(seen - seconds) < LATE_SECONDS, f"the clock of {name} is {seen:.0f} s ahead, not {seconds}"
