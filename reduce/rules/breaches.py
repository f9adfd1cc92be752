"""What breaks the rules of validation that `cpmon check` applies, each kind at its first place.

These are the rules with a finding, and those about deltas, whose rows say themselves what is wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from ...core.sql import name, text
from ...schemas.arrow import owner_keys
from ...schemas.layout import Layout
from ...schemas.owners import owner_of
from ...store.catalogue.connection import run_restricted
from ...store.scope import ALL
from ...store.views.interval import WRAPPED, doubts_of
from .counts import rows_sql, undoubted
from .layout_checks import DeltaCheck, TableCheck
from .rule import Rule

CAUSES = {
    "appeared": "SAMPLE_MISSING",
    "missing": "SAMPLE_MISSING",
    "new": "OWNER_RESTARTED",
    "restart": "OWNER_RESTARTED",
    "stale": "BLOCK_STALE",
}
"""Why a row has no deltas -> the finding. Of a row that has some, a counter is in doubt."""
EFFECTS = {
    "SAMPLE_MISSING": "no delta; sums over all objects of this kind are blank",
    "OWNER_RESTARTED": "no delta across the restart",
    "BLOCK_STALE": "no delta",
    "COUNTER_FELL": "no delta of this counter",
    "WRAPPED_TWICE": "the delta is a lower bound",
}
FROM_ZERO = "the delta is what the new one has used since it began"
"""The effect of a restart where counters begin at 0."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One kind of thing that breaks a rule.

    Attributes:
        finding: code of `cpmon check`.
        offset: of the first record that it is about, in the dump.
        detail: of the first. effect: on reports.
        count: how often it was met.
    """

    finding: str
    offset: int
    detail: str
    effect: str
    count: int


def breaches(
    con: duckdb.DuckDBPyConnection, rules: Iterable[Rule], landed: Collection[str]
) -> Iterator[Breach]:
    """What breaks some rules in a store of one dump.

    Args:
        con: a connection to it.
        landed: tables that have rows in it.

    Raises:
        duckdb.Error: the disk refuses what does not fit into memory.
    """
    applying = [rule for rule in rules if set(rule.needs).issubset(landed)]
    deltas = [(r.check.layout, r) for r in applying if isinstance(r.check, DeltaCheck)]
    for layout, of_table in itertools.groupby(deltas, key=lambda pair: pair[0]):
        yield from _of_deltas(con, layout, next(of_table)[1])
    for rule in applying:
        if rule.finding:
            yield from _of_rows(con, rule)


def _of_deltas(con: duckdb.DuckDBPyConnection, layout: Layout, rule: Rule) -> Iterator[Breach]:
    """What is in doubt of the deltas of a table, whatever rule it breaks; `rule` is one of them."""
    still, undoubted_rows = undoubted(con, rule, layout, ALL)
    if undoubted_rows is not None:
        return
    keys = [f"{text(f'{key}=')} || {name(key)}" for key in owner_keys(layout)]
    owner = f"concat_ws(', ', {', '.join(keys)})" if keys else "''"
    rows = _rows(
        con,
        f"""
      WITH doubted AS (
        SELECT cause, record_offset, interval_end, {owner} AS owner,
          unnest(string_split(doubts, ', ')) AS doubt
        FROM ({doubts_of(layout, still)}) WHERE doubts IS NOT NULL)
      SELECT cause, doubt, count(*), min((interval_end, record_offset, owner)) FROM doubted
      GROUP BY cause, doubt ORDER BY cause, doubt""",
    )
    for cause, doubt, count, (end, offset, whose) in rows:
        wrapped = "WRAPPED_TWICE" if doubt.endswith(WRAPPED) else "COUNTER_FELL"
        finding = CAUSES[cause] if cause else wrapped
        restarted = finding == "OWNER_RESTARTED" and owner_of(layout).from_zero
        detail = f"{doubt}: {whose}" if whose else doubt
        place = _place_before(con, layout, end) if offset is None else offset
        yield Breach(finding, place, detail, FROM_ZERO if restarted else EFFECTS[finding], count)


def _of_rows(con: duckdb.DuckDBPyConnection, rule: Rule) -> Iterator[Breach]:
    """The rows that break a rule: those of a table, or lines of SQL."""
    bad = f"({rows_sql(rule, ALL)})"
    if isinstance(rule.check, TableCheck):
        ((count, first),) = _rows(con, f"SELECT count(*), min((record_offset, found)) FROM {bad}")
        if count:
            yield Breach(rule.finding, first[0], f"{rule.needs[0]}: {first[1]}", "", count)
        return
    lines = f"SELECT count(*), min((interval_end, object, value, least, most)) FROM {bad}"
    ((count, line),) = _rows(con, lines)
    if count:
        end, object_, value, least, most = line
        bound = f"at most {most:,.0f}" if value > (most or value) else f"at least {least:,.0f}"
        first_of = f"SELECT min(record_offset) FROM monitor.{name(rule.needs[0])}"
        ((offset,),) = _rows(con, f"{first_of} WHERE interval_end = TIMESTAMP '{end}'")
        detail = f"{rule.id}: {object_}: found {value:,.0f}, {bound}"
        yield Breach(rule.finding, offset, detail, "", count)


def _place_before(con: duckdb.DuckDBPyConnection, layout: Layout, end: datetime) -> int:
    """Where the last record of a table stands before those of an interval: one is missing after."""
    last = f"SELECT max(record_offset) FROM monitor.{name(layout.name)}"
    ((offset,),) = _rows(con, f"{last} WHERE interval_end < TIMESTAMP '{end}'")
    return int(offset)


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return run_restricted(con, sql, lambda: con.execute(sql).fetchall())
