"""Which records a reduction rests on, and which of their layouts are only inferred."""

from __future__ import annotations

import functools

from ...schemas.registry import record_of, tables
from .reductions import reduction

_LANDED = ("interval", "monitor")


@functools.cache
def tables_of(name: str) -> frozenset[str]:
    """The landed tables that a reduction reads, by itself or through others."""
    found: set[str] = set()
    for read in reduction(name).reads:
        schema, _, table = read.rpartition(".")
        if schema in _LANDED:
            found.add(table)
        elif not schema:
            found |= tables_of(read)
    return frozenset(found)


def inferred_records(name: str) -> tuple[str, ...]:
    """Records, as "USEACT (4.3)", that a reduction rests on and whose layout is inferred."""
    layouts = tables()
    records = {
        record.name: record
        for record in (record_of(layouts[table]) for table in tables_of(name) if table in layouts)
    }
    return tuple(
        f"{layout.name.upper()} ({layout.domain}.{layout.record})"
        for layout in sorted(records.values(), key=lambda known: (known.domain, known.record))
        if layout.provenance == "inferred"
    )
