"""The stand-in for perftest: options, ports, texts and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.lib.ports import free_port
from tests.lib.project import SIMULATOR, shared
from tests.lib.waiting import until
from tests.simulator.perftest_sim.card import make_card

ADDRESS = f"127.{10 + os.getpid() % 200}.3.1"
OPTIONS = "-d rxe0 -x 1 -s 65536 -n 200 -q 4 --report_gbits"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    make_card(tmp_path, "rxe0", {1: {"link_layer": "Ethernet", "rate": "100", "address": "10.0.0.1"},
                                 2: {"link_layer": "InfiniBand", "rate": "200", "state": "DOWN"}})
    (tmp_path / "ib_write_bw").symlink_to(SIMULATOR / "bin/perftest_program")
    return tmp_path


def start(host: Path, options: str) -> subprocess.Popen[str]:
    return subprocess.Popen([host / "ib_write_bw", *options.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PERFTEST_SIM_ROOT": str(host), "PERFTEST_SIM_ADDRESS": ADDRESS})


def run(host: Path, options: str) -> tuple[int, str, str]:
    process = start(host, options)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def pair(host: Path, options: str) -> tuple[str, str]:
    """Return the output of client and server."""
    port = free_port()
    server = start(host, f"{options} -p {port}")
    try:
        client = until(lambda: next((found[1] for found in [run(host, f"{options} -p {port} {ADDRESS}")] if found[0] == 0), None))
        return client, server.communicate(timeout=60)[0]
    finally:
        server.kill()
        server.wait()


def shape(text: str) -> list[str]:
    """Return the lines without values and widths."""
    return [" ".join(re.sub(r"0x[0-9a-f]+|[\d.:]*\d", "N", line).split()) for line in text.splitlines() if line.strip("- ")]


def test_no_product_code_is_imported() -> None:
    for path in [*(SIMULATOR / "perftest_sim").glob("*.py"), SIMULATOR / "bin/perftest_program"]:
        assert "ansible" not in path.read_text(), path.name


def test_both_sides_print_the_values_of_the_client(host: Path) -> None:
    client, server = pair(host, OPTIONS)
    row = " 65536      800              97.00              97.00  \t\t   0.185013"
    assert row in client.splitlines()
    assert row in server.splitlines()
    assert " Number of qps   : 4\t\tTransport type : IB" in client.splitlines()
    assert " WARNING: BW peak won't be measured in this run." in pair(host, OPTIONS.replace("-n 200", "-n 500000"))[0].splitlines()


def test_texts_are_those_of_the_recorded_runs(host: Path) -> None:
    lines = (shared("samples") / "perftest-real.jsonl").read_text().splitlines()
    recorded = next(case for case in map(json.loads, lines) if case["case"] == "perftest/bookworm/ib_write_bw/q4")
    client, server = pair(host, OPTIONS)
    assert (shape(client), shape(server)) == (shape(recorded["client.stdout"]), shape(recorded["server.stdout"]))


@pytest.mark.parametrize("options, error", [
    ("-d mlx5_0", "IB device mlx5_0 not found\n Unable to find the Infiniband/RoCE device\n"),
    ("-d rxe0 -i 2", " Port number 2 state is Down\n Couldn't set the link layer\n Couldn't get context for the device\n"),
    ("-d rxe0 -i 3", " Unable to query port 3 attributes\n Couldn't set the link layer\n Couldn't get context for the device\n"),
    ("-d rxe0 -p 1 127.0.0.1", "Couldn't connect to 127.0.0.1:1\nUnable to open file descriptor for socket connection\n"),
    ("-d rxe0 --qps 3", "ib_write_bw: unrecognized arguments: --qps\n Parser function exited with Error\n"),
])
def test_failures(host: Path, options: str, error: str) -> None:
    assert run(host, options) == (1, "", error)


def test_version(host: Path) -> None:
    assert run(host, "--version") == (1, "Version: 6.06\n", "")
