"""Screens the deltas of a table: whose deltas the rule of `store/sql/interval.py` has to judge.

Most owners are sampled at every interval end, no event is about them, and each of their counters
rises by no more than is possible: none of their deltas is in doubt. A few passes over the columns
show that of all rows at once, while for most tables planning the rule alone takes longer. Every
other owner is suspect, for whatever reason, and the rule decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...core.sql import name, text
from ...schemas.arrow import owner_keys, schema_of, syncs
from ...schemas.field import WIDEST, Field, Role
from ...schemas.layout import Layout
from ...schemas.owners import ELAPSED, Parts, limit_of, owner_of, parts_of
from ...store.connection import run_restricted, table_of
from ...store.sql.clocks import SHIFT_S
from ...store.sql.interval import (
    LATE,
    LATE_S,
    SLACK,
    WORD,
    counter_names,
    most_of_all,
    owner_hash,
)
from ...store.sql.membership import event_columns
from ...store.sql.scope import Scope
from ...store.sql.views import moment, raw_table, readable

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

U64 = npt.NDArray[np.uint64]

CHUNK_BYTES = 32_000_000
"""Rows of so many bytes are screened together: memory does not depend on the size of a table."""
MOST_OWNERS = 1_000
"""If more are suspect, all owners are judged: a query that names them would be too long."""
NONE = -1


@dataclass(frozen=True, slots=True)
class Screened:
    """The result for a table.

    Attributes:
        suspects: hashes of the owners to judge (`owner_hash`); None for all.
        checked: rows of the other owners in the scope that follow a sample.
        still: counters that never change.
    """

    suspects: tuple[int, ...] | None
    checked: int = 0
    still: frozenset[str] = frozenset()


class Screening:
    """Screens tables of one scope; what they share is read once."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, landed: Collection[str], scope: Scope
    ) -> None:
        """`landed`: tables that have rows in the store."""
        self._con, self._landed = con, landed
        self._ends = Ends.in_scope(con, scope)

    def screen(self, layout: Layout) -> Screened:
        """Screen all rows of a table of samples.

        Raises:
            duckdb.Error: they cannot be read.
        """
        if not self._ends.systems:
            return Screened(())
        if not self._ends.are_successive or owner_of(layout).has_parts:
            return Screened(None)
        look, sql = _Look(layout, self._ends), _rows_sql(layout, self._ends)
        size = max(1, CHUNK_BYTES // (8 * (len(look.counters) + 4)))

        def is_in_time() -> bool:
            batches = iter(self._con.sql(sql).to_arrow_reader(size))
            batch = next(batches, None)
            while batch is not None:
                following = next(batches, None)
                if not look.take(batch, is_last=following is None):
                    return False
                batch = following
            return True

        if not run_restricted(self._con, sql, is_in_time):
            return Screened(None)
        return look.result(self._met_by_events(layout))

    def _met_by_events(self, layout: Layout) -> U64:
        """The owners that events are about."""
        conditions = []
        for event in owner_of(layout).events:
            columns = event_columns(event, [*map(name, owner_keys(layout))])
            own, others = (", ".join(["system", *c]) for c in (columns, columns.values()))
            events = f"SELECT {others} FROM monitor.{name(event.table)}"
            conditions += [f"({own}) IN ({events})"] * (event.table in self._landed)
        if not conditions:
            return np.empty(0, np.uint64)
        met = f"SELECT DISTINCT {owner_hash(layout)} AS _owner FROM monitor.{name(layout.name)}"
        rows = table_of(self._con, f"{met} WHERE {' OR '.join(conditions)}")
        return np.asarray(rows.column("_owner").to_numpy(), np.uint64)


def _rows_sql(layout: Layout, ends: Ends) -> str:
    """Query of the rows of a table with all that their deltas depend on."""
    owner, limits = owner_of(layout), {field.name: field.limit for field in layout.columns}
    columns = dict.fromkeys(
        (*owner_keys(layout), *owner.identity, *syncs(layout), *counter_names(layout))
    )
    schema = schema_of(layout.name)
    shown = [readable(schema.field(column), limits.get(column)) for column in columns]
    numbers = " ".join(f"WHEN {text(system)} THEN {n}" for n, system in enumerate(ends.systems))
    place = f"CASE system {numbers} END AS _system, {owner_hash(layout)} AS _owner"
    others = (*owner.identity, *syncs(layout), *counter_names(layout))
    clock, of_clock = _clock(layout)
    return (
        f"SELECT {', '.join([place, *map(name, dict.fromkeys(others))])}, _end_us, _tod_us, _clock"
        f" FROM (SELECT {', '.join(['system', *shown])}, epoch_us(interval_end) AS _end_us,"
        f" tod_us AS _tod_us, {clock} AS _clock"
        f" FROM {raw_table(layout.name)}{of_clock} WHERE interval_end IS NOT NULL)"
        f"{' ORDER BY _end_us' if of_clock else ''}"
    )


def _clock(layout: Layout) -> tuple[str, str]:
    """SQL of the clock of the figures of a row in microseconds, and a join if it is elsewhere."""
    if (clock := owner_of(layout).clock) is None:
        return "tod_us", ""
    table, column = clock
    own = f"epoch_us({moment(schema_of(table).field(column))})"
    if table == layout.name:
        return own, ""
    record = "system, dump, record_offset"
    rows = f"SELECT {record}, {own} AS _own FROM {raw_table(table)}"
    return "_own", f" LEFT JOIN ({rows}) AS c USING ({record})"


@dataclass(frozen=True, slots=True)
class Ends:
    """The interval ends of all systems, by system and time.

    Attributes:
        systems: name -> its part of the arrays. end_us: (ends,) microseconds since 1970.
        previous, following: (ends,) number of the end before and of the one behind, NONE if there
            are no deltas between the two.
        is_judged: (ends,) whether it is in the scope and has deltas.
        are_successive: whether no end is there twice, or before two others.
    """

    systems: dict[str, slice]
    end_us: I64
    previous: I64
    following: I64
    is_judged: Mask
    are_successive: bool

    @classmethod
    def in_scope(cls, con: duckdb.DuckDBPyConnection, scope: Scope) -> Ends:
        """The ends that a connection shows, those of a scope to be judged."""
        rows = table_of(
            con,
            "SELECT DISTINCT system, epoch_us(interval_end) AS end_us,"
            f" epoch_us(previous_end) AS previous_us, {scope.condition()} AS is_inside"
            " FROM meta.interval WHERE interval_end IS NOT NULL ORDER BY system, end_us",
        )
        names = rows.column("system").to_numpy().astype(str)
        end_us, before = rows.column("end_us").to_numpy(), rows.column("previous_us")
        has, before_us = before.is_valid().to_numpy(), before.fill_null(0).to_numpy()
        first = np.flatnonzero(np.append(True, names[1:] != names[:-1])[: len(names)])
        parts = map(slice, first.tolist(), [*first[1:].tolist(), len(names)])
        systems = {str(names[part.start]): part for part in parts}
        previous, following = np.full(len(names), NONE), np.full(len(names), NONE)
        for part in systems.values():
            previous[part] = part.start + np.searchsorted(end_us[part], before_us[part])
        previous[~has] = NONE
        following[previous[has]] = np.flatnonzero(has)
        twice = (names[1:] == names[:-1]) & (end_us[1:] == end_us[:-1])
        are_successive = not twice.any() and len(np.unique(previous[has])) == has.sum()
        is_judged = has & rows.column("is_inside").to_numpy().astype(bool)
        return cls(systems, end_us, previous, following, is_judged, bool(are_successive))

    def numbers(self, rows: pa.Table) -> I64:
        """(rows,) number of the interval end of each row, NONE if it is no end."""
        row_us, system = rows.column("_end_us").to_numpy(), rows.column("_system")
        systems = system.fill_null(NONE).to_numpy()
        is_other = (row_us[1:] != row_us[:-1]) | (systems[1:] != systems[:-1])
        first = np.flatnonzero(np.append(True, is_other)[: len(rows)])
        numbers, first_us = np.full(len(first), NONE), row_us[first]
        for n, part in enumerate(self.systems.values()):
            end_us = self.end_us[part]
            at = np.searchsorted(end_us, first_us).clip(max=len(end_us) - 1)
            found = (systems[first] == n) & (end_us[at] == first_us)
            numbers[found] = at[found] + part.start
        return np.repeat(numbers, np.diff(first, append=len(rows)))


class _Look:
    """Looks at the rows of a table, batch by batch, in the order of their intervals.

    Rows of the last complete interval are looked at again with those of the next batch.
    """

    def __init__(self, layout: Layout, ends: Ends) -> None:
        counted = set(counter_names(layout))
        self.layout, self.ends = layout, ends
        self.counters = [field for field in layout.columns if field.name in counted]
        self._held: pa.Table | None = None
        """Rows of the last complete interval, and of the one that may go on."""
        self._seen = NONE
        """Number of the end of the last complete interval."""
        self._owners: list[tuple[U64, I64, Mask]] = []
        """Those of each batch: hashes, rows to count as checked, and whether they are suspect."""
        self._moving: set[str] = set()

    def take(self, batch: pa.RecordBatch, *, is_last: bool) -> bool:
        """Look at a batch; False if some rows are of an interval that was complete."""
        rows, held = pa.Table.from_batches([batch]), 0
        if self._held is not None:
            held = len(self._held)
            rows = pa.concat_tables([self._held, rows])
        end = self.ends.numbers(rows)
        if (end == NONE).any():  # it has no deltas
            rows, end = rows.filter(pa.array(end != NONE)), end[end != NONE]
        if (end[held:] <= self._seen).any():
            return False
        if is_last:
            self._judge(rows, end, is_last=True)
            return True
        complete = end < end.max(initial=NONE)
        if (end[complete] > self._seen).any():
            self._judge(rows.filter(pa.array(complete)), end[complete], is_last=False)
            self._seen = int(end[complete].max())
            rows = rows.filter(pa.array(end >= self._seen))
        self._held = rows
        return True

    def result(self, met: U64) -> Screened:
        """The result for all rows. `met`: owners that are suspect anyway."""
        still = frozenset(field.name for field in self.counters) - self._moving
        if not self._owners:
            return Screened((), 0, still)
        hashes, rows, suspect = (np.concatenate(part) for part in zip(*self._owners, strict=True))
        judged = np.union1d(hashes[suspect], met)
        checked = int(rows[~np.isin(hashes, judged)].sum())
        if len(judged) > MOST_OWNERS:
            return Screened(None, 0, still)
        return Screened(tuple(judged.tolist()), checked, still)

    def _judge(self, rows: pa.Table, end: I64, *, is_last: bool) -> None:
        """Look at complete intervals; those up to `_seen` only for what follows them."""
        if not len(rows):
            return
        if (end[1:] < end[:-1]).any():
            in_time = np.argsort(end, kind="stable")
            rows, end = rows.take(pa.array(in_time)), end[in_time]
        codes = _codes(rows, "_owner")
        order = np.argsort(codes, kind="stable")
        is_other = codes[order[1:]] != codes[order[:-1]]
        first, last = order[np.append(True, is_other)], order[np.append(is_other, True)]
        before, now = order[:-1][~is_other], order[1:][~is_other]
        follows = self.ends.previous[end[now]] == end[before]
        lone = np.concatenate([first, now[~follows]])  # without a sample directly before
        ending = np.concatenate([last, before[~follows]])  # without one directly behind
        if not is_last:
            ending = ending[end[ending] < end.max()]
        following, is_new = self.ends.following[end[ending]], end > self._seen
        suspect = np.zeros(len(first), bool)
        for doubtful in (
            lone[is_new[lone] & self.ends.is_judged[end[lone]]],
            ending[following != NONE],  # and missing from then on, also in the scope
            now[end[now] == end[before]],
            self._torn(rows),
            self._unsteady(rows, before[follows], now[follows]),
        ):
            suspect[codes[doubtful]] = True
        counted = np.bincount(codes[is_new & self.ends.is_judged[end]], minlength=len(first))
        self._owners.append((rows.column("_owner").to_numpy()[first], counted, suspect))

    def _torn(self, rows: pa.Table) -> I64:
        """The rows whose block was being written when it was sampled."""
        if not (counts := syncs(self.layout)):
            return np.empty(0, np.int64)
        first, second = (rows.column(count).fill_null(NONE).to_numpy() for count in counts)
        torn: I64 = np.flatnonzero(first != second)
        return torn

    def _unsteady(self, rows: pa.Table, before: I64, now: I64) -> I64:
        """The rows that are not of the owner of their previous ones, or rose by too much, or fell.

        Where a guest's clock and that of CP count other times, the rule says whether it was set.

        `before`, `now`: (pairs,) successive rows.
        """
        clock = rows.column("_clock")
        clock_us = clock.fill_null(0).to_numpy()
        seconds = (clock_us[now] - clock_us[before]) / 1e6
        bad = ~(seconds > 0)
        if clock.null_count:
            null = clock.is_null().to_numpy()
            bad |= null[now] | null[before]
        if owner_of(self.layout).clock:
            tod_us = rows.column("_tod_us").to_numpy()
            sampled = (tod_us[now] - tod_us[before]) / 1e6
            bad |= abs(sampled - seconds) > np.minimum(sampled, float(SHIFT_S))
        for identity in owner_of(self.layout).identity:
            of_owner = _codes(rows, identity)
            bad |= of_owner[now] != of_owner[before]
        deltas: dict[str, I64] = {}
        for field in self.counters:
            column = rows.column(field.name)
            values = column.fill_null(0).to_numpy().astype(np.int64, copy=False)
            if values.min() == values.max():
                continue
            self._moving.add(field.name)
            if column.null_count:  # of records that are shorter, or have an impossible value
                null = column.is_null().to_numpy()
                bad |= null[now] | null[before]
            delta = deltas[field.name] = values[now] - values[before]
            if field.role is Role.COUNTDOWN:
                np.negative(delta, out=delta)
        for field in self.counters:
            if field.name in deltas:
                bad |= self._strange(field, deltas, seconds)
        for part in parts_of(self.layout):
            bad |= self._exceeds(part, deltas, seconds)
        unsteady: I64 = now[bad]
        return unsteady

    def _strange(self, field: Field, deltas: dict[str, I64], seconds: F64) -> Mask:
        """(pairs,) whether a counter fell, rose by too much, or may have wrapped more than once.

        Adds back what a wrap took from its delta.
        """
        limit, delta = limit_of(self.layout, field), deltas[field.name]
        most: F64 | int = most_of_all(field)
        if limit.per_second is not None:
            most = limit.per_second * (seconds * LATE + LATE_S)
        if field.length == WIDEST:
            return (delta < 0) | (delta > most)
        modulus = 1 << 8 * field.length
        wrapped = delta < 0
        delta[wrapped] += modulus
        if field.length < WORD:
            wrapped |= delta >= modulus // 2
        wrapped &= most >= modulus
        if limit.twin in deltas:
            wrapped &= ~(deltas[limit.twin] > 0)
        return wrapped | (delta < 0) | (delta > most)

    def _exceeds(self, part: Parts, deltas: dict[str, I64], seconds: F64) -> Mask:
        """(pairs,) whether parts are more than their whole."""
        names = {field.name for field in self.counters} | {ELAPSED}
        if not names.issuperset({*part.parts, *part.whole}):
            return np.zeros(len(seconds), bool)

        def total(fields: Sequence[str]) -> F64:
            amount = np.zeros(len(seconds))
            for field in fields:
                amount += seconds * part.second if field == ELAPSED else deltas.get(field, 0)
            return amount

        return total(part.parts) > float(SLACK) * total(part.whole) + part.spare


def _codes(rows: pa.Table, column: str) -> npt.NDArray[Any]:
    """(rows,) numbers from 0 on; those of rows with equal values in a column are equal."""
    values = rows.column(column).combine_chunks().dictionary_encode("encode")
    codes: npt.NDArray[Any] = values.indices.to_numpy()
    # Numbers of 16 bits are sorted by their digits, ten times as fast.
    return codes.astype(np.uint16) if len(values.dictionary) < 1 << 16 else codes
