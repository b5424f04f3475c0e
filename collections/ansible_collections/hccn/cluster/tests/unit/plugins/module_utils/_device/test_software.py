# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of CANN from the files of its installer."""

from __future__ import annotations

import pytest
from ansible_collections.hccn.cluster.plugins.module_utils._device.software import cann_version

INFO = "package_name=Ascend-cann-toolkit\nversion=8.2.RC1\ninnerversion=V100R001C22\n"
CFG = "# version: 1.0\nruntime_running_version=[7.8.0.1.129:8.2.RC1]\ntoolkit_running_version=[7.8.0.1.129:8.2.RC1]\n"


@pytest.mark.parametrize(("path", "text", "version"), [
    ("aarch64-linux/ascend_toolkit_install.info", INFO, "8.2.RC1"), ("ascend_toolkit_install.info", INFO, "8.2.RC1"), ("version.cfg", CFG, "8.2.RC1"),
    ("aarch64-linux/ascend_toolkit_install.info", "version=\x1b[31m8.0\n", "?[31m8.0"), ("version.cfg", "toolkit_running_version=[]\n", None),
    ("other", INFO, None)])
def test_version(tmp_path, path, text, version):
    file = tmp_path / "latest" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert cann_version([str(tmp_path / "missing"), str(tmp_path / "latest")]) == version
