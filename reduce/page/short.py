"""A report with at most so many lines as a page can bear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from ..metrics.report_shape import Lines, Report
from ..reports.report import ReportResult
from .window import STEPS, Window

MOST_LINES = 500
"""Lines of a table of times or objects: more are the business of `cpmon report`."""
MOST_ROWS = 1000
"""Lines of a log."""

Read = Callable[[str, timedelta | None, int | None], ReportResult]
"""Reads a report by name, with lines of a length (`--by`) or so many objects (`--top`)."""


def short_report(
    read: Read, window: Window, wanted: Report, most: int = MOST_LINES
) -> ReportResult:
    """A report as a page shows it: by longer and longer times until it is short enough.

    Args:
        most: lines by time or object; what is left over at the longest time is cut, with a note.

    Raises:
        CpmonError: there is nothing to report.
    """
    if wanted.lines is Lines.ROW:
        return read(wanted.name, None, MOST_ROWS)
    if wanted.lines is Lines.OBJECT:
        return read(wanted.name, None, most)
    by = window.step(most)
    result = read(wanted.name, by, None)
    longer = [step for step in STEPS if by is None or step > by]
    while result.table.num_rows > most and longer:
        length = (window.last - window.first) * result.table.num_rows / most**2
        by = next((step for step in longer if step >= length), longer[-1])
        longer = [step for step in longer if step > by]
        result = read(wanted.name, by, None)
    lines = result.table.num_rows
    if lines <= most:
        return result
    note = f"Only the first {most} of {lines} lines; cpmon report has all."
    return replace(result, table=result.table.slice(0, most), notes=(note, *result.notes))
