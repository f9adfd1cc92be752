"""Which records a result rests on, and which of their layouts are only inferred."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable

from ...schemas.field import Field
from ...schemas.layout import Group, Layout
from ...schemas.registry import record_of, tables
from .reductions import reduction

_LANDED = ("interval", "monitor")


@functools.cache
def tables_of(name: str) -> frozenset[str]:
    """The landed tables that a reduction reads, by itself or through others."""
    tables: set[str] = set()
    for read in reduction(name).reads:
        schema, _, table = read.rpartition(".")
        if schema in _LANDED:
            tables.add(table)
        elif not schema:
            tables |= tables_of(read)
    return frozenset(tables)


@functools.cache
def own_tables_of(name: str) -> frozenset[str]:
    """The landed tables that a reduction names itself; those of what it reads if it names none."""
    reads = [read.rpartition(".") for read in reduction(name).reads]
    own = frozenset(table for schema, _, table in reads if schema in _LANDED)
    below = (own_tables_of(table) for schema, _, table in reads if not schema)
    return own or frozenset[str]().union(*below)


def is_inferred(record: Layout, releases: Collection[str] = ()) -> bool:
    """Whether a layout has fields that nobody has published.

    Args:
        releases: CP levels that write the record; fields that none of them has do not count.
    """
    if record.provenance != "inferred":
        return False
    rows: list[Field | Group] = [*record.columns, *record.groups]
    guesses = {row.name for row in rows if row.provenance == "inferred"}
    return not guesses or not releases or any(guesses - record.absent(r) for r in releases)


def inferred_records(landed: Iterable[str], releases: Collection[str] = ()) -> tuple[str, ...]:
    """Records, as "USEACT (4.3)", of landed tables whose layout is inferred."""
    layouts = tables()
    landed_records = (record_of(layouts[table]) for table in landed if table in layouts)
    records = {record.name: record for record in landed_records}
    return tuple(
        f"{record.name.upper()} ({record.domain}.{record.record})"
        for record in sorted(records.values(), key=lambda record: (record.domain, record.record))
        if is_inferred(record, releases)
    )


def inferred_notes(landed: Iterable[str], releases: Collection[str] = ()) -> list[str]:
    """A note on the layouts of landed tables that nobody has published; none without them."""
    records = inferred_records(landed, releases)
    if not records:
        return []
    noun, verb = ("layout", "is") if len(records) == 1 else ("layouts", "are")
    return [f"The {noun} of {', '.join(records)}, on which this rests, {verb} inferred."]
