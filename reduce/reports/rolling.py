"""Computes the roll-ups of a day from the file of its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...config.shifts import Shift
from ...store.results.reduction_database import QueryWriter
from ...store.views.views import text
from ..metrics.report_shape import TIME
from ..metrics.rollups import EVER, ROWS, SHIFT_ENDS, SHIFTS, SUMS, Rollup, hours
from .report_sql import shift_condition


def roll_up(
    writer: QueryWriter,
    rollup: Rollup,
    rows: str,
    shifts: Sequence[Shift],
    paths: Mapping[str, Path],
    system: str,
) -> None:
    """Write the roll-ups of a day, over all of its time and by shift.

    Args:
        rows: of its intervals, all of one system: a relation, as SQL.
        paths: level -> where its roll-up is written.

    Raises:
        OSError: the disk refuses them.
        CpmonError: the memory limit is too small.
    """
    run = writer.execute
    run(f"CREATE TEMP VIEW {ROWS} AS FROM {rows}")
    try:
        _create_shifts(writer, shifts)
        run(f"CREATE TEMP TABLE {SUMS} AS {rollup.sums()}")
        for level, path in paths.items():
            ((depth,),) = run(rollup.depth_of(level)).fetchall()
            writer.write_query(rollup.select(level, text(system), depth), path)
    finally:
        run(f"DROP VIEW {ROWS}")
        for table in (SHIFTS, SHIFT_ENDS, SUMS):
            run(f"DROP TABLE IF EXISTS {table}")


def _create_shifts(writer: QueryWriter, shifts: Sequence[Shift]) -> None:
    """The shifts, and which intervals belong to them; 0 is all of the time."""
    run = writer.connection.execute
    run(f"CREATE TEMP TABLE {SHIFTS} (shift_id INTEGER, shift VARCHAR, hours VARCHAR)")
    run(f"INSERT INTO {SHIFTS} VALUES (0, ?, '')", [EVER])
    run(
        f"CREATE TEMP TABLE {SHIFT_ENDS} AS"
        f" SELECT DISTINCT CAST(0 AS INTEGER) AS shift_id, {TIME} FROM {ROWS}"
    )
    for number, shift in enumerate(shifts, 1):
        where, values = shift_condition(shift, TIME)
        run(f"INSERT INTO {SHIFTS} VALUES (?, ?, ?)", [number, shift.name, hours(shift)])
        run(
            f"INSERT INTO {SHIFT_ENDS} SELECT {number}, {TIME} FROM {SHIFT_ENDS}"
            f" WHERE shift_id = 0 AND {where}",
            values,
        )
