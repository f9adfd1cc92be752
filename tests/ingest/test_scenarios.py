"""Every scenario through every reader: it lands once, and all others agree with what landed."""

from __future__ import annotations

import gzip
import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cpmon.ingest import Code, Landed, ingest
from cpmon.ingest.container.source import Container, Source
from cpmon.ingest.inspect.inventory import Inventory
from cpmon.ingest.rewrite import SliceSelection, slice_dump
from cpmon.store import Store
from tests.cli import conftest as commands
from tests.cli.answer import Cpmon
from tests.dumps import FRAME
from tests.ingest.container.test_source import zstd
from tests.ingest.reading import Rows, check, inventory, read, reads_of
from tests.scenarios import SCENARIOS, Scenario

cpmon = commands.cpmon
SIZES = (FRAME, 5000, 30_000)
"""Bytes read at a time."""
WAYS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("file", gzip.compress),
    ("file", zstd),
    ("pipe", bytes),
    ("file", bytes),
)
"""How a dump is stored when it lands again, in turn."""
OF_VALUES = {"RECORD_LONGER", "GROUP_CUT", "VALUE_IMPOSSIBLE", "BLOCK_TORN"}
"""Findings of those who decode records."""
OF_SETS = {"TOD_BACK", "TOD_DISORDER", "INTERVAL_GAP"}
"""Findings about values that the headers of records tell."""


@dataclass(frozen=True)
class Trial:
    """A scenario as it landed. `tables`: rows by table, in the order of the dump."""

    number: int
    scenario: Scenario
    landed: Landed
    tables: dict[str, Rows]
    folder: Path
    cpmon: Cpmon

    @property
    def data(self) -> bytes:
        return self.scenario.data

    @property
    def file(self) -> Path:
        return self.folder / "dump.mon"

    @property
    def findings(self) -> set[Code]:
        return set(self.landed.findings.counts)


def land(path: str | Path, root: Path) -> tuple[Landed, dict[str, Rows]]:
    """Land a dump in a store of its own; its tables."""
    store = Store(root, create=True)
    landed = ingest(path, store)
    folder = store.find(landed.dump)
    assert folder is not None
    files = folder.glob("*.parquet")
    return landed, {f.stem: pq.ParquetFile(f).read().to_pylist() for f in files}


def lands_what_is_expected(trial: Trial) -> None:
    for name, columns in trial.scenario.tables.items():
        rows = trial.tables[name]
        assert {c: [row[c] for row in rows] for c in columns} == columns
    assert trial.findings == trial.scenario.findings


def accounts_for_every_byte(trial: Trial) -> None:
    parts = dict(trial.landed.about["bytes"])
    assert parts.pop("size") == len(trial.data) == sum(parts.values())
    lost = any(code.severity == "data_loss" for code in trial.scenario.findings)
    assert bool(parts["quarantined"]) == lost or Code.TRUNCATED in trial.scenario.findings


def keeps_the_bytes_that_it_quarantines(trial: Trial) -> None:
    kept = trial.tables.get("quarantine", [])
    assert ("quarantine" in trial.tables) == bool(kept)
    assert all(trial.data[row["record_offset"] :].startswith(row["data"]) for row in kept)
    size = sum(len(row["data"]) for row in kept)
    assert size == trial.landed.about["bytes"]["quarantined"]


def lands_the_same_in_small_windows_from_another_source(trial: Trial) -> None:
    source, pack = WAYS[trial.number % len(WAYS)]
    stored = pack(trial.data)
    again = trial.folder / "again.mon"
    again.write_bytes(stored)
    with pytest.MonkeyPatch.context() as patch, reads_of(FRAME + 100):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stored)))
        landed, tables = land("-" if source == "pipe" else again, trial.folder / "other")
    assert tables == trial.tables
    assert landed.about["bytes"] == trial.landed.about["bytes"]
    assert landed.dump == trial.landed.dump


def reads_the_same_in_any_size(trial: Trial) -> None:
    whole = read(trial.data)
    assert whole.tables == {n: rows for n, rows in trial.tables.items() if n != "finding"}
    for size in SIZES:
        assert read(trial.data, chunk=size) == whole, size


def counts_what_lands(trial: Trial) -> None:
    about = trial.landed.about
    listed = inventory(trial.data, Container.AUTO)
    assert listed.size == about["bytes"]["size"]
    assert len(listed.ends_us) == about["intervals"]
    counted = {row["name"]: row["records"] for row in listed.table().to_pylist()}
    rows = {n: count for n, count in about["rows"].items() if n not in ("interval", "finding")}
    for name in {"sytrsp", "mtrsys", "mtrepr"} & set(rows):
        assert counted[name.upper()] == rows[name]
    whole = [n for name, n in rows.items() if "_" not in name or name == "record_raw"]
    assert sum(counted.values()) == sum(whole) - rows.get("quarantine", 0)
    expected = {c: n for c, n in trial.landed.findings.counts.items() if c.name not in OF_VALUES}
    assert listed.findings.counts == expected
    for size in SIZES:
        assert contents(inventory(trial.data, Container.AUTO, size)) == contents(listed), size


def contents(found: Inventory) -> dict[Any, Any]:
    ends, findings = found.ends_us, found.findings.table().to_pylist()
    return {**found.records, "ends": ends, "findings": findings}


def is_checked_and_listed_with_the_same_findings(trial: Trial) -> None:
    if trial.scenario.name.endswith("_captured"):  # its rows are those of the file, as was seen
        return
    checked = check(trial.data, Container.AUTO)
    found = {code: n for part in checked["passes"] for code, n in part["findings"].items()}
    known = trial.scenario.findings | trial.scenario.checked
    assert found.keys() - OF_SETS == {code.name for code in known}
    assert checked["bytes"] == trial.landed.about["bytes"]
    (listed,) = trial.cpmon("list", trial.file, "--format", "json").rows
    told = {code for part in checked["passes"][:-1] for code in part["findings"]} | OF_SETS
    assert listed["findings"] == {code: n for code, n in found.items() if code in told}
    assert listed["values_checked"] is False
    line = trial.cpmon("list", trial.file).text.split("findings ")[1].splitlines()[0]
    assert "cpmon check reads the values too" in line
    assert ("none in" in line) == (not listed["findings"])


def shows_every_record(trial: Trial) -> None:
    shown = trial.cpmon("show", trial.file, "--follow", "--format", "json").rows
    listed = inventory(trial.data, Container.AUTO)
    assert len(shown) == sum(count for count, _ in listed.records.values())


def is_sliced_without_loss(trial: Trial) -> None:
    sink = io.BytesIO()
    found = slice_dump(Source(io.BytesIO(trial.data), "a.mon"), sink, SliceSelection())
    assert found.size == len(sink.getvalue())
    assert without_places(read(sink.getvalue()).tables) == without_places(read(trial.data).tables)


def without_places(tables: dict[str, Rows]) -> dict[str, Rows]:
    """The rows of records that are not the ends of frames, without where the records stand."""
    return {
        name: [{key: value for key, value in row.items() if key != "record_offset"} for row in rows]
        for name, rows in tables.items()
        if name not in ("quarantine", "mtreof")
    }


READERS = (
    lands_what_is_expected,
    accounts_for_every_byte,
    keeps_the_bytes_that_it_quarantines,
    lands_the_same_in_small_windows_from_another_source,
    reads_the_same_in_any_size,
    counts_what_lands,
    is_checked_and_listed_with_the_same_findings,
    shows_every_record,
    is_sliced_without_loss,
)


def quick_or_slow() -> list[Any]:
    """All scenarios; of those as captures, which differ in their container alone, some quickly."""
    captured = itertools.count()
    return [
        pytest.param(
            each,
            id=each.name,
            marks=pytest.mark.slow
            if each.name.endswith("_captured") and next(captured) % 4
            else (),
        )
        for each in SCENARIOS
    ]


@pytest.mark.parametrize("scenario", quick_or_slow())
def test_all_readers_agree_on_a_dump(
    scenario: Scenario, tmp_path: Path, cpmon: Cpmon, subtests: pytest.Subtests
):
    (tmp_path / "dump.mon").write_bytes(scenario.data)
    landed, tables = land(tmp_path / "dump.mon", tmp_path / "store")
    trial = Trial(SCENARIOS.index(scenario), scenario, landed, tables, tmp_path, cpmon)
    for reader in READERS:
        with subtests.test(reader=reader.__name__):
            reader(trial)
