"""Retention of results and samples: a prune deletes only what a coarser level still represents.

Results of a level are deleted if the next coarser level exists; those of the coarsest level only
with the samples or after them, since they would be computed again. The samples of a dump are
deleted if every reduction by time has results for all its days and no run needs it. Its metadata,
intervals, findings, configuration and the events that reductions show remain, so that the dump is
still listed and other dumps are reduced as before. Dumps in the folder of a month are pruned
together.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from ...core.errors import BusyError, CpmonError, unknown
from ...core.text import counted
from ...schemas.layout import Kind
from ...schemas.registry import record_of, tables
from ..format.landed_dump import ABOUT, LandedDump, line
from ..format.store import Store
from ..measured.runs import run_names, stored_run
from ..sql.views import View
from .entries import Piece, replace
from .lineage import Lineage, lineages
from .reduced import INTERVAL, LEVELS, ByDay, states_by_day

FOREVER = "forever"
_UNITS = {"d": 1, "w": 7, "y": 366}
_STAYS = ("interval.parquet", "finding.parquet", ABOUT)


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention in days: `levels` of results by level, `raw` of samples; None is forever."""

    levels: Mapping[str, int | None] = field(default_factory=dict)
    raw: int | None = None


@dataclass(slots=True)
class Prune:
    """The plan of a prune.

    Attributes:
        results: level -> results to delete, a piece of each file.
        samples: folder of a dump or of a month -> files of tables to delete.
        names: such a folder -> its display name.
        stays: dump that is old enough -> reason why its samples are kept.
        recomputable: old files of the coarsest level, kept because their samples still exist.
    """

    results: dict[str, list[Piece]] = field(default_factory=dict)
    samples: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)
    recomputable: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """All files to delete."""
        results = [piece.file for pieces in self.results.values() for piece in pieces]
        return [*results, *itertools.chain(*self.samples.values())]

    def bytes(self, store: Store) -> int:
        """Total size of the files to delete."""
        folders = {file.rpartition("/")[0] for file in self.files}
        sizes = {f.name: f.size for folder in folders for f in store.files.inside(folder).files}
        return sum(sizes.get(file, 0) for file in self.files)


def retention(texts: Mapping[str, str], place: Callable[[str], str]) -> Retention:
    """Parses retention settings: {"interval": "30d", "raw": "90d", "hour": "forever"}.

    Args:
        place: dotted key of the settings -> its location, for messages.

    Raises:
        CpmonError: a level or length is invalid, or a level is kept shorter than a finer one.
    """
    for level in texts:
        if level not in (*LEVELS, "raw"):
            raise unknown("level", level, (*LEVELS, "raw"), place=place(f"retention.{level}"))
    days = {level: _days(text, place(f"retention.{level}")) for level, text in texts.items()}
    lengths = [(level, days.get(level)) for level in LEVELS]
    for (fine, shorter), (coarse, longer) in itertools.pairwise(lengths):
        if longer is not None and (shorter is None or shorter > longer):
            raise CpmonError(
                f"level {coarse} is kept shorter than level {fine}, which is finer",
                place=place(f"retention.{coarse}"),
                expected=f"{coarse} kept as long as {fine}, or longer",
                found=f"{fine} {texts.get(fine, FOREVER)}, {coarse} {texts[coarse]}",
                effect="nothing was removed",
            )
    return Retention({level: days.get(level) for level in LEVELS}, days.get("raw"))


def plan(store: Store, views: Sequence[View], limits: Retention, today: date) -> Prune:
    """Plans a prune.

    Args:
        views: all reductions.
        today: the day that ages are counted from, UTC.
    """
    dumps, prunable = store.dumps(), Prune()
    states = states_by_day(store, views)
    gone = {(dump.system, day) for dump in dumps if dump.pruned for day in dump.days}
    if limits.raw is not None:
        before = _earlier(today, limits.raw)
        shown = _shown_events(lineages(views))
        going = _going(store, dumps, states, before, prunable.stays)
        gone.update((dump.system, day) for dump in going for day in dump.days)
        staying = {dump.folder for dump in dumps if not dump.pruned and dump not in going}
        # A pruned dump still has samples if an earlier version of cpmon was killed.
        for dump in (*going, *(dump for dump in dumps if dump.pruned)):
            if dump.folder in {*staying, *prunable.samples}:
                continue
            if (files := _samples(store, dump, shown)) or not dump.pruned:
                prunable.samples[dump.folder] = files
                prunable.names[dump.folder] = _display_name(store, dump)
    for state in states:
        for level, pieces in _results(state, limits, today):
            if level == LEVELS[-1] and not gone.issuperset((p.system, p.day) for p in pieces):
                prunable.recomputable.append(pieces[0].file)
            else:
                prunable.results.setdefault(level, []).append(pieces[0])
    return prunable


def _display_name(store: Store, dump: LandedDump) -> str:
    """Display name of a dump, or of the month that it was merged into."""
    if not dump.is_merged:
        return f"dump {dump.dump}"
    return (
        f"{dump.system} {dump.month}, {counted(len(store.manifest.merged_in(dump.folder)), 'dump')}"
    )


def prune(store: Store, prunable: Prune) -> None:
    """Carries out a planned prune; what is removed is gone at once.

    The manifest is changed before the first file of a dump or a month of results is removed. After
    a kill, the next prune removes what is left.

    Raises:
        StoreError: a file cannot be deleted, or is outside of the store, behind a symlink.
        BusyError: dumps were merged since the prune was planned.
    """
    for folder, files in prunable.samples.items():
        dumps = [dump for dump in store.dumps() if dump.folder == folder]
        abouts = [_without(about, files) for about in store.abouts(dumps)]
        if files and not (dumps and store.manifest.put(dumps, abouts)):
            raise BusyError(
                "dumps were merged meanwhile",
                code="prune-conflict",
                place=store.files.uri(folder),
                effect="nothing was removed of them",
                remedy="run the command again",
            )
        if files:
            store.files.replace(f"{folder}/{ABOUT}", "".join(map(line, abouts)).encode())
            store.files.delete(files)
    pieces = [*itertools.chain(*prunable.results.values())]
    replace(store, (), pieces)
    store.files.delete(piece.file for piece in pieces)


def _without(about: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """New metadata of a dump once some of its files are deleted."""
    removed = {PurePosixPath(file).stem for file in files}
    remaining = [table for table in about["tables"] if table not in removed]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pruned_at": now, **about, "tables": remaining}


def _days(text: str, place: str) -> int | None:
    """Parses a retention time, in days; None is forever."""
    if text == FOREVER:
        return None
    match = re.fullmatch(r"([1-9]\d{0,4})([dwy])", text)
    if match is None:
        raise CpmonError(
            "a retention time is invalid",
            place=place,
            expected="days, weeks or years such as 30d, 8w, 5y; or forever",
            found=text,
            effect="nothing was removed",
        )
    return int(match[1]) * _UNITS[match[2]]


def _earlier(day: date, days: int) -> date:
    """The day `days` earlier, at the earliest `date.min`."""
    return date.fromordinal(max(day.toordinal() - days, 1))


def _results(state: ByDay, limits: Retention, today: date) -> list[tuple[str, list[Piece]]]:
    """Level and pieces of each file that is too old.

    A file of the coarsest level, or one whose days all exist at the next coarser level. The file of
    a month is listed if all its days are.
    """
    prunable: dict[tuple[str, str], list[Piece]] = {}
    for (_, day), pieces in sorted(state.pieces.items()):
        for level, coarser in zip(LEVELS, (*LEVELS[1:], None), strict=True):
            days = limits.levels.get(level)
            is_old = days is not None and day < _earlier(today, days)
            is_replaced = coarser in pieces if coarser else INTERVAL not in pieces
            if is_old and level in pieces and is_replaced:
                prunable.setdefault((level, pieces[level].file), []).append(pieces[level])
    return [
        (level, pieces)
        for (level, _), pieces in prunable.items()
        if len(pieces) == len(pieces[0].month or pieces)
    ]


def _going(
    store: Store,
    dumps: Sequence[LandedDump],
    states: Sequence[ByDay],
    before: date,
    stays: dict[str, str],
) -> list[LandedDump]:
    """Dumps whose samples can be deleted; adds the reason for other old dumps to `stays`."""
    runs = _spans_of_runs(store)
    going = []
    for dump in dumps:
        last = max(dump.days, default=dump.begins)
        if dump.pruned or last >= before:
            continue
        unreduced = [
            (day, state.name)
            for day in dump.days
            for state in states
            if (dump.system, day) not in state.pieces
        ]
        run = next((name for name, *span in runs if _needs(span, dump, last)), None)
        if not dump.days:
            stays[dump.dump] = "it closes no interval, so nothing was reduced from it"
        elif unreduced:
            day, name = unreduced[0]
            stays[dump.dump] = f"{name} has no result of {day}: run cpmon reduce first"
        elif run is not None:
            stays[dump.dump] = f"run {run} is measured on its days"
        else:
            going.append(dump)
    return _without_company(going, dumps, stays)


def _without_company(
    going: list[LandedDump], dumps: Sequence[LandedDump], stays: dict[str, str]
) -> list[LandedDump]:
    """Dumps that share neither a day nor the folder of a month with a dump that is kept.

    The samples of a day are pruned as a whole, and so are the tables of a month.
    """
    while True:
        names = {dump.dump for dump in going}
        staying = [dump for dump in dumps if dump.dump not in names and not dump.pruned]
        days = {(dump.system, day) for dump in staying for day in dump.days}
        folders = {dump.folder for dump in staying}
        reason = "another dump, which is kept, has intervals of the same day"
        kept_back = [dump for dump in going if any((dump.system, day) in days for day in dump.days)]
        if not kept_back:
            reason = "it was merged with other dumps of its month, some of which are kept"
            kept_back = [dump for dump in going if dump.folder in folders]
        if not kept_back:
            return going
        stays.update((dump.dump, reason) for dump in kept_back)
        going = [dump for dump in going if dump.dump not in stays]


def _needs(span: Sequence[str], dump: LandedDump, last: date) -> bool:
    """Whether a run (system, begin, end) includes days of a dump, up to its last day."""
    system, since, until = span
    return system == dump.system and since <= f"{last}T24" and until >= str(dump.begins)


def _spans_of_runs(store: Store) -> list[tuple[str, str, str, str]]:
    """Name, system, begin and end of every run; times in ISO 8601, UTC."""
    spans = []
    for name in run_names(store):
        run = stored_run(store, name)
        since, until = (time.replace(" ", "T") for time in (run.since, run.until))
        spans.append((run.run_id, unquote(run.system), since, until))
    return spans


def _shown_events(traced: Sequence[Lineage]) -> set[str]:
    """Tables that public reductions read which are neither by time nor of runs."""
    return {
        table.partition(".")[2]
        for lineage in traced
        if lineage.public and not lineage.by_time and not lineage.of_runs
        for table in lineage.reads
    }


def _samples(store: Store, dump: LandedDump, shown: set[str]) -> list[str]:
    """Files of the tables of a dump that a prune deletes."""
    layouts, going = tables(), []
    for name in sorted(store.files.names(dump.folder)):
        file = PurePosixPath(name)
        layout = layouts.get(file.stem)
        kind = record_of(layout).kind if layout else None
        stays = kind is Kind.CONFIG or (kind is Kind.EVENT and file.stem in shown)
        if file.name not in _STAYS and not stays:
            going.append(name)
    return going
