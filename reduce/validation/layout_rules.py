"""The rules that follow from the layouts: nobody writes them, and a new layout has them at once."""

from __future__ import annotations

import itertools
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


_TEXT = (files(__package__) / "layout_rules.toml").read_text(encoding="utf-8")
_RULES = Document(_TEXT.replace("{slack_s}", f"{SLACK_S}"), "layout_rules.toml", "the rules")
KINDS = _RULES.read_part(_RULES.values["rules"], "rules", list[Kind])


def layout_rules(landed: Iterable[str]) -> Iterator[Rule]:
    """The rules of some tables, by table; what has no layout has none."""
    layouts = tables()
    for table, kind in itertools.product(sorted(set(landed) & layouts.keys()), KINDS):
        if check := CHECKS[kind.name](layouts[table]):
            yield Rule(
                f"{table}.{kind.name}",
                kind.title.format(table=table),
                kind.severity,
                kind.meaning,
                kind.remedy,
                (table,),
                check,
                f"layout of {record_of(layouts[table]).name.upper()}",
            )
