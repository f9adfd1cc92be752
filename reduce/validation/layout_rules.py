"""The rules that follow from the layouts: nobody writes them, and a new layout has them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...schemas.layout import Layout
from ...schemas.registry import record_of, tables
from .counter_checks import CounterCheck, counters_of
from .rule import Check, Rule, Severity
from .table_checks import (
    SLACK_S,
    clocks_not_ahead,
    keys_present,
    keys_unique,
    levels_not_negative,
    text_decodable,
)

COMPARE = "Compare the layout with your release (cpmon schema show, cpmon schema import)"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a rule of this kind says of every table that it holds for; `{table}` is its name.

    `check` makes the check of a table, or None where it has nothing to look at.
    """

    name: str
    severity: Severity
    title: str
    meaning: str
    remedy: str
    check: Callable[[Layout], Check | None]


KINDS = (
    Kind(
        "keys",
        Severity.CRITICAL,
        "Every row of {table} has its keys",
        "A key that is missing or blank: nobody knows which user, device or processor the row is"
        " about, and no delta can be computed for it.",
        f"{COMPARE}; look at the record with cpmon show --at OFFSET.",
        keys_present,
    ),
    Kind(
        "unique",
        Severity.CRITICAL,
        "No two rows of {table} have the same keys and time",
        "Within a dump, keys and the interval's end (the time stamp, in records that are no"
        " samples) tell rows apart. With a second copy, sums count twice.",
        "Look for frames that are in the dump twice (cpmon check), or a layout whose keys are"
        " not all.",
        keys_unique,
    ),
    Kind(
        "text",
        Severity.WARNING,
        "The text in {table} is text",
        "EBCDIC text of CP has no control characters. Where one was decoded, the bytes are no"
        " text, or no EBCDIC. A field is looked at from the release on that has it.",
        f"{COMPARE}; if all texts of a dump are so, transfer it again in binary.",
        text_decodable,
    ),
    Kind(
        "counters",
        Severity.WARNING,
        "No counter of {table} runs backwards",
        "From one sample to the next a counter grows or stays, unless it wrapped at 32 bits or its"
        " owner started again: then half or more of what moves falls. The delta is"
        " wrong, or missing.",
        f"{COMPARE}: the field may be none, or no counter.",
        lambda layout: CounterCheck(layout) if counters_of(layout) else None,
    ),
    Kind(
        "levels",
        Severity.WARNING,
        "No level in {table} is negative",
        "Signed levels in units of which there is never less than none: users, pages, bytes.",
        f"{COMPARE}.",
        levels_not_negative,
    ),
    Kind(
        "clocks",
        Severity.WARNING,
        "No clock in {table} is ahead of its record",
        f"Times of logon, of IPL and the like are before the record's own time, or up to {SLACK_S}"
        " s behind it where a guest has set its clock.",
        f"{COMPARE}; look for a clock that was set back.",
        clocks_not_ahead,
    ),
)


def layout_rules(landed: Iterable[str]) -> Iterator[Rule]:
    """The rules of some tables, by table; what has no layout has none."""
    layouts = tables()
    for table in sorted(set(landed) & layouts.keys()):
        yield from _rules(layouts[table])


def _rules(layout: Layout) -> Iterator[Rule]:
    record = record_of(layout)
    for kind in KINDS:
        check = kind.check(layout)
        if check is not None:
            yield Rule(
                f"{layout.name}.{kind.name}",
                kind.title.format(table=layout.name),
                kind.severity,
                kind.meaning,
                kind.remedy,
                (layout.name,),
                check,
                f"layout of {record.name.upper()}",
            )
