"""The benchmark on small dumps: that it measures what it says; no time is judged here."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench import decode, encodings, generating, landing, memory, paging, reducing, serving
from bench.__main__ import MEASUREMENTS, main
from bench.dumps import RUN, Dumps
from bench.machine import MEGA, find_compiler, machine
from bench.result import Bar, Row, Section
from bench.timing import best_seconds
from bench.transpose import Columns, Job, Transpose, compiled

SMALL = 2 * MEGA


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> Iterator[None]:
    """What all tests hold is not searched whenever a measurement collects its garbage."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Dumps:
    return Dumps(tmp_path_factory.mktemp("dumps"))


@pytest.fixture(scope="module")
def dump(dumps: Dumps) -> Path:
    return dumps.of_size(SMALL)


@pytest.fixture(scope="module")
def work(dump: Path) -> list[Job]:
    return list(decode.jobs(decode.first_windows(dump, SMALL)))


@pytest.fixture(scope="module")
def loops(work: list[Job], tmp_path_factory: pytest.TempPathFactory) -> Transpose:
    found = compiled(tmp_path_factory.mktemp("loops"), work)
    if found is None:
        pytest.skip("there is no C compiler")
    return found


def test_a_dump_is_at_least_as_large_as_asked_for_and_less_than_an_interval_more(dumps: Dumps):
    size = dumps.of_size(8 * MEGA).stat().st_size
    assert 8 * MEGA <= size < 11 * MEGA


def test_a_dump_that_is_there_is_used_again(dumps: Dumps, dump: Path):
    before = dump.stat().st_mtime_ns
    assert dumps.of_size(SMALL) == dump
    assert dump.stat().st_mtime_ns == before


def test_only_the_dumps_are_removed(tmp_path: Path):
    other = tmp_path / "notes.txt"
    other.write_text("not a dump", encoding="utf-8")
    (tmp_path / "5mb").mkdir()
    (tmp_path / "5mb" / f"{RUN}.mon").touch()
    Dumps(tmp_path).remove()
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.slow
def test_decoded_columns_equal_those_of_every_c_loop(work: list[Job], loops: Transpose):
    for job in work:
        decode.check_loops(job, loops)


def test_decoded_columns_equal_construct_in_every_layout(work: list[Job]):
    for job in work:
        decode.check_construct(job, [0, len(job.starts) - 1])


def test_a_c_loop_that_reads_something_else_is_noticed(
    work: list[Job], loops: Transpose, monkeypatch: pytest.MonkeyPatch
):
    def wrong(job: Job) -> Columns:
        columns = loops.by_field(job)
        columns["vmdttime"] = columns["vmdttime"] + 1
        return columns

    active = next(job for job in work if job.layout.name == "useact")
    monkeypatch.setattr(decode, "_loops", lambda _: {"wrong": wrong})
    with pytest.raises(AssertionError, match=r"useact\.vmdttime"):
        decode.check_loops(active, loops)


def test_records_that_construct_reads_otherwise_are_noticed(
    work: list[Job], monkeypatch: pytest.MonkeyPatch
):
    active = next(job for job in work if job.layout.name == "useact")
    swapped = replace(active, starts=active.starts[::-1].copy())
    monkeypatch.setattr(
        decode,
        "decoded_columns",
        lambda _: decode.decode(active.layout, active.window, active.starts, active.lengths),
    )
    with pytest.raises(AssertionError, match="not what construct reads"):
        decode.check_construct(swapped, [0])


@pytest.mark.slow
def test_decoding_is_measured_for_all_layouts_and_for_useact(dump: Path):
    everything, active, index = decode.measure(dump, decode.Sizes(SMALL, 1, 1))
    assert "all layouts" in everything.title
    assert active.given.startswith("1 layouts")
    names = {row.name for row in active.rows}
    assert {decode.DECODE, "construct", "copy, new memory", "copy, memory in use"} <= names
    assert {row.name for row in index.rows} == {"index_records"}


@pytest.mark.slow
def test_without_a_compiler_the_c_loops_are_left_out_with_a_message(
    dump: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bench.transpose.find_compiler", lambda: None)
    section = decode.measure(dump, decode.Sizes(SMALL, 1, 1))[0]
    assert [bar.label for bar in section.bars] == ["decode / construct"]
    assert "no C compiler" in section.remarks[0]


@pytest.mark.slow
def test_landing_is_measured_against_writing_the_same_tables(dump: Path):
    (section,) = landing.measure(dump, 1)
    assert {landing.INGEST, landing.WRITE} <= {row.name for row in section.rows}
    assert sorted(p.name for p in dump.parent.iterdir() if p.is_dir()) == []


def test_a_store_that_lacks_rows_is_noticed(dump: Path, tmp_path: Path):
    tables = landing.decoded_tables(dump)
    store = tmp_path / "store" / "records" / "system=A" / "date=2000-01-01" / "dump=1/1"
    landing.write_tables([(name, table.slice(1)) for name, table in tables], store)
    landing.write_tables(tables, tmp_path / "tables")
    with pytest.raises(AssertionError, match="did not land as it was decoded"):
        landing.check_same(tmp_path / "store", tmp_path / "tables")


@pytest.mark.slow
def test_generating_is_measured_in_a_process_of_its_own_and_leaves_nothing(tmp_path: Path):
    (section,) = generating.measure(tmp_path, [1, 2], 1)
    short, long = section.rows
    assert short.name.startswith("1 intervals") and long.name.startswith("2 intervals")
    assert 20 < short.figures["peak MB"] < 500
    assert not list(tmp_path.iterdir())


def test_the_peak_of_a_process_of_its_own_is_measured(dump: Path):
    found = memory.ingest_alone(dump)
    assert found.size_bytes == dump.stat().st_size
    assert found.seconds > 0
    assert 50 * MEGA < found.peak_bytes < 2000 * MEGA


@pytest.mark.long
def test_every_kind_of_number_in_useact_is_written_in_several_ways(dump: Path):
    sections = encodings.measure(landing.decoded_tables(dump), 1)
    titles = " ".join(section.title for section in sections)
    assert "counters of 4 bytes" in titles
    assert "gauges of 4 bytes" in titles
    for section in sections:
        assert sum(row.note != "" for row in section.rows) == 1, section.title


def test_columns_that_are_written_in_different_ways_have_no_one_choice():
    mixed = pa.schema([pa.field("tod_us", pa.int64()), pa.field("entry", pa.int32())])
    assert encodings.chosen(mixed) is None


def test_contestants_take_turns_and_the_shortest_time_counts():
    order: list[str] = []
    best = best_seconds({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["a", "b", "a", "b"]
    assert all(0 <= seconds < 1 for seconds in best.values())


@pytest.mark.parametrize(("value", "at_least", "holds"), [(0.7, True, True), (0.69, True, False)])
def test_a_bar_holds_at_its_limit(value: float, at_least: bool, holds: bool):
    assert Bar("speed", value, 0.7, at_least).holds is holds
    assert Bar("peak", 1.4 - value, 0.7, not at_least).holds is holds


@pytest.mark.long
def test_serving_is_measured_by_readers_at_once_and_leaves_nothing(tmp_path: Path):
    (section,) = serving.measure(tmp_path, 3)
    figures = [row.figures["median s"] for row in section.rows]
    assert len(figures) == 4
    assert all(value > 0 for value in figures)
    assert [bar.limit for bar in section.bars] == [0.5, 1.0, 1.0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_pages_are_measured_by_processor_time_and_leave_nothing(tmp_path: Path):
    (section,) = paging.measure(tmp_path, 3, 1)
    assert all(row.figures["s"] > 0 for row in section.rows)
    assert [bar.limit for bar in section.bars] == [4.0, 8.0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_reducing_is_measured_against_ingest_and_leaves_nothing(tmp_path: Path):
    (section,) = reducing.measure(tmp_path, 3, 1, ["PROCESSORS_BY_TIME"])
    figures = {row.name: row.figures["s"] for row in section.rows}
    assert {"ingest", "reduce", "PROCESSORS_BY_TIME"} <= figures.keys()
    assert section.bars[0].value == figures["reduce"] / figures["ingest"]
    assert list(tmp_path.iterdir()) == []


def test_a_section_prints_its_figures_and_says_which_bar_is_missed():
    row = Row("decode", {"MB/s": 1234.5, "decode is": 1.0})
    section = Section("Title", "input", (row,), (Bar("ratio", 0.5, 1.0),))
    text = "\n".join(section.lines())
    assert "1,234" in text
    assert "MISSED ratio: 0.50, bar at least 1.00" in text


def _fake(*bars: Bar) -> dict[str, object]:
    section = Section("Title", "input", (Row("row", {"MB/s": 1.0}),), bars)
    return {name: lambda _dumps, _quick: [section] for name in MEASUREMENTS}


@pytest.fixture
def missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.__main__.MEASUREMENTS", _fake(Bar("ratio", 0.5, 1.0)))


@pytest.mark.usefixtures("missed")
def test_a_missed_bar_is_exit_status_1_but_not_with_small_dumps(tmp_path: Path):
    assert main(["--only", "decode", "--folder", str(tmp_path)]) == 1
    assert main(["--only", "decode", "--quick", "--folder", str(tmp_path)]) == 0


@pytest.mark.usefixtures("missed")
def test_the_figures_are_written_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "bench.json"
    main(["--only", "landing", "--json", str(file), "--folder", str(tmp_path)])
    told = json.loads(file.read_text(encoding="utf-8"))
    assert told["machine"]["numpy"] == np.__version__
    assert told["sections"][0]["bars"][0]["holds"] is False
    assert "missed: ratio" in capsys.readouterr().out


def test_the_machine_is_named():
    facts = machine()
    assert facts["processor"]
    assert (facts["compiler"] == "none") is (find_compiler() is None)
