"""Disk usage of a store: files, bytes and days, by system and level."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from ...core.text import counted
from ..dumps.landed_dump import MONTHS as DUMPS
from ..dumps.landed_dump import days_of
from ..dumps.store import Store
from ..runs.runs import FOLDER as RUNS
from ..views.views import View
from .kept_files import FOLDER
from .reduced import LEVELS, states_by_day

MOST_NAMES = 4
"""Maximum number of outdated reductions that are named."""


def usage(store: Store, views: Sequence[View]) -> list[dict[str, Any]]:
    """Rows for the dumps and each level of results of every system, then for the rest of the store.

    Keys: what, system, first_day, last_day, days, files, bytes, note.
    """
    dumps, sizes = store.dumps(), _sizes(store)
    states = states_by_day(store, views)
    results: dict[tuple[str, str], list[tuple[date, str]]] = defaultdict(list)
    for state in states:
        for (system, day), by_level in state.pieces.items():
            for level, piece in by_level.items():
                results[level, system].append((day, piece.file))
    outdated = [file for state in states for file in state.outdated]
    of_dumps: dict[str, list[str]] = defaultdict(list)
    for file in sizes:
        of_dumps[file.rpartition("/")[0]].append(file)
    row, rows = functools.partial(_row, sizes), []
    for system in dict.fromkeys(dump.system for dump in dumps):
        of_system = [dump for dump in dumps if dump.system == system]
        folders = dict.fromkeys(dump.folder for dump in of_system)
        files = [file for folder in folders for file in of_dumps[folder]]
        pruned = sum(dump.pruned for dump in of_system)
        note = counted(len(of_system), "dump") + (f", samples of {pruned} pruned" if pruned else "")
        rows.append(row("dumps", system, days_of(of_system), files, note))
        for level in LEVELS:
            pieces = results[level, system]
            reduced = Counter(day for day, _ in pieces)
            full = sum(reduced[day] == len(states) for day in days_of(of_system))
            note = f"all reductions: {counted(full, 'day')}" if level == LEVELS[0] else ""
            files = list(dict.fromkeys(file for _, file in pieces))
            rows.append(row(level, system, reduced, files, note))
    other = [file for file in of_dumps[FOLDER] if file.endswith(".parquet")]
    rows.append(row("not by day", "", (), other, "one file a reduction"))
    stale = sorted(state.name for state in states if state.outdated)
    rows.append(row("outdated", "", (), outdated, _replaced(stale) if stale else ""))
    rows.append(row("runs", "", (), [file for file in sizes if file.startswith(f"{RUNS}/")]))
    return rows


def _replaced(names: Sequence[str]) -> str:
    named = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{named}{more}: cpmon reduce replaces them"


def _sizes(store: Store) -> dict[str, int]:
    """File of dumps, results or runs -> size in bytes."""
    folders = ("records", DUMPS, FOLDER, RUNS)
    return {file.name: file.size for top in folders for file in store.files.below(top)}


def _row(
    sizes: Mapping[str, int],
    what: str,
    system: str,
    days: Iterable[date],
    files: Sequence[str],
    note: str = "",
) -> dict[str, Any]:
    ordered = sorted(days)
    return {
        "what": what,
        "system": system,
        "first_day": ordered[0] if ordered else None,
        "last_day": ordered[-1] if ordered else None,
        "days": len(ordered) if ordered else None,
        "files": len(files),
        "bytes": sum(sizes.get(file, 0) for file in files),
        "note": note,
    }
