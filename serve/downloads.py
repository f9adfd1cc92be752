"""Charts and reports of pages as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import IO

import duckdb

from ..config import Settings
from ..core.errors import CpmonError
from ..reduce.page.plot import plot_report
from ..reduce.reports.report import report
from .addresses import chosen_object, chosen_window, span
from .answer import write_answer
from .charts import draw, draw_chart


def write_download(
    con: duckdb.DuckDBPyConnection,
    chosen: Mapping[str, str],
    settings: Settings,
    format: str,
    check: Callable[[], None],
) -> IO[bytes]:
    """The chart or report of an address as a file: a picture, or all of its values.

    Raises:
        CpmonError: a name is unknown, or there is nothing to draw.
    """
    if "report" in chosen:
        window = chosen_window(con, chosen, *span(chosen))
        objects = dict([chosen_object(chosen)]) if "kind" in chosen else None
        is_picture = format == "png"
        result = report(
            con,
            chosen["report"],
            **window.selection,
            objects=objects,
            by=window.step() if is_picture and objects else None,
            settings=settings,
        )
        if is_picture:
            return BytesIO(plot_report(result, format))
        return write_answer([result.for_programs], format, check)
    if not chosen.keys() & {"chart", "metric"}:
        raise CpmonError("an address of a file names a chart, metrics or a report")
    drawing = (draw if "metric" in chosen else draw_chart)(con, chosen, settings)
    if format == "png":
        return BytesIO(drawing.png())
    return write_answer([drawing.table()], format, check)
