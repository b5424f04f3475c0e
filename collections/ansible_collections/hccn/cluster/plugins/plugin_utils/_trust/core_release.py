# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to the collection hccn.cluster: may change at any time, not to be used from elsewhere.
"""The releases of ansible-core that do not run text of hosts as a template."""

from __future__ import annotations

import re

from ansible.errors import AnsibleActionFail
from ansible.release import __version__ as ansible_version

FIXED = {(2, 16): 14, (2, 17): 7, (2, 18): 1}
"""The first release of each line that fixes CVE-2024-11079; later lines never had it. requires_ansible in meta/runtime.yml has the same releases, but
Ansible only warns about it."""

_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def is_fixed(release: str) -> bool:
    """Return True for a release that this collection supports."""
    found = _RELEASE.match(release)
    if found is None:
        return False
    major, minor, patch = map(int, found.groups())
    return (major, minor) >= min(FIXED) and patch >= FIXED.get((major, minor), 0)


_THIS_IS_FIXED = is_fixed(ansible_version)


def require_fixed() -> None:
    """Raise AnsibleActionFail if this ansible-core has the vulnerability."""
    if not _THIS_IS_FIXED:
        raise AnsibleActionFail(
            f"hccn.cluster does not run with ansible-core {ansible_version}, which can run the name of a host or of a switch as code on the controller "
            "(CVE-2024-11079). Upgrade ansible-core to 2.16.14, 2.17.7, 2.18.1 or a later line.")
