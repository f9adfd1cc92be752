"""How many rows each rule looked at, and how many break it: computed by DuckDB, one row a rule.

Only these counts leave the database. What the layouts say of one table is looked at in one pass
over it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import duckdb

from ...schemas import CpmonError
from ...schemas.field import Field
from ...schemas.registry import record_of, tables
from ...store.sandbox.sandbox import run
from .counter_checks import CounterCheck, at_hand, counters_of
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
    con.execute(at_hand(scope))
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
    row = _query(con, rules[0], f"SELECT {figures} FROM {checks[0].table} WHERE {where}")
    for rule, check, checked, bad in zip(rules, checks, row[::2], row[1::2], strict=True):
        exact = bad
        if bad and not check.exact:
            (exact,) = _query(con, rule, _number_of(check.rows(scope)))
        yield _judged(rule, checked, exact, "no row of it is in this span")


def _of_rule(con: duckdb.DuckDBPyConnection, rule: Rule, scope: Scope) -> Outcome:
    """The count of a rule about counters, or of a written one."""
    check = rule.check
    if isinstance(check, CounterCheck):
        checked, *moved = _query(con, rule, check.moved(scope))
        counters = [f for f, did in zip(counters_of(check.layout), moved, strict=True) if did]
        bad = _fallen(con, rule, check, scope, counters) if checked and counters else 0
        return _judged(rule, checked, bad, "no interval follows another directly in this span")
    assert isinstance(check, WrittenCheck)
    checked, bad = _query(con, rule, check.guarded(con).counted(scope))
    return _judged(rule, checked, bad, "no figure of it is known in this span")


def _fallen(
    con: duckdb.DuckDBPyConnection,
    rule: Rule,
    check: CounterCheck,
    scope: Scope,
    counters: Sequence[Field],
) -> int:
    """Rows with a counter that ran backwards; counted only where one is less than before."""
    if not _query(con, rule, check.screen(scope, counters))[0]:
        return 0
    return _query(con, rule, _number_of(check.rows(scope)))[0]


def _judged(rule: Rule, checked: int, bad: int, reason: str) -> Outcome:
    return Outcome(rule, checked, bad, "" if checked else reason)


def _number_of(rows: str) -> str:
    return f"SELECT count(*) FROM (\n{rows}\n)"


def _query(con: duckdb.DuckDBPyConnection, rule: Rule, sql: str) -> tuple[int, ...]:
    try:
        row: tuple[int, ...] = run(con, lambda: con.execute(sql).fetchall()[0])
    except duckdb.Error as error:
        raise CpmonError(
            f"rule {rule.id} cannot be looked at",
            place=rule.place,
            found=str(error).partition("\n\nLINE")[0],
            effect="no rule was judged",
            remedy=f"correct it, or switch it off: enabled = false in [validation.{rule.id!r}]",
        ) from None
    return row


def _missing(rule: Rule, landed: set[str]) -> str:
    """Which records are not there."""
    layouts = tables()
    records = {record_of(layouts[t]) for t in rule.needs if t not in landed and t in layouts}
    named = sorted(f"{r.name.upper()} ({r.domain}.{r.record})" for r in records)
    return f"no record {' and '.join(named)} has landed"
