"""Which records the rules of exceptions look at: most need those of their scope and some before.

A reduction by time is the same whatever lies beyond its span and the interval before, and so is
what the shipped rules ask. The SQL of a site may look back as far as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from ...store.catalogue.span_records import SpanRecords
from ...store.results.lineage import Lineage, lineages
from ..reductions.reductions import reductions
from .rule import SHIPPED, Rule, landed_tables
from .scope import Scope

LookBack = Callable[[datetime], None]
"""Shows the records from an earlier time on, too."""


def in_turn(
    rules: Sequence[Rule], scope: Scope, records: SpanRecords | None
) -> Iterator[tuple[Rule, LookBack]]:
    """All rules, those that may look at all records first; each may be asked when it comes.

    Args:
        records: are narrowed to the scope, and to what the rules look at before it, before the
            others come; they stay so.
    """
    if records is None or scope.since is None or scope.until is None:
        yield from ((rule, lambda _: None) for rule in rules)
        return
    by_name = {lineage.name: lineage for lineage in lineages(reductions())}
    near = [rule for rule in rules if _is_near(rule, by_name)]
    if len(near) < len(rules):
        records.all()
        yield from ((rule, lambda _: None) for rule in rules if rule not in near)
    system, until, read = scope.system, scope.until, _tables(near, by_name)
    shown = min((start for rule in near if (start := first_look(rule, scope))), default=scope.since)
    records.near(system, shown, until, read)

    def look_back(start: datetime) -> None:
        nonlocal shown
        if start < shown:
            shown = start
            records.near(system, shown, until, read)

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


def _tables(rules: Iterable[Rule], by_name: dict[str, Lineage]) -> set[str]:
    """The tables of records that rules read."""
    read: set[str] = set()
    for rule in rules:
        read |= set(landed_tables(rule.sql))
        read.add(rule.record)
        if rule.reduction:
            read |= {name.rpartition(".")[2] for name in by_name[rule.reduction].reads}
    return read
