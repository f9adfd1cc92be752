"""What a kept result is computed from, and the versions that change with any of it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from ...core.derived import derived
from ...core.grace_period import day_condition
from ...schemas.registry import fingerprint
from ..dumps.landed_dump import LandedDump, days_of
from ..dumps.store import Store
from ..runs.classes import classes_text
from ..runs.companions import TABLES
from ..runs.runs import run_names
from ..scope import is_anchored
from ..views.landed_views import definitions

if TYPE_CHECKING:
    from ..views.views import View

BY_TIME = {"system", "interval_end", "seconds"}
"""A reduction with these columns has rows of intervals: it is kept day by day."""
SINCE_WHEN = "_kept_setting"
"""The reduction of settings that still hold."""
_OF_RUNS = {"meta.run", *(f"meta.{kind}" for kind in TABLES)}
_LINE_BY_LINE = re.compile(r"select (?:(?!\b(?:from|over|distinct)\b).)+\nfrom (_\w+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a reduction depends on, itself included.

    Attributes:
        by_time: each of its days depends on the dumps that begin up to that day, and on no run.
        of_runs: it reads runs, and of samples those of runs.
        public: readers may know it.
        kept: the reduction whose rows are kept: itself, or a private one by time that it shows
            line by line, so that rates computed from them need no room.
        names: of all reductions that it reads, and its own; in the order of the views.
        reads: the relations of other schemas that these read: {"interval.useact", ...}.
        version: a digest of all SQL that computes its results: its own, that of all reductions
            below it, of the views over landed tables that they read (so of deltas), of the macros
            in them, of the day that an interval counts to, and of its roll-ups.
    """

    name: str
    by_time: bool
    of_runs: bool
    public: bool
    kept: str
    names: tuple[str, ...]
    reads: frozenset[str]
    version: str

    @property
    def tells_since_when(self) -> bool:
        """Whether it tells since when something holds, so that all before it counts."""
        return SINCE_WHEN in self.names


def lineages(views: Sequence[View]) -> list[Lineage]:
    """The lineage of each reduction."""
    return list(_lineages(tuple(views), fingerprint()))


def definition_version(store: Store, lineage: Lineage) -> str:
    """The version of a reduction in a store: of its SQL, the layouts, and the classes it reads."""
    parts = [fingerprint(), lineage.version]
    if "meta.user_class" in lineage.reads:
        parts.append(classes_text(store))
    return digest(parts)


def definitions_text(store: Store, views: Sequence[View]) -> str:
    """JSON: reduction -> the version of its definition, of all that readers know."""
    public = (lineage for lineage in lineages(views) if lineage.public)
    versions = {lineage.name: definition_version(store, lineage) for lineage in public}
    return json.dumps(versions, indent=1, sort_keys=True)


def whole_version(store: Store, lineage: Lineage, dumps: Sequence[LandedDump]) -> str:
    """The version of a result that depends on all dumps and runs."""
    parts = [definition_version(store, lineage), *map(_landing, dumps)]
    parts += [store.files.read(name).decode(errors="replace") for name in run_names(store)]
    return digest(parts)


def _landing(dump: LandedDump) -> str:
    """Changes when a dump lands as of another system, or is decoded in another way.

    Its name, a digest of its bytes, does not.
    """
    return f"{dump.system}\0{dump.dump}\0{dump.decoding}"


def day_versions(dumps: Sequence[LandedDump]) -> dict[date, str]:
    """Day -> version of the dumps of one system that it depends on.

    Args:
        dumps: of the system, by begin.
    """
    versions, hashed, hashed_up_to = {}, hashlib.blake2b(digest_size=8), 0
    # Where the first interval does not say its nominal length, each day depends on all dumps.
    begins = [dump.begins for dump in dumps] if is_anchored(dumps) else [date.min] * len(dumps)
    for day in days_of(dumps):
        begun = dumps[hashed_up_to : bisect_right(begins, day)]
        hashed.update("".join(f"{_landing(dump)}\0" for dump in begun).encode())
        hashed_up_to += len(begun)
        versions[day] = hashed.hexdigest()
    return versions


@functools.lru_cache(maxsize=8)
def _lineages(views: tuple[View, ...], layouts: str) -> tuple[Lineage, ...]:
    of_views = digest([f"{view.name}\0{view.select}\0{view.rollup}" for view in views])
    return derived("lineages", tuple[Lineage, ...], lambda: _traced(views), layouts, of_views)


def _traced(views: tuple[View, ...]) -> tuple[Lineage, ...]:
    by_name = {view.name: view for view in views}
    is_by_time = {view.name: {c.name for c in view.columns} >= BY_TIME for view in views}
    below: dict[str, frozenset[str]] = {}
    for view in views:  # each behind those that it reads
        below[view.name] = frozenset({view.name}.union(*(below.get(n, ()) for n in view.reads)))
    traced = []
    for view in views:
        names = tuple(name for name in by_name if name in below[view.name])
        relations = {relation for name in names for relation in by_name[name].reads}
        reads = frozenset(relation for relation in relations if "." in relation)
        of_runs = bool(reads & _OF_RUNS)
        by_time = is_by_time[view.name] and not of_runs
        below_it = _LINE_BY_LINE.fullmatch(code_of(view.select).strip())
        is_kept = by_time and below_it and is_by_time[below_it[1]]
        sql = [view.rollup, *(by_name[name].select for name in names), *definitions(reads)]
        traced.append(
            Lineage(
                view.name,
                by_time,
                of_runs,
                not view.name.startswith("_"),
                below_it[1] if is_kept and below_it else view.name,
                names,
                reads,
                digest([day_condition(date.min + timedelta(days=1)), *sql]),
            )
        )
    return tuple(traced)


def code_of(sql: str) -> str:
    """The SQL without comments, in lower case."""
    return re.sub(r"--[^\n]*", "", sql).lower()


def digest(parts: Sequence[str]) -> str:
    """One version of several texts or versions."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
