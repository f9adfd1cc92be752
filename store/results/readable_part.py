"""The part of a store that questions can be answered from, and notes on what is left out of it.

Left out are dumps that lack files, runs that cannot be read, and kept results that cannot be read:
these are computed again, from the samples. On a disk the times of folders show whether files are
missing; nothing is read if they have not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import pyarrow as pa

from ...core.errors import UnreadableError
from ...core.text import counted
from ..dumps.cleanup import ASIDE
from ..dumps.incomplete import Incomplete, Times, incomplete_dumps, missing_at_once
from ..dumps.store import LeftOut, Store
from ..runs.runs import damaged_runs, run_names
from .kept_files import (
    FOLDER,
    MONTHS,
    is_of_month,
    month_pieces,
    read_index,
    rebuild_indexes,
    schema_of,
    system_of,
    texts_without,
)

TOLD = 5
"""Of what is left out so many get a note of their own."""


def readable_part(store: Store, *, thorough: bool = False) -> tuple[Store, list[str]]:
    """The store as readers can answer from it, and notes on what they do without.

    Args:
        thorough: every file is looked at; else on a disk what has changed since the last time.
    """
    left_out, notes = _unreadable(store, thorough=thorough)
    return (store.without(lambda: left_out) if notes else store), notes


def lazily_readable_part(store: Store, report: Callable[[Sequence[str]], None]) -> Store:
    """The store as readers can answer from it; it is looked at when its dumps are first asked for.

    Args:
        report: takes the notes on what is left out.
    """

    def look() -> LeftOut:
        left_out, notes = _unreadable(store, thorough=False)
        report(notes)
        return left_out

    return store.without(look)


def _unreadable(store: Store, *, thorough: bool) -> tuple[LeftOut, list[str]]:
    """What cannot be read of a store, and notes on it."""
    if not thorough and not store.files.is_local:
        return LeftOut(), []
    dumps = incomplete_dumps(store) if thorough else missing_at_once(store)
    runs = damaged_runs(store, run_names(store)) if thorough else _changed_runs(store)
    results = damaged_results(store) if thorough else {}
    if not (dumps or runs or results):
        return LeftOut(), []
    files = frozenset({*runs, *results, *beside_them(store, results)})
    left_out = LeftOut(frozenset(each.dump.dump for each in dumps), files)
    return left_out, [*_notes(dumps, runs, results), _remedy(store)]


def without_damaged_runs(store: Store) -> tuple[Store, list[str]]:
    """The store without runs that cannot be read, for who computes what is of all runs."""
    runs = damaged_runs(store, run_names(store))
    if not runs:
        return store, []
    left_out = LeftOut(files=frozenset(runs))
    return store.without(lambda: left_out), [*_notes([], runs, {}), _remedy(store)]


def put_damaged_aside(store: Store) -> list[str]:
    """Move runs and kept results that cannot be read to where nobody reads them; what was done.

    Raises:
        StoreError: the disk or the network refuses it.
    """
    runs, results = damaged_runs(store, run_names(store)), damaged_results(store)
    going = {*results, *beside_them(store, results)}
    of_months = [name for name in going if name.endswith(".parquet") and is_of_month(name)]
    for name in (*runs, *going):
        if store.files.exists(name):
            store.files.replace(f"{ASIDE}/{name}", store.files.read(name))
            store.files.delete([name])
    rebuild_indexes(store)
    for name, text in texts_without(store, of_months).items():
        store.files.replace(name, text.encode())
    damaged = runs | results
    return [f"{name}: put aside, it cannot be read: {why}" for name, why in damaged.items()]


def damaged_results(store: Store) -> dict[str, str]:
    """Files of kept results and their indexes that cannot be read -> what is wrong with them.

    A column of another type than in most files of the same reduction and level is wrong, too.
    """
    damaged: dict[str, str] = {}
    names = [*store.files.names(FOLDER)]
    for name in names:
        if name.startswith(f"{MONTHS}/") and name.endswith(".json"):
            try:
                read_index(store, name)
            except UnreadableError as error:
                damaged[name] = error.found or ""
    by_kind: dict[str, dict[str, pa.Schema]] = {}
    for name in names:
        if name.endswith(".parquet"):
            try:
                by_kind.setdefault(_kind(name), {})[name] = schema_of(store, name)
            except UnreadableError as error:
                damaged[name] = error.found or ""
    for schemas in by_kind.values():
        damaged |= _strange(schemas)
    of_months = month_pieces(store.without(lambda: LeftOut(files=frozenset(damaged)))).values()
    lost = {piece.file for pieces in of_months for piece in pieces} - {*names}
    return damaged | dict.fromkeys(lost, "no such file")


def beside_them(store: Store, damaged: Iterable[str]) -> set[str]:
    """Files of other levels with the days of damaged ones.

    What has roll-ups alone is taken for pruned, and not computed again. Where samples were pruned
    they are all there is, and stay.
    """
    pruned = {(d.system, str(day)) for d in store.dumps() if d.pruned for day in d.days}
    beside: set[str] = set()
    for file in (name for name in damaged if name.endswith(".parquet") and name.count("/") > 2):
        reduction, system, own = file.split("/")[1], system_of(file), file.rpartition("/")[2]
        time = own[: len("2001-12" if is_of_month(file) else "2001-12-18")]
        if any(of == system and day.startswith(time) for of, day in pruned):
            continue
        alike = store.files.names(f"{FOLDER}/{reduction}")
        beside |= {n for n in alike if system_of(n) == system and f"/{time}" in n}
    return beside - {*damaged}


def _changed_runs(store: Store) -> dict[str, str]:
    times = Times(store, "runs", run_names(store))
    changed = times.changed
    damaged = damaged_runs(store, changed) if changed else {}
    times.remember(damaged)
    return damaged


def _kind(name: str) -> str:
    """What files have the same columns: those of a reduction and level."""
    parts = name.split("/")
    return "/".join(parts[1:3]) if len(parts) > 2 else parts[1].rpartition("-")[0]


def _strange(schemas: dict[str, pa.Schema]) -> dict[str, str]:
    """Files that have a column of another sort than most have."""
    counts: dict[str, dict[str, int]] = {}
    for schema in schemas.values():
        for column in schema:
            of_column = counts.setdefault(column.name, {})
            of_column[_sort(column.type)] = of_column.get(_sort(column.type), 0) + 1
    usual = {name: max(sorts, key=lambda sort: sorts[sort]) for name, sorts in counts.items()}
    found = {}
    for name, schema in schemas.items():
        for column in schema:
            if _sort(column.type) != usual[column.name]:
                found[name] = f"column {column.name} is {column.type}"
    return found


def _sort(kind: pa.DataType) -> str:
    """What a type is, whatever its width."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else str(kind).removeprefix("large_")


def _notes(
    dumps: Collection[Incomplete], runs: dict[str, str], results: dict[str, str]
) -> Iterator[str]:
    told = [f"note: {each.name}, is left out: {each.lost} cannot be read" for each in dumps]
    told += [f"note: {name} is left out, it cannot be read: {why}" for name, why in runs.items()]
    told += [f"note: {name} is left out, it cannot be read: {why}" for name, why in results.items()]
    yield from told[:TOLD]
    if len(told) > TOLD:
        yield f"note: so are {counted(len(told) - TOLD, 'other')}"


def _remedy(store: Store) -> str:
    what = f"put the files back, or run cpmon store repair --store {store.files.location}"
    return f"  remedy: {what}"
