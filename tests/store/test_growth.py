"""Growth that is computed at hand equals what the views say, for every table and column."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.reductions import reductions
from cpmon.schemas.layout import Kind, Layout
from cpmon.schemas.registry import record_of, tables
from cpmon.store import Store, at_hand, connect, fusion, workbench
from cpmon.store import growth as growth_module
from cpmon.store.at_hand import GrowthAtHand
from cpmon.store.growth import growth, growth_columns, growth_of_parts, samples_before
from cpmon.store.landed_views import LandedViews
from cpmon.store.stamps import bases
from cpmon.store.stored_rows import StoredRows, as_in_views
from cpmon.store.views import interval_view
from cpmon.store.workbench import Workbench
from tests.dumps import dump, fields, interval

CONFIG = fields("mtrsys", systmid="VMTEST", systodst=0xB6E0000010000000) + fields(
    "mtrspr", interval=60
)


def both(store: Store) -> dict[str, tuple[pa.Table, pa.Table]]:
    """Table -> rows of its view, and rows computed at hand; those with rows alone."""
    found = {}
    with connect(store) as connection:
        for layout in (tables()[table] for table in store.tables() & tables().keys()):
            if record_of(layout).kind is not Kind.SAMPLE or not layout.columns:
                continue
            bits = {bit.name for bit in layout.bits}
            every = [column for column in interval_view(layout).columns if column not in bits]
            listed = ", ".join(f'"{column}"' for column in every)
            shown = connection.sql(f"SELECT {listed} FROM interval.{layout.name}").to_arrow_table()
            if len(shown):
                found[layout.name] = shown, at_once(store, layout, every)
    return found


def landed(store: Store, table: str) -> tuple[StoredRows, pa.Table]:
    """All rows of a table, and all intervals."""
    records = LandedViews(store)
    records.show(["meta.interval", f"monitor.{table}"])
    return records.samples(table)


def at_once(store: Store, layout: Layout, columns: Collection[str]) -> pa.Table:
    """Growth of all rows of a table, computed at hand, with the types of the views.

    It is the same by parts, wherever they end.
    """
    stored, intervals = landed(store, layout.name)
    rows = stored.read(growth_columns(layout, columns))
    found = growth(layout, rows, intervals).select(columns)
    cut = len(rows) // 5 + 1
    parts = [rows.slice(first, cut) for first in range(0, len(rows), cut)]
    assert growth_of_parts(layout, parts, intervals).select(columns).equals(found), layout.name
    return duckdb.sql(f"SELECT {as_in_views(found)} FROM found").to_arrow_table()


def assert_equal(shown: pa.Table, computed: pa.Table, table: str) -> None:
    order = [(column, "ascending") for column in ("dump", "record_offset", "entry")]
    order = [one for one in order if one[0] in shown.column_names]
    assert computed.schema.equals(shown.schema), table
    assert computed.sort_by(order).equals(shown.sort_by(order)), table


@pytest.mark.parametrize(
    ("scenario", "run", "intervals"),
    [("small-lab", "LAB", 6), ("timer", "3600P1", 3)],
)
def test_growth_at_hand_is_that_of_the_views(
    scenario: str, run: str, intervals: int, store: Store, tmp_path: Path
):
    written = write_run(load_scenario(scenario), run, tmp_path / "dump", intervals=intervals)
    ingest(written.dump, store)

    found = both(store)

    assert len(found) > 20
    assert any(
        computed.column("seconds").null_count < len(computed) for _, computed in found.values()
    )
    for table, (shown, computed) in found.items():
        assert_equal(shown, computed, table)


def test_what_wraps_falls_is_missing_or_begins_anew_grows_as_in_the_views(
    store: Store, tmp_path: Path
):
    begin = 0x7FFFFFFF_00000000
    counted = [(60, 2**32 - 6, 65530, 0), (120, 10, 4, 5000), (180, 20, 9, 4000)]
    counted += [(360, 30, 10, 9000), (420, 31, 11, 9500)]  # behind a gap
    samples = [
        interval(
            second,
            fields("sytrsp", second, pfxcpuad=0, plsmvb2g=pages)
            + fields("ioddev", second, rdevdev=0x500, scmssch=starts)
            + fields("sytprp", second, pfxcpuad=second % 7, pfxprbtm=begin - busy)
            + fields("sytprp", second, pfxcpuad=9, pfxprbtm=begin - busy),
        )
        for second, pages, starts, busy in counted
    ]
    file = tmp_path / "a.mon"
    file.write_bytes(dump(interval(0, CONFIG), *samples))
    ingest(file, store)

    found = both(store)

    assert {"sytrsp", "ioddev", "sytprp"} <= found.keys()
    moved = found["sytrsp"][1].column("plsmvb2g").to_pylist()
    assert moved == [None, 16, 10, None, 1]
    for table, (shown, computed) in found.items():
        assert_equal(shown, computed, table)


def test_growth_at_hand_goes_with_its_last_reader(store: Store, tmp_path: Path):
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=3)
    ingest(written.dump, store)
    texts = ["SELECT pfxprbtm FROM interval.sytprp", "SELECT 1"]
    records = LandedViews(store)
    hand = GrowthAtHand(records, [texts, texts])
    records.show(["meta.interval", *texts], at_hand=hand.tables)

    def is_at_hand() -> bool:
        return "sytprp" in growth_views(records)

    for last in (False, True):
        with hand.reading(texts):
            assert is_at_hand()
        assert is_at_hand() is not last


def test_only_growth_that_someone_reads_is_computed():
    layout = next(t for t in tables().values() if t.name == "useact")
    assert record_of(layout).kind is Kind.SAMPLE
    assert "vmdvtime" in growth_columns(layout, ["vmdvtime"])
    assert "calcppgr" not in growth_columns(layout, ["vmdvtime"])


def test_many_rows_are_computed_by_the_other_engine(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []

    def selected(query: str, sources: Mapping[str, pa.Table], at_once: int | None) -> pa.Table:
        asked.extend(sources)
        return fusion.selected(query, sources, at_once)

    monkeypatch.setattr(workbench, "selected", selected)
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=3)
    ingest(written.dump, store)
    (basis,) = (b for b in bases(reductions()) if b.name == "users_by_time")
    bench = Workbench(store, reductions(), tmp_path)
    bench.widen([basis])
    few = bench.rows(basis).to_pylist()
    assert not asked
    monkeypatch.setattr(workbench, "MANY_ROWS", 1)
    bench.widen([basis])
    many = bench.rows(basis).to_pylist()
    assert asked == ["interval.useact", "_user_session_end", "_user_configuration"]
    assert sorted(many, key=str) == sorted(few, key=str)


@pytest.mark.parametrize("most_cells", [0, 10**8])
def test_more_than_is_at_hand_is_not_brought_there_for_the_other_engine(
    most_cells: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Neither growth that is too large for it, nor all the rows that DuckDB would look through."""

    def selected(query: str, sources: Mapping[str, pa.Table], at_once: int | None) -> pa.Table:
        assert most_cells, f"{[*sources]} were read whole"
        assert "monitor.prcdia_diagnose" not in sources
        return fusion.selected(query, sources, at_once)

    monkeypatch.setattr(at_hand, "MOST_CELLS", most_cells)
    monkeypatch.setattr(workbench, "MANY_ROWS", 1)
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=3)
    ingest(written.dump, store)
    monkeypatch.setattr(workbench, "selected", selected)
    name = "diagnoses_by_time" if most_cells else "users_by_time"
    (basis,) = (b for b in bases(reductions()) if b.name == name)
    bench = Workbench(store, reductions(), tmp_path)
    bench.widen([basis])
    assert len(bench.rows(basis))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many_rows", "at_once"),
    [(workbench.MANY_ROWS, workbench.AT_ONCE), (1, workbench.AT_ONCE), (1, 1)],
    ids=["duckdb", "datafusion", "datafusion interval by interval"],
)
def test_a_workbench_computes_what_the_views_say(
    many_rows: int, at_once: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(workbench, "MANY_ROWS", many_rows)
    monkeypatch.setattr(workbench, "AT_ONCE", at_once)
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=6)
    ingest(written.dump, store)
    wanted = [b for b in bases(reductions()) if b.public and b.by_time]
    bench = Workbench(store, reductions(), tmp_path)
    bench.widen(wanted)
    with connect(store, reductions()) as connection:
        for basis in wanted:
            shown = connection.sql(f"SELECT * FROM {basis.kept}").pl()
            keys = [c for c, kind in shown.schema.items() if not kind.is_float()]
            computed = pl.from_arrow(bench.rows(basis)).sort(keys)
            assert len(shown)
            assert_frame_equal(computed, shown.sort(keys), rel_tol=1e-12)


def test_rows_of_no_interval_and_of_no_rows_are_as_in_the_views(store: Store, tmp_path: Path):
    file = tmp_path / "a.mon"
    samples = [interval(60 * n, fields("ioddev", 60 * n, rdevdev=5, scmssch=n)) for n in (1, 2)]
    file.write_bytes(dump(interval(0, CONFIG), *samples))
    ingest(file, store)
    layout = tables()["ioddev"]
    stored, intervals = landed(store, layout.name)
    rows = stored.read(growth_columns(layout, ["scmssch"]))

    assert growth(layout, rows, intervals).column("scmssch").to_pylist() == [None, 1]
    late = intervals.slice(len(intervals) - 1)
    assert growth(layout, rows, late).column("scmssch").to_pylist() == [None]
    assert len(growth(layout, rows, intervals.slice(0, 0))) == 0
    assert len(growth(layout, rows.slice(0, 0), intervals)) == 0


@pytest.mark.parametrize(
    ("table", "left", "made"),
    [
        ("prcdia_diagnose", "diagnoses FROM {} WHERE entry = 17", "diagnoses FROM {}"),
        ("useact", "calmesa, vmdvtime FROM {}", "vmdvtime FROM {}"),
    ],
    ids=["entry", "bit"],
)
def test_one_entry_of_many_and_a_named_bit_are_left_to_the_view(
    table: str, left: str, made: str, store: Store, tmp_path: Path
):
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=3)
    ingest(written.dump, store)
    records = LandedViews(store)
    for said, is_made in ((left, False), (made, True)):
        texts = [f"SELECT {said.format(f'interval.{table}')}"]
        hand = GrowthAtHand(records, [texts])
        records.show(["meta.interval", *texts], at_hand=hand.tables)
        with hand.reading(texts):
            assert ("_growth_of" in growth_views(records)[table]) is is_made
            assert records.connection.sql(texts[0]).fetchall()
        hand.close()


def test_growth_that_is_too_large_is_left_to_its_view(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(at_hand, "MOST_CELLS", 0)
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=3)
    ingest(written.dump, store)
    texts = ["SELECT count(pfxprbtm) FROM interval.sytprp"]
    records = LandedViews(store)
    hand = GrowthAtHand(records, [texts])
    records.show(["meta.interval", *texts], at_hand=hand.tables)
    with hand.reading(texts):
        assert "_growth_of" not in growth_views(records)["sytprp"]
        ((found,),) = records.connection.sql(texts[0]).fetchall()
    assert found > 0
    assert "sytprp" not in growth_views(records)


def test_duckdb_leaves_threads_to_those_who_compute_growth(store: Store, tmp_path: Path):
    """Of two systems growth is left to it, and all threads are."""
    left = []
    for system in ("VMTEST", "OTHER"):
        config = fields("mtrsys", systmid=system, systodst=0xB6E0000010000000)
        file = tmp_path / f"{system}.mon"
        file.write_bytes(dump(interval(60, config, fields("ioddev", 60, rdevdev=5))))
        ingest(file, store)
        bench = Workbench(store, reductions(), tmp_path)
        bench.connection.execute("SET threads = 5")
        bench.widen([])
        ((threads,),) = bench.connection.sql("SELECT current_setting('threads')").fetchall()
        left.append(threads)

    assert left == [3, 5]


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=40),
    gaps=st.sets(st.integers(0, 5)),
)
def test_the_sample_before_is_the_same_by_a_table_and_by_order(
    rows: list[tuple[int, int]], gaps: set[int]
):
    objects, at = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    previous = np.array([-1 if n in gaps else n - 1 for n in range(6)])
    before, follows = samples_before(objects, at, previous)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth_module, "SPARSE", -1)
        in_order, also = samples_before(objects, at, previous)

    assert follows.tolist() == also.tolist()
    assert before[follows].tolist() == in_order[also].tolist()
    for row, (number, interval_of) in enumerate(rows):
        mine = [r for r, one in enumerate(rows) if one == (number, previous[interval_of])]
        is_first = (number, interval_of) not in rows[:row]
        assert bool(follows[row]) == bool(mine and is_first)
        assert not follows[row] or before[row] == mine[-1]


def growth_views(records: LandedViews) -> dict[str, str]:
    """Views of growth that can be read, and their SQL."""
    said = "SELECT view_name, sql FROM duckdb_views() WHERE schema_name = 'interval'"
    return dict(records.connection.sql(said).fetchall())


def test_a_time_that_no_interval_ends_at_has_no_place_in_any_order():
    ends = np.array([5, 7])
    ticks = np.array([10, 9, 7, 7, 4, 5, 6])

    assert growth_module._places(ticks, ends).tolist() == [-1, -1, 1, 1, -1, 0, -1]
    assert growth_module._places(ticks, ends[:0]).tolist() == [-1] * 7
