"""What a database of landed views shows, and the same rows without it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.schemas.registry import tables
from cpmon.store import Store
from cpmon.store.landed_views import LandedViews
from cpmon.store.stored_rows import as_in_views

WORDS = {"system", "dump", "interval_end", "vmduser", "vmdvtime", "vmdctpvr", "no_column"}


@pytest.fixture
def records(store: Store, tmp_path: Path) -> LandedViews:
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=4)
    ingest(written.dump, store)
    found = LandedViews(store)
    found.show(["meta.interval", "monitor.useact"])
    return found


@pytest.mark.parametrize("narrowed", [False, True])
def test_rows_from_files_are_those_of_the_view(records: LandedViews, narrowed: bool):
    ends = records.connection.sql("SELECT interval_end FROM meta.interval ORDER BY ALL").fetchall()
    if narrowed:
        records.narrow(f"interval_end > TIMESTAMP '{ends[1][0]}'")
    records.show(["monitor.useact"])

    landed = records.rows("useact", WORDS)

    assert landed is not None
    assert landed.schema.field("vmdctpvr").type == pa.uint32()
    found = duckdb.sql(f"SELECT {as_in_views(landed)} FROM landed").to_arrow_table()
    listed = ", ".join(found.column_names)
    shown = records.connection.sql(f"SELECT {listed} FROM monitor.useact").to_arrow_table()
    assert set(found.column_names) == WORDS - {"no_column"}
    assert found.schema.equals(shown.schema)
    order = [("interval_end", "ascending"), ("vmduser", "ascending")]
    assert found.sort_by(order).equals(shown.sort_by(order))
    assert len(found) == len(records.rows("useact", {"vmduser"}) or [])
    every = records.connection.sql("SELECT count(DISTINCT interval_end) FROM monitor.useact")
    assert every.fetchall() == [(len(ends) - 2 * narrowed,)]


def test_bits_and_records_that_are_no_samples_are_left_to_the_views(records: LandedViews):
    (bit, *_) = tables()["useact"].bits
    assert records.rows("useact", {bit.of}) is not None
    assert records.rows("useact", {bit.of, bit.name}) is None
    assert records.rows("mtrsys", {"systmid"}) is None
