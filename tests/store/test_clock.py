"""Clocks that are set, and MONITOR commands that change the interval. Bytes in, deltas out."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpmon.ingest import Code, ingest
from cpmon.ingest.container.source import Source
from cpmon.ingest.rewrite import SliceSelection, slice_dump
from cpmon.schemas.registry import fingerprint
from cpmon.store import Store
from tests.dumps import BEGIN_US, dump, fields, interval, tod
from tests.store.test_intervals import ask, config, land

Row = tuple[float, float | None, int | None]


def sample(second: float, count: int, *more: bytes) -> bytes:
    """An interval that ends at `second` of the clock, with a counter."""
    return interval(second, *more, fields("sytrsp", second, pfxcpuad=0, plsmvb2g=count))


def command(second: float, text: str) -> bytes:
    """MTRSCM, as CP writes it in the sample of the interval it was given in."""
    given = fields("mtrscm", second, caltod=tod(second), calbyct=len(text))
    record = bytearray(given + text.encode("cp037"))
    record[:2] = len(record).to_bytes(2, "big")
    return bytes(record)


def profile(second: float, length: int) -> bytes:
    return fields("mtrspr", second, interval=length)


def deltas(store: Store) -> list[Row]:
    """Second of the clock, seconds and delta of every row."""
    return ask(
        store,
        "SELECT round(epoch(interval_end) - 1008669600)::DOUBLE, seconds, plsmvb2g"
        " FROM interval.sytrsp ORDER BY ALL",
    )


def flags(store: Store, *names: str) -> list[tuple[object, ...]]:
    return ask(store, f"SELECT {', '.join(names)} FROM meta.interval ORDER BY interval_end")


@pytest.mark.parametrize("how", ["command", "profile", "both"])
def test_an_interval_that_a_command_made_longer_is_no_gap(store: Store, tmp_path: Path, how: str):
    text = "MONITOR SAMPLE INTERVAL 2 MIN"
    change = [command(80, text)] * (how != "profile") + [profile(80, 120)] * (how != "command")
    land(
        store,
        tmp_path,
        dump(interval(0, config()), sample(60, 1), sample(180, 3, *change), sample(300, 5)),
    )

    assert deltas(store) == [(60, None, None), (180, 120.0, 2), (300, 120.0, 2)]
    assert flags(store, "nominal_s", "gap") == [(60, False), (120, False), (120, False)]
    assert ask(store, "SELECT count(*) FROM meta.finding") == [(0,)]


def test_an_interval_that_is_missing_behind_a_command_is_a_gap(store: Store, tmp_path: Path):
    change = command(80, "MONITOR SAMPLE INTERVAL 30 SECONDS")
    data = dump(
        *(interval(0, config()), sample(60, 1), sample(110, 3, change), sample(140, 4)),
        *(sample(200, 6), sample(230, 7)),
    )
    land(store, tmp_path, data)

    assert [row[2] for row in deltas(store)] == [None, 2, 1, None, 1]
    assert flags(store, "nominal_s", "gap")[2:] == [(30, False), (30, True), (30, False)]
    assert ask(store, "SELECT code, detail FROM meta.finding") == [
        ("INTERVAL_GAP", "expected 30 s, found 60 s before 2001-12-18 10:03:20.000000 UTC")
    ]


def test_a_slice_behind_a_command_knows_of_it(store: Store, tmp_path: Path):
    change = command(80, "MONITOR SAMPLE INTERVAL 2 MIN")
    parts = [sample(60, 1), sample(180, 3, change), sample(300, 5), sample(420, 7)]
    data, sink = dump(interval(0, config()), *parts), io.BytesIO()
    slice_dump(
        Source(io.BytesIO(data), "a.mon"), sink, SliceSelection(since_us=BEGIN_US + 200_000_000)
    )
    land(store, tmp_path, sink.getvalue())

    assert flags(store, "nominal_s", "gap") == [(120, False), (120, False)]
    assert deltas(store) == [(300, None, None), (420, 120.0, 2)]


def test_intervals_in_a_row_are_as_long_as_they_are_whatever_was_set(store: Store, tmp_path: Path):
    """Of a store whose records say 60 s, which may not be what some level counts by."""
    data = dump(interval(0, config()), *(sample(20 * n, n) for n in range(1, 6)))
    land(store, tmp_path, data)

    assert [row[2] for row in deltas(store)] == [None, 1, 1, 1, 1]
    assert ask(store, "SELECT count(*) FROM meta.finding") == [(0,)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("MONITOR SAMPLE INTERVAL 2 MIN", 120),
        ("MON SAMP INT 5", 300),
        ("monitor sample interval 30 sec", 30),
        ("MONITOR SAMPLE ENABLE ALL INTERVAL 15 MINUTES RATE 2 SECONDS", 900),
        ("MONITOR SAMPLE RATE 2 SECONDS", None),
        ("MONITOR SAMPLE SUBINTERVAL 10 SECONDS", None),
        ("MONITOR SAMPLE CONFIG LIMIT 3 MIN", None),
        ("MONITOR SAMPLE INTERVAL 0 MIN", None),
        ("MONITOR SAMPLE ENABLE USER USERID INT3RVAL", None),
    ],
)
def test_only_the_operand_of_the_interval_sets_it(
    store: Store, tmp_path: Path, text: str, seconds: int | None
):
    data = dump(interval(0, config()), sample(60, 1), sample(120, 2, command(70, text)))
    land(store, tmp_path, data)

    assert flags(store, "nominal_s") == [(60,), (seconds or 60,)]


def test_a_command_that_sets_no_interval_needs_no_profile(store: Store, tmp_path: Path):
    start = interval(0, fields("mtrsys", systmid="VMTEST"))
    data = dump(start, sample(60, 1), sample(120, 2, command(70, "MONITOR SAMPLE START")))
    land(store, tmp_path, data)

    assert [row[2] for row in deltas(store)] == [None, 1]


def test_a_command_that_comes_after_a_sample_was_due_tells_that_it_is_missing(
    store: Store, tmp_path: Path
):
    change = command(156, "MONITOR SAMPLE INTERVAL 120 SEC")
    data = dump(interval(0, config()), sample(60, 1), sample(180, 3, change), sample(300, 4))
    land(store, tmp_path, data)

    assert flags(store, "gap") == [(False,), (True,), (False,)]
    assert ask(store, "SELECT code FROM meta.finding") == [(Code.INTERVAL_GAP.name,)]


def test_a_command_that_is_missing_with_a_sample_is_told_by_the_lengths_after_it(
    store: Store, tmp_path: Path
):
    ends = [60, 150, 180, 210, 240]
    land(
        store,
        tmp_path,
        dump(interval(0, config()), *(sample(end, n) for n, end in enumerate(ends))),
    )

    assert flags(store, "gap") == [(n == 1,) for n in range(5)]
    assert ask(store, "SELECT code FROM meta.finding") == [(Code.INTERVAL_GAP.name,)]


@pytest.mark.parametrize("shift", [-45, -7, 7, 25])
def test_a_clock_that_is_set_by_seconds_has_no_delta_across_it(
    store: Store, tmp_path: Path, shift: int
):
    ends = [60, 120, 180, 240 + shift, 300 + shift, 360 + shift]
    land(
        store,
        tmp_path,
        dump(interval(0, config()), *(sample(end, n) for n, end in enumerate(ends))),
    )

    assert [row[1:] for row in deltas(store)] == [
        (None, None), (60, 1), (60, 1), (None, None), (60, 1), (60, 1)
    ]  # fmt: skip
    assert flags(store, "clock_set") == [(n == 3,) for n in range(6)]
    assert ask(store, "SELECT code FROM meta.finding") == [(Code.CLOCK_SET.name,)]


def test_a_sample_that_cp_took_late_keeps_its_deltas(store: Store, tmp_path: Path):
    ends = [60, 120, 195, 240, 300]
    land(
        store,
        tmp_path,
        dump(interval(0, config()), *(sample(end, end) for end in ends)),
    )

    assert [row[2] for row in deltas(store)] == [None, 60, 75, 45, 60]
    assert ask(store, "SELECT count(*) FROM meta.finding") == [(0,)]


def test_two_stretches_of_time_with_the_same_times_have_no_deltas(store: Store, tmp_path: Path):
    """Set back by 150 s behind 300: the clock shows 210 at the next end, real 360."""
    ends = [60, 120, 180, 240, 300, 210, 270, 330, 390]
    land(
        store,
        tmp_path,
        dump(interval(0, config()), *(sample(end, 100 * n) for n, end in enumerate(ends))),
    )

    assert deltas(store) == [
        (60, None, None),
        (120, 60, 100),
        (180, 60, 100),
        *((end, None, None) for end in (210, 240, 270, 300, 330)),
        (390, 60, 100),
    ]
    assert ask(store, "SELECT code FROM meta.finding") == [("TOD_BACK",)]


def test_a_clock_set_back_to_before_the_dump_leads_to_no_delta_at_its_begin(
    store: Store, tmp_path: Path
):
    """The second stretch ends a minute before the first one begins."""
    ends = [600, 660, 720, 420, 480, 540]
    land(
        store,
        tmp_path,
        dump(interval(540, config()), *(sample(end, 100 * n) for n, end in enumerate(ends))),
    )

    assert [(row[0], row[2]) for row in deltas(store)] == [
        (420, None), (480, 100), (540, 100), (600, None), (660, 100), (720, 100)
    ]  # fmt: skip


def test_dumps_that_overlap_without_a_common_end_have_no_deltas_there(store: Store, tmp_path: Path):
    before = dump(interval(0, config()), *(sample(60 * n, n) for n in range(1, 6)))
    after = dump(interval(170, config()), *(sample(50 + 60 * n, 20 + n) for n in range(3, 8)))
    land(store, tmp_path, before)
    land(store, tmp_path, after)

    assert [(row[0], row[2]) for row in deltas(store) if row[2] is not None] == [
        (120, 1), (180, 1), (410, 1), (470, 1)
    ]  # fmt: skip


def test_a_dump_that_has_what_another_one_lost_completes_it(store: Store, tmp_path: Path):
    head = interval(0, config())
    land(store, tmp_path, dump(head, sample(60, 1), sample(180, 3), sample(240, 4)))
    land(store, tmp_path, dump(head, sample(120, 2)))

    assert [row[2] for row in deltas(store)] == [None, 1, 1, 1]


@dataclass(frozen=True)
class Course:
    """What happens in each interval: how far the clock is set, and to what MONITOR is set."""

    steps: tuple[tuple[int, int], ...]

    def dump(self) -> bytes:
        """Samples of a counter that counts the seconds that really pass."""
        real, clock, length = 0, 7200, 60
        parts = [interval(clock, config()), sample(clock, real)]
        for shift, new in self.steps:
            change = []
            real, clock = real + (new or length), clock + (new or length) + shift
            if new and new != length:
                change = [command(clock - new + 1, f"MONITOR SAMPLE INTERVAL {new} SEC")]
                length = new
            parts.append(sample(clock, real, *change))
        return dump(*parts)


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """Sets of the clock are three intervals apart: closer ones may look like a late sample."""
    count = draw(st.integers(3, 24))
    amount = st.one_of(
        st.integers(-7200, 7200).filter(lambda s: abs(s) > 1),
        st.sampled_from([-3600, -300, -240, -60, 60, 240, 300, 3600]),
        st.integers(-90, 90).filter(lambda s: abs(s) > 1),
    )
    steps = [(0, 0)] * count
    for at in range(draw(st.integers(0, 2)) + 1, count, 3):
        steps[at] = draw(
            st.one_of(
                st.just((0, 0)),
                st.tuples(amount, st.just(0)),
                st.tuples(st.just(0), st.sampled_from([15, 30, 60, 120, 300])),
            )
        )
    return Course(tuple(steps))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(course=courses())
def test_no_delta_reaches_across_a_clock_that_was_set(
    course: Course, tmp_path_factory: pytest.TempPathFactory
):
    """The counter counts seconds: a delta is as long as its interval, or there is none."""
    folder = tmp_path_factory.mktemp("course")
    store = Store(folder / "store", create=True)
    land(store, folder, course.dump())

    for end, seconds, delta in deltas(store):
        assert (seconds is None) == (delta is None)
        assert delta is None or delta == pytest.approx(seconds, abs=1e-3), end


@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.floats(1, 700), st.sampled_from([0, 0, 0, 15, 60, 300])),
        min_size=1,
        max_size=12,
    )
)
def test_findings_and_views_judge_intervals_alike(
    steps: list[tuple[float, int]], tmp_path_factory: pytest.TempPathFactory
):
    folder, end = tmp_path_factory.mktemp("alike"), 60.0
    store, parts = Store(folder / "store", create=True), [interval(0, config()), sample(60, 0)]
    for step, new in steps:
        end = round(end + step, 3)
        change = [command(end - 0.5, f"MONITOR SAMPLE INTERVAL {new} SEC")] if new else []
        parts.append(sample(end, 0, *change))
    file = folder / "a.mon"
    file.write_bytes(dump(*parts))
    findings = ingest(file, store).findings

    ((gaps, sets),) = ask(
        store, "SELECT count(*) FILTER (gap), count(*) FILTER (clock_set) FROM meta.interval"
    )
    assert (gaps, sets) == (
        findings.counts[Code.INTERVAL_GAP], findings.counts[Code.CLOCK_SET]
    )  # fmt: skip


def test_a_dump_that_was_landed_before_intervals_told_of_clocks_is_read(
    store: Store, tmp_path: Path
):
    land(store, tmp_path, dump(interval(0, config()), sample(60, 1), sample(120, 2)))
    (file,) = store.root.glob("records/*/*/*/*/interval.parquet")
    pq.write_table(pq.read_table(file).drop_columns(["restated", "stretch"]), file)
    for about in [
        *store.root.glob("records/*/*/*/*/dump.json"),
        *store.root.rglob("manifest/**/*"),
    ]:
        if about.is_file():
            about.write_text(about.read_text().replace(fingerprint(), "0" * 16))
    old = Store(store.root)
    land(old, tmp_path, dump(interval(120, config()), sample(180, 3)))

    assert flags(old, "previous_end IS NULL") == [(True,), (False,), (False,)]
