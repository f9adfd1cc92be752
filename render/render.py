"""Renders Arrow tables as bytes, for queries, listings and runs, independent of the platform.

Times are ISO-8601 in UTC with microseconds. NULL is empty in csv, table and markdown and null in
json. Bytes are hexadecimal, differences of times as DuckDB writes them. A line break inside a cell
of a table or of markdown is a backslash and an n. Nothing here loops over the rows of csv, json,
jsonl or parquet.

Input and output are streams of parts; no format holds more than one part in memory.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..config.formats import FORMATS
from ..core.errors import CpmonError
from ..core.memory import memory_error
from ..core.sql import name as quoted
from ..core.sql import text as literal
from ..core.text import one_line, printable
from .odd_times import has_odd_times
from .text import GAP, markdown_table, text_lines, widths_of
from .xlsx import Sheet, SheetColumn, workbook

if TYPE_CHECKING:
    import duckdb

_YEARS = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
"""Range of times in ISO-8601 and Python; DuckDB formats other ones and infinity."""
_DECIMALS = 6
_CONTROL = r"[\x00-\x1f\x7f-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]"
"""Characters that `one_line` can change, as a regular expression of Arrow."""


def render(table: pa.Table, format: str = "table", *, title: str = "") -> bytes:
    """A table in one of FORMATS, UTF-8 (parquet and xlsx: the file).

    Args:
        table: any columns; timestamps without zone are UTC.
        format: one of FORMATS; `text` is a table here.
        title: printed above a text or Markdown table, the name of a sheet, and nowhere else.

    Raises:
        CpmonError: there is no such format.
    """
    return b"".join(render_parts([table], format, title=title))


def render_parts(
    parts: Iterable[pa.Table], format: str = "table", *, title: str = ""
) -> Iterator[bytes]:
    """Render the parts of a table, at least one, in one of FORMATS.

    The columns of a text table have the width of the first part, or more if a later part needs it.

    Raises:
        CpmonError: there is no such format, or it cannot express a value.
    """
    writers: dict[str, Callable[[Iterator[pa.Table], str], Iterator[bytes]]] = {
        "table": _text,
        "text": _text,
        "markdown": _markdown,
        "csv": _csv,
        "json": _json,
        "jsonl": _jsonl,
        "parquet": _parquet,
        "xlsx": _xlsx,
    }
    if format not in writers:
        raise CpmonError(
            "a result cannot be printed in that format",
            code="format-unsupported",
            expected=", ".join(FORMATS),
            found=format,
            remedy=f"use --format with one of {', '.join(FORMATS)}",
        )
    part: pa.Table | None = None

    def distinct() -> Iterator[pa.Table]:
        nonlocal part
        for given in parts:
            part = _distinct(given)
            yield part

    try:
        yield from writers[format](distinct(), title)
    except _conversion_errors() as error:
        if part is None or memory_error(error):
            raise
        raise _unprintable(part, format, writers[format], error) from None


def _conversion_errors() -> tuple[type[Exception], ...]:
    """Exceptions for values that a format cannot express; imported only after an exception."""
    import duckdb

    return duckdb.Error, pa.ArrowException, OverflowError


def _unprintable(
    part: pa.Table, format: str, write: Callable[..., Iterator[bytes]], error: Exception
) -> CpmonError:
    """The error for a value that a format cannot express, with its column."""
    for field in part.schema:
        try:
            for _ in write(iter([part.select([field.name])]), ""):
                pass
        except _conversion_errors() as cause:
            return CpmonError(
                f"a value of column {field.name} cannot be written as {format}",
                code="column-type-unsupported",
                found=f"type {field.type}: {str(cause).partition(chr(10))[0]}",
                remedy=f"CAST({quoted(field.name)} AS VARCHAR) makes a text of it",
            )
    return CpmonError(f"an answer cannot be written as {format}", found=str(error))


def _distinct(table: pa.Table) -> pa.Table:
    """Number repeated names of columns, as of a join: a, a_2."""
    names: list[str] = []
    for name in table.column_names:
        candidates = (f"{name}_{n}" if n > 1 else name for n in itertools.count(1))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return table.rename_columns(names)


def _spelled(table: pa.Table, sql_of: Callable[[str, pa.DataType], str]) -> pa.Table:
    """Convert the columns for whose type there is SQL to text."""
    expressions = [sql_of(f"c{n}", field.type) for n, field in enumerate(table.schema)]
    if not any(expressions):
        return table
    texts = [f"{sql} AS c{n}" for n, sql in enumerate(expressions) if sql]
    made = _query(f"SELECT {', '.join(texts)} FROM given", table)
    for n, sql in enumerate(expressions):
        if sql:
            table = table.set_column(n, table.column_names[n], made.column(f"c{n}"))
    return table


def without_odd_times(table: pa.Table) -> pa.Table:
    """A table whose times a datetime can have: columns with others are texts, as in CSV."""
    odd = {f"c{n}" for n, column in enumerate(table.columns) if has_odd_times(column)}
    return _spelled(table, lambda column, kind: _flat_sql(column, kind) if column in odd else "")


def _span_sql(column: str, kind: pa.DataType) -> str:
    """SQL for an interval as text, since neither Parquet nor polars has such a type."""
    return f"CAST({column} AS VARCHAR)" if pa.types.is_interval(kind) else ""


def _plain_sql(column: str, kind: pa.DataType) -> str:
    """SQL for times as ISO-8601 text in UTC, intervals and bytes as text; "" for other types."""
    if pa.types.is_timestamp(kind):
        time = _utc_sql(column, kind)
        printed = f"strftime(TRY_CAST({time} AS TIMESTAMP), '%Y-%m-%dT%H:%M:%S.%fZ')"
        return f"CASE WHEN {_known_sql(time)} THEN {printed} ELSE CAST({time} AS VARCHAR) END"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return f"lower(hex({column}))"
    if pa.types.is_time(kind) or pa.types.is_date(kind):
        return f"CAST({column} AS VARCHAR)"
    return _span_sql(column, kind)


def _utc_sql(column: str, kind: pa.DataType) -> str:
    return column if kind.tz is None else f"({column} AT TIME ZONE 'UTC')"


def _known_sql(time: str) -> str:
    """SQL for whether a date or time without zone is in the years 1 to 9999."""
    return f"coalesce(TRY_CAST({time} AS TIMESTAMP) {_YEARS}, false)"


def _flat_sql(column: str, kind: pa.DataType) -> str:
    """Like `_plain_sql`, and lists, structs and maps as JSON, for formats without such types."""
    if pa.types.is_nested(kind):
        return f"CAST(to_json({_finite_sql(column, kind)}) AS VARCHAR)"
    return _plain_sql(column, kind)


def _query(sql: str, table: pa.Table) -> pa.Table:
    """The answer of a query over `given`, the table with columns c0, c1 ...

    Their names are of no use, since names in DuckDB ignore case.
    """
    with _scratch().cursor() as con:
        con.register("given", table.rename_columns([f"c{n}" for n in range(table.num_columns)]))
        return con.sql(sql).to_arrow_table()


@functools.cache
def _scratch() -> duckdb.DuckDBPyConnection:
    """A cached database in memory for conversions; a new one for each part would take 10 ms."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


def _csv(parts: Iterator[pa.Table], _title: str) -> Iterator[bytes]:
    """Quotes only where needed, lines end in a line feed, NULL is empty and '' is quoted."""
    import polars

    for number, table in enumerate(parts):
        out = io.BytesIO()
        frame = polars.DataFrame(_spelled(table, _flat_sql))
        frame.write_csv(out, quote_style="necessary", include_header=not number)
        yield out.getvalue()


def _json(parts: Iterator[pa.Table], _title: str) -> Iterator[bytes]:
    before = b"["
    for table in parts:
        if lines := _objects(table):
            yield before + b",\n ".join(lines)
            before = b",\n "
    yield b"]\n" if before != b"[" else b"[]\n"


def _jsonl(parts: Iterator[pa.Table], _title: str) -> Iterator[bytes]:
    for table in parts:
        yield b"".join(line + b"\n" for line in _objects(table))


def _objects(table: pa.Table) -> list[bytes]:
    """One JSON object a row."""
    table = _spelled(table, _plain_sql)
    if not table.num_rows:
        return []
    members = ", ".join(
        f"{literal(field.name)}, {_finite_sql(f'c{n}', field.type)}"
        for n, field in enumerate(table.schema)
    )
    objects = f"SELECT CAST(json_object({members}) AS BLOB) AS line FROM given"
    lines: list[bytes] = _query(objects, table).column(0).to_pylist()
    return lines


def _finite_sql(value: str, kind: pa.DataType) -> str:
    """SQL for a value with NaN and infinity, which JSON lacks, as null at any depth."""
    if pa.types.is_floating(kind):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if pa.types.is_decimal(kind) and kind.precision == 38 and not kind.scale:
        return f"CAST({value} AS HUGEINT)"  # Arrow's decimal for it can have one digit less
    if pa.types.is_map(kind):
        values = _finite_sql(f"map_values({value})", pa.list_(kind.item_type))
        return f"CASE WHEN {value} IS NOT NULL THEN map(map_keys({value}), {values}) END"
    if pa.types.is_struct(kind):
        parts = ((quoted(part.name), part.type) for part in kind)
        packed = ", ".join(f"{n} := {_finite_sql(f'({value}).{n}', part)}" for n, part in parts)
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({packed}) END"
    if pa.types.is_nested(kind):
        name = f"v{value.count('lambda')}"
        return f"list_transform({value}, lambda {name}: {_finite_sql(name, kind.value_type)})"
    return value


def _parquet(parts: Iterator[pa.Table], _title: str) -> Iterator[bytes]:
    from pyarrow import parquet

    out, tables = _Sink(), (_spelled(part, _span_sql) for part in parts)
    first = next(tables)
    with parquet.ParquetWriter(pa.PythonFile(out, mode="w"), first.schema, compression="zstd") as w:
        for table in itertools.chain([first], tables):
            w.write_table(table)
            yield out.take()
    yield out.take()


class _Sink(io.BytesIO):
    """A buffer that is written sequentially and drained by `take`."""

    _taken = 0

    def tell(self) -> int:
        """Bytes written so far."""
        return self._taken + super().tell()

    def take(self) -> bytes:
        """Remove and return the buffered bytes."""
        data = self.getvalue()
        self._taken += len(data)
        self.seek(0)
        self.truncate()
        return data


def _xlsx(parts: Iterator[pa.Table], title: str) -> Iterator[bytes]:
    first = next(parts)
    columns = [
        SheetColumn(f"{name} (UTC)" if pa.types.is_timestamp(kind) else name, width=len(name) + 2)
        for name, kind in zip(first.column_names, first.schema.types, strict=True)
    ]
    rows = (
        row
        for table in itertools.chain([first], parts)
        for row in zip(*_sheet_columns(table), strict=True)
    )
    return workbook([Sheet(title or "result", columns, rows)])


def _sheet_columns(table: pa.Table) -> Iterator[list[Any]]:
    """The cells of a sheet by column; times out of the range of Python are text."""
    cells = _spelled(table, _sheet_sql)
    odd = [
        (pa.types.is_temporal(column.type) and column.null_count > given.null_count)
        for column, given in zip(cells.columns, table.columns, strict=True)
    ]
    texts = _spelled(table, _flat_sql) if any(odd) else cells
    for column, text, is_odd in zip(cells.columns, texts.columns, odd, strict=True):
        values = column.to_pylist()
        if is_odd:
            pairs = zip(values, text.to_pylist(), strict=True)
            values = [other if value is None else value for value, other in pairs]
        yield values


def _sheet_sql(column: str, kind: pa.DataType) -> str:
    """SQL for a column of a sheet; times out of its range are NULL."""
    if pa.types.is_timestamp(kind):
        time = _utc_sql(column, kind)
        return f"CASE WHEN {_known_sql(time)} THEN CAST({time} AS TIMESTAMP) END"
    if pa.types.is_date(kind):
        return f"CASE WHEN {_known_sql(column)} THEN {column} END"
    return _flat_sql(column, kind)


def cell_texts(table: pa.Table) -> dict[str, list[str]]:
    """The cells of each column as text, for a page; repeated names of columns are numbered."""
    spelled = _spelled(_distinct(table), _flat_sql)
    columns = zip(spelled.column_names, spelled.columns, strict=True)
    return {name: _texts(column).to_pylist() for name, column in columns}


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """A column as text, empty for NULL; only floats and unusual types need a loop over values."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts = column.cast(pa.string())
    elif pa.types.is_string(kind):
        odd = pc.any(pc.match_substring_regex(column, _CONTROL)).as_py()
        texts = pa.chunked_array([[_cell(v) for v in column.to_pylist()]]) if odd else column
    else:
        texts = pa.chunked_array([pa.array([_cell(v) for v in column.to_pylist()], pa.string())])
    return pa.concat_arrays([pa.array([], pa.string()), *pc.fill_null(texts, "").chunks])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return _short(value)
    return one_line(str(value)) if isinstance(value, str) else str(value)


def _short(value: float) -> str:
    """A float with up to six decimals, without trailing zeros."""
    if not math.isfinite(value):
        return ""
    if value and abs(value) < 10.0**-_DECIMALS:
        return f"{value:.3g}"
    text = f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type are integers, floats or decimals."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _text(parts: Iterator[pa.Table], title: str) -> Iterator[bytes]:
    widths: list[int] = []
    for table in parts:
        left = [not is_number(field.type) for field in table.schema]
        cells = [_texts(column) for column in _spelled(table, _flat_sql).columns]
        if not cells:
            lines = [title] if title else []
        elif not widths:
            names = [one_line(name) for name in table.column_names]
            columns = [
                pa.concat_arrays([pa.array([n]), c]) for n, c in zip(names, cells, strict=True)
            ]
            widths = widths_of(columns)
            head, *lines = text_lines(columns, left)
            rule = GAP.join("-" * width for width in widths)
            lines = [*([title, ""] if title else []), head, rule, *lines]
        else:
            lines = text_lines(cells, left, widths)
        yield printable("".join(f"{line}\n" for line in lines)).encode()


def _markdown(parts: Iterator[pa.Table], title: str) -> Iterator[bytes]:
    for number, table in enumerate(parts):
        left = [not is_number(field.type) for field in table.schema]
        cells = [_texts(column).to_pylist() for column in _spelled(table, _flat_sql).columns]
        rows = zip(*cells, strict=True)
        text = markdown_table([one_line(name) for name in table.column_names], rows, left)
        if number:
            text = "".join(f"{line}\n" for line in text.split("\n")[2:])
        else:
            text = (f"## {title}\n\n" if title else "") + text + "\n"
        yield printable(text).encode()
