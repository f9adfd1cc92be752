"""Validation: counts the rows that break the rules, and locates the first ones for `cpmon check`.

DuckDB computes the counts; only these leave the database. All checks of one table are computed in
one pass over it. The SQL of a rule returns one row for each checked item: system, interval_end,
object, value, least and most. A row breaks the rule if its value is less than `least` or more than
`most`; a NULL bound is no limit, and a row with a NULL value is not checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import duckdb
import pyarrow as pa

from ...config import Settings
from ...core.errors import CpmonError
from ...core.sql import name, text
from ...schemas.arrow import owner_keys
from ...schemas.layout import Layout
from ...schemas.owners import owner_of
from ...schemas.registry import record_of, tables
from ...store import Store, connect
from ...store.connection import run_restricted
from ...store.sql.interval import WRAPPED, doubts_of
from ...store.sql.scope import ALL, Scope
from ..reductions.reductions import reductions
from .coverage import Coverage, coverage
from .layout_checks import DeltaCheck, TableCheck
from .rule import Purpose, Rule, Severity, load_rules, worst
from .screening import Screening

BAD = "value < least OR value > most"


class Status(StrEnum):
    """Result status of a rule."""

    FAILED = "failed"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The numbers of rows or values checked, and of those that violate a rule.

    `reason`: why nothing was checked; empty otherwise.
    """

    rule: Rule
    checked: int
    bad: int
    reason: str = ""

    @property
    def status(self) -> Status:
        """Its status; a rule that checked nothing has not passed."""
        if self.reason:
            return Status.NOT_APPLICABLE
        return Status.FAILED if self.bad else Status.PASSED

    def row(self) -> dict[str, Any]:
        """The row of the result table."""
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
    con: duckdb.DuckDBPyConnection, rules: Iterable[Rule], scope: Scope, landed: Collection[str]
) -> list[RuleResult]:
    """The counts of some rules, in their order; `landed`: tables that have rows in the store.

    Raises:
        CpmonError: the SQL of a rule fails.
    """
    ordered = list(rules)
    available = [rule for rule in ordered if set(rule.needs).issubset(landed)]
    found: list[RuleResult] = []
    of_rows = [rule for rule in available if isinstance(rule.check, TableCheck)]
    for _, of_table in itertools.groupby(of_rows, key=lambda rule: rule.needs):
        found += _of_table(con, list(of_table), scope)
    of_deltas = [rule for rule in available if isinstance(rule.check, DeltaCheck)]
    screening = Screening(con, landed, scope)
    for _, of_table in itertools.groupby(of_deltas, key=lambda rule: rule.needs):
        found += _of_deltas(con, list(of_table), scope, screening)
    found += [_of_sql(con, rule, scope) for rule in available if rule.check is None]
    outcomes, layouts = {outcome.rule.id: outcome for outcome in found}, tables()
    for rule in ordered:
        if rule.id not in outcomes:
            absent = [table for table in rule.needs if table not in landed and table in layouts]
            records = {record_of(layouts[table]) for table in absent}
            named = sorted(f"{r.name.upper()} ({r.domain}.{r.record})" for r in records)
            reason = f"no record {' and '.join(named)} has landed"
            outcomes[rule.id] = RuleResult(rule, 0, 0, reason)
    return [outcomes[rule.id] for rule in ordered]


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
            f"rule {rule.id} has nothing to check",
            expected=f"records {', '.join(name.upper() for name in rule.needs)}",
            found=f"none of {', '.join(name.upper() for name in missing)}",
        )
    return rule.query(con, rows_sql(con, rule, scope))


def rows_sql(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> str:
    """SELECT of the rows of a scope that break a rule, by time for SQL.

    Raises:
        CpmonError: SQL of a site is not a single read-only query.
    """
    if rule.check is not None:
        return rule.check.rows(scope)
    figures = ", ".join(f"CAST({n} AS DOUBLE) AS {n}" for n in ("value", "least", "most"))
    return (
        f"SELECT system, interval_end, object, {figures}\nFROM (\n{rule.guarded_sql(con)}\n)\n"
        f"WHERE {scope.condition()}\n  AND ({BAD})\n"
        "ORDER BY system, interval_end, object"
    )


def _of_table(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[RuleResult]:
    checks = [rule.check for rule in rules if isinstance(rule.check, TableCheck)]
    figures = ", ".join(f"{check.checked}, {check.screen}" for check in checks)
    where = scope.condition(checks[0].time)
    row = _counts(con, rules[0], f"SELECT {figures} FROM {checks[0].table} WHERE {where}")
    for rule, check, checked, screen in zip(rules, checks, row[::2], row[1::2], strict=True):
        exact = check.exact or not screen
        rows = f"SELECT count(*) FROM (\n{check.rows(scope)}\n)"
        bad = screen if exact else _counts(con, rule, rows)[0]
        yield RuleResult(rule, checked, bad, "" if checked else "no row of it is in this span")


def _of_deltas(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope, screening: Screening
) -> Iterator[RuleResult]:
    checks = [rule.check for rule in rules if isinstance(rule.check, DeltaCheck)]
    layout, bad = checks[0].layout, [0] * len(checks)
    with rules[0].evaluated():
        screened = screening.screen(layout)
    checked = screened.checked
    if screened.suspects != ():
        figures = ["count(*) FILTER (WHERE cause IS DISTINCT FROM 'first')"]
        figures += [f"count({check.found})" for check in checks]
        rows = f"(\n{doubts_of(layout, screened.still, screened.suspects)}\n)"
        sql = f"SELECT {', '.join(figures)} FROM {rows} WHERE {scope.condition()}"
        others, *bad = _counts(con, rules[0], sql)
        checked += others
    reason = "" if checked else "no interval follows another directly in this span"
    for rule, number in zip(rules, bad, strict=True):
        yield RuleResult(rule, checked, number, reason)


def _of_sql(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> RuleResult:
    figures = f"count(value), count(*) FILTER (WHERE {BAD})"
    lines = f"(\n{rule.guarded_sql(con)}\n) WHERE {scope.condition()}"
    checked, bad = _counts(con, rule, f"SELECT {figures} FROM {lines}")
    return RuleResult(
        rule, checked, bad, "" if checked else "no figure of it is known in this span"
    )


def _counts(con: duckdb.DuckDBPyConnection, rule: Rule, sql: str) -> list[int]:
    """The only row of a query."""
    return [column[0].as_py() for column in rule.query(con, sql).columns]


CAUSES = {
    "appeared": "SAMPLE_MISSING",
    "missing": "SAMPLE_MISSING",
    "new": "OWNER_RESTARTED",
    "restart": "OWNER_RESTARTED",
    "stale": "BLOCK_STALE",
    "clock": "BLOCK_CLOCK_SET",
    "unmeasured": "OWNER_ENDED",
    "ended": "OWNER_ENDED",
}
"""Why a row has no deltas -> the finding; a row with deltas may have a counter in doubt."""
EFFECTS = {
    "SAMPLE_MISSING": "no delta; sums over all objects of this kind are blank",
    "OWNER_RESTARTED": "no delta across the restart",
    "BLOCK_STALE": "no delta",
    "BLOCK_CLOCK_SET": "no delta",
    "OWNER_ENDED": "no delta; sums over all objects of this kind are blank",
    "COUNTER_FELL": "no delta of this counter",
    "WRAPPED_TWICE": "the delta is a lower bound",
}
FROM_ZERO = "the delta is what the new one has used since it began"
"""The effect of a restart where counters begin at 0."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A kind of violation of a rule.

    Attributes:
        finding: code of `cpmon check`.
        offset: of the first record concerned, in the dump.
        detail: description of the first one. effect: on reports. count: of occurrences.
    """

    finding: str
    offset: int
    detail: str
    effect: str
    count: int


def breaches(
    con: duckdb.DuckDBPyConnection, rules: Iterable[Rule], landed: Collection[str]
) -> Iterator[Breach]:
    """The violations of some rules in a store with one dump; `landed`: tables that have rows."""
    applying = [rule for rule in rules if set(rule.needs).issubset(landed)]
    screening = Screening(con, landed, ALL)
    deltas = (rule.check.layout for rule in applying if isinstance(rule.check, DeltaCheck))
    for layout in dict.fromkeys(deltas):
        yield from _breaches_of_deltas(con, layout, screening)
    for rule in applying:
        if rule.finding:
            yield from _breaches_of_rows(con, rule)


def _breaches_of_deltas(
    con: duckdb.DuckDBPyConnection, layout: Layout, screening: Screening
) -> Iterator[Breach]:
    """The doubtful deltas of a table, for all of its rules."""
    screened = screening.screen(layout)
    if screened.suspects == ():
        return
    keys = [f"{text(f'{key}=')} || {name(key)}" for key in owner_keys(layout)]
    owner = f"concat_ws(', ', {', '.join(keys)})" if keys else "''"
    rows = _fetched(
        con,
        f"""
      WITH doubted AS (
        SELECT cause, record_offset, interval_end, {owner} AS owner,
          unnest(string_split(doubts, ', ')) AS doubt
        FROM ({doubts_of(layout, screened.still, screened.suspects)})
        WHERE doubts IS NOT NULL)
      SELECT cause, doubt, count(*), min((interval_end, record_offset, owner)) FROM doubted
      GROUP BY cause, doubt ORDER BY cause, doubt""",
    )
    for cause, doubt, count, (end, offset, whose) in rows:
        wrapped = "WRAPPED_TWICE" if doubt.endswith(WRAPPED) else "COUNTER_FELL"
        finding = CAUSES[cause] if cause else wrapped
        restarted = finding == "OWNER_RESTARTED" and owner_of(layout).from_zero
        detail = f"{doubt}: {whose}" if whose else doubt
        place = offset
        if place is None:  # the last record before the interval: one is missing after it
            last = f"SELECT max(record_offset) FROM monitor.{name(layout.name)}"
            ((place,),) = _fetched(con, f"{last} WHERE interval_end < TIMESTAMP '{end}'")
        yield Breach(finding, place, detail, FROM_ZERO if restarted else EFFECTS[finding], count)


def _breaches_of_rows(con: duckdb.DuckDBPyConnection, rule: Rule) -> Iterator[Breach]:
    """The rows that violate a rule, of a table or of its SQL."""
    bad = f"({rows_sql(con, rule, ALL)})"
    if isinstance(rule.check, TableCheck):
        ((count, first),) = _fetched(
            con, f"SELECT count(*), min((record_offset, found)) FROM {bad}"
        )
        if count:
            yield Breach(rule.finding, first[0], f"{rule.needs[0]}: {first[1]}", "", count)
        return
    lines = f"SELECT count(*), min((interval_end, object, value, least, most)) FROM {bad}"
    ((count, line),) = _fetched(con, lines)
    if count:
        end, object_, value, least, most = line
        bound = f"at most {most:,.0f}" if value > (most or value) else f"at least {least:,.0f}"
        first_of = f"SELECT min(record_offset) FROM monitor.{name(rule.needs[0])}"
        ((offset,),) = _fetched(con, f"{first_of} WHERE interval_end = TIMESTAMP '{end}'")
        detail = f"{rule.id}: {object_}: found {value:,.0f}, {bound}"
        yield Breach(rule.finding, offset, detail, "", count)


def _fetched(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return run_restricted(con, sql, lambda: con.execute(sql).fetchall())


VERSION = 2
"""Of the result document."""
COLUMNS = ("rule", "severity", "status", "checked", "bad", "title", "reason")
SCHEMA = pa.schema([(n, pa.int64() if n in ("checked", "bad") else pa.string()) for n in COLUMNS])
"""One row for each rule; `reason` explains the status `not applicable`."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The results of the rules in a scope: failed ones first, by descending severity."""

    outcomes: tuple[RuleResult, ...]
    coverage: Coverage

    def of(self, status: Status) -> tuple[RuleResult, ...]:
        """The results with a status."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is status)

    @property
    def table(self) -> pa.Table:
        """The outcomes as `SCHEMA`."""
        return pa.Table.from_pylist([o.row() for o in self.outcomes], schema=SCHEMA)

    @property
    def worst(self) -> Severity | None:
        """The highest severity of a failed rule, or None."""
        return worst(outcome.rule.severity for outcome in self.of(Status.FAILED))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": VERSION,
            "system": self.coverage.scope.system,
            "run": self.coverage.run_id,
            "first_interval": _iso(self.coverage.first),
            "last_interval": _iso(self.coverage.last),
            "intervals": self.coverage.intervals,
            "worst": str(self.worst) if self.worst else None,
            "counts": {str(status): len(self.of(status)) for status in Status},
            "rules": [outcome.row() for outcome in self.outcomes],
        }


def validate(
    con: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule],
    landed: Collection[str],
    scope: Scope,
    run: str | None = None,
) -> Validation:
    """Apply rules to the tables that have landed in a scope of a store.

    Raises:
        CpmonError: no interval in the scope, or SQL of a rule that fails.
    """
    covered = coverage(con, scope, run)
    return Validation(outcomes(count(con, rules, scope, landed)), covered)


def validate_spans(
    store: Store, scopes: Iterable[Scope], settings: Settings | None = None
) -> Iterator[Validation]:
    """Apply all rules to each of several spans, reading only the dumps of the span.

    Raises:
        CpmonError: on iteration: a scope has no interval, a rule is invalid, or its SQL fails.
    """
    with connect(store, reductions()) as con:
        for scope in scopes:
            con.point(scope)
            rules = load_rules(Purpose.VALIDATION, settings, landed=con.tables)
            yield validate(con, rules, con.tables, scope)


def outcomes(counted: Iterable[RuleResult]) -> tuple[RuleResult, ...]:
    """Results in order: failed ones first, by descending severity, then by name."""
    statuses = list(Status)
    return tuple(
        sorted(counted, key=lambda o: (statuses.index(o.status), -o.rule.severity.rank, o.rule.id))
    )


def _iso(time: datetime | None) -> str | None:
    return f"{time.isoformat(timespec='microseconds')}Z" if time else None
