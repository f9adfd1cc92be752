"""The types of Parquet that a store has are those that Spark, Iceberg and Delta read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.schemas.arrow import file_schemas
from cpmon.store import Store, connect
from cpmon.store.format.staging import settings
from tests.dumps import dump, fields, interval, tod
from tests.shifts import daily

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "timer" / "2600NP.mon.zst"
NUMBERS, OTHERS = ("INT32", "INT64"), ("BOOLEAN", "DOUBLE", "BYTE_ARRAY")


def refused(file: Path | pa.BufferReader) -> list[tuple[str, str]]:
    """The columns of a file that are no signed number, text, bytes or time in microseconds."""
    columns = pq.ParquetFile(file).schema
    return [
        (columns.column(i).name, columns.column(i).physical_type + str(logical))
        for i in range(len(columns))
        if not is_read(columns.column(i).physical_type, logical := logical_type(columns, i))
    ]


def logical_type(columns: pq.ParquetSchema, number: int) -> dict[str, object]:
    found: dict[str, object] = json.loads(columns.column(number).logical_type.to_json())
    return found


def is_read(physical: str, logical: dict[str, object]) -> bool:
    match logical:
        case {"Type": "Int", "isSigned": is_signed}:
            return physical in NUMBERS and bool(is_signed)
        case {"Type": "Timestamp", "timeUnit": unit, "isAdjustedToUTC": is_zoned}:
            return physical == "INT64" and unit == "microseconds" and not is_zoned
        case {"Type": "String" | "None"}:
            return physical in (*NUMBERS, *OTHERS)
    return False


def test_no_table_has_a_type_that_spark_refuses(subtests: pytest.Subtests):
    for table, schema in file_schemas().items():
        written = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), written, **settings(schema))
        with subtests.test(table=table):
            assert refused(pa.BufferReader(written.getvalue())) == []


@pytest.mark.slow
def test_no_file_of_a_store_has_a_type_that_spark_refuses(store: Store):
    ingest(SAMPLE, store)
    reduce(store, (), Settings(shifts=daily("night", "00:00", "06:00")))
    files = list(store.root.rglob("*.parquet"))
    folders = {file.relative_to(store.root).parts[0] for file in files}
    assert folders >= {"records", "reduced"} and len(files) > 100
    assert {file: bad for file in files if (bad := refused(file))} == {}


def test_numbers_of_64_bits_land_signed_and_are_shown_as_they_were_written(
    tmp_path: Path, store: Store
):
    clock, low = tod(0), (1 << 63) - 1
    records = (
        fields("mtrsys", 0, systmid="VMTEST", systodst=value)
        for value in (clock, low, (1 << 64) - 1)
    )
    path = tmp_path / "x.mon"
    path.write_bytes(dump(interval(60, *records)))
    ingest(path, store)
    (file,) = store.root.rglob("mtrsys.parquet")
    landed = pq.ParquetFile(file).read(["systodst"])["systodst"]
    assert landed.to_pylist() == [clock - (1 << 64), low, -1]
    with connect(store) as con:
        rows = con.execute("SELECT systodst, systodst_at, typeof(systodst) FROM monitor.mtrsys")
        shown, at, kinds = zip(*rows.fetchall(), strict=True)
    assert shown == (clock, low, (1 << 64) - 1)
    assert {*kinds} == {"UBIGINT"}
    assert [*map(str, at)] == [
        "2001-12-18 10:00:00",
        "1971-05-11 11:56:53.685247",
        "2042-09-17 23:53:47.370495",
    ]
