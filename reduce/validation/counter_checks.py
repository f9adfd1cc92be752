"""Counters that run backwards while others of their owner go on.

A counter of 32 bits that fell, with a delta of less than half of its range, has wrapped. Where half
or more of an owner's moving counters fell together, the owner started again, and none is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...schemas.arrow import owner_keys
from ...schemas.field import Field, Role
from ...schemas.layout import Kind, Layout
from ...schemas.registry import record_of
from ...store.views.views import landed_rows, name, text
from .rule import Scope
from .table_checks import object_of

WORD, DOUBLEWORD = 4, 8
"""Bytes of counters that are looked at: narrower ones wrap from sample to sample."""
HALF = 1 << 31
STEADY = "steady_intervals"
"""The table of the connection with `_steady` of a scope, for all tables that are looked at."""


@dataclass(frozen=True, slots=True)
class CounterCheck:
    """No counter of a table runs backwards from one sample to the next.

    Rows find the one before them by a hash of keys and time, which is a third faster than by the
    keys; that these are the same is seen to where a counter fell.
    """

    layout: Layout

    def moved(self, scope: Scope) -> str:
        """SELECT of how many rows have an interval directly before theirs, and which counters move.

        One that has but one value cannot have fallen.
        """
        steady = f"(system, interval_end) IN (SELECT (system, interval_end) FROM {STEADY})"
        figures = [f"min({name(f.name)}) < max({name(f.name)})" for f in counters_of(self.layout)]
        return (
            f"SELECT count(*) FILTER (WHERE {steady}), {', '.join(figures)}"
            f" FROM {landed_rows(self.layout.name)} WHERE {_reach(scope, STEADY)}"
        )

    def screen(self, scope: Scope, counters: Sequence[Field]) -> str:
        """SELECT of the number of rows with less in some counter than before, wrapped or not."""
        table = landed_rows(self.layout.name)
        pairs = _pairs(self.layout, table, scope, counters, f"SELECT * FROM {STEADY}")
        return f"WITH {pairs}\nSELECT count(*) FROM fell"

    def rows(self, scope: Scope) -> str:
        """SELECT of the rows in which a counter is less than before, in the order of the dump."""
        keys, counters = owner_keys(self.layout), counters_of(self.layout)
        table = f"monitor.{name(self.layout.name)}"
        pairs = _pairs(self.layout, table, scope, counters, _steady(scope))
        same = " AND ".join(f"{_before(key)} IS NOT DISTINCT FROM {name(key)}" for key in keys)
        return f"""WITH {pairs},
judged AS MATERIALIZED (
  SELECT *, list_filter([{", ".join(map(_detail, counters))}],
      lambda x: x IS NOT NULL) AS fallen,
    {" + ".join(map(_moved, counters))} AS moved
  FROM fell WHERE {same or "true"})
SELECT DISTINCT system, dump, tod, interval_end, record_offset,
  {object_of(self.layout)} AS object,
  array_to_string(fallen, ', ') AS found
FROM judged
WHERE len(fallen) > 0 AND 2 * len(fallen) < moved
ORDER BY system, dump, record_offset"""


def counters_of(layout: Layout) -> list[Field]:
    """The counters of a table that can be looked at; none of a table of events."""
    if record_of(layout).kind is not Kind.SAMPLE:
        return []
    wide = (WORD, DOUBLEWORD)
    numbers = [f for f in layout.columns if f.is_number and not f.of and f.length in wide]
    return [f for f in numbers if f.is_cumulative]


def create_steady(scope: Scope) -> str:
    """The statement that creates the table that `moved` and `screen` read."""
    return f"CREATE OR REPLACE TEMP TABLE {STEADY} AS {_steady(scope)}"


def _pairs(layout: Layout, table: str, scope: Scope, counters: Sequence[Field], steady: str) -> str:
    """The queries up to `fell`: rows of a table, each with the one before, where some fell."""
    keys = owner_keys(layout)
    shown = [*keys, *(f.name for f in counters)]
    values = "".join(f", {name(n)} AS {_before(n)}" for n in shown)
    return f"""steady AS ({steady}),
now AS (
  SELECT r.*, hash({_place("r.", "s.previous_end", keys)}) AS place
  FROM {table} AS r JOIN steady AS s USING (system, interval_end)),
earlier AS (
  SELECT hash({_place("", "interval_end", keys)}) AS place{values}
  FROM {table}
  WHERE {_reach(scope, "steady")}),
fell AS (
  SELECT n.*, e.* EXCLUDE (place)
  FROM now AS n JOIN earlier AS e ON n.place = e.place
  WHERE {" OR ".join(f"({_less(f)})" for f in counters)})"""


def _before(column: str) -> str:
    return name(f"before_{column}")


def _less(field: Field) -> str:
    """Whether a counter is less than before, wrapped or not."""
    sign = ">" if field.role is Role.COUNTDOWN else "<"
    return f"{name(field.name)} {sign} {_before(field.name)}"


def _detail(field: Field) -> str:
    """What is told of a counter that fell; NULL of others."""
    now, before = name(field.name), _before(field.name)
    wrap = f" AND abs(CAST({now} AS BIGINT) - {before}) <= {HALF}" if field.length == WORD else ""
    detail = f"{text(field.name + ' ')} || {now} || ' after ' || {before}"
    return f"CASE WHEN {_less(field)}{wrap} THEN {detail} END"


def _steady(scope: Scope) -> str:
    """SELECT of intervals with the one directly before: not across a gap or a restart."""
    return (
        "SELECT DISTINCT system, interval_end, previous_end FROM meta.interval"
        f" WHERE previous_end IS NOT NULL AND {scope.condition()}"
    )


def _reach(scope: Scope, steady: str) -> str:
    """The condition on rows that may be the ones before those of a scope."""
    ends = Scope(scope.system, None, scope.until).condition()
    if scope.since is None:
        return ends
    return f"{ends} AND interval_end >= (SELECT min(previous_end) FROM {steady})"


def _place(alias: str, end: str, keys: tuple[str, ...]) -> str:
    return ", ".join([f"{alias}system", end, *(f"{alias}{name(key)}" for key in keys)])


def _moved(field: Field) -> str:
    """1 for a counter that has another value than before, and had one."""
    now, before = name(field.name), _before(field.name)
    return f"CAST(coalesce({before} <> 0 AND {now} <> {before}, false) AS INTEGER)"
