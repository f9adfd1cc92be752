"""Roll-ups: figures worked out by hand, and reports that read them as they read intervals."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cpmon.config import Settings
from cpmon.config.moments import Shift
from cpmon.core.errors import CpmonError
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.engine.computing import create_shifts, roll_up
from cpmon.reduce.engine.database import ReductionDatabase
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics import rollups
from cpmon.reduce.metrics.metric import MetricKind, ReportColumn
from cpmon.reduce.metrics.report_set import Lines, reports
from cpmon.reduce.metrics.rollups import SHIFT_ENDS, Rollup, rollup_of
from cpmon.reduce.reductions.reductions import reduction, reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_names import report_names
from cpmon.store import Store, connect
from cpmon.store.results.entries import Entry
from cpmon.store.results.lineage import lineages
from cpmon.store.results.retention import Retention, plan, prune
from cpmon.store.sql.landed_views import macros
from tests.reduce.catalogue import minute
from tests.shifts import daily

COLUMNS = (
    ReportColumn(
        "io_rate", "I/O", kind=MetricKind.RATIO, numerator="ios", denominator="seconds", factor=2.0
    ),
    ReportColumn("pages", "Pages", kind=MetricKind.LEVEL),
    ReportColumn("logons", "Logons", kind=MetricKind.TOTAL, numerator="logons"),
    ReportColumn("volser", "Volume", kind=MetricKind.LATEST),
)
ROLLUP = Rollup("made_up", ("device",), COLUMNS)

Pair = tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]
"""A store as it was reduced, and one of which only roll-ups are left."""

SHIFTS = daily("late", "08:15", "08:30")


def rows(*given: tuple[float, int, float, float | None, int | None, int, str | None]) -> pa.Table:
    """Minute, device, seconds, ios, pages, logons, volume."""
    names = ("interval_end", "device", "seconds", "ios", "pages", "logons", "volser")
    found = [dict(zip(names, row, strict=True)) for row in given]
    for row in found:
        row["interval_end"] = minute(row["interval_end"])
        row["system"] = "LAB"
        row["doubts"] = None
    return pa.Table.from_pylist(found).cast(
        pa.schema(
            [
                ("interval_end", pa.timestamp("us")),
                ("device", pa.int64()),
                ("seconds", pa.float64()),
                ("ios", pa.float64()),
                ("pages", pa.int64()),
                ("logons", pa.int64()),
                ("volser", pa.string()),
                ("system", pa.string()),
                ("doubts", pa.string()),
            ]
        )
    )


LITERAL = rows(
    (16, 2, 60, 600, 7, 1, "B"),
    (5, 1, 60, 60, 10, 1, "A"),
    (15, 1, 30, 300, 30, 2, None),
    (20, 1, 60, None, None, 4, "C"),  # a record without the counter: its time is not its time
    (30, 1, 60, 120, 50, 8, None),
)


@cache
def scratch() -> Path:
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def database() -> ReductionDatabase:
    return ReductionDatabase(Store(scratch() / "store", create=True), reductions(), scratch())


def rolled(rows: pa.Table, *shifts: Shift) -> pa.Table:
    """The roll-up of some rows of the day."""
    with TemporaryDirectory(dir=scratch()) as folder:
        piece, file = Path(folder) / "piece.parquet", Path(folder) / "hours"
        pq.write_table(rows, piece)
        days = {(minute(0) + timedelta(days=n)).date(): ("", "") for n in range(2)}
        depth = create_shifts(database(), shifts, f"read_parquet('{piece}')")
        entry = Entry("", "", "hour", "LAB", days)
        roll_up(database(), ROLLUP, f"read_parquet('{piece}')", depth, [(entry, file)])
        return pq.ParquetFile(file).read()


def lines(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    found = sorted(table.to_pylist(), key=lambda row: (row["device"], row["interval_end"]))
    return [tuple(row[column] for column in columns) for row in found]


def test_an_hour_has_sums_of_its_intervals():
    table = rolled(LITERAL)
    assert lines(table, "device", "interval_end", "intervals", "seconds") == [
        (1, minute(60), 4, 210.0),
        (2, minute(60), 1, 60.0),
    ]
    assert lines(table, "io_rate", "ios_by_seconds", "seconds_of_ios") == [
        (2 * 480 / 150, 480.0, 150.0),  # the mean of the intervals would be 8.7
        (2 * 600 / 60, 600.0, 60.0),
    ]
    assert lines(table, "pages", "pages_sum", "pages_s") == [
        (4500 / 150, 4500.0, 150.0),  # 10 for 60 s, 30 for 30 s and 50 for 60 s
        (7.0, 420.0, 60.0),
    ]
    assert lines(table, "logons", "logons_sum") == [(15.0, 15.0), (1.0, 1.0)]
    assert lines(table, "volser") == [("C",), ("B",)]
    assert lines(table, "io_rate_max", "pages_max") == [(20.0, 50.0), (20.0, 7.0)]
    assert lines(table, "begins", "ends") == [
        (minute(4), minute(30)),
        (minute(15), minute(16)),
    ]


def test_what_is_never_known_is_null_and_not_zero():
    table = rolled(rows((1, 1, 60, None, None, 0, None)))
    (row,) = table.to_pylist()
    unknown = (
        "io_rate",
        "ios_by_seconds",
        "io_rate_max",
        "io_rate_p95",
        "pages",
        "pages_sum",
        "volser",
    )
    assert {name: row[name] for name in unknown} == dict.fromkeys(unknown)
    assert (row["pages_s"], row["logons"]) == (None, 0.0)


def test_the_95th_percentile_is_that_of_the_nearest_rank():
    many = rows(*((n + 1, 1, 60, 30.0 * (n + 1), n, 0, None) for n in range(40)))
    few = rows(*((n + 1, 1, 60, 30.0 * (n + 1), n, 0, None) for n in range(19)))

    assert lines(rolled(many), "io_rate_max", "io_rate_p95") == [(40.0, 38.0)]
    assert lines(rolled(few), "io_rate_max", "io_rate_p95") == [(19.0, 19.0)]


def test_percentiles_of_spans_of_many_sizes_are_told_apart():
    sizes = range(20, 45)
    table = rows(*((n + 1, device, 60, 0.0, n, 0, None) for device in sizes for n in range(device)))
    found = lines(rolled(table), "device", "pages_p95")
    assert found == [(size, float(-(-size * 95 // 100) - 1)) for size in sizes]


@given(
    st.lists(st.tuples(st.integers(1, 1440), st.integers(1, 40)), min_size=1, max_size=5),
    st.sampled_from([3, 1000]),
    st.integers(0, 2**32 - 1),
)
@example([(1440, 23)], 1000, 1)
def test_percentiles_of_hours_are_those_of_all_values(
    objects: list[tuple[int, int]], distinct: int, seed: int
):
    """Wherever the great ones are: each object has them every so many intervals."""
    chance = np.random.default_rng(seed)
    sizes = [size for size, _ in objects]
    minutes = np.concatenate([np.arange(1, size + 1) for size in sizes])
    great = np.concatenate([np.arange(size) % every == 0 for size, every in objects])
    pages = chance.integers(0, distinct, len(minutes)) + np.where(great, distinct, 0)
    unknown = chance.random(len(minutes)) < chance.choice([0, 0.1, 0.95])
    device = np.repeat(np.arange(len(sizes)), sizes)
    table = pa.table(
        {
            "system": pa.repeat("LAB", len(minutes)),
            "interval_end": pa.array(minutes * 2_500_000).cast(pa.timestamp("us")),
            "device": device,
            "seconds": np.full(len(minutes), 60.0),
            "ios": np.zeros(len(minutes)),
            "pages": pa.array(pages, mask=unknown),
            "logons": np.zeros(len(minutes), np.int64),
            "volser": pa.nulls(len(minutes), pa.string()),
            "doubts": pa.nulls(len(minutes), pa.string()),
        }
    )

    found = lines(rolled(table), "pages_max", "pages_p95")

    for of, (greatest, high) in enumerate(found):
        known = np.sort(pages[(device == of) & ~unknown])
        rank = -(-len(known) * 95 // 100) - 1
        expected = (known[-1], known[rank]) if len(known) else (None, None)
        assert (greatest, high) == expected


@pytest.mark.parametrize(("first", "last"), [(0, 120), (15, 75), (7, 112), (200, 300)])
def test_a_shift_comes_to_what_its_rows_alone_come_to(first: int, last: int):
    """Whether it begins and ends with hours or between them."""
    everything = rows(
        *(
            (n, device, 60, n * 7 % 23 if n % 11 else None, n % 5, 1, "V" if n % 3 else None)
            for device in (1, 2)
            for n in range(1, 121)
        )
    )
    clock = (f"{minute(n):%H:%M}" for n in (first, last))
    (late,) = daily("late", *clock).values()
    time = everything.column("interval_end")
    begins, ends = (pa.scalar(minute(n), time.type) for n in (first, last))
    inside = pc.and_(pc.greater(time, begins), pc.less_equal(time, ends))
    chosen = everything.filter(inside)

    of_both = rolled(everything, late)
    alone = rolled(chosen)

    of_shift = of_both.filter(pc.equal(of_both.column("shift"), late.name))
    assert of_shift.drop_columns(["shift", "hours"]).equals(alone.drop_columns(["shift", "hours"]))


def test_no_rows_are_no_spans():
    assert len(rolled(LITERAL.slice(0, 0))) == 0


def test_an_object_without_a_name_is_an_object():
    found = rolled(
        rows((1, None, 60, 1, 1, 1, "A"), (2, None, 60, 2, 2, 2, "B"), (1, 7, 60, 3, 3, 3, "C"))
    )
    assert sorted(found.column("pages").to_pylist()) == [1.5, 3.0]


@pytest.mark.parametrize("name", sorted({r.reduction for r in reports().values()}))
def test_every_report_of_lines_can_be_rolled_up(name: str):
    kinds = {report.lines for report in reports().values() if report.reduction == name}
    rollup = rollup_of(name)
    assert (rollup is None) == (kinds == {Lines.ROW})
    if rollup is not None:
        end, typed = "NULL AS interval_end", "CAST(NULL AS TIMESTAMP) AS interval_end"
        kept = next(lineage.kept for lineage in lineages(reductions()) if lineage.name == name)
        rows = ", ".join(f"NULL AS {column.name}" for column in reduction(kept).columns)
        con = duckdb.connect()
        con.execute(macros())
        con.execute(
            f"CREATE TABLE rows AS SELECT {rows.replace(end, typed)};"
            f"CREATE TABLE {rollups.SHIFTS} AS SELECT 0 AS shift_id, '' AS shift, '' AS hours;"
            f"CREATE TABLE {SHIFT_ENDS} AS SELECT 0 AS shift_id, interval_end FROM rows"
        )
        columns = con.sql(rollup.select("rows", "'LAB'", depth=2)).columns
        docs = rollup.docs({column.name: column.doc for column in reduction(name).columns})
        assert list(docs) == columns[: len(docs)] == columns
        assert all(docs.values())


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A reduced store of 40 minutes, and the same with neither samples nor intervals."""
    folder = tmp_path_factory.mktemp("rolled")
    write_run(load_scenario("small-lab"), "LAB52", folder, intervals=40)
    fine = Store(folder / "fine", create=True)
    ingest(folder / "LAB52.mon", fine)
    for run in fine.runs.glob("*.json"):
        run.unlink()
    reduce(fine, (), Settings(shifts=SHIFTS))
    coarse = Store(shutil.copytree(fine.root, folder / "coarse"))
    gone = plan(coarse, reductions(), Retention({"interval": 1}, raw=1), date(2030, 1, 1))
    prune(coarse, gone)
    with connect(fine, reductions()) as first, connect(coarse, reductions()) as second:
        yield first, second


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in report_names()
        if reports()[name].lines is not Lines.ROW
        and name not in ("LINUX_FILE_SYSTEMS", "LINUX_PROCESSES", "LINUX_TASKS")
        and not name.startswith("VIRTUAL_")
    ],
)
def test_a_report_of_hours_is_the_same_from_roll_ups(stores: Pair, name: str):
    wanted = reports()[name]
    by = timedelta(hours=1) if wanted.lines is Lines.TIME else None
    fine, coarse = (report(con, name, by=by) for con in stores)

    assert "this rests on roll-ups, each of an hour" in coarse.notes[0]
    assert abs(coarse.starts - fine.starts) < timedelta(milliseconds=1)  # objects differ in T
    assert (coarse.ends, coarse.intervals) == (fine.ends, fine.intervals)
    key = ["interval_end"] * (wanted.lines is Lines.TIME) + list(wanted.keys)
    _same(_by(fine.table, key), _by(coarse.table, key))
    _same({(): fine.mean}, {(): coarse.mean})
    # Roll-ups have the time of whoever was there longest; the others' differ by microseconds.
    _same({(): fine.total}, {(): coarse.total}, rel=1e-7)


@pytest.mark.parametrize(
    "name", ["users_by_time", "user_states_by_time", "linux_guests_by_time", "dasd_by_activity"]
)
def test_rates_are_not_kept_but_divided_when_they_are_read(stores: Pair, name: str):
    con, known = stores[0], reduction(name)
    shown = con.table(name).pl()
    file = next((con.store.root / "reduced" / name / "level=interval").rglob("*.parquet"))
    computed = con.sql(known.select).pl()

    assert len(shown) > 0
    assert len(pq.read_schema(file).names) < len(shown.columns) == len(known.columns)
    keys = [column for column, kind in shown.schema.items() if not kind.is_float()]
    assert_frame_equal(shown.sort(keys), computed.sort(keys), rel_tol=1e-12)


def _by(table: pa.Table, key: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    shown = [name for name in key if name in table.column_names]  # a key may be hidden: a rank
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in table.to_pylist():
        several = tuple(row[name] for name in shown)
        found[*several, sum(several == known[:-1] for known in found)] = row
    return found


def _same(
    fine: dict[Any, dict[str, Any]], coarse: dict[Any, dict[str, Any]], rel: float = 1e-9
) -> None:
    assert fine.keys() == coarse.keys()
    for key, row in fine.items():
        for name, value in row.items():
            near = pytest.approx(value, rel=rel, abs=1e-12) if isinstance(value, float) else value
            assert coarse[key][name] == near, (key, name)


def test_a_shift_that_was_rolled_up_is_read(stores: Pair):
    settings, means = Settings(shifts=SHIFTS), []
    for con in stores:
        found = report(con, "SYSTEM_SUMMARY_BY_TIME", shift="late", settings=settings)
        assert found.intervals == 15
        length = found.mean.pop("seconds")  # of a line: an interval, or a quarter of an hour
        assert length == pytest.approx(60 if con is stores[0] else 900, rel=1e-3)
        means.append(found.mean)
    _same({(): means[0]}, {(): means[1]})


def test_a_shift_that_was_not_rolled_up_is_refused(stores: Pair):
    other = daily("late", "08:00", "08:30")
    refused = pytest.raises(CpmonError, match="not rolled up by shift late")
    with refused as caught:
        report(stores[1], "USER_PAGING", shift="late", settings=Settings(shifts=other))
    assert caught.value.found == "late: days 1 2 3 4 5 6 7 from 08:15 to 08:30 UTC"
