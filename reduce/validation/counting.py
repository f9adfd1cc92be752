"""How many rows each rule looked at, and how many break it: computed by DuckDB, one row a rule.

Only these counts leave the database. What the layouts say of one table is looked at in one pass
over it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...schemas.registry import record_of, tables
from ...store.catalogue.connection import run_restricted
from ...store.views.interval import counter_names
from .delta_checks import DeltaCheck, counted, movement_of, screen_of
from .outcome import Outcome
from .rule import Rule, Scope
from .table_checks import TableCheck
from .written import WrittenCheck


def count(
    con: duckdb.DuckDBPyConnection, rules: Iterable[Rule], scope: Scope, landed: set[str]
) -> list[Outcome]:
    """The counts of some rules, in their order.

    Args:
        con: a connection to the catalogue.
        landed: tables that have rows in the store.

    Raises:
        CpmonError: the SQL of a rule fails.
    """
    ordered = list(rules)
    available = [rule for rule in ordered if landed.issuperset(rule.needs)]
    outcomes: dict[str, Outcome] = {}
    of_tables = [rule for rule in available if isinstance(rule.check, TableCheck)]
    for _, same in itertools.groupby(of_tables, key=lambda rule: rule.needs):
        outcomes |= {outcome.rule.id: outcome for outcome in _of_table(con, list(same), scope)}
    of_deltas = [rule for rule in available if isinstance(rule.check, DeltaCheck)]
    for _, same in itertools.groupby(of_deltas, key=lambda rule: rule.needs):
        outcomes |= {outcome.rule.id: outcome for outcome in _of_deltas(con, list(same), scope)}
    for rule in available:
        if rule.id not in outcomes:
            outcomes[rule.id] = _of_rule(con, rule, scope)
    return [
        outcomes.get(rule.id) or Outcome(rule, 0, 0, _missing(rule, landed)) for rule in ordered
    ]


def _of_table(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[Outcome]:
    """The counts of rules about the rows of one table."""
    checks = [rule.check for rule in rules if isinstance(rule.check, TableCheck)]
    figures = ", ".join(f"{check.checked}, {check.screen}" for check in checks)
    where = scope.condition(checks[0].time)
    row = _counts(con, rules[0], f"SELECT {figures} FROM {checks[0].table} WHERE {where}")
    for rule, check, checked, screen in zip(rules, checks, row[::2], row[1::2], strict=True):
        bad = _bad_rows(con, rule, scope) if screen and not check.exact else screen
        yield Outcome(rule, checked, bad, "" if checked else "no row of it is in this span")


def _of_deltas(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[Outcome]:
    """The counts of rules about the deltas of one table."""
    checks = [rule.check for rule in rules if isinstance(rule.check, DeltaCheck)]
    layout = checks[0].layout
    rows, *moves = _counts(con, rules[0], movement_of(layout))
    still = {c for c, moved in zip(counter_names(layout), moves, strict=True) if not moved}
    screen = screen_of(layout, still, rows, scope)
    clean, checked = _counts(con, rules[0], screen) if screen else (False, 0)
    bad = [0] * len(checks)
    if not clean:
        checked, *bad = _counts(con, rules[0], counted(layout, still, checks, scope))
    reason = "" if checked else "no interval follows another directly in this span"
    for rule, number in zip(rules, bad, strict=True):
        yield Outcome(rule, checked, number, reason)


def _of_rule(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> Outcome:
    """The count of a written rule."""
    assert isinstance(rule.check, WrittenCheck)
    checked, bad = _counts(con, rule, rule.check.guarded(con).counted(scope))
    return Outcome(rule, checked, bad, "" if checked else "no figure of it is known in this span")


def _bad_rows(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> int:
    """The number of rows that break a rule."""
    return _counts(con, rule, f"SELECT count(*) FROM (\n{rule.check.rows(scope)}\n)")[0]


def _counts(con: duckdb.DuckDBPyConnection, rule: Rule, sql: str) -> list[int]:
    """The only row of a query."""
    return [column[0].as_py() for column in query(con, rule, sql).columns]


def query(con: duckdb.DuckDBPyConnection, rule: Rule, sql: str) -> pa.Table:
    """The result of a query that belongs to a rule.

    Raises:
        CpmonError: it fails.
    """
    try:
        return run_restricted(con, sql, lambda: con.sql(sql).to_arrow_table())
    except duckdb.Error as error:
        raise CpmonError(
            f"rule {rule.id} cannot be looked at",
            place=rule.place,
            found=str(error).partition("\n\nLINE")[0],
            effect="no rule was judged",
            remedy=f"correct it, or switch it off: enabled = false in [validation.{rule.id!r}]",
        ) from None


def _missing(rule: Rule, landed: set[str]) -> str:
    """Which records are not there."""
    layouts = tables()
    records = {record_of(layouts[t]) for t in rule.needs if t not in landed and t in layouts}
    named = sorted(f"{r.name.upper()} ({r.domain}.{r.record})" for r in records)
    return f"no record {' and '.join(named)} has landed"
