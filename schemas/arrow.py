"""The Arrow schema of a landed table: what every row has, then the fields under IBM's names."""

from __future__ import annotations

import functools

import pyarrow as pa

from .field import REST, Field, Type
from .layout import Layout
from .registry import layout as find
from .registry import layouts

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Names repeat every interval, so text is held, and written, as a dictionary."""

ROW = (
    pa.field("tod", pa.timestamp("us"), metadata={"meaning": "Time stamp of the record, UTC."}),
    pa.field(
        "tod_us",
        pa.int64(),
        metadata={"meaning": "The same in microseconds since 1970.", "unit": "us"},
    ),
    pa.field(
        "interval_end",
        pa.timestamp("us"),
        metadata={
            "meaning": "End of the interval that a sample belongs to, UTC; NULL for events, for "
            "configuration, and where the dump ends before the interval does."
        },
    ),
    pa.field(
        "record_offset",
        pa.int64(),
        metadata={"meaning": "Where the record starts in the dump, decompressed.", "unit": "bytes"},
    ),
)
"""What every landed row starts with. `system` and `dump` are in the folder's name."""

ENTRY = pa.field(
    "entry", pa.int32(), metadata={"meaning": "Position among the record's entries, from 0."}
)
CODE = pa.field(
    "code", TEXT, metadata={"meaning": "What the entry counts, such as a DIAGNOSE code."}
)
TAIL = pa.field(
    "tail",
    pa.binary(),
    metadata={"meaning": "Bytes of a longer record behind the last field known; mostly NULL."},
)

RAW = pa.schema(
    [
        *ROW,
        pa.field("domain", pa.uint8(), metadata={"meaning": "Domain of the record."}),
        pa.field("record", pa.uint16(), metadata={"meaning": "Number of the record."}),
        pa.field("data", pa.binary(), metadata={"meaning": "The record, header included."}),
    ],
    metadata={"table": "record_raw", "title": "Records without a layout, as they are"},
)


FINDING = pa.schema(
    [
        pa.field("code", pa.string(), metadata={"meaning": "Name of the finding."}),
        pa.field("severity", pa.string(), metadata={"meaning": "info, warning or data_loss."}),
        pa.field(
            "record_offset",
            pa.int64(),
            metadata={"meaning": "Where in the dump, decompressed.", "unit": "bytes"},
        ),
        pa.field("count", pa.int64(), metadata={"meaning": "How many times it was met there."}),
        pa.field("detail", pa.string(), metadata={"meaning": "What was expected and found."}),
        pa.field("effect", pa.string(), metadata={"meaning": "What was lost or skipped."}),
        pa.field("meaning", pa.string(), metadata={"meaning": "What the finding says."}),
        pa.field("remedy", pa.string(), metadata={"meaning": "What to do about it."}),
    ],
    metadata={"table": "finding", "title": "What is wrong with a dump"},
)

QUARANTINE = pa.schema(
    [
        pa.field(
            "record_offset",
            pa.int64(),
            metadata={"meaning": "Where in the dump, decompressed.", "unit": "bytes"},
        ),
        pa.field("data", pa.binary(), metadata={"meaning": "Bytes that could not be understood."}),
    ],
    metadata={"table": "quarantine", "title": "Bytes that could not be understood"},
)


def arrow_type(field: Field) -> pa.DataType:
    """The type that a field lands in: a number as wide as written, text, or bytes."""
    if field.is_text:
        return TEXT
    if not field.is_number:
        return pa.binary()
    sign = "int" if field.type is Type.SIGNED else "uint"
    return getattr(pa, f"{sign}{8 * field.length}")()


@functools.cache
def arrow_schema(layout: Layout) -> pa.Schema:
    """Schema of the table that a layout's records, or a group's entries, land in.

    Entries carry the keys of their record and their position. Every field's metadata says its
    unit, role, place in the record, provenance and meaning.
    """
    fields = list(ROW)
    if layout.parent:
        fields += [_arrow_field(key) for key in outer_keys(layout)]
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


def row_keys(layout: Layout) -> tuple[Field, ...]:
    """The fields that tell the rows of one time stamp apart, the record's own keys first."""
    return (*outer_keys(layout), *layout.keys)


def owner_keys(layout: Layout) -> tuple[str, ...]:
    """Columns whose values stay the same from sample to sample; the place of keyless entries."""
    names = tuple(key.name for key in row_keys(layout))
    return (*names, ENTRY.name) if layout.parent and not layout.keys else names


def outer_keys(layout: Layout) -> tuple[Field, ...]:
    """The keys that a group's entries have from the record around them; none for a record."""
    return row_keys(find(layout.parent)) if layout.parent else ()


def schemas() -> dict[str, pa.Schema]:
    """Table name -> schema, of every table that a dump can land in."""
    found = {t.name: arrow_schema(t) for layout in layouts() for t in layout.tables()}
    return {**found, "record_raw": RAW, "quarantine": QUARANTINE}


def _arrow_field(field: Field) -> pa.Field:
    metadata = {
        "type": field.type,
        "role": field.role or "",
        "unit": field.unit,
        "offset": str(field.offset),
        "length": str(field.length or REST),
        "since": field.since,
        "until": field.until,
        "provenance": field.provenance,
        "meaning": field.meaning,
    }
    return pa.field(field.name, arrow_type(field), metadata=metadata)
