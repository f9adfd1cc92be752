"""What lands of a generated dump is what a reader finds in it that shares no code with cpmon."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cpmon.ingest import ingest
from cpmon.store import Store
from tests.generate.figures import dump_of
from tests.generate.independent import RECORDS, rows
from tests.generate.plain_reader import records

RUNS = [
    pytest.param(("timer", "2600P", 3), id="2600P", marks=pytest.mark.generator),
    pytest.param(("timer", "3600P1", 3), id="3600P1"),
    pytest.param(("large-storage", "E12187E0", 1), id="E12187E0", marks=pytest.mark.generator),
]


@pytest.fixture(scope="module", params=RUNS)
def landed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, Path]:
    """A generated dump, and the folder that it landed in."""
    scenario, run, intervals = request.param
    folder = tmp_path_factory.mktemp(run)
    data = dump_of(scenario, run, intervals)
    (folder / "a.mon").write_bytes(data)
    store = Store(folder / "store", create=True)
    found = store.find(ingest(folder / "a.mon", store).dump)
    assert found is not None
    return data, found


@pytest.mark.parametrize("name", RECORDS)
def test_rows_are_what_the_independent_reader_finds(name: str, landed: tuple[bytes, Path]):
    data, folder = landed
    wanted = list(rows(data, name))
    assert wanted
    table = pq.ParquetFile(folder / f"{name}.parquet").read()
    found = table.select(list(wanted[0])).to_pylist()
    assert found == [{name: signed(value) for name, value in row.items()} for row in wanted]


def signed(value: object) -> object:
    """A number of 64 bits as it lands: the signed one of the same bits."""
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value


def test_the_values_compared_are_not_all_zero(landed: tuple[bytes, Path]):
    """Else a decoder that reads the wrong bytes could agree."""
    for name in RECORDS:
        every = list(rows(landed[0], name))
        alive = [field for field in every[0] if any(row[field] for row in every)]
        assert len(alive) >= 4, f"{name}: only {alive} say something"


def test_every_record_of_the_dump_is_in_a_table(landed: tuple[bytes, Path]):
    data, folder = landed
    offsets = sorted(
        offset
        for file in folder.glob("*.parquet")
        if file.stem == "record_raw" or "_" not in file.stem
        if file.stem not in {"interval", "finding"}
        for offset in pq.ParquetFile(file).read(["record_offset"])["record_offset"].to_pylist()
    )
    assert offsets == [record.offset for record in records(data)]
