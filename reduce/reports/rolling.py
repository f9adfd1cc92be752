"""Computes the roll-ups of a day from the file of its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ...config.shifts import Shift
from ...store.results.reduction_database import ReductionDatabase
from ...store.views.views import text
from .report_sql import TIME
from .rollups import EVER, FEW, Rollup, hours
from .shifts import shift_condition

AT_ONCE = 32_000_000
"""Values whose percentiles are computed at once: DuckDB holds them outside of its memory limit."""
_ROWS, _SHIFTS, _ROLLED = "_rows", "_shift_interval", "_rolled"


class RollingUp:
    """The roll-ups of one day, over all of its time and by shift."""

    def __init__(
        self, database: ReductionDatabase, rollup: Rollup, piece: Path, shifts: Sequence[Shift]
    ) -> None:
        """Look up which intervals belong to which shift.

        Args:
            piece: the rows of the intervals.
        """
        self._database, self._rollup = database, rollup
        run = database.execute
        run(f"CREATE TEMP VIEW {_ROWS} AS FROM read_parquet({text(str(piece))})")
        run(
            f"CREATE TEMP TABLE {_SHIFTS} AS"
            f" SELECT DISTINCT {text(EVER)} AS shift, '' AS hours, {TIME} FROM {_ROWS}"
        )
        for shift in shifts:
            where, values = shift_condition(shift, TIME)
            database.connection.execute(
                f"INSERT INTO {_SHIFTS} SELECT ?, ?, {TIME} FROM {_SHIFTS}"
                f" WHERE shift = {text(EVER)} AND {where}",
                [shift.name, hours(shift), *values],
            )
        ((rows,),) = run(f"SELECT count(*) FROM {_ROWS}").fetchall()
        ((ends, of_all),) = run(
            f"SELECT count(*), greatest(count(DISTINCT {TIME}), 1) FROM {_SHIFTS}"
        ).fetchall()
        self._parts = 1 + rows * ends // of_all * len(rollup.shown) // AT_ONCE

    def __enter__(self) -> RollingUp:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget the intervals."""
        self._database.execute(f"DROP VIEW {_ROWS}; DROP TABLE {_SHIFTS}")

    def write(self, level: str, path: Path) -> None:
        """Write the roll-up of one level, ordered by shift, span and object.

        Raises:
            OSError: the disk refuses it.
        """
        run, rollup = self._database.execute, self._rollup
        ((most,),) = run(rollup.most(level, _ROWS)).fetchall()
        create = f"CREATE OR REPLACE TEMP TABLE {_ROLLED} AS"
        for part in range(self._parts):
            rows = _ROWS
            if self._parts > 1:
                objects = ", ".join(rollup.keys) or "system"
                rows = f"(FROM {_ROWS} WHERE hash({objects}) % {self._parts} = {part})"
            run(f"{create} {rollup.select(level, rows, _SHIFTS, few=most < FEW)}")
            create = f"INSERT INTO {_ROLLED}"
        self._database.write_query(f"FROM {_ROLLED} ORDER BY {rollup.order}", path)
        run(f"DROP TABLE {_ROLLED}")
