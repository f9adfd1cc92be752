"""Figure 1 of the timer measurement for any runs: the master processor against the mean of all."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from .chart import RUNS
from .drawing import bars, svg
from .points import Points


def runs_figure(con: duckdb.DuckDBPyConnection, runs: Sequence[str], name: str = "") -> str:
    """The figure of some runs as SVG, in their order; empty if none knows its processors.

    Args:
        con: a connection on which the reductions are views.
        name: begins the ids inside, where a page has several.
    """
    points = runs_points(con, runs)
    if points.is_empty:
        return ""
    return svg(bars(RUNS, points), RUNS.title, RUNS.about, name or RUNS.name)


def runs_points(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> Points:
    """The values of the figure: rows with `object` (the run), `series` and `value` in percent."""
    given = pa.table(
        [pa.array(list(runs), pa.string()), pa.array(range(len(runs)), pa.int32())],
        names=["run_id", "place"],
    )
    con.register("_given", given)
    series = [f"({n}, '{d.label}', s.{d.column})" for n, d in enumerate(RUNS.series)]
    try:
        table = con.sql(
            "SELECT s.run_id AS object, v.series, 100 * v.value AS value"
            " FROM run_summary AS s JOIN _given AS g USING (run_id),"
            f" LATERAL (VALUES {', '.join(series)}) AS v (n, series, value)"
            " ORDER BY g.place, v.n"
        ).to_arrow_table()
    finally:
        con.unregister("_given")
    return Points(table, tuple(drawn.label for drawn in RUNS.series))
