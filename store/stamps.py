"""What a kept result was made from, as a stamp: it changes with anything that could change it."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..schemas.registry import fingerprint
from .classes import classes_text
from .companions import TABLES
from .days import Held, days_of
from .store import Store

if TYPE_CHECKING:
    from .catalogue import View

BY_TIME = {"system", "interval_end", "seconds"}
"""A reduction with these columns has rows of intervals: it is kept day by day."""
_OF_RUNS = {"meta.run", *(f"meta.{kind}" for kind in TABLES)}
_LINE_BY_LINE = re.compile(r"select (?:(?!\b(?:from|over|distinct)\b).)+\nfrom (_\w+)", re.DOTALL)
_CODE = ("views.py", "meta.py", "lateness.py", "sql/deltas.sql")


@dataclass(frozen=True, slots=True)
class Basis:
    """The SQL that a reduction rests on, itself included.

    Attributes:
        by_time: each of its days rests on the dumps that begin up to that day, and on no run.
        of_runs: it reads runs, and of samples those of runs.
        public: readers may know it.
        kept: the reduction whose rows are kept: itself, or a private one by time that it shows
            line by line, so that rates of rows at hand need no room.
        names: of all reductions that it reads, and its own; in the order of the views.
        sql: their texts.
    """

    name: str
    by_time: bool
    of_runs: bool
    public: bool
    kept: str
    names: tuple[str, ...]
    sql: tuple[str, ...]

    def tables(self) -> set[str]:
        """The relations of other schemas that it reads: {"interval.useact", ...}."""
        return {word for sql in self.sql for word in _words(sql) if "." in word}


def bases(views: Sequence[View]) -> list[Basis]:
    """What each reduction rests on."""
    said = tuple((v.name, v.sql, v.select, frozenset(c.name for c in v.columns)) for v in views)
    return list(_bases(said))


def definition(store: Store, basis: Basis) -> str:
    """Changes with the layouts, the code, the SQL of a reduction, and classes of users in it."""
    said = [fingerprint(), _code(), *basis.sql]
    if "meta.user_class" in basis.tables():
        said.append(classes_text(store))
    return _digest(said)


def whole(store: Store, basis: Basis, dumps: Sequence[Held]) -> str:
    """The stamp of a result that rests on all dumps and runs."""
    said = [definition(store, basis), *(one.dump for one in dumps)]
    said += [run.read_text(encoding="utf-8") for run in sorted(store.runs.glob("*.json"))]
    return _digest(said)


def basis_of(dumps: Sequence[Held], first: date, last: date) -> list[Held]:
    """The dumps of a system that its intervals of some days rest on.

    Those from the last day before them on which configuration was written: what was so before it
    holds no longer. Where nothing says how long an interval should be, the usual length is that
    of all.

    Args:
        dumps: of the system, by begin.
    """
    if not is_anchored(dumps):
        return list(dumps)
    known = [one for one in dumps if one.begins <= last]
    before = (one.begins for one in reversed(known) if one.begins < first and _is_configured(one))
    since = next(before, date.min)
    return [one for one in known if max(one.begins, *one.days) >= since]


def is_anchored(dumps: Sequence[Held]) -> bool:
    """Whether the first interval of all says how long it should be, so that one before each does.

    Args:
        dumps: of one system.
    """
    if all(one.nominal for one in dumps):
        return True
    first = min(day for one in dumps for day in one.days)
    return _is_told_first(tuple(one.folder for one in dumps if first in one.days))


@functools.lru_cache(maxsize=64)
def _is_told_first(folders: tuple[Path, ...]) -> bool:
    """Whether the first interval of some dumps, whose content never changes, says its length."""
    files = [folder / "interval.parquet" for folder in folders]
    rows = pa.concat_tables(pq.ParquetFile(f).read(["interval_end", "nominal_s"]) for f in files)
    ends = rows.column("interval_end")
    of_first = rows.filter(pc.equal(ends, pc.min(ends))).column("nominal_s")
    return bool(of_first.null_count < len(of_first))


def _is_configured(one: Held) -> bool:
    return one.nominal and (one.folder / "mtrsys.parquet").exists()


def days_stamps(dumps: Sequence[Held]) -> dict[date, str]:
    """Day -> stamp of the dumps of one system that it rests on.

    Args:
        dumps: of the system, by begin.
    """
    if not is_anchored(dumps):
        of_all = _digest([one.dump for one in dumps])
        return dict.fromkeys(days_of(dumps), of_all)
    found, grown, rest = {}, hashlib.blake2b(digest_size=8), list(dumps)
    for day in days_of(dumps):
        while rest and rest[0].begins <= day:
            grown.update(f"{rest.pop(0).dump}\0".encode())
        found[day] = grown.hexdigest()
    return found


def joined(*stamps: str) -> str:
    """One stamp of several."""
    return _digest(stamps)


@functools.lru_cache(maxsize=8)
def _bases(views: tuple[tuple[str, str, str, frozenset[str]], ...]) -> tuple[Basis, ...]:
    texts = {name: sql for name, sql, _, _ in views}
    columns_of = {name: columns for name, _, _, columns in views}
    reads = {name: (_words(sql) & texts.keys()) - {name} for name, sql in texts.items()}
    found = []
    for name, _, select, columns in views:
        below, rest = {name}, [name]
        while rest:
            rest += (more := reads[rest.pop()] - below)
            below |= more
        names = tuple(known for known in texts if known in below)
        sql = tuple(texts[known] for known in names)
        of_runs = any(_words(text) & _OF_RUNS for text in sql)
        by_time = columns >= BY_TIME and not of_runs
        below_it = _LINE_BY_LINE.fullmatch(code_of(select).strip())
        kept = below_it[1] if by_time and below_it and columns_of[below_it[1]] >= BY_TIME else name
        found.append(Basis(name, by_time, of_runs, not name.startswith("_"), kept, names, sql))
    return tuple(found)


def code_of(sql: str) -> str:
    """The SQL without comments, in lower case."""
    return re.sub(r"--[^\n]*", "", sql).lower()


def _words(sql: str) -> set[str]:
    """Names, with schema where they have one; of the code alone, without comments."""
    return set(re.findall(r"[a-z_]\w*(?:\.[a-z_]\w*)?", code_of(sql)))


@functools.cache
def _code() -> str:
    own = files(__package__)
    return "".join((own / file).read_text(encoding="utf-8") for file in _CODE)


def _digest(said: Sequence[str]) -> str:
    return hashlib.blake2b("\0".join(said).encode(), digest_size=8).hexdigest()
