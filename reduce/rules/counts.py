"""How many rows each rule of validation looked at, and how many break it: a line for each rule.

DuckDB computes the counts; only these leave the database. What the layouts say of one table is
looked at in one pass over it. The SQL of a rule yields a line for everything that is looked at:
system, interval_end, object, value, least and most. A line breaks the rule where the value is less
than `least` or more than `most`; a bound that is NULL is none, and a line whose value is NULL has
not been looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...schemas.layout import Layout
from ...schemas.registry import record_of, tables
from ...store.scope import Scope
from ...store.views.interval import counter_names
from .layout_checks import DeltaCheck, TableCheck, counted, movement_of, screen_of
from .rule import Rule

BAD = "value < least OR value > most"


class Status(StrEnum):
    """What became of a rule."""

    FAILED = "failed"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one rule.

    Attributes:
        checked: rows or figures that were looked at. bad: those that break the rule.
        reason: why there was nothing to look at; empty if there was.
    """

    rule: Rule
    checked: int
    bad: int
    reason: str = ""

    @property
    def status(self) -> Status:
        """What became of it: nothing looked at is not passed."""
        if self.reason:
            return Status.NOT_APPLICABLE
        return Status.FAILED if self.bad else Status.PASSED

    def row(self) -> dict[str, Any]:
        """As a line of a table."""
        return {
            "rule": self.rule.id,
            "severity": str(self.rule.severity),
            "status": str(self.status),
            "checked": self.checked,
            "bad": self.bad,
            "title": self.rule.title,
            "reason": self.reason or None,
        }


def count(
    con: duckdb.DuckDBPyConnection,
    rules: Iterable[Rule],
    scope: Scope,
    landed: Collection[str],
) -> list[Outcome]:
    """The counts of some rules, in their order.

    Args:
        con: a connection to the catalogue.
        landed: tables that have rows in the store.

    Raises:
        CpmonError: the SQL of a rule fails.
    """
    ordered = list(rules)
    available = [rule for rule in ordered if set(rule.needs).issubset(landed)]
    found: list[Outcome] = []
    for kind, counts_of in ((TableCheck, _of_table), (DeltaCheck, _of_deltas)):
        same_kind = [rule for rule in available if isinstance(rule.check, kind)]
        for _, of_table in itertools.groupby(same_kind, key=lambda rule: rule.needs):
            found += counts_of(con, list(of_table), scope)
    found += [_of_sql(con, rule, scope) for rule in available if rule.check is None]
    outcomes = {outcome.rule.id: outcome for outcome in found}
    return [
        outcomes.get(rule.id) or Outcome(rule, 0, 0, _missing(rule, landed)) for rule in ordered
    ]


def offending(
    con: duckdb.DuckDBPyConnection, rule: Rule, landed: Collection[str], scope: Scope
) -> pa.Table:
    """The rows of a scope that break a rule.

    Raises:
        CpmonError: the records that it needs have not landed, or its SQL fails.
    """
    missing = sorted(set(rule.needs).difference(landed))
    if missing:
        raise CpmonError(
            f"rule {rule.id} has nothing to look at",
            expected=f"records {', '.join(name.upper() for name in rule.needs)}",
            found=f"none of {', '.join(name.upper() for name in missing)}",
        )
    return rule.query(con, rows_sql(rule, scope, rule.guarded_sql(con)))


def rows_sql(rule: Rule, scope: Scope, select: str | None = None) -> str:
    """SELECT of the rows of a scope that break a rule; lines of SQL by time.

    Args:
        select: runs for the SQL of the rule.
    """
    if rule.check is not None:
        return rule.check.rows(scope)
    figures = ", ".join(f"CAST({n} AS DOUBLE) AS {n}" for n in ("value", "least", "most"))
    return (
        f"SELECT system, interval_end, object, {figures}\nFROM (\n{select or rule.sql}\n)\n"
        f"WHERE {scope.condition()}\n  AND ({BAD})\n"
        "ORDER BY system, interval_end, object"
    )


def _of_table(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[Outcome]:
    """The counts of rules about the rows of one table."""
    checks = [rule.check for rule in rules if isinstance(rule.check, TableCheck)]
    figures = ", ".join(f"{check.checked}, {check.screen}" for check in checks)
    where = scope.condition(checks[0].time)
    row = _counts(con, rules[0], f"SELECT {figures} FROM {checks[0].table} WHERE {where}")
    for rule, check, checked, screen in zip(rules, checks, row[::2], row[1::2], strict=True):
        exact = check.exact or not screen
        rows = f"SELECT count(*) FROM (\n{check.rows(scope)}\n)"
        bad = screen if exact else _counts(con, rule, rows)[0]
        yield Outcome(rule, checked, bad, "" if checked else "no row of it is in this span")


def _of_deltas(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[Outcome]:
    """The counts of rules about the deltas of one table."""
    checks = [rule.check for rule in rules if isinstance(rule.check, DeltaCheck)]
    layout = checks[0].layout
    still, sound = undoubted(con, rules[0], layout, scope)
    if sound is None:
        checked, *bad = _counts(con, rules[0], counted(layout, still, checks, scope))
    else:
        checked, bad = sound, [0] * len(checks)
    reason = "" if checked else "no interval follows another directly in this span"
    for rule, number in zip(rules, bad, strict=True):
        yield Outcome(rule, checked, number, reason)


def undoubted(
    con: duckdb.DuckDBPyConnection, rule: Rule, layout: Layout, scope: Scope
) -> tuple[set[str], int | None]:
    """The counters of a table that do not move; and how many deltas it has if all are known.

    Args:
        rule: about them.

    Returns:
        None for the number where some are not known, or where it would cost too much to tell.
    """
    rows, *moves = _counts(con, rule, movement_of(layout))
    still = {c for c, moved in zip(counter_names(layout), moves, strict=True) if not moved}
    screen = screen_of(layout, still, rows, scope)
    sound, checked = _counts(con, rule, screen) if screen else (False, 0)
    return still, checked if sound else None


def _of_sql(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> Outcome:
    """The count of a rule by SQL."""
    figures = f"count(value), count(*) FILTER (WHERE {BAD})"
    lines = f"(\n{rule.guarded_sql(con)}\n) WHERE {scope.condition()}"
    checked, bad = _counts(con, rule, f"SELECT {figures} FROM {lines}")
    return Outcome(rule, checked, bad, "" if checked else "no figure of it is known in this span")


def _counts(con: duckdb.DuckDBPyConnection, rule: Rule, sql: str) -> list[int]:
    """The only row of a query."""
    return [column[0].as_py() for column in rule.query(con, sql).columns]


def _missing(rule: Rule, landed: Collection[str]) -> str:
    """Which records are not there."""
    layouts = tables()
    records = {record_of(layouts[t]) for t in rule.needs if t not in landed and t in layouts}
    named = sorted(f"{r.name.upper()} ({r.domain}.{r.record})" for r in records)
    return f"no record {' and '.join(named)} has landed"
