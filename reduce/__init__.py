"""SQL reductions over the store, and reports of them."""

from .reductions.reductions import ReducedColumn, Reduction, reduction, reductions
from .reports.report import ReportResult, report
from .reports.report_names import find_report, report_names
from .reports.report_text import render_report

__all__ = [
    "ReducedColumn",
    "Reduction",
    "ReportResult",
    "find_report",
    "reduction",
    "reductions",
    "render_report",
    "report",
    "report_names",
]
