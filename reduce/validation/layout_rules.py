"""The rules that follow from the layouts: nobody writes them, and a new layout has them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files

from ...config import Document, Table
from ...config.values import Text
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

CHECKS: dict[str, Callable[[Layout], Check | None]] = {
    "keys": keys_present,
    "unique": keys_unique,
    "text": text_decodable,
    "counters": lambda layout: CounterCheck(layout) if counters_of(layout) else None,
    "levels": levels_not_negative,
    "clocks": clocks_not_ahead,
}
"""What makes the check of a table, or None where it has nothing to look at."""


class Kind(Table, frozen=True):
    """What a rule of this kind says of every table that it holds for; `{table}` is its name."""

    name: Text
    severity: Severity
    title: Text
    meaning: Text
    remedy: Text


class _Kinds(Table, frozen=True):
    """The file."""

    rules: list[Kind]


_TEXT = (files(__package__) / "layout_rules.toml").read_text(encoding="utf-8")
_FILLED = _TEXT.replace("{slack_s}", f"{SLACK_S}")
KINDS = Document(_FILLED, "layout_rules.toml", "the rules").read(_Kinds).rules


def layout_rules(landed: Iterable[str]) -> Iterator[Rule]:
    """The rules of some tables, by table; what has no layout has none."""
    layouts = tables()
    for table in sorted(set(landed) & layouts.keys()):
        yield from _rules(layouts[table])


def _rules(layout: Layout) -> Iterator[Rule]:
    record = record_of(layout)
    for kind in KINDS:
        if check := CHECKS[kind.name](layout):
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
