"""Kept results by day: what a new dump adds, what is never shown, what a prune may take away."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.config.moments import Shift
from cpmon.core.errors import CpmonError, StoreError
from cpmon.ingest import ingest
from cpmon.reduce.engine.database import ReductionDatabase
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics.metric import TIME
from cpmon.reduce.page.chart import Chart, Series, read_points
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_sql import Span
from cpmon.store import Run, Store, connect, save_classes, save_run
from cpmon.store.files.disk import disk_error
from cpmon.store.results import result_files
from cpmon.store.results.entries import Entries, replace
from cpmon.store.results.reduced import LEVELS, ByDay, by_day
from cpmon.store.results.retention import Prune, Retention, plan, prune, retention
from cpmon.store.results.usage import usage
from tests.dumps import dump, fields, interval
from tests.shifts import daily

HOUR = 3600
TOD_SECOND = 4_096_000_000
NAME = "processors_by_time"
OLD = date(2010, 1, 1)
MONTH = {"interval": 30}
BUSY = (Series("PROCESSORS_BY_TIME", "total_util", "Busy"),)


def hours(first: int, last: int, *, nominal: bool = True, late: float = 0) -> bytes:
    """A dump with a sample at each of these hours after midnight of 2001-12-18.

    Processor 0 has worked half of every hour since then; user time alone.

    Args:
        late: so many seconds behind the hour each interval ends.
    """
    samples = {h: _records(h, h == first, nominal) for h in range(first, last + 1)}
    return dump(*(interval(at(h) + late, *records) for h, records in samples.items()))


def at(hour: int) -> int:
    """The second of an hour: dumps of tests begin at 10:00."""
    return (hour - 10) * HOUR


def _records(hour: int, first: bool, nominal: bool) -> list[bytes]:
    config = [fields("mtrsys", at(hour), systmid="VMTEST")] if first else []
    config += [fields("mtrspr", at(hour), interval=HOUR)] if first and nominal else []
    worked = round(hour * HOUR * TOD_SECOND / 2)
    return [*config, fields("sytprp", at(hour), pfxcpuad=0, pfxutime=worked)]


def land(store: Store, data: bytes, folder: Path) -> None:
    file = folder / "a.mon"
    file.write_bytes(data)
    ingest(file, store)


def brought_up(store: Store, shifts: dict[str, Shift] | None = None) -> Any:
    (done,) = reduce(store, [NAME], Settings(shifts=shifts or {}))
    return done


def ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with connect(store, reductions()) as connection:
        return connection.sql(sql).fetchall()


def shown(store: Store) -> list[tuple[Any, ...]]:
    return ask(store, f"SELECT interval_end, total_util FROM {NAME} ORDER BY interval_end")


def files(store: Store, level: str = "*") -> dict[str, int]:
    """Day and level of every piece, and which file it is."""
    entries = (e for e in Entries(store).of(NAME) if level in ("*", e.level))
    return {
        f"level={e.level}/{day}": (store.root / e.file).stat().st_ino
        for e in entries
        for day in e.days
    }


@pytest.fixture
def two_days(store: Store, tmp_path: Path) -> Store:
    """18 December from 22:00, 19 December until 03:00: two dumps, one behind the other."""
    land(store, hours(22, 24), tmp_path)
    land(store, hours(25, 27), tmp_path)
    return store


def test_a_full_disk_is_reported_and_nothing_half_written_is_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    land(store, hours(10, 30), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(result_files, "FORMAT", "FORMAT parquet, CODEC none")
        with pytest.raises(duckdb.Error):
            reduce(store, [NAME], Settings())
    with monkeypatch.context() as patch:
        patch.setattr(ReductionDatabase, "execute", no_room)
        with pytest.raises(StoreError, match="the disk of the store is full"):
            reduce(store, [NAME], Settings())
    assert files(store) == {}
    done = {one.name: one for one in reduce(store, [NAME, "users_by_time"], Settings())}
    assert done[NAME].days == 2
    with connect(store, reductions()) as connection:
        ((kept, rows),) = connection.sql(
            f"SELECT (SELECT count(*) FROM rollup.{NAME} WHERE level = 'hour'), count(*)"
            f" FROM {NAME}"
        ).fetchall()
    assert (kept, rows) == (20, done[NAME].rows)


def no_room(_: ReductionDatabase, _sql: str) -> None:
    message = 'IO Error: Could not write all bytes to file "x": No space left on device'
    raise disk_error(duckdb.IOException(message))


def test_an_interval_that_ends_at_midnight_ends_the_day(two_days: Store):
    assert [one.days for one in two_days.dumps()] == [(date(2001, 12, 18),), (date(2001, 12, 19),)]


@pytest.mark.parametrize("late", [0, 0.18, 1])
def test_an_interval_that_ends_a_little_late_counts_to_the_span_that_it_lies_in(
    late: float, store: Store, tmp_path: Path
):
    land(store, hours(22, 24, late=late), tmp_path)
    (one,) = store.dumps()
    evening = daily("evening", "22:00", "23:00")
    settings = Settings(shifts=evening)
    (done,) = reduce(store, [NAME], settings)

    assert one.days == (date(2001, 12, 18),)
    assert (done.days, done.rows) == (1, 3)
    spans = (
        f"SELECT interval_end, intervals FROM rollup.{NAME} WHERE level = 'hour' AND shift = {{}}"
    )
    ends = [datetime(2001, 12, 18, 23), datetime(2001, 12, 19)]  # noqa: DTZ001 - as in the store
    assert sorted(ask(store, spans.format("''"))) == [(end, 1) for end in ends]
    assert ask(store, spans.format("'evening'")) == [(ends[0], 1)]
    with connect(store, reductions()) as connection:
        by_hour = report(connection, NAME, by=timedelta(hours=1), settings=settings)
        of_evening = report(connection, NAME, shift="evening", settings=settings)
    assert by_hour.table.column("interval_end").to_pylist() == ends
    assert len(of_evening.table) == 1


def test_an_interval_that_ends_later_counts_to_the_next_span(store: Store, tmp_path: Path):
    land(store, hours(22, 24, late=1.5), tmp_path)

    assert [one.days for one in store.dumps()] == [(date(2001, 12, 18), date(2001, 12, 19))]


def test_a_day_is_kept_at_every_level(two_days: Store):
    done = brought_up(two_days)

    assert (done.days, done.rows) == (2, 6)
    assert sorted(files(two_days)) == sorted(
        f"level={level}/2001-12-{day}" for level in LEVELS for day in (18, 19)
    )
    assert brought_up(two_days).days == 0


def test_growth_goes_on_from_the_dump_of_the_day_before(two_days: Store):
    brought_up(two_days)

    assert [util for _, util in shown(two_days)] == [None, *[pytest.approx(0.5)] * 5]


def test_a_new_dump_only_adds(two_days: Store, tmp_path: Path):
    brought_up(two_days)
    before = files(two_days)
    land(two_days, hours(48, 50), tmp_path)
    done = brought_up(two_days)

    after = files(two_days)
    assert (done.days, done.rows) == (2, 6)  # one interval more on the 19th, and the 20th
    unchanged = {name for name in before if after[name] == before[name]}
    assert unchanged == {f"level={level}/2001-12-18" for level in LEVELS}


@pytest.mark.slow
def test_an_outdated_day_is_computed_live_until_it_is_reduced_again(
    two_days: Store, tmp_path: Path
):
    brought_up(two_days)
    land(two_days, hours(21, 21), tmp_path)  # the interval that the first one had missed

    assert [util for _, util in shown(two_days)] == [None, *[pytest.approx(0.5)] * 6]
    brought_up(two_days)
    assert [util for _, util in shown(two_days)] == [None, *[pytest.approx(0.5)] * 6]


def test_a_kept_result_is_what_is_read(two_days: Store):
    brought_up(two_days)
    for table in two_days.records.glob("*/*/*/*/sytprp.parquet"):
        table.unlink()

    assert len(shown(two_days)) == 6


@pytest.mark.slow
def test_without_nominal_lengths_every_dump_has_a_say_in_every_day(store: Store, tmp_path: Path):
    land(store, hours(22, 24, nominal=False), tmp_path)
    brought_up(store)
    land(store, hours(30, 32, nominal=False), tmp_path)

    assert brought_up(store).days == 2


def test_of_a_day_that_two_dumps_hold_an_interval_counts_once(two_days: Store, tmp_path: Path):
    land(two_days, hours(23, 26), tmp_path)
    live = shown(two_days)
    brought_up(two_days)

    assert shown(two_days) == live
    assert len(live) == 6


def test_half_of_a_reduce_is_completed_by_the_next(two_days: Store):
    brought_up(two_days)
    hours = [e for e in Entries(two_days).of(NAME) if e.level == "hour" and "/2001-12-18" in e.file]
    replace(two_days, (), hours)

    assert brought_up(two_days).days == 1
    assert len(files(two_days, "hour")) == 2


@pytest.mark.slow
def test_other_shifts_roll_up_again_without_computing(two_days: Store):
    brought_up(two_days)
    before = files(two_days, "interval")
    night = daily("night", "23:00", "02:00")
    done = brought_up(two_days, night)

    assert (done.days, done.rows) == (2, 0)
    assert files(two_days, "interval") == before
    rows = ask(
        two_days,
        f"SELECT shift, strftime(interval_end, '%d %H'), intervals FROM rollup.{NAME}"
        " WHERE level = 'hour' ORDER BY ALL",
    )
    assert rows == [
        *(("", hour, 1) for hour in ("18 23", "19 00", "19 01", "19 02", "19 03")),
        *(("night", hour, 1) for hour in ("19 00", "19 01", "19 02")),
    ]


@pytest.mark.slow
def test_classes_of_users_outdate_what_rests_on_them(two_days: Store):
    resting = [r.name for r in reductions() if "meta.user_class" in r.reads and not r.is_private]
    reduce(two_days, [NAME, *resting], Settings())
    save_classes(two_days, "ALL *\n", "here")

    done = {one.name: one.days for one in reduce(two_days, [NAME, *resting], Settings())}
    assert done == {NAME: 0, **dict.fromkeys(resting, 2)}


def test_every_column_of_a_roll_up_is_described(two_days: Store):
    """What the comments of the catalogue are made of: those of all views are a test of theirs."""
    brought_up(two_days)
    with connect(two_days, reductions()) as connection:
        said = {view.name: view.columns for view in connection.documented()}[f"rollup.{NAME}"]
        assert list(said) == connection.table(f"rollup.{NAME}").columns
    assert {"level", "shift", "total_util", "total_util_max", "total_util_p95"} <= said.keys()
    assert [name for name, doc in said.items() if not doc or doc == "Meaning not known."] == []


def test_meta_reduced_tells_days_in_a_row(two_days: Store):
    brought_up(two_days)
    assert ask(two_days, "SELECT * FROM meta.reduced WHERE level = 'hour'") == [
        (NAME, "VMTEST", "hour", date(2001, 12, 18), date(2001, 12, 19), 2)
    ]


def pruned(store: Store, wanted: Retention) -> Prune:
    found = plan(store, [r for r in reductions() if r.name == NAME or r.is_private], wanted, OLD)
    prune(store, found)
    return found


def test_a_pruned_level_leaves_the_next_to_reports(two_days: Store):
    brought_up(two_days)
    with connect(two_days, reductions()) as connection:
        before = report(connection, NAME)
    pruned(two_days, Retention(MONTH))
    with connect(two_days, reductions()) as connection:
        after = report(connection, NAME)

    assert files(two_days, "interval") == {}
    assert after.mean["total_util"] == pytest.approx(before.mean["total_util"])
    assert (after.starts, after.ends, after.intervals) == (before.starts, before.ends, 5)
    assert "no longer kept: this rests on roll-ups, each of an hour" in after.notes[0]
    assert brought_up(two_days).days == 0


@pytest.mark.parametrize(
    ("zone", "first_day", "lengths"),
    [
        ("Europe/Vienna", 312, [24, 25]),  # 27 October 2002
        pytest.param("America/New_York", 109, [24, 23], marks=pytest.mark.slow),  # 7 April 2002
        ("Asia/Kolkata", 102, [24, 24]),
    ],
)
def test_days_of_a_report_are_those_of_the_printed_zone(
    store: Store, tmp_path: Path, zone: str, first_day: int, lengths: list[int]
):
    """Also from roll-ups of hours, which are the same in every zone."""
    land(store, hours(24 * first_day - 8, 24 * (first_day + 3) + 8), tmp_path)
    brought_up(store)

    def days() -> list[tuple[datetime, int]]:
        day, shown_in = timedelta(days=1), ZoneInfo(zone)
        with connect(store, reductions()) as connection:
            lines = report(connection, NAME, by=day, zone=zone).table
            for chart in (Chart("all", "", "", BUSY), Chart("top", "", "", BUSY, top=1)):
                points = read_points(connection, chart, Span("VMTEST"), day, shown_in).table
                assert points[TIME].to_pylist() == lines[TIME].to_pylist()
                assert points["value"].to_pylist() == pytest.approx([50] * len(lines))
        ends = (end.replace(tzinfo=UTC) for end in lines.column("interval_end").to_pylist())
        return [*zip(ends, lines.column("seconds").to_pylist(), strict=True)]

    fine = days()
    assert all(end.astimezone(ZoneInfo(zone)).hour == 0 for end, _ in fine)
    whole = [(end - before, seconds / HOUR) for (before, _), (end, seconds) in pairwise(fine[:-1])]
    assert whole[:2] == [(timedelta(hours=length), length) for length in lengths]
    pruned(store, Retention(MONTH))
    if zone == "Asia/Kolkata":
        with pytest.raises(CpmonError, match="Kolkata cannot be told from roll-ups of an hour"):
            days()
    else:
        assert days() == fine


def test_a_level_stays_while_nothing_stands_for_it(two_days: Store):
    brought_up(two_days)
    replace(two_days, (), [e for e in Entries(two_days).of(NAME) if e.level == "hour"])
    found = pruned(two_days, Retention(MONTH))

    assert found.files == []
    assert len(files(two_days, "interval")) == 2


def test_hours_stay_while_they_would_be_computed_again_from_samples(two_days: Store):
    limits = {"interval": 1, "hour": 3}
    brought_up(two_days)
    assert len(pruned(two_days, Retention(limits)).files) == 2
    assert brought_up(two_days).days == 0
    found = pruned(two_days, Retention(limits))
    assert (found.files, len(found.recomputable)) == ([], 2)
    assert brought_up(two_days).days == 0
    assert list(files(two_days)) == list(files(two_days, "hour")) != []

    found = pruned(two_days, Retention(limits, raw=90))
    assert (len(found.results["hour"]), len(found.samples), found.recomputable) == (2, 2, [])
    assert files(two_days) == {}
    assert brought_up(two_days).days == 0


@pytest.mark.slow
def test_samples_go_and_what_was_made_of_them_stays(two_days: Store, tmp_path: Path):
    brought_up(two_days)
    before = shown(two_days)
    found = pruned(two_days, Retention({}, raw=90))

    assert len(found.samples) == 2
    assert not list(two_days.records.glob("*/*/*/*/sytprp.parquet"))
    assert shown(two_days) == before
    assert ask(two_days, "SELECT count(*) FROM meta.dump") == [(2,)]
    land(two_days, hours(22, 24), tmp_path)  # it is known, so it does not come back
    assert not list(two_days.records.glob("*/*/*/*/sytprp.parquet"))


@pytest.mark.slow
def test_days_behind_pruned_ones_are_computed_beside_them(two_days: Store, tmp_path: Path):
    brought_up(two_days)
    before = shown(two_days)
    pruned(two_days, Retention({}, raw=90))
    land(two_days, hours(75, 77), tmp_path)

    assert shown(two_days)[:6] == before
    assert len(shown(two_days)) == 9
    assert brought_up(two_days).rows == 3
    assert shown(two_days)[:6] == before
    assert len(shown(two_days)) == 9


def test_samples_stay_before_they_are_reduced(two_days: Store):
    found = pruned(two_days, Retention({}, raw=90))

    assert found.samples == {}
    assert all("cpmon reduce first" in reason for reason in found.stays.values())
    assert len(list(two_days.records.glob("*/*/*/*/sytprp.parquet"))) == 2


def test_samples_of_a_run_stay_and_so_do_those_of_the_same_day(two_days: Store, tmp_path: Path):
    land(two_days, hours(40, 50), tmp_path)
    brought_up(two_days)
    with connect(two_days, reductions()) as connection:
        ((first, last),) = connection.sql(
            "SELECT max(interval_end) - INTERVAL 1 HOUR, max(interval_end) FROM meta.interval"
        ).fetchall()
    save_run(two_days, Run("R", "VMTEST", first, last))
    found = pruned(two_days, Retention({}, raw=90))

    assert len(found.samples) == 1  # that of the 18th
    assert sorted(found.stays.values()) == [
        "another dump, which is kept, has intervals of the same day",
        "run R is measured on its days",
    ]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"month": "3y"}, "no level month"),
        ({"interval": "3"}, "is invalid"),
        ({"interval": "0d"}, "is invalid"),
        ({"interval": "2y", "hour": "1y"}, "level hour is kept shorter than level interval"),
        ({"15m": "1y"}, "no level 15m"),
    ],
)
def test_a_wrong_retention_is_told(said: dict[str, str], problem: str):
    with pytest.raises(CpmonError, match=problem):
        retention(said, str)


def test_a_retention_counts_days():
    found = retention({"interval": "8w", "hour": "forever"}, str)
    assert found == Retention({"interval": 56, "hour": None})


def test_usage_tells_spans_by_level(two_days: Store):
    brought_up(two_days)
    rows = {row["what"]: row for row in usage(two_days, reductions())}

    assert rows["dumps"]["note"] == "2 dumps"
    assert (rows["hour"]["first_day"], rows["hour"]["days"]) == (date(2001, 12, 18), 2)
    assert rows["hour"]["files"] == 2
    assert rows["interval"]["bytes"] == sum(
        f.stat().st_size for f in two_days.root.glob("reduced/*/level=interval/*/*")
    )


def test_usage_reads_the_pieces_of_a_reduction_a_fixed_number_of_times(
    two_days: Store, monkeypatch: pytest.MonkeyPatch
):
    """Not once for each day, as the pieces are as many as the days."""
    reads: dict[str, int] = {}

    def counted(*given: Any) -> ByDay:
        state = by_day(*given)

        class Counted(dict[Any, Any]):
            def items(self) -> Any:
                reads[state.name] = reads.get(state.name, 0) + 1
                return super().items()

        state.pieces = Counted(state.pieces)
        return state

    brought_up(two_days)
    monkeypatch.setattr("cpmon.store.results.reduced.by_day", counted)
    usage(two_days, reductions())
    assert NAME in reads
    assert set(reads.values()) == {1}
