"""The readable part of a store, and notes on what is left out of it.

Left out are incomplete dumps, damaged runs, and damaged results of reductions, which are then
computed from samples again. On a disk the modification times of folders show whether files may be
missing; if they have not changed, no file is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import pyarrow as pa

from ...core.errors import UnreadableError
from ...core.text import counted
from ..dumps.cleanup import ASIDE
from ..dumps.incomplete import Incomplete, Times, incomplete_dumps, missing_at_once
from ..dumps.store import LeftOut, Store
from ..runs.runs import damaged_runs, run_names
from .entries import Entries, name_again, replace
from .kept_files import schema_of

MOST_NOTES = 5
"""Maximum number of notes on single dumps, runs and files."""


def readable_part(store: Store, *, thorough: bool = False) -> tuple[Store, list[str]]:
    """The store without unreadable dumps, runs and results, and notes on these.

    Args:
        thorough: check every file; otherwise, on a disk, only those changed since the last check.
    """
    left_out, notes = _unreadable(store, thorough=thorough)
    return (store.without(lambda: left_out) if notes else store), notes


def lazily_readable_part(store: Store, report: Callable[[Sequence[str]], None]) -> Store:
    """The store without its unreadable part; it is checked when its dumps are first requested.

    Args:
        report: receives the notes on what is left out.
    """

    def check() -> LeftOut:
        left_out, notes = _unreadable(store, thorough=False)
        report(notes)
        return left_out

    return store.without(check)


def _unreadable(store: Store, *, thorough: bool) -> tuple[LeftOut, list[str]]:
    """The unreadable part of a store, and notes on it."""
    if not thorough and not store.files.is_local:
        return LeftOut(), []
    dumps = incomplete_dumps(store) if thorough else missing_at_once(store)
    runs = damaged_runs(store, run_names(store)) if thorough else _changed_runs(store)
    results = damaged_results(store) if thorough else {}
    if not (dumps or runs or results):
        return LeftOut(), []
    files = frozenset({*runs, *results, *beside_them(store, results)})
    left_out = LeftOut(frozenset(incomplete.dump.dump for incomplete in dumps), files)
    return left_out, [*_notes(dumps, runs, results), _remedy(store)]


def without_damaged_runs(store: Store) -> tuple[Store, list[str]]:
    """The store without damaged runs, and notes on these; for results over all runs."""
    runs = damaged_runs(store, run_names(store))
    if not runs:
        return store, []
    left_out = LeftOut(files=frozenset(runs))
    return store.without(lambda: left_out), [*_notes([], runs, {}), _remedy(store)]


def put_damaged_aside(store: Store) -> list[str]:
    """Moves damaged runs and results to the folder `aside`; returns a message for each.

    Results that the manifest does not name get an entry, so that nothing is left unread.

    Raises:
        BusyError: another process merges, in object storage.
    """
    with store.alone():
        name_again(store)
        runs, results = damaged_runs(store, run_names(store)), damaged_results(store)
        files = {*results, *beside_them(store, results)}
        for name in (*runs, *files):
            if store.files.exists(name):
                store.files.replace(f"{ASIDE}/{name}", store.files.read(name))
        replace(store, (), [entry for entry in Entries(store).all() if entry.file in files])
        store.files.delete(runs)
    damaged = runs | results
    return [f"{name}: put aside, it cannot be read: {why}" for name, why in damaged.items()]


def damaged_results(store: Store) -> dict[str, str]:
    """Damaged file of results -> problem.

    A file is damaged, too, if a column has another type than in most files of the same reduction
    and level.
    """
    damaged: dict[str, str] = {}
    alike: dict[tuple[str, str], dict[str, pa.Schema]] = {}
    for entry in Entries(store).all():
        try:
            schema = schema_of(store, entry.file)
        except UnreadableError as error:
            damaged[entry.file] = error.found or ""
        else:
            alike.setdefault((entry.result, entry.level), {})[entry.file] = schema
    for schemas in alike.values():
        damaged |= _mistyped(schemas)
    return damaged


def beside_them(store: Store, damaged: Collection[str]) -> set[str]:
    """Files of other levels with the same days as damaged ones.

    They have to be left out as well: a day that has only roll-ups counts as pruned and is not
    computed again. If its samples were pruned, they are the only results of the day and are kept.
    """
    if not damaged:
        return set()
    pruned = {(d.system, day) for d in store.dumps() if d.pruned for day in d.days}
    entries = [entry for entry in Entries(store).all() if entry.days]
    open_days = {
        (entry.result, entry.system, day)
        for entry in entries
        if entry.file in damaged and pruned.isdisjoint((entry.system, d) for d in entry.days)
        for day in entry.days
    }
    beside = (e for e in entries if any((e.result, e.system, d) in open_days for d in e.days))
    return {entry.file for entry in beside} - {*damaged}


def _changed_runs(store: Store) -> dict[str, str]:
    times = Times(store, "runs", run_names(store))
    changed = times.changed
    damaged = damaged_runs(store, changed) if changed else {}
    times.remember(damaged)
    return damaged


def _mistyped(schemas: dict[str, pa.Schema]) -> dict[str, str]:
    """File with a column of another sort of type than most files have -> problem."""
    counts: dict[str, dict[str, int]] = {}
    for schema in schemas.values():
        for column in schema:
            sorts = counts.setdefault(column.name, {})
            sorts[_sort(column.type)] = sorts.get(_sort(column.type), 0) + 1
    usual = {name: max(sorts, key=lambda sort: sorts[sort]) for name, sorts in counts.items()}
    mistyped = {}
    for name, schema in schemas.items():
        for column in schema:
            if _sort(column.type) != usual[column.name]:
                mistyped[name] = f"column {column.name} is {column.type}"
    return mistyped


def _sort(kind: pa.DataType) -> str:
    """The sort of a type, regardless of its width."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else str(kind).removeprefix("large_")


def _notes(
    dumps: Collection[Incomplete], runs: dict[str, str], results: dict[str, str]
) -> Iterator[str]:
    notes = [f"note: {dump.name}, is left out: {dump.lost} cannot be read" for dump in dumps]
    damaged = [*runs.items(), *results.items()]
    notes += [f"note: {name} is left out, it cannot be read: {why}" for name, why in damaged]
    yield from notes[:MOST_NOTES]
    if len(notes) > MOST_NOTES:
        yield f"note: so are {counted(len(notes) - MOST_NOTES, 'other')}"


def _remedy(store: Store) -> str:
    what = f"put the files back, or run cpmon store repair --store {store.files.location}"
    return f"  remedy: {what}"
