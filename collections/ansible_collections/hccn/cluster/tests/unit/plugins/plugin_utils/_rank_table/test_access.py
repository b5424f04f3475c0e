from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.plugin_utils._rank_table.access import PathMode, read_barrier

ROOT = PathMode("/", 0o755, 0, 0)


@pytest.mark.parametrize("mode, folder, uid, gid, reason", [
    (0o640, 0o755, 0, None, None),
    (0o640, 0o755, 1000, None, None),
    (0o640, 0o755, 1001, 500, None),
    (0o640, 0o755, 1001, None, "uid 1001 cannot read /etc/hccl/hccl.json (0640, owner 1000, group 500)"),
    (0o640, 0o755, 1001, 501, "uid 1001 with gid 501 cannot read /etc/hccl/hccl.json (0640, owner 1000, group 500)"),
    (0o644, 0o755, 1001, None, None),
    (0o644, 0o700, 1001, None, "uid 1001 cannot enter /etc/hccl (0700, owner 1000, group 500)"),
    # The first matching class counts, even if a later one has more permissions.
    (0o044, 0o755, 1000, 500, "uid 1000 with gid 500 cannot read /etc/hccl/hccl.json (0044, owner 1000, group 500)"),
])
def test_who_can_read_a_file(mode, folder, uid, gid, reason):
    assert read_barrier(PathMode("/etc/hccl/hccl.json", mode, 1000, 500), [ROOT, PathMode("/etc/hccl", folder, 1000, 500)], uid, gid) == reason
