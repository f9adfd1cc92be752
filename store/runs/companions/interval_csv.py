"""Throughput (load generator) and hardware instrumentation: a line an interval, as CSV.

Neither has a public text form, so each has a small one of ours, with times in ISO 8601 UTC.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ...columns import COLUMNS
from .lines import Figures, Line, empty, lines


def read_intervals(file: Path, table: str) -> Figures:
    """The log of a load generator, or the figures of the hardware instrumentation.

    Args:
        table: its columns are those of the file, beside `run_id`.

    Raises:
        CpmonError: the file cannot be read, or lacks a column or a value.
    """
    columns = [column for column in COLUMNS[table] if column not in ("run_id", "interval_end")]
    syntax = f"a CSV with the columns interval_end, {', '.join(columns)}; times in ISO 8601 UTC"
    rows = [*lines(file)]
    if not rows:
        raise empty(file, syntax)
    names = _cells(rows[0])
    if not {"interval_end", *columns} <= {*names}:
        raise rows[0].wrong("lacks columns", syntax)
    return [_figures(line, names, columns, syntax) for line in rows[1:]]


def _figures(
    line: Line, names: list[str], columns: Sequence[str], syntax: str
) -> dict[str, object]:
    cells = dict(zip(names, _cells(line), strict=False))  # one that is missing is named below
    try:
        end = datetime.fromisoformat(cells["interval_end"])
        figures = {column: float(cells[column]) for column in columns}
    except (KeyError, ValueError):
        raise line.wrong("has a line that is no interval", syntax) from None
    if not all(map(math.isfinite, figures.values())):
        raise line.wrong("has a figure that is no number", syntax)
    at = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
    return {"interval_end": f"{at:%Y-%m-%d %H:%M:%S.%f}", **figures}


def _cells(line: Line) -> list[str]:
    return next(csv.reader([line.text]))
