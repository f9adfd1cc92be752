"""What a store holds: sizes, and spans by level."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ..dumps.days import Held, days_of, held
from ..dumps.store import Store
from ..views.template import FILE
from ..views.view import View
from .lineage import lineages
from .reduced import LEVELS, by_day, versions_of


def usage(store: Store, views: Sequence[View]) -> list[dict[str, Any]]:
    """A row for the dumps and each level of results of every system, then what is of no system.

    Keys: what, system, first_day, last_day, days, files, bytes, note.
    """
    dumps = held(store)
    by_time = [lineage for lineage in lineages(views) if lineage.by_time and lineage.public]
    versions = versions_of(dumps)
    states = [by_day(store, lineage, versions) for lineage in by_time]
    results: dict[tuple[str, str], list[tuple[date, Path]]] = defaultdict(list)
    for state in states:
        for (system, day), by_level in state.pieces.items():
            for level, piece in by_level.items():
                results[level, system].append((day, piece.path))
    rows, outdated = [], [path for state in states for path in state.outdated]
    for system in dict.fromkeys(one.system for one in dumps):
        of_system = [one for one in dumps if one.system == system]
        rows.append(_dumps(system, of_system))
        for level in LEVELS:
            pieces = results[level, system]
            reduced = Counter(day for day, _ in pieces)
            full = sum(reduced[day] == len(states) for day in days_of(of_system))
            note = f"all reductions: {full} days" if level == LEVELS[0] else ""
            rows.append(_row(level, system, reduced, [path for _, path in pieces], note))
    other = [path for path in (store.root / "reduced").glob("*.parquet") if path.is_file()]
    rows.append(_row("not by day", "", (), other, "one file a reduction"))
    rows.append(_row("outdated", "", (), outdated, "cpmon reduce replaces them" * bool(outdated)))
    rows.append(_row("runs", "", (), list(store.runs.glob("*.json"))))
    rows.append(_row("catalogue", "", (), [f for f in [store.root / FILE] if f.exists()]))
    return rows


def _dumps(system: str, dumps: Sequence[Held]) -> dict[str, Any]:
    files = [file for one in dumps for file in one.folder.iterdir()]
    pruned = sum(one.pruned for one in dumps)
    note = f"{len(dumps)} dumps" + (f", samples of {pruned} pruned" if pruned else "")
    return _row("dumps", system, days_of(dumps), files, note)


def _row(
    what: str, system: str, days: Iterable[date], files: Sequence[Path], note: str = ""
) -> dict[str, Any]:
    known = sorted(days)
    return {
        "what": what,
        "system": system,
        "first_day": known[0] if known else None,
        "last_day": known[-1] if known else None,
        "days": len(known) if known else None,
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "note": note,
    }
