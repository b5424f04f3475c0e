"""hccn.conf on a full disk or damaged by an interrupted write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.history.disks import full_ext4
from tests.lib.hosts import node, tools
from tests.lib.module import call_module

TEXT = "".join(f"address_{device}=10.78.9.1{device}\nnetmask_{device}=255.255.0.0\n" for device in range(2))
NULS = "\0" * 11000


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = node(tmp_path / "npu9", "--address-template", "10.78.9.1{device}", "--netmask", "255.255.0.0", devices=2)
    (root / "etc/hccn.conf").write_text(TEXT)
    return root


def declare(host: Path, check: bool = False, diff: bool = False, **options: Any) -> dict[str, Any]:
    return call_module("hccn_conf", {**tools(host), **options}, check=check, diff=diff)


def test_full_disk_leaves_the_file_unchanged(host: Path, tmp_path: Path) -> None:
    with full_ext4(tmp_path / "disk", 512, 4) as fill:
        path = tmp_path / "disk/hccn.conf"
        path.write_text(TEXT)
        fill()
        many = {"arp": [f"-i eth0 -s 10.78.1.{number} bc:1e:85:00:00:{number:02x}" for number in range(200)]}
        result = call_module("hccn_conf", {"npu_smi": tools(host)["npu_smi"], "path": str(path), "settings": many})
        assert (result["error"]["code"], result["error"]["message"]) == (
            "conf_unwritable", f"{path}: No space left on device; the file holds its old content")
        assert path.read_bytes() == TEXT.encode()


@pytest.mark.parametrize("damaged", [TEXT + NULS, TEXT.rstrip("\n") + NULS])
def test_nul_bytes_at_the_end_of_the_file_are_removed(host: Path, damaged: str) -> None:
    path = host / "etc/hccn.conf"
    path.write_text(damaged)
    predicted = declare(host, check=True, diff=True)
    assert (predicted["changed"], predicted["diff"]["before"], predicted["diff"]["after"], path.read_text()) == (True, damaged, TEXT, damaged)
    result = declare(host)
    assert (result["changed"], result["problems"], result["previous"], path.read_text()) == (True, [], damaged, TEXT)
    assert declare(host)["changed"] is False


def test_nothing_is_appended_after_nul_bytes(host: Path) -> None:
    path = host / "etc/hccn.conf"
    path.write_text(TEXT + NULS)
    for result in (call_module("device_network", {**tools(host), "config": [{"id": 0, "mtu": 4200}]}),
                   call_module("device_tls", {**tools(host), "state": "disabled"}),
                   call_module("device_info", {**tools(host), "gather": ["tls"]})):
        (error,) = result["devices"][0]["errors"]
        assert (error["code"], error["message"].partition(":")[0], error["hint"]) == (
            "nul_bytes", f"{path} ends in NUL bytes from an interrupted write", "hccn.cluster.hccn_conf removes them")
        assert path.read_text() == TEXT + NULS
