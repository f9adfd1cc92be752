"""What some SQL answers: rows for a page, a chart of them, or a file."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from tempfile import TemporaryFile
from typing import IO
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ..core.errors import CpmonError
from ..reduce.metrics.metric import TIME
from ..reduce.page.chart import POINTS, Chart, ChartKind, Points, with_gaps
from ..reduce.page.drawing import over_time, svg
from ..render.odd_times import known_times
from ..render.render import cell_texts, is_number, render_parts

MOST_SHOWN = 1_000
"""Maximum number of rows of a table on a page."""
MOST_CELL = 10_000
"""Maximum number of characters of a cell on a page."""
MOST_TEXT = 2 * 2**20
"""Characters of cells on a page, after which no further row is shown."""
MOST_DRAWN = 50_000
"""Maximum number of rows from which a chart is drawn."""
MOST_COUNTED = 1_000_000
"""Rows are counted up to this number."""
MOST_BYTES = 2**30
"""Maximum size of a file."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FILES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Format of a file -> its media type."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of some SQL, ready for a page.

    Attributes:
        columns: name and whether its cells are text.
        rows: the first ones, as text: at most MOST_SHOWN, and about MOST_TEXT characters.
        is_cut: whether cells of them were cut after MOST_CELL characters.
        count: number of all rows. is_complete: whether all were counted.
        chart: drawing of the numeric columns over the first column of times; may be empty.
    """

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]
    is_cut: bool
    count: int
    is_complete: bool
    chart: str


def read_answer(parts: Iterable[pa.Table], check: Callable[[], None]) -> Answer:
    """Reads a result for a page; `check`, called between parts, raises if the reader has left.

    Of a part only what the page shows is kept, so that its size does not depend on the answer's.
    """
    rows, drawn, first = list[tuple[str, ...]](), list[pa.Table](), None
    count, room, longest, is_complete = 0, MOST_TEXT, 0, True
    for part in parts:
        check()
        first = part.slice(0, 0) if first is None else first
        if count < MOST_DRAWN:
            drawn.append(part.select(_of_chart(part.schema)).slice(0, MOST_DRAWN - count))
        if room > 0 and len(rows) == count < MOST_SHOWN:
            shown, longest_of_part = _rows(part.slice(0, MOST_SHOWN - count), room)
            rows += shown
            room -= sum(map(_length, shown))
            longest = max(longest, longest_of_part)
        count += len(part)
        if count > MOST_COUNTED:
            count, is_complete = MOST_COUNTED, False
            break
    assert first is not None, "an answer has at least one part"
    names, schema = [*cell_texts(first)], first.schema
    chart = pa.concat_tables(drawn).rename_columns([names[n] for n in _of_chart(schema)])
    return Answer(
        tuple(zip(names, (not is_number(kind) for kind in schema.types), strict=True)),
        tuple(rows),
        is_cut=longest > MOST_CELL,
        count=count,
        is_complete=is_complete,
        chart=_chart(chart) if count <= MOST_DRAWN else "",
    )


def _rows(part: pa.Table, room: int) -> tuple[list[tuple[str, ...]], int]:
    """Rows as text until they fill the room, at least one, and the length of the longest cell."""
    texts = [*zip(*cell_texts(_cut(part)).values(), strict=True)]
    rows = [tuple(map(_shortened, row)) for row in texts]
    before = accumulate(map(_length, rows[:-1]), initial=0)
    rows = rows[: sum(filled < room for filled in before)]
    return rows, max((len(cell) for row in texts[: len(rows)] for cell in row), default=0)


def _cut(part: pa.Table) -> pa.Table:
    """Texts and bytes without what no page shows, before they become objects of Python."""
    for n, (name, column) in enumerate(zip(part.column_names, part.columns, strict=True)):
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            part = part.set_column(n, name, pc.utf8_slice_codeunits(column, 0, MOST_CELL + 1))
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            part = part.set_column(n, name, pc.binary_slice(column, 0, MOST_CELL // 2 + 1))
    return part


def _shortened(cell: str) -> str:
    return f"{cell[:MOST_CELL]}…" if len(cell) > MOST_CELL else cell


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row))


def _of_chart(schema: pa.Schema) -> list[int]:
    """Indices of what a chart shows: the first column of times and numbers; empty without both."""
    times = [n for n, kind in enumerate(schema.types) if pa.types.is_timestamp(kind)]
    numbers = [n for n, kind in enumerate(schema.types) if is_number(kind)]
    return [times[0], *numbers[:8]] if times and numbers else []  # there are 8 colours


def _chart(table: pa.Table) -> str:
    """The numeric columns of a table over its first one, of times; empty without them."""
    if table.num_columns < 2 or len(table) < 2:
        return ""
    time, *order = table.column_names
    clock = known_times(table.column(0)).cast(pa.timestamp("us"), safe=False)
    series = [_series(clock, table.column(n), name) for n, name in enumerate(order, start=1)]
    points = Points(pa.concat_tables(series), tuple(order))
    if points.is_empty:
        return ""
    chart = Chart("answer", "Answer", "", (), ChartKind.LINES, axis="")
    about = f"{', '.join(order)} over {time}"
    drawing = over_time(chart, points, ZoneInfo("UTC"), alone=True)
    return svg(drawing, "Answer", about, "answer")


def _series(clock: pa.ChunkedArray, values: pa.ChunkedArray, name: str) -> pa.Table:
    numbers = values.cast(pa.float64(), safe=False)
    finite = pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
    labels = pa.repeat(pa.scalar(name, pa.string()), len(clock))
    points = pa.table([clock, labels, finite], schema=POINTS)
    return with_gaps(points.filter(pc.is_valid(points.column(TIME))).sort_by(TIME))


def write_answer(parts: Iterable[pa.Table], format: str, check: Callable[[], None]) -> IO[bytes]:
    """Writes a result as a file of one of FILES, which has no name and goes when it is closed.

    Raises:
        CpmonError: it would be larger than MOST_BYTES, the format cannot express a value, or there
            is no room for temporary files.
    """
    file = TemporaryFile()  # noqa: SIM115 - the answer reads and closes it
    try:
        _fill(file, render_parts(parts, format), check)
    except BaseException as error:
        with suppress(OSError):  # closing writes, too
            file.close()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise CpmonError(
                "the server has no room for the file of this answer",
                code="answer-not-writable",
                found=error.strerror,
                effect="nothing was sent; pages are answered as before",
                remedy="make room for temporary files of the server (TMPDIR), or write it by cpmon"
                " query -o FILE",
            ) from None
        raise
    return file


def _fill(file: IO[bytes], pieces: Iterable[bytes], check: Callable[[], None]) -> None:
    size = 0
    for piece in pieces:
        check()
        size += len(piece)
        if size > MOST_BYTES:
            raise CpmonError(
                "the answer is too large to be downloaded",
                code="answer-too-large",
                expected=f"at most {MOST_BYTES:,} bytes",
                remedy="select less, or write it by cpmon query -o FILE",
            )
        file.write(piece)
    file.seek(0)  # which writes the rest
