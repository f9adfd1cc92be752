"""Arrow tables to bytes, for queries, listings and runs: the same everywhere, stable for tests.

Times are ISO-8601 in UTC with microseconds. NULL is empty in csv, table and markdown and null in
json. Bytes are hexadecimal, differences of times as DuckDB writes them. A line break inside a cell
of a table or of markdown is a backslash and an n. Nothing here loops over the rows of csv, json,
jsonl or parquet.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...schemas import CpmonError
from ...schemas.printable import one_line, printable
from .text import GAP, markdown_table, text_lines

FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet")
_ISO = "%Y-%m-%dT%H:%M:%S.%fZ"
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
    table = _distinct(table)
    match format:
        case "table" | "text":
            return printable(_text(table, title)).encode()
        case "markdown":
            return printable(_markdown(table, title)).encode()
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


def _distinct(table: pa.Table) -> pa.Table:
    """The table with a number behind names that came before: a, a_2 (as of a join)."""
    names: list[str] = []
    for name in table.column_names:
        tries = (f"{name}_{n}" if n > 1 else name for n in itertools.count(1))
        names.append(next(free for free in tries if free not in names))
    return table.rename_columns(names)


def _plain(table: pa.Table) -> pa.Table:
    """The table with times as ISO-8601 text in UTC, spans of time and bytes as text."""
    return _spelled(table, _plain_sql)


def _flat(table: pa.Table) -> pa.Table:
    """The plain table with lists, structs and maps as JSON, for formats without a word for them."""
    return _spelled(_plain(table), _flat_sql)


def _spelled(table: pa.Table, sql_of: Callable[[str, pa.DataType], str]) -> pa.Table:
    """The table with texts in place of the columns for whose type there is SQL."""
    wanted = [sql_of(f"c{n}", field.type) for n, field in enumerate(table.schema)]
    if not any(wanted):
        return table
    texts = [f"{sql} AS c{n}" for n, sql in enumerate(wanted) if sql]
    made = _query(f"SELECT {', '.join(texts)} FROM given", _numbered(table))
    for n, sql in enumerate(wanted):
        if sql:
            table = table.set_column(n, table.column_names[n], made.column(f"c{n}"))
    return table


def _numbered(table: pa.Table) -> pa.Table:
    """The table with columns c0, c1 ...: names that differ by case are one to DuckDB."""
    return table.rename_columns([f"c{n}" for n in range(table.num_columns)])


def _span_sql(column: str, kind: pa.DataType) -> str:
    """SQL for the text of a span of time, of which neither Parquet nor polars has a type."""
    return f"CAST({column} AS VARCHAR)" if pa.types.is_interval(kind) else ""


def _plain_sql(column: str, kind: pa.DataType) -> str:
    """SQL for the text of a column, or nothing where it stays as it is."""
    if pa.types.is_timestamp(kind):
        utc = column if kind.tz is None else f"({column} AT TIME ZONE 'UTC')"
        return f"strftime({utc}, '{_ISO}')"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return f"lower(hex({column}))"
    if pa.types.is_time(kind):
        return f"CAST({column} AS VARCHAR)"
    return _span_sql(column, kind)


def _flat_sql(column: str, kind: pa.DataType) -> str:
    return f"CAST(to_json({column}) AS VARCHAR)" if pa.types.is_nested(kind) else ""


def _query(sql: str, given: pa.Table) -> pa.Table:
    """The answer of a query over the table `given`."""
    import duckdb

    with duckdb.connect() as con:
        con.register("given", given)
        return con.sql(sql).to_arrow_table()


def _csv(table: pa.Table) -> bytes:
    """Quotes only where needed, lines end in a line feed, NULL is empty and '' is quoted."""
    import polars

    out = io.BytesIO()
    polars.DataFrame(_flat(table)).write_csv(out, quote_style="necessary")
    return out.getvalue()


def _objects(table: pa.Table) -> list[bytes]:
    """One JSON object a row; NaN and infinity, for which JSON has no word, are null."""
    table = _plain(table)
    for n, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(n)
            finite = pc.if_else(pc.is_finite(column), column, None)
            table = table.set_column(n, field.name, finite)
    if not table.num_rows:
        return []
    members = ", ".join(f"{_literal(name)}, c{n}" for n, name in enumerate(table.column_names))
    objects = f"SELECT CAST(json_object({members}) AS BLOB) AS line FROM given"
    lines = _query(objects, _numbered(table))
    found: list[bytes] = lines.column(0).to_pylist()
    return found


def _literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _parquet(table: pa.Table) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(_spelled(table, _span_sql), out, compression="zstd")
    return out.getvalue()


def _cells(table: pa.Table) -> list[list[str]]:
    """The columns as texts, for tables that a person reads."""
    return [[_cell(v) for v in column.to_pylist()] for column in _flat(table).columns]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _short(value)
    return one_line(str(value)) if isinstance(value, str) else str(value)


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
    left = [not _is_number(field.type) for field in table.schema]
    columns = [
        [one_line(name), *cells]
        for name, cells in zip(table.column_names, _cells(table), strict=True)
    ]
    widths = [max(map(len, column)) for column in columns]
    head, *lines = text_lines(columns, left)
    rule = GAP.join("-" * width for width in widths)
    return "".join(f"{line}\n" for line in (*([title, ""] if title else []), head, rule, *lines))


def _markdown(table: pa.Table, title: str) -> str:
    left = [not _is_number(field.type) for field in table.schema]
    head = f"## {title}\n\n" if title else ""
    names = list(map(one_line, table.column_names))
    return head + markdown_table(names, zip(*_cells(table), strict=True), left) + "\n"
