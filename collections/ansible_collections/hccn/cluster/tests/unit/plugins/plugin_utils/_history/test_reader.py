"""Finding and reading runs, complete or not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from ansible_collections.hccn.cluster.plugins.plugin_utils._history import reader
from ansible_collections.hccn.cluster.plugins.plugin_utils._history.format import HistoryError

HEADER = '{"schema":"hccn.cluster/history/1","run_id":"r1","started_at":"2026-11-20T10:15:30.000Z"}\n'
RECORD = '{"schema":"hccn.cluster/measurement/1","id":"a","kind":"rdma","status":"ok"}\n'
EVENT = '{"event":"failed","host":"n1","task":"t","message":"m"}\n'
END = '{"end":true,"finished_at":"2026-11-20T10:16:30.000Z","records":1,"hosts":{}}\n'


def put(folder: Path, name: str, text: str | bytes) -> reader.RunFile:
    """Write a history file to the folder of its day and return its path."""
    path = folder / name[:4] / name[4:6] / name[6:8] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = reader.run_file(path)
    assert found
    return found


def code(caught: pytest.ExceptionInfo[HistoryError]) -> str:
    return caught.value.code


def test_complete_run_is_read(tmp_path: Path) -> None:
    run = reader.read(put(tmp_path, "20261120T101530Z-r1.jsonl", HEADER + RECORD + EVENT + END))
    assert run.header == json.loads(HEADER)
    assert run.records == [json.loads(RECORD)]
    assert run.events == [json.loads(EVENT)]
    assert run.end == json.loads(END)
    assert (run.complete, run.empty, run.bad_lines, run.unknown_lines) == (True, False, 0, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("20261120T101530Z-r1.jsonl", HEADER + RECORD),
        ("20261120T101530Z-r1.jsonl.part", HEADER + RECORD),
        ("20261120T101530Z-r1.jsonl.part", HEADER + RECORD + END),
    ],
)
def test_run_without_end_line_or_final_name_is_incomplete(tmp_path: Path, name: str, text: str) -> None:
    run = reader.read(put(tmp_path, name, text))
    assert (run.complete, len(run.records)) == (False, 1)


def test_truncated_malformed_and_unknown_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    lines = [
        HEADER,
        '{"schema":"hccn.cluster/meas\n',
        "7\n",
        "\n",
        RECORD,
        '{"schema":"hccn.cluster/measurement/2","id":"b"}\n',
        '{"some":"thing"}\n',
        RECORD[:30],
    ]
    run = reader.read(put(tmp_path, "20261120T101530Z-r1.jsonl.part", "".join(lines).encode() + b"\xff"))
    assert run.records == [json.loads(RECORD)]
    assert (run.bad_lines, run.unknown_lines, run.complete) == (3, 2, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no_header"),
        (HEADER[:20], "no_header"),
        (RECORD.replace("schema", "scheme"), "no_header"),
        (HEADER.replace("history/1", "history/2"), "unknown_schema"),
        (RECORD, "unknown_schema"),
    ],
)
def test_files_of_other_formats_are_rejected(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(HistoryError) as caught:
        reader.read(put(tmp_path, "20261120T101530Z-r1.jsonl", text))
    assert code(caught) == expected
    assert "20261120T101530Z-r1.jsonl" in caught.value.message


def test_missing_file_raises_history_error(tmp_path: Path) -> None:
    for name in ("20261120T101530Z-r1.jsonl", "20261120T101530Z-r1.jsonl.part"):
        entry = reader.RunFile(tmp_path / name, "r1", "20261120T101530Z", part=name.endswith("part"))
        with pytest.raises(HistoryError) as caught:
            reader.read(entry)
        assert code(caught) == "history_not_readable"
        assert caught.value.message == f"{tmp_path / name}: No such file or directory"


def test_run_that_is_renamed_while_it_is_read(tmp_path: Path) -> None:
    whole = put(tmp_path, "20261120T101530Z-r1.jsonl", HEADER + RECORD + END)
    run = reader.read(reader.RunFile(whole.path.with_name(whole.path.name + ".part"), "r1", "20261120T101530Z", part=True))
    assert (run.complete, run.file) == (True, whole)


def test_runs_are_sorted_newest_first(tmp_path: Path) -> None:
    names = [
        "20251231T235959Z-a.jsonl",
        "20261120T101530Z-b.jsonl",
        "20261120T101531Z-c.jsonl.part",
        "20261201T000000Z-d.jsonl",
    ]
    for name in names:
        put(tmp_path, name, HEADER)
    (tmp_path / "2026/11/20/notes.jsonl").write_text("")
    (tmp_path / "reports").mkdir()
    assert [entry.path.name for entry in reader.runs(tmp_path)] == names[::-1]
    assert [entry.run_id for entry in reader.runs(tmp_path)] == ["d", "c", "b", "a"]
    assert list(reader.runs(tmp_path / "absent")) == []


def test_run_is_found_by_id(tmp_path: Path) -> None:
    put(tmp_path, "20261119T101530Z-a.jsonl", HEADER)
    newer = put(tmp_path, "20261120T101530Z-a.jsonl", HEADER)
    assert reader.find(tmp_path, "a") == newer
    with pytest.raises(HistoryError) as caught:
        reader.find(tmp_path, "b")
    assert (code(caught), caught.value.message) == ("run_not_found", f"{tmp_path} has no run b.")


def test_newest_run_with_results_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="has no run with results"):
        reader.newest(tmp_path)
    put(tmp_path, "20261118T101530Z-measured.jsonl", HEADER + RECORD + END)
    put(tmp_path, "20261119T101530Z-empty.jsonl", HEADER + END)
    put(tmp_path, "20261120T101530Z-later.jsonl", HEADER.replace("history/1", "history/9") + RECORD)
    assert reader.newest(tmp_path).file.run_id == "measured"
    assert reader.choose(tmp_path, None, None).file.run_id == "measured"
    assert reader.choose(tmp_path, "empty", None).empty


def test_current_run_is_chosen_once_it_has_results(tmp_path: Path) -> None:
    put(tmp_path, "20261118T101530Z-before.jsonl", HEADER + RECORD + END)
    this = put(tmp_path, "20261120T101530Z-this.jsonl.part", HEADER)
    assert reader.choose(tmp_path, None, this.path).file.run_id == "before"
    put(tmp_path, "20261120T101530Z-this.jsonl.part", HEADER + EVENT)
    assert reader.choose(tmp_path, None, this.path).file == this
    (tmp_path / "link").symlink_to(tmp_path)
    assert reader.choose(tmp_path / "link", None, this.path).file == this
    assert reader.choose(tmp_path, "before", this.path).file.run_id == "before"
    assert reader.choose(tmp_path, None, Path("/elsewhere") / this.path.name).file.run_id == "this"
    assert reader.choose(tmp_path, None, tmp_path / "notes.txt").file.run_id == "this"


def test_lost_current_run_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    put(tmp_path, "20261118T101530Z-before.jsonl", HEADER + RECORD + END)
    with pytest.raises(HistoryError) as caught:
        reader.choose(tmp_path, None, tmp_path / "2026/11/20/20261120T101530Z-this.jsonl.part")
    assert code(caught) == "history_not_readable"


def test_runs_of_the_same_id_and_second_are_sorted_by_number(tmp_path: Path) -> None:
    numbered = [f"awx-5{number}" for number in ("", "-2", "-9", "-10")]
    for name in numbered:
        put(tmp_path, f"20261120T101530Z-{name}.jsonl", HEADER + RECORD + END)
    put(tmp_path, "20261120T101530Z-awx-5-10.jsonl.gz", gzip.compress((HEADER + RECORD + END).encode()))
    assert [entry.path.name for entry in reader.runs(tmp_path)] == [f"20261120T101530Z-{name}.jsonl" for name in numbered[::-1]]
    assert reader.newest(tmp_path).file.run_id == "awx-5-10"
    assert [entry.run_id for entry in sorted(reader.runs(tmp_path), key=lambda entry: entry.order)] == numbered
