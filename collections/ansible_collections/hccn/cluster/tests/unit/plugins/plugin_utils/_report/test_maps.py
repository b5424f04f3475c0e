"""Heatmaps (cells, order, images) and the worst pairs."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.pair_results import Endpoint
from ansible_collections.hccn.cluster.plugins.plugin_utils._report import heatmaps, plots, png, worst_pairs
from ansible_collections.hccn.cluster.plugins.plugin_utils._report.heatmaps import Expected, PairResults
from ansible_collections.hccn.cluster.plugins.plugin_utils._report.suspects import Suspects


def pair(source: str, target: str, value: float | None, device: int = 0, to: int | None = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "rdma", "status": "ok" if value else "failed", "operation": "write", "measure": "bandwidth",
        "source": {"host": source, "device": device}, "target": {"host": target, "device": device if to is None else to}, **more,
    }
    if value is None:
        return {"error": {"code": "timeout", "message": "no answer"}, **found}
    return {**found, "samples": [{"size_bytes": 65536, "bandwidth_gbit_s": value}]}


def looked(host: str, device: int, leaf: str) -> dict[str, Any]:
    return {"kind": "device", "status": "ok", "source": {"host": host, "device": device}, "samples": [{"lldp": {"system_name": leaf}}]}


def maps(*records: dict[str, Any], normal: float | None = None) -> heatmaps.Maps:
    found = heatmaps.build(PairResults(records), normal)
    assert found is not None
    return found


def test_hosts_are_in_natural_order_with_senders_as_rows() -> None:
    found = maps(pair("n10", "n2", 100.0), pair("n2", "n1", 50.0), pair("n1", "n10", None)).pairs
    assert found.rows == found.columns == ["n1", "n2", "n10"]
    assert found.values == [[None, None, None], [50.0, None, None], [None, 100.0, None]]
    diagonal, failed, nothing = png.DIAGONAL, png.FAILED, png.NOT_MEASURED
    assert found.states == [bytes([diagonal, nothing, failed]), bytes([0, diagonal, nothing]), bytes([nothing, 0, diagonal])]
    assert found.devices is None


def test_cell_of_two_hosts_is_the_worst_pair_of_npus() -> None:
    found = maps(pair("n1", "n2", 100.0), pair("n1", "n2", 60.0, device=3), pair("n2", "n1", 99.0), pair("n2", "n1", None, device=5)).pairs
    assert found.values == [[None, 60.0], [None, None]]
    assert found.states[1][0] == png.FAILED
    assert found.devices == [bytes([255, 3]), bytes([5, 255])]
    slow = maps(pair("n1", "n2", None, samples=[{"latency_us": {"typical": 2.0}}], status="ok", measure="latency"),
                pair("n1", "n2", None, device=1, samples=[{"latency_us": {"typical": 3.0}}], status="ok", measure="latency")).pairs
    assert (slow.values, slow.unit, slow.share(0, 1)) == ([[None, 3.0], [None, None]], "us", pytest.approx(2.5 / 3))


def test_small_run_across_rails_has_a_row_per_npu() -> None:
    found = maps(pair("n1", "n2", 100.0, device=0, to=1), pair("n2", "n1", 90.0, device=1, to=0))
    assert found.pairs.rows == ["n1 NPU 0", "n2 NPU 1"]
    alone = maps(pair("n1", "n1", 100.0, device=0, to=1))
    assert (alone.pairs.rows, alone.rails, alone.leaves) == (["n1 NPU 0", "n1 NPU 1"], None, None)


def test_rails_and_leaves() -> None:
    records = [looked(host, device, leaf) for host, leaf in (("n1", "L2"), ("n2", "L1"), ("n3", "L2")) for device in (0, 1)]
    records += [pair("n1", "n2", 100.0), pair("n2", "n3", 80.0), pair("n3", "n1", 60.0), pair("n1", "n3", None, device=1)]
    found = maps(*records)
    assert found.pairs.rows == ["n2", "n1", "n3"]
    assert found.rails is not None and found.leaves is not None
    assert (found.rails.rows, found.rails.columns) == (["NPU 0", "NPU 1"], ["n2", "n1", "n3"])
    assert found.rails.values == [[100.0, 100.0, 80.0], [None, None, None]], "the better median"
    assert found.rails.states == [bytes(3), bytes([png.NOT_MEASURED, png.FAILED, png.FAILED])]
    assert (found.leaves.rows, found.leaves.values) == (["L1", "L2"], [[None, 80.0], [100.0, 60.0]])


def test_map_of_many_hosts_has_a_row_for_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heatmaps, "MOST_ROWS", 4)
    records = [looked(f"n{number}", device, f"L{number}") for number in range(1, 6) for device in (0, 1)]
    records += [pair("n1", "n2", 90.0), pair("n1", "n4", 80.0), pair("n2", "n5", 70.0, device=1), pair("n3", "n4", None), pair("n5", "n4", None, device=1)]
    found = maps(*records)
    assert found.pairs.rows == found.pairs.columns == ["n1 to n3", "n4 to n5"]
    assert (found.pairs.values, found.pairs.states[1][1]) == ([[90.0, None], [None, None]], png.FAILED)
    assert found.rails is not None and (found.rails.columns, found.rails.values) == (["n1 to n3", "n4 to n5"], [[90.0, 80.0], [70.0, 70.0]])
    assert found.leaves is not None and found.leaves.rows == ["L1 to L3", "L4 to L5"]
    monkeypatch.setattr(heatmaps, "MOST_ROWS", 5)
    assert maps(*records).pairs.rows == ["n1", "n2", "n3", "n4", "n5"]


def test_expected_value() -> None:
    records = [pair("n1", "n2", 100.0), pair("n2", "n1", 80.0)]
    assert maps(*records).expected == Expected(90.0, "median", 0.55)
    assert maps(*records, normal=98.0).expected == Expected(98.0, "history", 0.55)
    assert maps(pair("n1", "n2", 100.0, context={"line_rate_gbit_s": 200}), records[1]).expected == Expected(200.0, "line_rate", 0.9)
    assert heatmaps.build(PairResults([]), None) is None


def test_maps_show_the_most_frequent_metric() -> None:
    small = {**pair("n1", "n2", 1.0), "samples": [{"size_bytes": 64, "bandwidth_gbit_s": 1.0}]}
    found = maps(small, pair("n1", "n2", 100.0), pair("n2", "n1", 90.0))
    assert (found.metric.size_bytes, found.pairs.values) == (65536, [[None, 100.0], [90.0, None]])
    only_failed = maps(pair("n1", "n2", None))
    assert (only_failed.pairs.states[0][1], only_failed.expected) == (png.FAILED, Expected(0.0, "median"))


@pytest.mark.parametrize(("part", "level"), [(0.1, 0), (0.5, 0), (0.725, 60), (0.949, 119), (0.95, 120), (1.0, 180), (1.05, 239), (2.0, 239),
                                             (None, png.CLEAR)])
def test_colours_use_a_fixed_scale_that_breaks_at_the_limit(part: float | None, level: int) -> None:
    assert heatmaps.level(part, 0.95) == level


def test_limit_is_a_break_of_the_colours() -> None:
    """Just below the limit a cell is red, from it on blue, and 95 % and 100 % differ visibly."""
    below, at, full = png.shade(heatmaps.level(0.949, 0.95)), png.shade(heatmaps.level(0.95, 0.95)), png.shade(heatmaps.level(1.0, 0.95))
    assert below[0] > 180 > 90 > below[2] and at[2] > 180 > 90 > at[0]
    assert sum(abs(one - other) for one, other in zip(at, full)) > 150


def test_limit_is_below_the_noise_of_the_run() -> None:
    quiet = [pair(f"n{one}", f"n{other}", 100.0 + one % 2 * 0.1) for one in range(8) for other in range(8) if one != other]
    noisy = [pair(f"n{one}", f"n{other}", 100.0 + (one * 7 + other * 3) % 9 - 4) for one in range(8) for other in range(8) if one != other]
    assert maps(*quiet).expected.limit == pytest.approx(0.95, abs=0.001)
    assert 0.55 < maps(*noisy).expected.limit < 0.9


def test_lost_hosts_have_rows_of_their_own() -> None:
    others = heatmaps.Others(frozenset({"n1", "n2", "n3", "n4"}), Suspects(lost=frozenset({"n3"})))
    found = heatmaps.build(PairResults([pair("n1", "n2", 100.0)]), None, others)
    assert found is not None and found.pairs.rows == ["n1", "n2", "n3", "n4"]
    assert found.pairs.states[2] == bytes([png.LOST, png.LOST, png.DIAGONAL, png.LOST])
    assert found.pairs.states[0] == bytes([png.DIAGONAL, 0, png.LOST, png.NOT_MEASURED])


def test_partner_of_a_slow_npu_is_not_dark() -> None:
    """n3 is slow with all. Its partners have one slow pair each, which says nothing about them."""
    records = [pair("n1", "n3", 30.0), pair("n2", "n3", 30.0), pair("n1", "n2", 100.0), pair("n1", "n4", 100.0), pair("n4", "n3", 30.0)]
    records += [{**record, "source": {**record["source"], "device": 1}, "target": {**record["target"], "device": 1}} for record in records]
    suspects = Suspects(npus=frozenset({Endpoint("n3", 0), Endpoint("n3", 1)}))
    found = heatmaps.build(PairResults(records), None, heatmaps.Others(suspects=suspects))
    assert found is not None and found.rails is not None and found.rails.columns == ["n1", "n2", "n3", "n4"]
    assert found.rails.values == [[100.0, 100.0, 30.0, 100.0], [100.0, 100.0, 30.0, 100.0]]
    ends = worst_pairs.ends(PairResults(records), Expected(100.0, "median"), suspects, 3)
    assert [(str(row.end), row.share) for row in ends] == [("n3 NPU 0", 0.3), ("n3 NPU 1", 0.3), ("n1 NPU 0", 1.0)]


def test_scale_is_ordered_in_greyscale() -> None:
    greys = [0.299 * red + 0.587 * green + 0.114 * blue for red, green, blue, _alpha in map(png.shade, range(png.SHADES))]
    assert greys == sorted(greys) and greys[-1] - greys[0] > 150
    assert (png.shade(0), png.shade(png.SHADES - 1)) == ((43, 10, 61, 255), (230, 242, 251, 255))


def pixels(content: bytes) -> tuple[int, int, list[bytes]]:
    """Return width, height and palette indices of a PNG."""
    place, body, width, height = 8, b"", 0, 0
    while place < len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        data = content[place + 8:place + 8 + length]
        assert struct.unpack_from(">I", content, place + 8 + length)[0] == zlib.crc32(name + data)
        if name == b"IHDR":
            width, height = struct.unpack_from(">II", data)
        body += data if name == b"IDAT" else b""
        place += 12 + length
    raw = zlib.decompress(body)
    return width, height, [raw[row * (width + 1) + 1:(row + 1) * (width + 1)] for row in range(height)]


def test_png_pictures() -> None:
    assert pixels(png.picture(3, [b"\0\1\2", b"\3\4\5"], png.SCALE)) == (3, 2, [b"\0\1\2", b"\3\4\5"])
    width, height, rows = pixels(png.overlay([bytes([0, png.DIAGONAL]), bytes([png.FAILED, png.NOT_MEASURED])], 9))
    assert (width, height) == (18, 18)
    assert {row[:9] for row in rows[:9]} == {bytes(9)} and {row[9:] for row in rows[:9]} == {bytes([1] * 9)}
    assert rows[9][:9] == bytes([2] * 9) and rows[10][:9] == bytes([2, 3, 2, 2, 2, 2, 2, 3, 2])
    assert [row[9:].count(4) for row in rows[9:]] == [0, 0, 0, 2, 2, 0, 0, 0, 0]


def test_values_for_the_script() -> None:
    (plot, *_rest) = plots.build(maps(pair("n1", "n2", 195.94), pair("n2", "n1", None)))
    assert (plot.data["rows"], plot.data["columns"], plot.data["scale"], plot.data["unit"]) == (["n1", "n2"], None, 100.0, "Gbit/s")
    raw = zlib.decompress(base64.b64decode(plot.data["values"]))
    assert [high * 256 + low for high, low in zip(raw[:4], raw[4:])] == [65533, 19594, 65534, 65533]
    assert plot.scale == [plots.Tick(0.0, 0.5, "97.97 Gbit/s", False), plots.Tick(50.0, pytest.approx(0.95), "186.1 Gbit/s", True),
                          plots.Tick(74.9, 1.0, "195.9 Gbit/s", False)]
    assert plots.gradient().count("50%") == 2


@pytest.mark.parametrize(("hosts", "wide", "narrow", "marks"), [(4, (28, 28), (28, 28), 4), (64, (9, 9), (3, 3), 32), (512, (2, 2), (1, 1), 64)])
def test_cells_have_whole_pixels_and_names_do_not_overlap(hosts: int, wide: Any, narrow: Any, marks: int) -> None:
    (plot, *_rest) = plots.build(maps(*(pair(f"n{number}", f"n{(number + 1) % hosts}", 100.0) for number in range(hosts))))
    assert (plot.cell, plot.narrow, len(plot.rows)) == (wide, narrow, marks)
    assert all((other.place - one.place) * plot.cell[1] >= plots.MARK for one, other in zip(plot.rows, plot.rows[1:]))
    sparse = [mark.place for mark in plot.rows if mark.narrow]
    assert all((other - one) * plot.narrow[1] >= plots.MARK for one, other in zip(sparse, sparse[1:]))


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["n1", "n2"], ["n1", "n2"]),
        (["rack-a-npu-0001.dc.example", "rack-a-npu-0012.dc.example"], ["0001", "0012"]),
        (["one-very-long-name", "x"], ["…ery-long-name", "x"]),
        (["the-only-host-there-is"], ["…host-there-is"]),
        ([], []),
    ],
)
def test_long_names_beside_a_map_are_shortened(names: list[str], short: list[str]) -> None:
    assert plots.shortened(names) == short
    assert all(len(name) <= plots.NAME for name in short)


def test_worst_pairs_with_evidence_for_each_endpoint() -> None:
    records = [pair(source, target, 50.0 if source == "n3" else 100.0) for source in ("n1", "n2", "n3", "n4") for target in ("n1", "n2", "n3", "n4")
               if source != target and (source, target) != ("n4", "n1")]
    measured = PairResults([*records, pair("n4", "n1", None)])
    found = worst_pairs.pairs(measured, Expected(100.0, "history"), 4)
    assert [(row.source, row.target, row.value, row.share, row.message, row.source_median, row.target_median, row.reverse) for row in found] == [
        ("n4 NPU 0", "n1 NPU 0", None, None, "no answer", 100.0, 100.0, 100.0),
        ("n3 NPU 0", "n1 NPU 0", 50.0, 0.5, "", 75.0, 100.0, 100.0),
        ("n3 NPU 0", "n2 NPU 0", 50.0, 0.5, "", 75.0, 100.0, 100.0),
        ("n3 NPU 0", "n4 NPU 0", 50.0, 0.5, "", 75.0, 100.0, 100.0),
    ]
    assert [(str(row.end), row.sent, row.received, row.share) for row in worst_pairs.ends(measured, Expected(100.0, "history"), Suspects(), 2)] == [
        ("n3 NPU 0", 50.0, 100.0, 0.5), ("n1 NPU 0", 100.0, 100.0, 1.0)]


def test_failed_host_does_not_hide_a_slow_link() -> None:
    records = [pair(f"n{number}", "n99", None) for number in range(20)] + [pair("n1", "n2", 50.0)]
    found = worst_pairs.pairs(PairResults([*records, *(pair(f"n{number}", f"n{number + 1}", 100.0) for number in range(2, 20))]), Expected(100.0, "history"))
    assert [row.target for row in found[:3]] == ["n99 NPU 0"] * 3
    assert ("n1 NPU 0", "n2 NPU 0", 50.0) in [(row.source, row.target, row.value) for row in found]
    assert len(found) == 10
