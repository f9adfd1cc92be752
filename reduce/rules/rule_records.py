"""Which records the rules of exceptions look at: most need those of their scope and some before.

A reduction by time is the same whatever lies beyond its span and the interval before, and so is
what the shipped rules ask. The SQL of a site may look back as far as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import duckdb

from ...store.catalogue.connection import Connection
from ...store.results.lineage import Lineage, lineages
from ...store.scope import ALL, Scope
from ..reductions.reductions import reductions
from .rule import SHIPPED, Rule

LookBack = Callable[[datetime], None]
"""Shows the records from an earlier time on, too."""


def in_turn(
    con: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scope: Scope
) -> Iterator[tuple[Rule, LookBack]]:
    """All rules, those that may look at all records first; each may be asked when it comes.

    Args:
        con: shows all records for the first; for the others it is pointed at the scope, and at
            what they look at before it, and stays so.
    """
    if not isinstance(con, Connection) or scope.since is None or scope.until is None:
        yield from ((rule, lambda _: None) for rule in rules)
        return
    by_name = {lineage.name: lineage for lineage in lineages(reductions())}
    near = [rule for rule in rules if _is_near(rule, by_name)]
    if len(near) < len(rules):
        con.point(ALL)
        yield from ((rule, lambda _: None) for rule in rules if rule not in near)
    shown = min((start for rule in near if (start := first_look(rule, scope))), default=scope.since)
    con.point(Scope(scope.system, shown, scope.until))

    def look_back(start: datetime) -> None:
        nonlocal shown
        if start < shown:
            shown = start
            con.point(Scope(scope.system, shown, scope.until))

    yield from ((rule, look_back) for rule in near)


def first_look(rule: Rule, scope: Scope) -> datetime | None:
    """From when on a rule looks at first: it may need minutes before the scope."""
    if scope.since is None or rule.limit is None:
        return scope.since
    return scope.since - timedelta(minutes=rule.for_minutes)


def _is_near(rule: Rule, by_name: dict[str, Lineage]) -> bool:
    """Whether its values in a scope rest on records of the scope and of the interval before."""
    if rule.sql:
        return "sql" in rule.sources and rule.sources["sql"].file == SHIPPED
    return rule.reduction in by_name and by_name[rule.reduction].by_time
