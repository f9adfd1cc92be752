"""Types of views, and the SQL of `monitor.X`: landed tables, generated from the layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from ...core.sql import name
from ...schemas.arrow import arrow_schema
from ...schemas.field import WIDEST, Field, Role, Type
from ...schemas.layout import Layout
from ...schemas.registry import tables as layout_tables

PLACE = {
    "system": "System that the monitor data is from.",
    "dump": "Identity of the dump that the row landed with; joins meta.dump.",
}
LANDED = "_landed"
"""The schema of the relations over files, which the views read."""


@dataclass(frozen=True)
class Documented:
    """A view: qualified name, SELECT, title, and column -> doc."""

    name: str
    select: str
    title: str
    columns: dict[str, str]


def landed_rows(table: str) -> str:
    """Placeholder for the rows of a landed table in the SQL of views, independent of the store."""
    return f"{raw_table(table)}()"


def raw_table(table: str) -> str:
    """Qualified name of the relation with the rows of a landed table as they are in its files."""
    return f"{LANDED}.{name(table)}"


def monitor_view(table: str, schema: pa.Schema, source: str) -> Documented:
    """View `monitor.<table>`: the rows as they landed.

    Unsigned numbers that count or measure are BIGINT, which is safe to subtract, and NULL if they
    exceed the limit of their field. Those that use all 64 bits are UBIGINT, although they landed as
    signed numbers of the same bits. A TOD clock has an additional column with its time in UTC, and
    flags have columns for their named bits. Bits are extracted here, not on landing, so that new
    names also apply to dumps that landed earlier.
    """
    columns, docs = list(PLACE), dict(PLACE)
    layout = layout_tables().get(table)
    bits = _bits(layout)
    limits = {f.name: f.limit for f in layout.columns} if layout else {}
    for column in schema:
        doc = describe(column)
        columns.append(readable(column, limits.get(column.name)))
        docs[column.name] = doc
        for field, bit in bits.get(column.name, ()):
            columns.append(f"{_bit(field, bit)} AS {name(bit.name)}")
            docs[bit.name] = describe_bit(bit)
        if _meta(column, "type") in (Type.TOD, Type.CLOCK):
            columns.append(f"{moment(column)} AS {name(column.name + '_at')}")
            docs[f"{column.name}_at"] = f"{column.name} as a time, UTC."
    title = (schema.metadata or {}).get(b"title", b"").decode()
    provenance = (schema.metadata or {}).get(b"provenance", b"").decode()
    doc = f"{title}. Layout: {provenance}." if provenance else f"{title}."
    return Documented(f"monitor.{table}", f"SELECT {', '.join(columns)} FROM {source}", doc, docs)


def describe(column: pa.Field, delta: bool = False) -> str:
    """Doc of a column: meaning, unit, whether it is a delta, and the provenance of its place."""
    metadata = {key.decode(): value.decode() for key, value in (column.metadata or {}).items()}
    parts = [metadata.get("meaning", "").rstrip(".") or "Meaning not known"]
    unit, role, provenance = (metadata.get(key, "") for key in ("unit", "role", "provenance"))
    if delta:
        parts.append(f"delta to the previous sample, in {unit or 'its unit'}")
    elif unit:
        parts.append(f"in {unit}")
    if role in (Role.COUNTER, Role.COUNTDOWN) and not delta:
        parts.append("since IPL or logon" if role == Role.COUNTER else "running downwards")
    if provenance:
        parts.append(f"place {provenance}")
    return "; ".join(parts) + "."


def sql_type(kind: pa.DataType) -> str:
    """DuckDB's name of an Arrow type of a landed table or result."""
    if pa.types.is_boolean(kind):
        return "BOOLEAN"
    if pa.types.is_date(kind):
        return "DATE"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return "VARCHAR"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if pa.types.is_binary(kind):
        return "BLOB"
    if pa.types.is_floating(kind):
        return "DOUBLE"
    return {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}[kind.bit_width]


def _meta(column: pa.Field, key: str) -> str:
    value: bytes = (column.metadata or {}).get(key.encode(), b"")
    return value.decode()


def readable(column: pa.Field, limit: int | None) -> str:
    """SQL expression of a column: unsigned numbers as BIGINT, or UBIGINT if all bits are used.

    `limit`: the largest possible value. Dumps landed by earlier versions have larger ones; those
    from 2^63 on landed as negative numbers.
    """
    shown = name(column.name)
    if not _is_unsigned(column):
        return shown
    if not _is_wide(column):
        return f"CAST({shown} AS BIGINT) AS {shown}"
    if limit is None:
        return f"{_number(column)} AS {shown}"
    return f"CASE WHEN {shown} BETWEEN 0 AND {limit} THEN {shown} END AS {shown}"


def moment(column: pa.Field) -> str:
    """SQL expression of the time, UTC, of a column with a clock."""
    if _meta(column, "type") == Type.TOD:
        return f"tod_timestamp({_number(column)})"
    return f"make_timestamp({name(column.name)})"


def _number(column: pa.Field) -> str:
    """SQL expression of a number as it was in the dump."""
    number = name(column.name)
    return f"as_unsigned({number})" if _is_unsigned(column) and _is_wide(column) else number


def _is_unsigned(column: pa.Field) -> bool:
    return pa.types.is_integer(column.type) and _meta(column, "type") not in ("", Type.SIGNED)


def _is_wide(column: pa.Field) -> bool:
    return _meta(column, "length") == str(WIDEST)


def _bits(layout: Layout | None) -> dict[str, list[tuple[Field, Field]]]:
    """Field name -> pairs of the field and one of its named bits."""
    by_field: dict[str, list[tuple[Field, Field]]] = {}
    fields = {f.name: f for f in layout.columns} if layout else {}
    for bit in layout.bits if layout else ():
        if bit.of in fields:
            by_field.setdefault(bit.of, []).append((fields[bit.of], bit))
    return by_field


def _bit(field: Field, bit: Field) -> str:
    """SQL expression of one bit of a field, as boolean, or of several, as number."""
    byte = f"(CAST({name(field.name)} AS BIGINT) >> {8 * (field.end - bit.end)})"
    if not field.is_number:  # opaque bytes: read the single byte as a number
        digits = f"substr(hex({name(field.name)}), {2 * (bit.offset - field.offset) + 1}, 2)"
        byte = f"CAST('0x' || {digits} AS UTINYINT)"
    value = f"(({byte} & {bit.mask}) >> {bit.shift})"
    return f"({value} = 1)" if bit.is_boolean else f"CAST({value} AS BIGINT)"


def describe_bit(bit: Field) -> str:
    """Doc of the column of a named bit."""
    meaning = bit.meaning or "Meaning not known"
    return f"{meaning}; X'{bit.code.upper()}' of {bit.of}; place {bit.provenance}."


def row_docs(layout: Layout) -> dict[str, str]:
    """Column -> doc, of the columns of a table that are not fields of its layout."""
    schema = arrow_schema(layout)
    others = [f for f in schema if f.name not in {c.name for c in layout.columns}]
    return {f.name: describe(f) for f in others if f.name != "tail"}


class View(Protocol):
    """A reduction: a view in schema `main` of the catalogue; private if its name starts with _.

    `doc` and the docs of `columns` become comments of the view.
    """

    @property
    def name(self) -> str:
        """The name of the view."""

    @property
    def sql(self) -> str:
        """The statement that creates the view."""

    @property
    def select(self) -> str:
        """The query of the view, with the same column names."""

    @property
    def reads(self) -> Sequence[str]:
        """The relations that its query names, qualified if they are in other schemas."""

    @property
    def doc(self) -> str:
        """What the view shows."""

    @property
    def columns(self) -> Sequence[Any]:
        """The columns of the view, each with `name` and `doc`."""

    @property
    def rollup(self) -> str:
        """The SQL of its roll-ups; empty if there are none."""
