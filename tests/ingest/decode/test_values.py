"""Values that no system can have: NULL where they land, and a finding that names their place."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.ingest import ingest
from cpmon.schemas import layouts
from cpmon.schemas.field import LARGEST_COUNT, LARGEST_LEVEL, Field, Role, Type
from cpmon.store import Store, connect
from tests.dumps import dump, fields, interval

SYSTEM = fields("mtrsys", 0, systmid="VMTEST")


def columns_of(store: Store, table: str) -> dict[str, list[object]]:
    (file,) = store.root.rglob(f"{table}.parquet")
    found: dict[str, list[object]] = pq.read_table(file).to_pydict()
    return found


def land(path: Path, store: Store, *intervals: bytes) -> list[dict[str, object]]:
    """The findings of a dump after it landed."""
    path.write_bytes(dump(*intervals))
    landed = ingest(path, store)
    books = landed.about["bytes"]
    assert sum(books[key] for key in books if key != "size") == books["size"]
    return [f for f in landed.findings.table().to_pylist() if f["code"] == "VALUE_IMPOSSIBLE"]


def test_a_flipped_highest_bit_is_null_and_its_finding_names_record_and_field(
    tmp_path: Path, store: Store
):
    good, bad = (fields("sytrsg", 60, rsa2gavl=value, rsapgabl=9) for value in (5, 5 | 1 << 63))
    found = land(tmp_path / "x.mon", store, interval(60, SYSTEM, good, bad, good, bad))
    landed = columns_of(store, "sytrsg")
    assert landed["rsa2gavl"] == [5, None, 5, None]
    assert landed["rsapgabl"] == [9, 9, 9, 9]
    (finding,) = found
    assert finding["record_offset"] == landed["record_offset"][1]
    assert finding["count"] == 2
    assert finding["detail"] == (
        "sytrsg.rsa2gavl: expected at most 9007199254740991, found 9223372036854775813"
        " (X'8000000000000005')"
    )


def test_values_in_records_of_several_lengths_are_counted_together(tmp_path: Path, store: Store):
    short, long_ = (
        fields("useact", 60, length=length, vmduser=user, vmdttime=value)
        for length, user, value in ((196, "A", 1 << 63), (240, "B", 1 << 63 | 1))
    )
    (finding,) = land(tmp_path / "x.mon", store, interval(60, SYSTEM, long_, short, long_))
    landed = columns_of(store, "useact")
    assert landed["vmdttime"] == [None] * 3
    assert (finding["count"], finding["record_offset"]) == (3, landed["record_offset"][0])
    assert str(finding["detail"]).endswith("(X'8000000000000001')")


@pytest.mark.parametrize("value", [0, 1, LARGEST_LEVEL, LARGEST_LEVEL + 1, 1 << 63, (1 << 64) - 1])
def test_monitor_views_show_what_landed_before_the_limits_as_null(value: int, store: Store):
    """A dump that an earlier version landed has any value in its files: 64 bits, as signed."""
    path = store.root.parent / "x.mon"
    path.write_bytes(dump(interval(60, SYSTEM, fields("sytrsg", 60, rsa2gavl=1))))
    ingest(path, store)
    (file,) = store.root.rglob("sytrsg.parquet")
    rows = pq.read_table(file)
    place = rows.schema.get_field_index("rsa2gavl")
    signed = pa.array([value], pa.uint64()).view(pa.int64())
    written = rows.set_column(place, rows.schema.field(place), signed)
    pq.write_table(written, file)
    with connect(store) as con:
        shown = con.execute("SELECT rsa2gavl, typeof(rsa2gavl) FROM monitor.sytrsg").fetchall()
    assert shown == [(value if value <= LARGEST_LEVEL else None, "BIGINT")]


def test_limits_are_of_numbers_of_64_bits_that_count_or_measure():
    every = [field for layout in layouts() for t in layout.tables() for field in t.columns]
    limited = [field for field in every if field.limit is not None]
    assert {field.length for field in limited} == {8}
    assert {field.type for field in limited} == {Type.UNSIGNED, Type.TIMER, Type.CLOCK}
    of_clocks = {field.role for field in limited if field.type is Type.CLOCK}
    others = {field.role for field in limited if field.type is not Type.CLOCK}
    assert (of_clocks, others) == ({Role.TIME}, {Role.COUNTER, Role.COUNTDOWN, Role.GAUGE})
    assert all(field.limit is not None for field in every if counts(field))
    assert {f.limit for f in limited if counts(f)} == {LARGEST_COUNT}


def counts(field: Field) -> bool:
    return field.is_cumulative and field.length == 8
