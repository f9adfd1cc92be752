"""The Arrow schema of a landed table: common columns, then the fields under IBM's names."""

from __future__ import annotations

import functools

import pyarrow as pa

from .field import REST, Field, Type
from .layout import Layout
from .registry import fingerprint, shipped_rows, tables
from .registry import layout as find
from .unplaced import Unplaced, unplaced

SHORT = 2
"""Bytes of the widest unsigned numbers that land in 32 bits."""

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Text is dictionary-encoded, since names repeat every interval."""


_LISTED = shipped_rows("columns.csv")


def _columns(table: str) -> list[pa.Field]:
    """The columns of a table that are in no layout."""
    return [
        pa.field(
            row["name"],
            TEXT if row["kind"] == "text" else pa.type_for_alias(row["kind"]),
            metadata={key: row[key] for key in ("meaning", "type", "unit") if row[key]},
        )
        for row in _LISTED
        if row["table"] == table
    ]


ROW = tuple(_columns("row"))
"""First columns of every landed row; `system` and `dump` are in the name of the folder."""
(ENTRY, CODE), (TAIL,) = _columns("entry"), _columns("tail")


def _table(name: str, title: str, *above: pa.Field) -> pa.Schema:
    return pa.schema([*above, *_columns(name)], metadata={"table": name, "title": title})


RAW = _table("record_raw", "Records without a layout, as they are", *ROW)
FINDING = _table("finding", "What is wrong with a dump")
QUARANTINE = _table("quarantine", "Bytes that could not be understood")
INTERVAL = _table("interval", "Intervals that a dump closes")
_BESIDE = {"record_raw": RAW, "quarantine": QUARANTINE}
"""Tables of records without a layout."""
_ABOUT = {"interval": INTERVAL, "finding": FINDING}
"""Tables about a dump."""


def arrow_type(field: Field) -> pa.DataType:
    """The type that a field lands in: a signed number that holds any value, text, or bytes.

    Spark, Iceberg and Delta have no unsigned numbers. One of 64 bits lands as the signed number of
    the same bits: below zero where its highest bit is set, as in every TOD clock since 1971.
    """
    if field.is_text:
        return TEXT
    if not field.is_number:
        return pa.binary()
    if field.type is Type.SIGNED:
        return getattr(pa, f"int{8 * field.length}")()
    return pa.int32() if field.length <= SHORT else pa.int64()


@functools.cache
def arrow_schema(layout: Layout) -> pa.Schema:
    """Schema of the table that a layout's records, or a group's entries, land in.

    Entries carry the keys of their record and their position. Every field's metadata says its
    unit, role, place in the record, provenance and meaning.
    """
    fields = list(ROW)
    if layout.parent:
        fields += [_arrow_field(key) for key in inherited(layout)]
        fields += [ENTRY, CODE] if layout.labelled else [ENTRY]
    fields += [_arrow_field(f) for f in layout.columns]
    return pa.schema(
        [*fields, TAIL],
        metadata={
            "table": layout.name,
            "title": layout.title,
            "provenance": layout.provenance,
            "keys": " ".join(key.name for key in row_keys(layout)),
        },
    )


def _chain(layout: Layout) -> tuple[Layout, ...]:
    """A layout behind the record and the entries that enclose it, outermost first."""
    return (*_chain(find(layout.parent)), layout) if layout.parent else (layout,)


def row_keys(layout: Layout) -> tuple[Field, ...]:
    """The key fields of a row; those of the record come first."""
    return tuple(key for each in _chain(layout) for key in each.keys)


def owner_keys(layout: Layout) -> tuple[str, ...]:
    """Columns that name the owner of a row's counters: the same from sample to sample.

    Entries of a counted group are identified by their keys, wherever they are in the record. In a
    group of fixed size entries can be empty, so that their place belongs to the key; entries
    without keys are identified by their place alone.
    """
    names = tuple(key.name for key in row_keys(layout))
    if not layout.parent:
        return names
    group = next(g for g in find(layout.parent).groups if g.entry.name == layout.name)
    counts_place = not layout.keys or (isinstance(group.count, int) and group.count > 1)
    return (*names, ENTRY.name) if counts_place else names


def told_apart(layout: Layout) -> tuple[str, ...]:
    """Columns that are unique in a dump and time stamp: owner keys and slots."""
    slots = (slot.name for each in _chain(layout) for slot in each.slots)
    return (*owner_keys(layout), *slots)


def outer_keys(layout: Layout) -> tuple[Field, ...]:
    """The keys that entries of a group inherit from the enclosing record; none for a record."""
    return tuple(key for each in _chain(layout)[:-1] for key in each.keys)


def inherited(layout: Layout) -> tuple[Field, ...]:
    """The columns that entries inherit from enclosing ones: keys, slots, syncs."""
    slots = (field for each in _chain(layout)[:-1] for field in (*each.slots, *each.syncs))
    return (*outer_keys(layout), *slots)


def syncs(layout: Layout) -> tuple[str, ...]:
    """The two columns that differ if a row's block was being written; empty without these."""
    return tuple(field.name for each in _chain(layout) for field in each.syncs)


def schemas() -> dict[str, pa.Schema]:
    """Table name -> schema, of every table that records land in."""
    return {name: schema_of(name) for name in table_names()}


def file_schemas() -> dict[str, pa.Schema]:
    """Table name -> schema, of every table that a dump can land in."""
    return schemas() | _ABOUT


def table_names() -> tuple[str, ...]:
    """The tables that records land in."""
    return (*tables(), *_BESIDE)


def schema_of(table: str) -> pa.Schema:
    """The schema of a table that a dump can land in.

    Unplaced fields come last; they are NULL unless a dump has an assumed place.

    Raises:
        KeyError: there is no such table.
    """
    return _schema_of(table, fingerprint())


@functools.lru_cache(maxsize=1024)
def _schema_of(table: str, _fingerprint: str) -> pa.Schema:
    if table in _BESIDE or table in _ABOUT:
        return (_BESIDE | _ABOUT)[table]
    layout = tables()[table]
    schema = arrow_schema(layout)
    return pa.schema([*schema, *map(_unplaced_field, unplaced(layout))], schema.metadata)


def _unplaced_field(row: Unplaced) -> pa.Field:
    known = "NULL until its page is imported"
    if row.can_be_assumed:
        known += ", or the value at a place assumed by the scenario of the dump (meta.dump.assumed)"
    meaning = f"{row.meaning}; seen at {row.since}, place not known: {known}"
    return pa.field(row.name, pa.int64(), metadata={"meaning": meaning})


def _arrow_field(field: Field) -> pa.Field:
    words = ("type", "role", "unit", "length", "since", "until", "provenance", "meaning")
    metadata = {word: str(getattr(field, word)) for word in words}
    metadata |= {
        "role": field.role or "",
        "offset": field.place,
        "length": str(field.length or REST),
    }
    return pa.field(field.name, arrow_type(field), metadata=metadata)
