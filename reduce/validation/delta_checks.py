"""What is not known of the deltas of a table, by the rule of the views `interval.X`.

That rule alone judges. Two figures that are cheap to get come before it: which counters move, since
there is nothing to doubt of others; and, of a large table, whether anything is in doubt at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...core.sql import name, text
from ...schemas.layout import Kind, Layout
from ...schemas.owners import owner_of
from ...schemas.registry import record_of
from ...store.views.interval import WRAPPED, counter_names, doubts_of, undoubted_of
from ...store.views.views import raw_table
from .rule import Scope
from .table_checks import object_of

LARGE = 200_000
"""Rows of a table of which it is worth to ask first whether anything is in doubt."""


@dataclass(frozen=True, slots=True)
class DeltaCheck:
    """The rows of a table of samples whose deltas are not all known.

    Attributes:
        of_counters: those in which a counter fell, or rose further than is possible; else those
            whose owner is missing, appeared or began anew, and lower bounds.
    """

    layout: Layout
    of_counters: bool

    def rows(self, scope: Scope) -> str:
        """SELECT of the rows of a scope that break the rule, in the order of time."""
        return (
            f"SELECT system, dump, tod, interval_end, record_offset,\n"
            f"  {object_of(self.layout)} AS object, {self.found} AS found\n"
            f"FROM (\n{doubts_of(self.layout)}\n)\n"
            f"WHERE {scope.condition()} AND {self.found} IS NOT NULL\n"
            "ORDER BY system, interval_end, record_offset"
        )

    @property
    def found(self) -> str:
        """Expression: what is said of a row; NULL of one that keeps the rule."""
        wrapped = f"ends_with(x, {text(WRAPPED)})"
        kept = f"lambda x: {'NOT ' if self.of_counters else ''}{wrapped}"
        said = f"array_to_string(list_filter(string_split(doubts, ', '), {kept}), ', ')"
        other = "" if self.of_counters else " ELSE doubts"
        return f"CASE WHEN cause IS NULL THEN nullif({said}, ''){other} END"


def movement_of(layout: Layout) -> str:
    """SELECT of the number of rows of a table, and whether each counter has several values."""
    counters = map(name, counter_names(layout))
    moves = [f"coalesce(min({counter}) < max({counter}), false)" for counter in counters]
    return f"SELECT {', '.join(['count(*)', *moves])} FROM {raw_table(layout.name)}"


def screen_of(layout: Layout, still: Collection[str], rows: int, scope: Scope) -> str | None:
    """SELECT of whether nothing is in doubt, and of how many rows; None where it costs too much.

    Args:
        still: counters that do not move. rows: of the table.
    """
    if rows < LARGE or owner_of(layout).clock:
        return None
    return undoubted_of(layout, still, scope.condition())


def counted(
    layout: Layout, still: Collection[str], checks: Collection[DeltaCheck], scope: Scope
) -> str:
    """SELECT of how many rows of a scope could have deltas, and how many break each check."""
    bad = [f"count({check.found})" for check in checks]
    figures = ", ".join(["count(*) FILTER (WHERE cause IS DISTINCT FROM 'first')", *bad])
    return f"SELECT {figures} FROM (\n{doubts_of(layout, still)}\n) WHERE {scope.condition()}"


def counters_known(layout: Layout) -> DeltaCheck | None:
    """No counter of a table fell or rose too far; None of one without counters or of events."""
    return (
        DeltaCheck(layout, of_counters=True)
        if _is_sampled(layout) and counter_names(layout)
        else None
    )


def owners_known(layout: Layout) -> DeltaCheck | None:
    """No owner of a table is missing, came or began anew; None of events and the monitor's own."""
    return DeltaCheck(layout, of_counters=False) if _is_sampled(layout) else None


def _is_sampled(layout: Layout) -> bool:
    """Whether CP samples it; what the monitor says of itself comes as it likes."""
    record = record_of(layout)
    return record.kind is Kind.SAMPLE and record.domain != 1 and bool(layout.columns)
