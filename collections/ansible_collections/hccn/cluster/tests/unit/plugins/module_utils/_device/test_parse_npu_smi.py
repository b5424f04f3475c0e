from __future__ import annotations

import pytest

from ansible_collections.hccn.cluster.plugins.module_utils._core.errors import HccnError, ParseError
from ansible_collections.hccn.cluster.plugins.module_utils._device import parse_npu_smi

PROCESSES = """
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 4711          | python3.11               | 19502                   |
| 0       1                 | 4712          |                          | 19498                   |
+===========================+===============+====================================================+
| No running processes found in NPU 2                                                            |
+===========================+===============+====================================================+
"""


def test_processes():
    assert parse_npu_smi.parse_processes("| 7     910B1    | OK            | 92.7 |" + PROCESSES) == (
        parse_npu_smi.Process(0, 0, 4711, "python3.11", 19502), parse_npu_smi.Process(0, 1, 4712, "", 19498))


def test_process_table_without_chip_column():
    text = "| NPU ID                    | Process id    | Process name             | Process memory(MB)       |\n| 3 | 99 | a b | - |\n"
    assert parse_npu_smi.parse_processes(text) == (parse_npu_smi.Process(3, 0, 99, "a b", 0),)


def test_missing_process_table_is_an_error():
    with pytest.raises(ParseError):
        parse_npu_smi.parse_processes("| 7     910B1    | OK            | 92.7 |\n")


def test_chips_have_the_ids_of_npu_smi():
    text = "\tNPU ID      Chip ID      Chip Logic ID      Chip Phy-ID      Chip Name\n"
    text += "\t1           1            3                  3                Ascend910\n"
    text += "\t0           0            0                  0                Ascend910\n"
    text += "\t0           2            -                  -                Mcu\n"
    assert parse_npu_smi.parse_chips(text) == parse_npu_smi.Chips((parse_npu_smi.Chip(0, 0, 0), parse_npu_smi.Chip(1, 1, 3)), "A3", "Ascend910")


def test_super_pods():
    text = "\tSDID                           : 4194305\n\tSuper Pod Size                 : 384\n\tSuper Pod ID                   : 2\n"
    text += "\tServer Index                   : 1\n"
    assert parse_npu_smi.parse_super_pod(text) == parse_npu_smi.SuperPod(4194305, 384, 2, 1)
    with pytest.raises(HccnError) as caught:
        parse_npu_smi.parse_super_pod("This device does not support querying spod-info.\n")
    assert caught.value.code == "unsupported_on_product"
    with pytest.raises(ParseError):
        parse_npu_smi.parse_super_pod(text.replace("384", "many"))


def test_boards():
    text = "\tNPU ID     : 0\n\tSoftware Version    : 24.1.0\n\tFirmware Version    : 7.5.0.1\n"
    assert parse_npu_smi.parse_board(text) == parse_npu_smi.Board("24.1.0", "7.5.0.1")
    with pytest.raises(ParseError):
        parse_npu_smi.parse_board("Error parameter of -t\n")


def test_super_pod_of_a_950_has_no_sdid():
    text = "\tSuper Pod ID : 2\n\tSuper Pod Size : 64\n\tServer Index : 1\n\tChassis ID : 3\n\tSuper Pod Type : 1\n"
    assert parse_npu_smi.parse_super_pod(text) == parse_npu_smi.SuperPod(None, 64, 2, 1)
