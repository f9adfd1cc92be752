"""docs/store-format.md is enough to read a store: a reader of 60 lines finds the rows of cpmon.

The reader imports nothing of cpmon. It reads the same store after each step of its life.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine import reducing
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.format.compaction import compact, months
from cpmon.store.results.entries import Entries
from cpmon.store.results.lineage import lineages
from cpmon.store.results.reduced import LEVELS, kept, whole_entry
from cpmon.store.results.result_files import is_one_of
from cpmon.store.results.retention import Retention, plan, prune
from tests.batch.fleet import hourly
from tests.shifts import daily
from tests.store import foreign_reader
from tests.store.test_months import interrupted
from tests.store.test_other_readers import monitor, ordered, select

READER = Path(foreign_reader.__file__)
PAGE = READER.parents[2] / "docs" / "store-format.md"
SYSTEM = "A B/#%1"
"""A name that is percent-encoded in paths."""
SETTINGS = Settings(shifts=daily("evening", "00:00", "00:20"))
TABLES = ("sytprp", "useact", "mtrsys")
RESULTS = ("processors_by_time",)
BELOW = {n for of in lineages(reductions()) if of.name in RESULTS for n in of.names}
VIEWS = [view for view in reductions() if view.name in BELOW]
DAYS = (31, 32, 51, 52, 81)
"""Since 2001-12-18: two of January, two of February, one of March."""


def land(store: Store, day: int, hour: int = 0, damage: str = "") -> None:
    """Land the dump of an hour."""
    dump = hourly("ALPHA", 0, 24 * day + hour, damage)
    file = store.root.parent / dump.name
    file.write_bytes(dump.data)
    ingest(file, store, system=SYSTEM)


def land_days(store: Store) -> None:
    for day in DAYS:
        land(store, day)


def reduce_all(store: Store) -> None:
    reduce(store, RESULTS, SETTINGS)


def reduce_killed(store: Store) -> None:
    """Everything is computed; what it replaces is neither removed nor merged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reducing, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reduce_all(store)


def compact_all(store: Store) -> None:
    assert not compact(store, months(store)).failures


def land_late(store: Store) -> None:
    """Further dumps of a day of a merged month, and of the last day."""
    land(store, DAYS[1], hour=5)
    land(store, DAYS[-1], hour=5)


def prune_january(store: Store) -> None:
    prunable = plan(store, VIEWS, Retention({}, raw=30), date(2002, 3, 1))
    assert prunable.samples
    prune(store, prunable)


def land_of_unknown_length(store: Store) -> None:
    """A dump before all others whose intervals do not say how long they should be."""
    land(store, 0, damage="no configuration")


STEPS: tuple[tuple[str, Callable[[Store], None]], ...] = (
    ("landed", land_days),
    ("reduced", reduce_all),
    ("merged", compact_all),
    ("landed late", land_late),
    ("reduced again, and killed", reduce_killed),
    ("reduced again", reduce_all),
    ("merged again", compact_all),
    ("pruned", prune_january),
    ("landed with an unknown length", land_of_unknown_length),
    ("reduced after that", reduce_all),
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """The store after each step."""
    folder = tmp_path_factory.mktemp("foreign")
    store, stores = Store(folder / "store", create=True), {}
    for name, step in STEPS:
        step(store)
        stores[name] = Store(Path(shutil.copytree(store.root, folder / name)))
    return stores


def test_it_is_short_and_imports_nothing_of_cpmon():
    text = READER.read_text(encoding="utf-8")
    modules = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.M)) - sys.stdlib_module_names
    assert modules == {"polars"}
    assert len(text.splitlines()) <= 60


@pytest.mark.slow
def test_the_stores_have_files_to_choose_from(stores: dict[str, Store]):
    killed = stores["reduced again, and killed"]
    hours = [entry for entry in Entries(killed).of(RESULTS[0]) if entry.level == "hour"]
    days = [str(*entry.days) for entry in hours if len(entry.days) == 1]
    assert days.count("2002-03-09") == 2
    entries = Entries(stores["reduced again, and killed"]).of(RESULTS[0])
    months = [entry for entry in entries if entry.level == "hour" and len(entry.days) > 1]
    assert any(date(2002, 1, 19) in month.days for month in months) and "2002-01-19" in days
    pruned = stores["pruned"].dumps()
    assert {dump.pruned for dump in pruned} == {dump.is_merged for dump in pruned} == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name, _ in STEPS])
def test_it_reads_the_rows_of_landed_tables(stores: dict[str, Store], step: str):
    with connect(stores[step]) as connection:
        for table in TABLES:
            rows = foreign_reader.table(stores[step].root, table)
            assert ordered(rows.to_arrow(), select(table)) == monitor(connection, table), table


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name, _ in STEPS[1:]])
def test_it_reads_the_results_that_cpmon_reads(stores: dict[str, Store], step: str):
    store = stores[step]
    results = kept(store, reductions())
    with connect(store, reductions()) as connection:
        for name in RESULTS:
            for level in LEVELS:
                days = results[name].days.of_level(level)
                assert days
                shown = name if level == LEVELS[0] else f"rollup.{name}"
                where = "true" if level == LEVELS[0] else f"level = '{level}'"
                rows = foreign_reader.result(store.root, name, level)
                columns = ", ".join(f'"{column}"' for column in rows.columns)
                expected = connection.sql(
                    f"SELECT {columns} FROM {shown} WHERE {where} AND {is_one_of([*days])}"
                    " ORDER BY ALL"
                ).fetchall()
                assert ordered(rows.to_arrow(), columns) == expected, (name, level)


def test_what_it_needs_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    words = set(re.findall(r'"([a-z_]{4,})"', READER.read_text(encoding="utf-8")))
    assert {"folder", "begins", "first_nominal"} < words
    assert {word for word in words if word not in page} <= {"diagonal_relaxed"}


def test_the_version_of_a_result_that_is_not_by_time_follows_from_the_page(
    stores: dict[str, Store], tmp_path: Path
):
    store = Store(Path(shutil.copytree(stores["merged again"].root, tmp_path / "store")))
    for run in ("b", "a"):
        store.files.replace(f"runs/{run}.json", f"run {run}".encode())
    (lineage,) = [lineage for lineage in lineages(reductions()) if lineage.name == "run_summary"]
    definitions = json.loads((store.root / "reduced" / "definitions.json").read_text("utf-8"))
    keys = ("system", "dump", "release", "given_release", "layouts", "cpmon")
    dumps = [dump.get(key, "") for dump in foreign_reader.dumps(store.root) for key in keys]
    parts = [definitions["run_summary"], *dumps, "run a", "run b"]
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
    assert whole_entry(store, lineage, store.dumps()).version == digest
