"""What some SQL answers: rows for a page, a chart of them, or a file."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ..core.errors import CpmonError
from ..reduce.metrics.metric import TIME
from ..reduce.page.chart import POINTS, Chart, ChartKind, Points, with_gaps
from ..reduce.page.drawing import over_time, png, stacked, svg
from ..reduce.page.measures import no_measures, object_columns, units
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
MOST_SERIES = 8
"""Maximum number of lines of a chart: there are 8 colours."""
MOST_NAME = 60
"""Maximum number of characters of a name in a chart."""
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
        chart: drawing of measures over the first column of times; may be empty.
    """

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]
    is_cut: bool
    count: int
    is_complete: bool
    chart: str

    def href(self, row: Sequence[str], column: int) -> str:
        """The address of the object that a cell names, on the day of its row; may be empty."""
        names = [name for name, _ in self.columns]
        kind, name = object_columns().get(names[column], ""), row[column]
        if not (kind and name):
            return ""
        given = dict(zip(names, row, strict=True))
        is_number = kind == "device" and name.isascii() and name.isdigit()
        is_text = self.columns[column][1]
        words = {"kind": kind, "name": f"{int(name):04X}" if is_number and not is_text else name}
        if given.get("system"):
            words["system"] = given["system"]
        with suppress(KeyError, ValueError, OverflowError):  # no time, or none of a day
            day = date.fromisoformat(given[TIME][:10])
            words |= {"since": str(day), "until": str(day + timedelta(days=1))}
        return f"object?{urlencode(words)}"


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
            drawn.append(_drawn(part.slice(0, MOST_DRAWN - count)))
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
    return Answer(
        tuple(zip(names, (not is_number(kind) for kind in schema.types), strict=True)),
        tuple(rows),
        is_cut=longest > MOST_CELL,
        count=count,
        is_complete=is_complete,
        chart=_chart(_renamed(drawn)) if count <= MOST_DRAWN else "",
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
    """Indices of what a chart shows: the first column of times, measures, and what tells objects.

    It is empty without times or measures: a key or flag is never drawn.
    """
    times = [n for n, kind in enumerate(schema.types) if pa.types.is_timestamp(kind)]
    numbers = [n for n, kind in enumerate(schema.types) if is_number(kind)]
    measures = [n for n in numbers if schema.names[n].lower() not in no_measures()]
    texts = [n for n, kind in enumerate(schema.types) if pa.types.is_string(kind)]
    keys = [n for n, name in enumerate(schema.names) if name.lower() in object_columns()]
    told = [n for n in dict.fromkeys([*keys, *texts]) if n not in measures]
    return [times[0], *measures[:MOST_SERIES], *told] if times and measures else []


def _drawn(part: pa.Table) -> pa.Table:
    """What a chart needs of a part; names of objects without what no legend shows."""
    part = part.select(_of_chart(part.schema))
    for n, (name, kind) in enumerate(zip(part.column_names, part.schema.types, strict=True)):
        if pa.types.is_string(kind):
            short = pc.utf8_slice_codeunits(part.column(n), 0, MOST_NAME)
            part = part.set_column(n, name, short)
    return part


def draw_answer(parts: Iterable[pa.Table], check: Callable[[], None]) -> bytes:
    """The chart of a result as PNG.

    Raises:
        CpmonError: it has nothing to draw.
    """
    drawn, count = list[pa.Table](), 0
    for part in parts:
        check()
        drawn.append(_drawn(part))
        count += len(part)
        if count > MOST_DRAWN:
            break
    made = _specification(_renamed(drawn)) if count <= MOST_DRAWN else None
    if made is None:
        raise CpmonError(
            "the answer has no chart",
            expected=f"a column of times, a measure, and at most {MOST_DRAWN:,} rows",
        )
    return png(made[0])


def _renamed(drawn: Sequence[pa.Table]) -> pa.Table:
    """One table, whose columns have different names."""
    table = pa.concat_tables(drawn)
    return table.rename_columns([*cell_texts(table.slice(0, 0))])


def _chart(table: pa.Table) -> str:
    made = _specification(table)
    return svg(made[0], "Answer", made[1], "answer") if made else ""


def _specification(table: pa.Table) -> tuple[dict[str, Any], str] | None:
    """A drawing of the measures of a table over its first column, of times, and what it shows.

    Measures of one unit share a panel. Where times repeat there are several objects: the first
    measure is drawn for the greatest of them.
    """
    if table.num_columns < 2 or len(table) < 2:
        return None
    time, *others = table.column_names
    clock = known_times(table.column(0)).cast(pa.timestamp("us"), safe=False)
    measures = [n for n in others if is_number(table[n].type) and n.lower() not in no_measures()]
    keys = [name for name in others if name not in measures]
    if keys and pc.count_distinct(clock).as_py() < len(clock):
        order, series = _by_object(table, clock, measures[0], keys)
        panels = {measures[0]: dict(zip(order, series, strict=True))}
    else:
        panels = {}
        for name in measures[:MOST_SERIES]:
            of_unit = panels.setdefault(units().get(name.lower(), ""), {})
            of_unit[name] = _series(clock, table[name], name)
    drawn = []
    for number, (axis, by_name) in enumerate(panels.items()):
        points = Points(pa.concat_tables([*by_name.values()]), tuple(by_name))
        if not points.is_empty:
            chart = Chart(f"answer{number}", "Answer", "", (), ChartKind.LINES, axis=axis)
            drawn.append(over_time(chart, points, ZoneInfo("UTC"), alone=True))
    shown = ", ".join(name for by_name in panels.values() for name in by_name)
    return (stacked(drawn), f"{shown} over {time}") if drawn else None


def _by_object(
    table: pa.Table, clock: pa.ChunkedArray, measure: str, keys: Sequence[str]
) -> tuple[list[str], list[pa.Table]]:
    """The names and lines of the objects with most of a measure."""
    texts = [pc.fill_null(table[key].cast(pa.string()), "") for key in keys]
    labels = pc.binary_join_element_wise(*texts, " ") if len(texts) > 1 else texts[0]
    values = pc.fill_null(table[measure].cast(pa.float64(), safe=False), 0.0)
    sums = pa.table({"label": labels, "value": values}).group_by("label")
    ranked = sums.aggregate([("value", "sum")]).sort_by([("value_sum", "descending")])
    order = ranked["label"].to_pylist()[:MOST_SERIES]
    lines = [(name, pc.equal(labels, name)) for name in order]
    return order, [_series(clock.filter(m), table[measure].filter(m), name) for name, m in lines]


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
