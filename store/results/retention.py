"""How long results and samples are kept, and what a prune removes: never what nothing stands for.

Results of a level go when the next coarser one is there, those of the coarsest with the samples or
after them: they would be computed again. The samples of a dump go when every reduction by time has
kept results of all its days and no run needs it; what the dump is, its intervals, findings and
configuration, and the events that reductions show stay, so that it is still known here and its
neighbours are reduced as before. Those of dumps in the folder of a month go together.
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
from ..dumps.cleanup import replace_and_remove
from ..dumps.incomplete import incomplete_dumps
from ..dumps.landed_dump import ABOUT, LandedDump, line
from ..dumps.manifest import entries
from ..dumps.store import Store
from ..runs.runs import run_names, stored_run
from ..views.views import View
from .kept_files import Piece, is_of_month, texts_without
from .lineage import Lineage, lineages
from .reduced import INTERVAL, LEVELS, ByDay, states_by_day

FOREVER = "forever"
_UNITS = {"d": 1, "w": 7, "y": 366}
_STAYS = ("interval.parquet", "finding.parquet", ABOUT)


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days results of a level and samples are kept; None is forever."""

    levels: Mapping[str, int | None] = field(default_factory=dict)
    raw: int | None = None


@dataclass(slots=True)
class Prune:
    """What a prune removes.

    Attributes:
        results: files of reductions, by level.
        samples: folder of a dump, or of a month -> its tables that go.
        names: such a folder -> what it is called.
        stays: dumps that are old enough, with the reason why their samples stay.
        recomputable: files of the coarsest level that are old enough; they stay with the samples.
    """

    results: dict[str, list[str]] = field(default_factory=dict)
    samples: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)
    recomputable: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """All that goes."""
        return [
            file for files in (*self.results.values(), *self.samples.values()) for file in files
        ]

    def bytes(self, store: Store) -> int:
        """Size of all that goes."""
        folders = {file.rpartition("/")[0] for file in self.files}
        sizes = {f.name: f.size for folder in folders for f in store.files.inside(folder).files}
        return sum(sizes.get(file, 0) for file in self.files)


def retention(texts: Mapping[str, str], place: Callable[[str], str]) -> Retention:
    """How long what is kept, from texts: {"interval": "30d", "raw": "90d", "hour": "forever"}.

    Args:
        place: dotted key of the settings -> where it stands, for messages.

    Raises:
        CpmonError: a level or length is wrong, or a level goes before a finer one.
    """
    for level in texts:
        if level not in (*LEVELS, "raw"):
            raise unknown("level", level, (*LEVELS, "raw"), place=place(f"retention.{level}"))
    days = {level: _days(text, place(f"retention.{level}")) for level, text in texts.items()}
    lengths = [(level, days.get(level)) for level in LEVELS]
    for (fine, shorter), (coarse, longer) in itertools.pairwise(lengths):
        if longer is not None and (shorter is None or shorter > longer):
            raise CpmonError(
                f"level {coarse} would go before level {fine}, which is finer",
                place=place(f"retention.{coarse}"),
                expected=f"{coarse} to be kept as long as {fine}, or longer",
                found=f"{fine} {texts.get(fine, FOREVER)}, {coarse} {texts[coarse]}",
                effect="nothing was removed",
            )
    return Retention({level: days.get(level) for level in LEVELS}, days.get("raw"))


def plan(store: Store, views: Sequence[View], limits: Retention, today: date) -> Prune:
    """What is to be removed.

    Args:
        views: all reductions. today: from which ages are counted, UTC.
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
        # Of those that are pruned something is left if an earlier version was killed.
        for dump in (*going, *(each for each in dumps if each.pruned)):
            if dump.folder in {*staying, *prunable.samples}:
                continue
            if (left := _samples(store, dump, shown)) or not dump.pruned:
                prunable.samples[dump.folder] = left
                prunable.names[dump.folder] = _called(store, dump)
    for state in states:
        for level, pieces in _results(state, limits, today):
            if level == LEVELS[-1] and not gone.issuperset((p.system, p.day) for p in pieces):
                prunable.recomputable.append(pieces[0].file)
            else:
                prunable.results.setdefault(level, []).append(pieces[0].file)
    return prunable


def _called(store: Store, dump: LandedDump) -> str:
    """What a dump, or the month that it is in, is called."""
    if not dump.is_merged:
        return f"dump {dump.dump}"
    return (
        f"{dump.system} {dump.month}, {counted(len(store.manifest.merged_in(dump.folder)), 'dump')}"
    )


def prune(store: Store, prunable: Prune) -> None:
    """Remove it, though this process be killed: the next one that writes to the store finishes it.

    A dump says that it was pruned before the first of its tables goes.

    Raises:
        StoreError: the disk refuses it, or a file is outside of the store, behind a link.
        BusyError: dumps were merged since it was planned.
    """
    marks: dict[str, str] = {}
    named = {dump.folder for dump in store.dumps()}
    for folder, files in prunable.samples.items():
        if folder not in named:
            raise BusyError(
                "dumps were merged meanwhile",
                code="prune-conflict",
                place=store.files.uri(folder),
                effect="nothing was removed",
                remedy="do the same again",
            )
        abouts = [_without(about, files) for about in store.manifest.abouts(folder)]
        if files:
            marks |= {f"{folder}/{ABOUT}": "".join(map(line, abouts)), **entries(abouts)}
    of_months = [file for files in prunable.results.values() for file in files if is_of_month(file)]
    if prunable.files:
        replace_and_remove(store.files, marks | texts_without(store, of_months), prunable.files)


def _without(about: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """What is written about a dump when some of its files are removed."""
    removed = {PurePosixPath(file).stem for file in files}
    left = [table for table in about["tables"] if table not in removed]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pruned_at": now, **about, "tables": left}


def _days(text: str, place: str) -> int | None:
    """A length as days."""
    if text == FOREVER:
        return None
    match = re.fullmatch(r"([1-9]\d{0,4})([dwy])", text)
    if match is None:
        raise CpmonError(
            "a length of time cannot be read",
            place=place,
            expected="days, weeks or years as 30d, 8w, 5y; or forever",
            found=text,
            effect="nothing was removed",
        )
    return int(match[1]) * _UNITS[match[2]]


def _earlier(day: date, days: int) -> date:
    """A day so many days before; of more than there are, the first."""
    return date.fromordinal(max(day.toordinal() - days, 1))


def _results(state: ByDay, limits: Retention, today: date) -> list[tuple[str, list[Piece]]]:
    """Level and pieces of each file that a coarser level stands for, or of the coarsest, too old.

    The file of a month goes when all its days do.
    """
    going: dict[tuple[str, str], list[Piece]] = {}
    for (_, day), pieces in sorted(state.pieces.items()):
        for level, coarser in zip(LEVELS, (*LEVELS[1:], None), strict=True):
            most = limits.levels.get(level)
            old = most is not None and day < _earlier(today, most)
            stands = coarser in pieces if coarser else INTERVAL not in pieces
            if old and level in pieces and stands:
                going.setdefault((level, pieces[level].file), []).append(pieces[level])
    return [
        (level, pieces)
        for (level, _), pieces in going.items()
        if len(pieces) == len(pieces[0].month or pieces)
    ]


def _going(
    store: Store,
    dumps: Sequence[LandedDump],
    states: Sequence[ByDay],
    before: date,
    stays: dict[str, str],
) -> list[LandedDump]:
    """Dumps whose samples may go; of the others that are old enough, `stays` gets the reason."""
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
            stays[dump.dump] = f"{name} has no result of {day}: cpmon reduce first"
        elif run is not None:
            stays[dump.dump] = f"run {run} is measured on its days"
        else:
            going.append(dump)
    lacking = {each.dump.dump for each in incomplete_dumps(store, {d.folder for d in going})}
    stays.update((dump, "it lacks files: cpmon store repair first") for dump in lacking)
    going = [dump for dump in going if dump.dump not in lacking]
    return _without_company(going, dumps, stays)


def _without_company(
    going: list[LandedDump], dumps: Sequence[LandedDump], stays: dict[str, str]
) -> list[LandedDump]:
    """Those that share neither a day nor the folder of a month with a dump that stays.

    A day is in the store as a whole or not at all; the tables of a month are removed as a whole.
    """
    while True:
        names = {dump.dump for dump in going}
        staying = [dump for dump in dumps if dump.dump not in names and not dump.pruned]
        days = {(dump.system, day) for dump in staying for day in dump.days}
        folders = {dump.folder for dump in staying}
        reason = "another dump, which stays, holds intervals of the same day"
        kept_back = [dump for dump in going if any((dump.system, day) in days for day in dump.days)]
        if not kept_back:
            reason = "it was merged with other dumps of its month, of which some stay"
            kept_back = [dump for dump in going if dump.folder in folders]
        if not kept_back:
            return going
        stays.update((dump.dump, reason) for dump in kept_back)
        going = [dump for dump in going if dump.dump not in stays]


def _needs(span: Sequence[str], dump: LandedDump, last: date) -> bool:
    system, since, until = span
    return system == dump.system and since <= f"{last}T24" and until >= str(dump.begins)


def _spans_of_runs(store: Store) -> list[tuple[str, str, str, str]]:
    """Name, system, begin and end of every run; times as ISO 8601, UTC."""
    spans = []
    for name in run_names(store):
        run = stored_run(store, name)
        since, until = (time.replace(" ", "T") for time in (run.since, run.until))
        spans.append((run.run_id, unquote(run.system), since, until))
    return spans


def _shown_events(traced: Sequence[Lineage]) -> set[str]:
    """Tables that results which are not kept by day are made of."""
    return {
        table.partition(".")[2]
        for lineage in traced
        if lineage.public and not lineage.by_time and not lineage.of_runs
        for table in lineage.reads
    }


def _samples(store: Store, dump: LandedDump, shown: set[str]) -> list[str]:
    """The tables of a dump that go."""
    layouts, going = tables(), []
    for name in sorted(store.files.names(dump.folder)):
        file = PurePosixPath(name)
        layout = layouts.get(file.stem)
        kind = record_of(layout).kind if layout else None
        stays = kind is Kind.CONFIG or (kind is Kind.EVENT and file.stem in shown)
        if file.name not in _STAYS and not stays:
            going.append(name)
    return going
