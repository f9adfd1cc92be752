"""The rules that follow from layouts and metrics: nobody has to write them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files

from ...config import Document, Table
from ...config.values import Text
from ...core.sql import name, text
from ...schemas.layout import Layout
from ...schemas.registry import record_of, tables
from ...store.results.lineage import lineages
from ...store.views.interval import IMPOSSIBLE
from ..metrics.report_set import metrics_of
from ..metrics.report_shape import Kind as ColumnKind
from ..reductions.reductions import reductions
from .delta_checks import counters_known, owners_known
from .rule import Check, Rule, Severity
from .table_checks import (
    SLACK_S,
    clocks_not_ahead,
    keys_present,
    keys_unique,
    levels_not_negative,
    text_decodable,
)
from .written import WrittenCheck, landed_in

HEX4 = "upper(lpad(to_hex({}), 4, '0'))"
"""A device number as it is written."""
CHECKS: dict[str, Callable[[Layout], Check | None]] = {
    "keys": keys_present,
    "unique": keys_unique,
    "text": text_decodable,
    "counters": counters_known,
    "owners": owners_known,
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
FIGURES = _RULES.read_part(_RULES.values["figures"], "figures", Kind)
IMPLIED = frozenset(
    {
        *("users_by_time", "user_classes_by_time", "user_states_by_time"),
        "system_summary2_by_time",
    }
)
"""Reductions whose ranges follow from those of counters (`schemas/parts.csv`) and of processors.
They are made of rows of users: a look at them takes as long as reducing them."""


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


def figure_rules(landed: Iterable[str]) -> Iterator[Rule]:
    """The rules of the reductions that some tables lead to: each figure is within its range."""
    lines = {line.name: line for line in lineages(reductions())}
    present, of_all = set(landed), lines["_interval"].reads
    for reduction in reductions():
        metrics = metrics_of(reduction.name).values()
        if reduction.is_private or reduction.name in IMPLIED:
            continue
        if f"_{reduction.name}_sums" not in lines or not any(
            metric.high or metric.low not in ("", "0") for metric in metrics
        ):
            continue
        reads = lines[reduction.name].reads
        if not present.intersection(landed_in(" ".join(reads - of_all or reads))):
            continue
        yield Rule(
            f"{reduction.name}.{FIGURES.name}",
            FIGURES.title.format(table=reduction.name),
            FIGURES.severity,
            FIGURES.meaning,
            FIGURES.remedy,
            (),
            WrittenCheck(_outside_of(reduction.name)),
            f"metrics of {reduction.name}",
        )


def _outside_of(reduction: str) -> str:
    """SELECT of a line for each row of a reduction: 1 where some metric is outside of its range."""
    keys = [m for m in metrics_of(reduction).values() if m.kind is ColumnKind.KEY]
    parts = [
        f"{text(f'{key.name} ')} || "
        + (HEX4 if key.format == "hex" else "{}").format(f"f.{name(key.name)}")
        for key in keys
        if key.name != "interval_end"
    ]
    outside = f"regexp_matches(f.doubts, '(^|, )[^.,]+ {IMPOSSIBLE}')"
    return f"""SELECT f.system,
       f.interval_end,
       concat_ws(', ', {", ".join(["'run ' || r.run_id", *parts, "f.doubts"])}) AS object,
       CASE WHEN {outside} THEN 1 ELSE 0 END AS value,
       0 AS least,
       0 AS most
FROM {reduction} AS f
LEFT JOIN meta.run AS r
  ON {outside}
  AND r.system = f.system
  AND f.interval_end > r.since
  AND f.interval_end <= r.until"""
