"""What some SQL answers: rows for a page, a chart of them, or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ..core.errors import CpmonError
from ..reduce.metrics.metric import TIME
from ..reduce.page.chart import POINTS, Chart, ChartKind, Points, with_gaps
from ..reduce.page.drawing import over_time, svg
from ..render.render import cell_texts, is_number, render_parts

MOST_SHOWN = 1_000
"""Maximum number of rows of a table on a page."""
MOST_DRAWN = 50_000
"""Maximum number of rows from which a chart is drawn."""
MOST_COUNTED = 1_000_000
"""Rows are counted up to this number."""
MOST_BYTES = 2**30
"""Maximum size of a file."""
FILES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Format of a file -> its media type."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of some SQL, ready for a page.

    Attributes:
        columns: name and whether its cells are text. rows: the first MOST_SHOWN, as text.
        count: number of all rows. is_complete: whether all were counted.
        chart: drawing of the numeric columns over the first column of times; may be empty.
    """

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]
    count: int
    is_complete: bool
    chart: str


def read_answer(parts: Iterable[pa.Table], check: Callable[[], None]) -> Answer:
    """Reads a result for a page; `check`, called between parts, raises if the reader has left."""
    kept: list[pa.Table] = []
    count, is_complete = 0, True
    for part in parts:
        check()
        if count < MOST_DRAWN:
            kept.append(part.slice(0, MOST_DRAWN - count))
        count += len(part)
        if count > MOST_COUNTED:
            count, is_complete = MOST_COUNTED, False
            break
    table = pa.concat_tables(kept)
    shown = table.slice(0, MOST_SHOWN)
    texts = cell_texts(shown)
    return Answer(
        tuple(zip(texts, (not is_number(kind) for kind in table.schema.types), strict=True)),
        tuple(zip(*texts.values(), strict=True)),
        count,
        is_complete,
        _chart(table.rename_columns([*texts])) if count <= MOST_DRAWN else "",
    )


def _chart(table: pa.Table) -> str:
    """The numeric columns over the first column of times; empty without both."""
    fields = [*enumerate(table.schema)]
    times = next((n for n, field in fields if pa.types.is_timestamp(field.type)), None)
    # There are as many colours.
    numeric = [(n, field.name) for n, field in fields if is_number(field.type)][:8]
    if times is None or not numeric or len(table) < 2:
        return ""
    clock = table.column(times).cast(pa.timestamp("us"), safe=False)
    series = [_series(clock, table.column(n), name) for n, name in numeric]
    points = Points(pa.concat_tables(series), tuple(dict.fromkeys(name for _, name in numeric)))
    if points.is_empty:
        return ""
    chart = Chart("answer", "Answer", "", (), ChartKind.LINES, axis="")
    about = f"{', '.join(points.order)} over {table.column_names[times]}"
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
        CpmonError: it would be larger than MOST_BYTES, or the format cannot express a value.
    """
    file, size = TemporaryFile(), 0  # noqa: SIM115 - the answer reads and closes it
    try:
        for piece in render_parts(parts, format):
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
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file
