"""The lineage of results: what they are computed from, and versions that change with it."""

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
from ..format.landed_dump import LandedDump, days_of
from ..format.store import Store
from ..measured.classes import classes_text
from ..measured.companions import TABLES
from ..measured.runs import run_names
from ..sql.landed_views import definitions
from ..sql.scope import is_anchored

if TYPE_CHECKING:
    from ..sql.views import View

BY_TIME = {"system", "interval_end", "seconds"}
"""A reduction with these columns has a row per interval: it is materialized by day."""
SINCE_WHEN = "_kept_setting"
"""The private reduction of settings in effect, with the time since when."""
_OF_RUNS = {"meta.run", *(f"meta.{kind}" for kind in TABLES)}
_PROJECTION = re.compile(r"select (?:(?!\b(?:from|over|distinct)\b).)+\nfrom (_\w+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The dependencies of a reduction.

    Attributes:
        by_time: each day depends on the dumps that begin up to that day, and on no run.
        of_runs: it reads runs, and only the samples of runs.
        public: it is shown to users.
        kept: the reduction that is materialized: itself, or a private one by time that it projects
            row by row, so that rates computed from its columns are not stored.
        names: all reductions that it depends on, and itself; in the order of the views.
        reads: relations of other schemas that these read: {"interval.useact", ...}.
        version: digest of all SQL that computes its results: its own and its roll-ups', that of all
            reductions it depends on, of the views over landed tables that they read (deltas
            included), of their macros, and of the rule that assigns an interval to a day.
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
        """Whether it shows since when a setting holds, and so depends on all earlier data."""
        return SINCE_WHEN in self.names


def lineages(views: Sequence[View]) -> list[Lineage]:
    """The lineage of each reduction, cached."""
    return list(_lineages(tuple(views), fingerprint()))


def definition_version(store: Store, lineage: Lineage) -> str:
    """Version of a reduction in a store: of its SQL, the layouts, and any classes that it reads."""
    parts = [fingerprint(), lineage.version]
    if "meta.user_class" in lineage.reads:
        parts.append(classes_text(store))
    return digest(parts)


def definitions_text(store: Store, views: Sequence[View]) -> str:
    """JSON: public reduction -> version of its definition."""
    public = (lineage for lineage in lineages(views) if lineage.public)
    versions = {lineage.name: definition_version(store, lineage) for lineage in public}
    return json.dumps(versions, indent=1, sort_keys=True)


def whole_version(store: Store, lineage: Lineage, dumps: Sequence[LandedDump]) -> str:
    """Version of a result that depends on all dumps and runs."""
    parts = [definition_version(store, lineage), *map(_landing, dumps)]
    parts += [store.files.read(name).decode(errors="replace") for name in run_names(store)]
    return digest(parts)


def _landing(dump: LandedDump) -> str:
    """Version of a landed dump: its name (a digest of its bytes), system and decoding."""
    return f"{dump.system}\0{dump.dump}\0{dump.decoding}"


def day_versions(dumps: Sequence[LandedDump]) -> dict[date, str]:
    """Day -> version of the dumps of one system that it depends on.

    Args:
        dumps: all dumps of the system, by begin.
    """
    versions, hashed, hashed_up_to = {}, hashlib.blake2b(digest_size=8), 0
    # If the first interval has no configured length, each day depends on all dumps.
    begins = [dump.begins for dump in dumps] if is_anchored(dumps) else [date.min] * len(dumps)
    for day in days_of(dumps):
        begun = dumps[hashed_up_to : bisect_right(begins, day)]
        hashed.update("".join(f"{_landing(dump)}\0" for dump in begun).encode())
        hashed_up_to += len(begun)
        versions[day] = hashed.hexdigest()
    return versions


@functools.lru_cache(maxsize=8)
def _lineages(views: tuple[View, ...], layouts: str) -> tuple[Lineage, ...]:
    definition = digest([f"{view.name}\0{view.select}\0{view.rollup}" for view in views])
    return derived("lineages", tuple[Lineage, ...], lambda: _traced(views), layouts, definition)


def _traced(views: tuple[View, ...]) -> tuple[Lineage, ...]:
    by_name = {view.name: view for view in views}
    is_by_time = {view.name: {c.name for c in view.columns} >= BY_TIME for view in views}
    depends: dict[str, frozenset[str]] = {}
    for view in views:  # dependencies come first
        depends[view.name] = frozenset({view.name}.union(*(depends.get(n, ()) for n in view.reads)))
    traced = []
    for view in views:
        names = tuple(name for name in by_name if name in depends[view.name])
        relations = {relation for name in names for relation in by_name[name].reads}
        reads = frozenset(relation for relation in relations if "." in relation)
        of_runs = bool(reads & _OF_RUNS)
        by_time = is_by_time[view.name] and not of_runs
        projection = _PROJECTION.fullmatch(code_of(view.select).strip())
        is_projection = by_time and projection and is_by_time[projection[1]]
        sql = [view.rollup, *(by_name[name].select for name in names), *definitions(reads)]
        traced.append(
            Lineage(
                view.name,
                by_time,
                of_runs,
                not view.name.startswith("_"),
                projection[1] if is_projection and projection else view.name,
                names,
                reads,
                digest([day_condition(date.min + timedelta(days=1)), *sql]),
            )
        )
    return tuple(traced)


def code_of(sql: str) -> str:
    """SQL without comments, in lower case."""
    return re.sub(r"--[^\n]*", "", sql).lower()


def digest(parts: Sequence[str]) -> str:
    """A version from several texts or versions."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
