"""Print docs/explanation/findings.rst, the page of all causes of findings.

Usage: ``python -m tests.contract.docs.findings > docs/explanation/findings.rst``
"""

from __future__ import annotations

import sys

from ansible_collections.hccn.cluster.plugins.plugin_utils._findings.causes import CAUSES, SEVERITIES

PAGE = """\
.. Made by ``python -m tests.contract.docs.findings`` from plugin_utils/_findings/causes.py: change that, not this.

Findings and the result of a job
================================

A finding is one thing that is wrong or worth knowing. It names the component (a host, an NPU, a rail, a leaf, a path), the cause, how severe it is, the
evidence and the next step. All stages of a job make findings, and what several stages find of the same thing is one finding: an NPU whose link is down is
not also "not measured".

.. code-block:: text

   Result: failed. 4 hosts: 1 failed, 3 good.
   failed npu3 NPU 5: the link is down -> On npu3: hccn_tool -i 5 -optical -g

In the history every finding is a record of the kind ``finding``, and the end of the job one of the kind ``conclusion``.

Severities
----------

``failed``
   Something does not work. The host is ``failed``; one that Ansible lost is ``unreachable``.
``slow``
   It works, slower than its peers or than a floor.
``degraded``
   It works now, but differs from its peers or from ``hccn.conf``, and may not work after the next reboot.
``unknown``
   It was not measured, or the answer was not understood. The host is ``not_measured``, or ``busy`` where a job or another run had it.
``note``
   Worth knowing. It changes neither the class of a host nor the exit status.

A host has the class of its worst finding, or of its :doc:`verdict <verdicts>` where that is worse. A finding about a leaf, a path or the whole run counts
for the result of the job, not for the class of a host. The result of the job is the worst of all of them, and ``hccn_fail_on`` decides which results
fail it:

``never``
   None.
``failed``
   ``failed``, also for hosts that are unreachable.
``slow``
   Also ``slow`` and ``degraded``. This is the default.
``any``
   Also ``busy``, ``not_measured`` and ``unknown``.

Causes
------

The severity is the usual one; a link of which some lanes are down is ``degraded``, for instance. In the next step, ``HOST`` and ``N`` are those of the
finding.

"""


def page() -> str:
    rows = [["Cause", "Severity", "Meaning", "Next step"]]
    for severity in SEVERITIES:
        rows += [[f"``{name}``", severity, cause.meaning, _next_step(cause.next_step)] for name, cause in CAUSES.items() if cause.severity == severity]
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 20 10 35 35", ""]
    for row in rows:
        lines += [("   * - " if place == 0 else "     - ") + cell for place, cell in enumerate(row)]
    return PAGE + "\n".join(line.rstrip() for line in lines) + "\n"


def _next_step(text: str) -> str:
    for placeholder, shown in (("{host}", "HOST"), ("{devices}", "N"), ("{device}", "N")):
        text = text.replace(placeholder, shown)
    prefix, marker, command = text.partition("ansible")
    if marker:
        return f"{prefix}``ansible{command}``" if "callbacks_enabled" not in text else text
    where, marker, command = text.partition(": ")
    return f"{where}: ``{command}``" if marker and command.startswith("hccn_tool") else text


if __name__ == "__main__":
    sys.stdout.write(page())
