"""Which records a rule of exceptions rests on, and which of their layouts are only inferred."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...schemas.registry import record_of, tables
from ..reductions.provenance import tables_of
from ..reductions.reductions import reductions
from .rule import Rule

_WORD = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?")


def records_behind(rule: Rule) -> frozenset[str]:
    """The landed tables that a rule reads, also through reductions."""
    if rule.reduction:
        return tables_of(rule.reduction)
    words = set(_WORD.findall(rule.sql.lower()))
    landed = {
        f"{schema}.{table}": table for schema in ("interval", "monitor") for table in tables()
    }
    found = {landed[word] for word in words & landed.keys()}
    return frozenset(found).union(*(tables_of(r.name) for r in reductions() if r.name in words))


def inferred_behind(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Records, as "USEACT (4.3)", that rules rest on and whose layout is inferred."""
    layouts = tables()
    read = frozenset[str]().union(*(records_behind(rule) for rule in rules))
    records = {record_of(layouts[table]).name: record_of(layouts[table]) for table in read}
    return tuple(
        f"{layout.name.upper()} ({layout.domain}.{layout.record})"
        for layout in sorted(records.values(), key=lambda known: (known.domain, known.record))
        if layout.provenance == "inferred"
    )
