"""Arrow tables to bytes, for queries, listings and runs: the same everywhere, stable for tests.

Times are ISO-8601 in UTC with microseconds. NULL is empty in csv, table and markdown and null in
json. Bytes are hexadecimal. Nothing here loops over the rows of csv, json, jsonl or parquet.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..schemas import CpmonError

FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet")
_ISO = "%Y-%m-%dT%H:%M:%SZ"
_GAP = "  "
_DECIMALS = 6


def render(table: pa.Table, format: str = "table", *, title: str = "") -> bytes:
    """A table in one of FORMATS, UTF-8 (parquet: the file, zstd).

    Args:
        table: any columns; timestamps without zone are UTC.
        format: one of FORMATS.
        title: printed above a text or Markdown table, and nowhere else.

    Raises:
        CpmonError: there is no such format.
    """
    match format:
        case "table":
            return _text(table, title).encode()
        case "markdown":
            return _markdown(table, title).encode()
        case "csv":
            return _csv(table)
        case "json":
            return b"[" + b",\n ".join(_objects(table)) + b"]\n"
        case "jsonl":
            return b"".join(line + b"\n" for line in _objects(table))
        case "parquet":
            return _parquet(table)
    raise CpmonError(
        "a result cannot be printed in that format",
        expected=", ".join(FORMATS),
        found=format,
        remedy=f"use --format with one of {', '.join(FORMATS)}",
    )


def markdown_row(cells: Iterable[str]) -> str:
    """One line of a Markdown table, with bars inside cells escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plain(table: pa.Table) -> pa.Table:
    """The table with times as ISO-8601 text in UTC and bytes as hexadecimal text."""
    for n, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(n, field.name, _iso(table.column(n)))
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            table = table.set_column(n, field.name, _hex(table.column(n)))
    return table


def _iso(column: pa.ChunkedArray) -> pa.ChunkedArray:
    utc = column.cast(pa.timestamp("us")) if column.type.tz is None else column
    if column.type.tz is not None:
        utc = column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    return pc.strftime(utc, format=_ISO)


def _hex(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import duckdb

    rows = pa.table({"bytes": column})
    with duckdb.connect() as con:
        con.register("given", rows)
        return con.sql("SELECT lower(hex(bytes)) AS text FROM given").to_arrow_table().column(0)


def _csv(table: pa.Table) -> bytes:
    from pyarrow import csv as arrow_csv

    out = io.BytesIO()
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(table.column_names)
    out.write(head.getvalue().encode())
    if table.num_columns:
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
        arrow_csv.write_csv(_flat(plain(table)), out, options)
    return out.getvalue()


def _flat(table: pa.Table) -> pa.Table:
    """The table with columns that CSV has no notion of (lists, structs, maps) as JSON text."""
    nested = [n for n, f in enumerate(table.schema) if pa.types.is_nested(f.type)]
    for n in nested:
        name = table.column_names[n]
        text = pa.array([line.decode() for line in _values(table.column(n))], pa.string())
        table = table.set_column(n, name, text)
    return table


def _values(column: pa.ChunkedArray) -> list[bytes]:
    import duckdb

    with duckdb.connect() as con:
        con.register("given", pa.table({"value": column}))
        rows = con.sql("SELECT CAST(to_json(value) AS BLOB) AS text FROM given").to_arrow_table()
    found: list[bytes] = rows.column(0).to_pylist()
    return found


def _objects(table: pa.Table) -> list[bytes]:
    """One JSON object a row; NaN and infinity, for which JSON has no word, are null."""
    import duckdb

    table = plain(table)
    for n, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(n)
            finite = pc.if_else(pc.is_finite(column), column, None)
            table = table.set_column(n, field.name, finite)
    if not table.num_rows:
        return []
    with duckdb.connect() as con:
        con.register("given", table)
        rows = con.sql("SELECT CAST(to_json(given) AS VARCHAR) AS text FROM given").to_arrow_table()
    return [text.encode() for text in rows.column(0).to_pylist()]


def _parquet(table: pa.Table) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _cells(table: pa.Table) -> list[list[str]]:
    """The columns as texts, for tables that a person reads."""
    return [[_cell(v) for v in column.to_pylist()] for column in plain(table).columns]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return _short(value)
    return str(value)


def _short(value: float) -> str:
    """A float for a person: up to six decimals, without trailing zeros."""
    if not math.isfinite(value):
        return ""
    if value and abs(value) < 10.0**-_DECIMALS:
        return f"{value:.3g}"
    text = f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _text(table: pa.Table, title: str) -> str:
    columns = _cells(table)
    right = [_is_number(field.type) for field in table.schema]
    texts = [
        _padded([name, *cells], to_right)
        for name, cells, to_right in zip(table.column_names, columns, right, strict=True)
    ]
    rules = ["-" * len(column[0]) for column in texts]
    lines = [_GAP.join(line).rstrip() for line in zip(*texts, strict=True)]
    body = [*lines[:1], _GAP.join(rules), *lines[1:]]
    head = [title, ""] if title else []
    return "\n".join([*head, *body]) + "\n"


def _padded(cells: Sequence[str], to_right: bool) -> list[str]:
    width = max(len(cell) for cell in cells)
    return [cell.rjust(width) if to_right else cell.ljust(width) for cell in cells]


def _markdown(table: pa.Table, title: str) -> str:
    right = [_is_number(field.type) for field in table.schema]
    head = [f"## {title}", ""] if title else []
    rule = "|" + "|".join("--:" if to_right else ":--" for to_right in right) + "|"
    rows = [markdown_row(line) for line in zip(*_cells(table), strict=True)]
    return "\n".join([*head, markdown_row(table.column_names), rule, *rows]) + "\n"
