"""Results in every format, and files that appear as a whole."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cpmon.cli.main import Status
from cpmon.config.formats import FORMATS
from tests.cli.answer import Cpmon

SQL = (
    "select tod, pfxcpuad, pfxcpuad = 0 as master, plspgin / 7 as share, system, "
    "case when pfxcpuad > 3 then 'a|b, \"c\"' end as said "
    "from interval.sytxsp order by all limit 20"
)
RECORDS = ("dump", "domain", "record", "name", "layout", "records", "bytes", "share")
Lines = Callable[[str, str], list[object]]
COMMANDS: dict[str, list[str]] = {
    "query": ["query", SQL],
    "named query": ["query", "processor_balance", "-p", "run=2600NP"],
    "report": ["report", "SYSTEM_SUMMARY2_BY_TIME", "--run", "2600NP"],
    "runs": ["runs"],
    "compare": ["compare", "timer_t1"],
    "list": ["list", "sample"],
}


@pytest.fixture
def lines(perf: Path, dumps: list[Path]) -> Lines:
    def build(name: str, form: str) -> list[object]:
        words: list[object] = [dumps[0] if w == "sample" else w for w in COMMANDS[name]]
        return [*words, *([] if name == "list" else ["--store", perf]), "--format", form]

    return build


@pytest.fixture(scope="module")
def frames() -> dict[str, pl.DataFrame]:
    """The rows of commands, by name, that a test has had as Parquet."""
    return {}


@pytest.fixture
def frame_of(
    frames: dict[str, pl.DataFrame], cpmon: Cpmon, lines: Lines
) -> Callable[[str], pl.DataFrame]:
    """The rows of a command, with their types."""

    def read(name: str) -> pl.DataFrame:
        if name not in frames:
            frames[name] = pl.read_parquet(io.BytesIO(cpmon(*lines(name, "parquet")).out))
        return frames[name]

    return read


def as_json(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows as --format json writes them: times as text in UTC."""
    times = [n for n, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    iso = [pl.col(n).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") for n in times]
    return frame.with_columns(iso).to_dicts()


def near(rows: list[dict[str, Any]]) -> list[Any]:
    """Two runs of one reduction may add their floats in another order: the last bit may differ."""
    return [
        {n: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for n, v in row.items()}
        for row in rows
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_carries_the_same_rows(
    name: str, cpmon: Cpmon, lines: Lines, frame_of: Callable[[str], pl.DataFrame]
):
    frame = frame_of(name)
    rows = as_json(frame)
    assert rows

    jsonl = [json.loads(line) for line in cpmon(*lines(name, "jsonl")).text.splitlines()]
    assert jsonl == near(rows)

    kinds = {n: pl.String() if isinstance(k, pl.Datetime) else k for n, k in frame.schema.items()}
    read = pl.read_csv(cpmon(*lines(name, "csv")).out, schema=kinds).to_dicts()
    assert read == near([{n: None if v == "" else v for n, v in row.items()} for row in rows])


@pytest.mark.parametrize("name", ["query", "named query", "report", "runs"])
def test_json_is_a_list_of_the_rows(
    name: str, cpmon: Cpmon, lines: Lines, frame_of: Callable[[str], pl.DataFrame]
):
    frame = frame_of(name)
    assert cpmon(*lines(name, "json")).rows == near(as_json(frame))


def test_json_of_a_comparison_has_a_version_its_runs_and_its_cells(
    cpmon: Cpmon, lines: Lines, frame_of: Callable[[str], pl.DataFrame]
):
    found: Any = cpmon(*lines("compare", "json")).rows
    frame = frame_of("compare")
    assert found["schema_version"] == 1
    assert [run["run_id"] for run in found["runs"]] == ["2600NP", "3600NP1", "3900NP1"]
    cells = [{k: v for k, v in cell.items() if k != "reason"} for cell in found["cells"]]
    assert cells == [{k: v or None for k, v in row.items()} for row in as_json(frame)]


def test_json_of_a_dump_has_what_the_heading_says(cpmon: Cpmon, lines: Lines):
    (found,) = cpmon(*lines("list", "json")).rows
    assert found["system"] == "TIMER" and found["intervals"] == 4 and found["gaps"] == 0
    assert {tuple(row) for row in found["records"]} == {RECORDS[1:]}
    assert sum(row["bytes"] for row in found["records"]) < found["bytes"] == 1265664


@pytest.mark.parametrize("name", ["query", "named query", "runs"])
def test_table_and_markdown_have_a_line_a_row_and_every_text(
    name: str, cpmon: Cpmon, lines: Lines, frame_of: Callable[[str], pl.DataFrame]
):
    frame = frame_of(name)
    table, markdown = cpmon(*lines(name, "table")).text, cpmon(*lines(name, "markdown")).text

    assert table.split("\n")[0].split() == frame.columns
    assert len(table.splitlines()) == len(markdown.splitlines()) == len(frame) + 2
    cells = [line.split(" | ") for line in markdown[1:].replace("\n|", "\n").splitlines()]
    assert [c.strip(" |") for c in cells[0]] == frame.columns
    for column, cell in zip(frame.columns, zip(*cells[2:], strict=True), strict=True):
        if frame.schema[column] == pl.String:
            shown = [c.removesuffix(" |").strip().replace("\\|", "|") for c in cell]
            assert shown == [v or "" for v in frame[column].to_list()]
    assert cpmon(*lines(name, "text")).text == table


def test_the_printed_report_agrees_with_its_unrounded_rows(cpmon: Cpmon, lines: Lines):
    frame = pl.read_parquet(io.BytesIO(cpmon(*lines("report", "parquet")).out))
    printed = cpmon(*lines("report", "table")).text.splitlines()
    rates = [line.split()[6] for line in printed if line.startswith("2001-11-13 ")]
    assert rates == [f"{rate:.0f}" for rate in frame["spin_lock_rate"] if rate is not None]


def test_times_are_utc_in_every_format(cpmon: Cpmon, perf: Path):
    sql = "select max(tod) as last from monitor.mtrend"
    last = datetime(2001, 12, 11, 14, 3, 0, 254716, UTC)
    assert cpmon("query", sql, "--store", perf, "--format", "csv").text == (
        f"last\n{last:%Y-%m-%dT%H:%M:%S.%f}Z\n"
    )
    frame = pl.read_parquet(
        io.BytesIO(cpmon("query", sql, "--store", perf, "--format=parquet").out)
    )
    assert frame.item() == last.replace(tzinfo=None)


def test_a_format_that_does_not_exist_is_answered_with_those_that_do(cpmon: Cpmon, perf: Path):
    answer = cpmon("runs", "--store", perf, "--format", "xml")
    assert answer.status is Status.USAGE
    assert all(form in answer.err for form in FORMATS)


def test_a_file_has_what_standard_output_would_have(cpmon: Cpmon, perf: Path, tmp_path: Path):
    file = tmp_path / "new" / "runs.csv"
    words = ["runs", "--store", perf, "--format", "csv"]
    answer = cpmon(*words, "-o", file, "--parents")

    assert (answer.status, answer.out, answer.err) == (Status.DONE, b"", "")
    assert file.read_bytes() == cpmon(*words).out == cpmon(*words, "-o", "-").out
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_file_is_replaced_in_one_step(
    cpmon: Cpmon, perf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "runs.csv"
    file.write_text("old")
    seen = []
    rename = Path.replace

    def looked_at(self: Path, target: Path) -> Path:
        seen.append((self.parent == target.parent, self.read_bytes(), file.read_text()))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", looked_at)
    words = ["runs", "--store", perf, "--format", "csv"]
    expected = cpmon(*words).out
    assert cpmon(*words, "-o", file).status is Status.DONE
    assert seen == [(True, expected, "old")]
    assert [f.name for f in tmp_path.iterdir()] == ["runs.csv"]


def test_a_pipe_is_written_to_and_stays_one(cpmon: Cpmon, perf: Path, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        words = ("query", "SELECT 1 AS x", "--format", "csv", "--store", perf, "-o", pipe)
        assert cpmon(*words).status is Status.DONE
        assert reader.communicate(timeout=300)[0] == b"x\n1\n"
    assert pipe.is_fifo()


def test_a_file_that_cannot_be_written_keeps_its_old_content(
    cpmon: Cpmon, perf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    file = tmp_path / "runs.csv"
    file.write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    answer = cpmon("runs", "--store", perf, "-o", file)
    assert answer.status is Status.USAGE
    assert "runs.csv cannot be written: No space left on device" in answer.err
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("runs.csv", "old")]
