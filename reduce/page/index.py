"""The lines of the index: a window, its page, and the figures that tell it from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from ..render.printing import Format, show
from .window import Window

MEASURES = (
    ("total_util", "Total util", "%", 100, 1),
    ("master_total_util", "Master util", "%", 100, 1),
    ("tv_ratio", "T/V ratio", "", 1, 2),
    ("pct_spin", "Spin time", "%", 100, 3),
    ("users_logged_on", "Users", "", 1, 0),
    ("dasd_page_rate", "DASD pages", "/s", 1, 0),
    ("xstor_page_rate", "Xstor pages", "/s", 1, 0),
)
"""Column of `run_summary`, heading, unit, factor, decimals."""


@dataclass(frozen=True, slots=True)
class Line:
    """A page: its window, its file, and the texts of MEASURES (empty where not known)."""

    window: Window
    file: str
    figures: tuple[str, ...]


def read_lines(
    con: duckdb.DuckDBPyConnection, found: Sequence[Window], names: Sequence[str]
) -> list[Line]:
    """The lines of the index in the order of the windows."""
    columns = ", ".join(measure[0] for measure in MEASURES)
    rows = con.execute(f"SELECT system, run_id, {columns} FROM run_summary").fetchall()
    known = {(system, run): values for system, run, *values in rows}
    blank = [None] * len(MEASURES)
    return [
        Line(window, name, _texts(known.get((window.system, window.run_id), blank)))
        for window, name in zip(found, names, strict=True)
    ]


def _texts(values: Sequence[float | None]) -> tuple[str, ...]:
    both = zip(values, MEASURES, strict=True)
    return tuple(show(value, Format(m[4]), scale=m[3]).text for value, m in both)
