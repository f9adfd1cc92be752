"""Disk usage of a store: files, bytes and days, by system and level."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from ...core.text import counted
from ..format.landed_dump import MONTHS as DUMPS
from ..format.landed_dump import days_of
from ..format.store import Store
from ..measured.runs import FOLDER as RUNS
from ..sql.views import View
from .entries import FOLDER
from .reduced import LEVELS, states_by_day

REPLACED = "go a day after what replaced them came"
MOST_NAMES = 4
"""Maximum number of outdated reductions that are named."""


def usage(store: Store, views: Sequence[View]) -> list[dict[str, Any]]:
    """Rows for the dumps and each level of results of every system, then for the rest of the store.

    Keys: what, system, first_day, last_day, days, files, bytes, note.
    """
    dumps = store.dumps()
    folders = ("records", DUMPS, FOLDER, RUNS)
    sizes = {file.name: file.size for folder in folders for file in store.files.below(folder)}
    states = states_by_day(store, views)
    results: dict[tuple[str, str], list[tuple[date, str]]] = defaultdict(list)
    for state in states:
        for (system, day), by_level in state.pieces.items():
            for level, piece in by_level.items():
                results[level, system].append((day, piece.file))
    outdated = sorted({piece.file for state in states for piece in state.outdated})
    by_folder: dict[str, list[str]] = defaultdict(list)
    for file in sizes:
        by_folder[file.rpartition("/")[0]].append(file)
    named, rows = set[str](), list[dict[str, Any]]()

    def row(
        what: str, system: str, days: Iterable[date], files: Sequence[str], note: str = ""
    ) -> dict[str, Any]:
        named.update(files)
        return _row(sizes, what, system, days, files, note)

    for system in dict.fromkeys(dump.system for dump in dumps):
        system_dumps = [dump for dump in dumps if dump.system == system]
        dump_folders = dict.fromkeys(dump.folder for dump in system_dumps)
        files = [file for folder in dump_folders for file in by_folder[folder]]
        pruned = sum(dump.pruned for dump in system_dumps)
        note = counted(len(system_dumps), "dump")
        note += f", samples of {pruned} pruned" if pruned else ""
        rows.append(row("dumps", system, days_of(system_dumps), files, note))
        for level in LEVELS:
            pieces = results[level, system]
            reduced = Counter(day for day, _ in pieces)
            full = sum(reduced[day] == len(states) for day in days_of(system_dumps))
            note = f"all reductions: {counted(full, 'day')}" if level == LEVELS[0] else ""
            files = list(dict.fromkeys(file for _, file in pieces))
            rows.append(row(level, system, reduced, files, note))
    whole = [file for file in by_folder[FOLDER] if file.endswith(".parquet")]
    rows.append(row("not by day", "", (), whole, "one file a reduction"))
    stale = sorted(state.name for state in states if state.outdated)
    rows.append(row("outdated", "", (), outdated, _replaced(stale) if stale else ""))
    rows.append(row("runs", "", (), [file for file in sizes if file.startswith(f"{RUNS}/")]))
    left = [file for file in sizes if file.endswith(".parquet") and file not in named]
    rows.append(
        row("replaced", "", (), left, "go a day after others replaced them" if left else "")
    )
    return rows


def _replaced(names: Sequence[str]) -> str:
    named = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{named}{more}: cpmon reduce replaces them"


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
