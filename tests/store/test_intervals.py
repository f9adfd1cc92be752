"""interval.*: growth of counters, and when there is none. Bytes in, rows out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from cpmon.store.sql.landed_views import landed_views
from tests.dumps import dump, fields, interval

NOMINAL = fields("mtrspr", interval=60)
COUNTED = "SELECT epoch(interval_end) % 3600, seconds, plsmvb2g FROM interval.sytrsp"


def config(ipl: int = 1, at: int = 0) -> bytes:
    loaded = 0xB6E0000000000000 + (ipl << 44)
    return fields("mtrsys", at, systmid="VMTEST", systodst=loaded) + NOMINAL


def moved(second: int, pages: int) -> bytes:
    """A sample of SYTRSP at `second`, in an interval that ends then."""
    return interval(second, fields("sytrsp", second, pfxcpuad=0, plsmvb2g=pages))


def land(store: Store, tmp_path: Path, *dumps: bytes) -> None:
    for number, data in enumerate(dumps):
        file = tmp_path / f"{number}.mon"
        file.write_bytes(data)
        ingest(file, store)


def ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with connect(store) as connection:
        return connection.sql(sql).fetchall()


def growth(store: Store) -> list[tuple[Any, ...]]:
    return ask(store, f"{COUNTED} ORDER BY ALL")


def test_the_first_sample_has_no_growth_and_the_next_has(store: Store, tmp_path: Path):
    land(store, tmp_path, dump(interval(0, config()), moved(60, 100), moved(120, 160)))

    assert growth(store) == [(60, None, None), (120, 60.0, 60)]


def test_a_counter_of_32_bits_that_wrapped_has_grown(store: Store, tmp_path: Path):
    land(store, tmp_path, dump(interval(0, config()), moved(60, 2**32 - 6), moved(120, 10)))

    assert growth(store)[1] == (120, 60.0, 16)


def test_a_counter_of_16_bits_that_wrapped_has_grown(store: Store, tmp_path: Path):
    samples = [
        interval(s, fields("ioddev", s, rdevdev=0x500, scmssch=n))
        for s, n in [(60, 65530), (120, 4)]
    ]
    land(store, tmp_path, dump(interval(0, config()), *samples))

    assert ask(store, "SELECT scmssch FROM interval.ioddev ORDER BY tod") == [(None,), (10,)]


def test_a_countdown_grows_as_it_falls(store: Store, tmp_path: Path):
    begin = 0x7FFFFFFF_00000000
    samples = [
        interval(s, fields("sytprp", s, pfxcpuad=0, pfxprbtm=begin - n))
        for s, n in [(60, 1000), (120, 5096)]
    ]
    land(store, tmp_path, dump(interval(0, config()), *samples))

    assert ask(store, "SELECT pfxprbtm FROM interval.sytprp ORDER BY tod") == [(None,), (4096,)]


def test_a_restart_of_cp_ends_all_growth_even_where_a_wrap_would_look_the_same(
    store: Store, tmp_path: Path
):
    before = dump(interval(0, config(ipl=1)), moved(60, 4_000_000_000))
    after = dump(interval(110, config(ipl=2, at=110)), moved(120, 7), moved(180, 9))
    land(store, tmp_path, before, after)

    assert growth(store) == [(60, None, None), (120, None, None), (180, 60.0, 2)]
    assert ask(store, "SELECT restart FROM meta.interval ORDER BY interval_end") == [
        (False,),
        (True,),
        (False,),
    ]


def test_a_missing_interval_is_a_gap_without_growth(store: Store, tmp_path: Path):
    land(store, tmp_path, dump(interval(0, config()), moved(60, 1), moved(180, 3), moved(240, 4)))

    assert growth(store) == [(60, None, None), (180, None, None), (240, 60.0, 1)]
    assert ask(store, "SELECT seconds, gap FROM meta.interval ORDER BY interval_end") == [
        (None, False),
        (120.0, True),
        (60.0, False),
    ]


def test_a_gap_is_seen_without_configuration_records(store: Store, tmp_path: Path):
    land(store, tmp_path, dump(*(moved(s, s) for s in (60, 120, 180, 300))))

    assert [row[2] for row in growth(store)] == [None, 60, 60, None]


@pytest.mark.parametrize(("alike", "known"), [(2, 0), (3, 3), (4, 4)])
def test_three_intervals_of_another_length_are_a_setting_whose_record_is_lost(
    store: Store, tmp_path: Path, alike: int, known: int
):
    """Two could be as many samples that are missing."""
    later = [150 + 120 * n for n in range(alike + 1)]
    land(store, tmp_path, dump(interval(0, config()), *(moved(s, s) for s in (60, *later))))

    assert [row[2] for row in growth(store)] == [None, None] + [120] * known + [None] * (
        alike - known
    )


def test_growth_goes_on_in_the_next_dump_of_a_system(store: Store, tmp_path: Path):
    land(store, tmp_path, dump(interval(0, config()), moved(60, 1)))
    land(store, tmp_path, dump(interval(61, config()), moved(120, 5)))

    assert growth(store) == [(60, None, None), (120, 60.0, 4)]


def test_an_interval_in_two_dumps_grows_once(store: Store, tmp_path: Path):
    head = interval(0, config())
    land(store, tmp_path, dump(head, moved(60, 1), moved(120, 5)))
    land(store, tmp_path, dump(head, moved(60, 1), moved(120, 5), moved(180, 6)))

    total = ask(store, "SELECT sum(plsmvb2g), sum(seconds) FROM interval.sytrsp")
    assert total == [(5, 120.0)]


def test_a_user_who_logged_on_again_starts_anew(store: Store, tmp_path: Path):
    """Its 64-bit CPU time fell, so the 32-bit counters of the row did not wrap either."""
    samples = [
        interval(s, fields("useact", s, vmduser="ANNA", vmdttime=time, vmdvdsct=starts))
        for s, time, starts in [(60, 9000, 50), (120, 10_000, 60), (180, 300, 4), (240, 400, 5)]
    ]
    land(store, tmp_path, dump(interval(0, config()), *samples))

    assert ask(store, "SELECT vmdttime, vmdvdsct FROM interval.useact ORDER BY tod") == [
        (None, None),
        (1000, 10),
        (300, 4),  # a session begins at 0
        (100, 1),
    ]


def test_a_user_who_was_away_for_an_interval_has_no_growth_over_it(store: Store, tmp_path: Path):
    def user(second: int, *names: str) -> bytes:
        rows = (fields("useact", second, vmduser=n, vmdttime=second) for n in names)
        return interval(second, *rows)

    land(
        store,
        tmp_path,
        dump(interval(0, config()), user(60, "A", "B"), user(120, "A"), user(180, "A", "B")),
    )

    rows = ask(store, "SELECT vmduser, vmdttime FROM interval.useact ORDER BY vmduser, tod")
    assert rows == [("A", None), ("A", 60), ("A", 60), *[("B", None)] * 3]


def test_levels_stay_as_sampled_and_short_records_do_not_stop_the_row(store: Store, tmp_path: Path):
    samples = [
        interval(s, fields("sytrsp", s, length=48, pfxcpuad=0, plsstlfr=n))
        for s, n in [(60, 5), (120, 9)]
    ]
    land(store, tmp_path, dump(interval(0, config()), *samples))

    rows = ask(store, "SELECT plsstlfr, plsalemg FROM interval.sytrsp ORDER BY tod")
    assert rows == [(None, None), (4, None)]


def test_samples_of_an_open_interval_are_in_no_rate(store: Store, tmp_path: Path):
    data = interval(0, config()) + moved(60, 1) + moved(120, 2)
    land(store, tmp_path, data[:-4096] + fields("sytrsp", 120, pfxcpuad=0).ljust(4096, b"\0"))

    assert growth(store) == [(60, None, None)]
    assert ask(store, "SELECT count(*) FROM monitor.sytrsp") == [(2,)]


@pytest.mark.parametrize(
    "each", [pytest.param(40, id="some"), pytest.param(1, id="every", marks=pytest.mark.slow)]
)
def test_deltas_of_what_no_dump_has_have_the_columns_and_types_of_the_rule(store: Store, each: int):
    """Nothing is computed then; a catalogue for other programs has the rule itself."""
    names = [view.name for view in landed_views() if view.name.startswith("interval.")][::each]
    with Connection(store) as plain, Connection(store, views_only=True) as rule:
        for name in names:
            empty, whole = (con.sql(f"FROM {name}") for con in (plain, rule))
            assert (empty.columns, empty.types) == (whole.columns, whole.types), name
            assert empty.fetchall() == [], name


def test_a_user_who_left_has_ended_though_nobody_was_sampled(store: Store, tmp_path: Path):
    left = fields("uselof", 90, vmduser="LNX1")
    land(store, tmp_path, dump(interval(0, config()), moved(60, 1), left, moved(120, 2)))

    rows = ask(store, "SELECT epoch(interval_end) % 3600, vmduser, cause FROM interval.useact")
    assert rows == [(120, "LNX1", "ended")]
