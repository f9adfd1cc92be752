"""SQL reductions over the store, comparison tables and their rendering."""

from .reductions import ReducedColumn, Reduction, reduction, reductions
from .render import render
from .report import ReportResult, find_report, report, report_names
from .report_text import render_report
from .spec import Spec, load_spec, parse_spec, spec_names
from .table_text import render_comparison
from .tables import Cell, ComparisonTable, compare

__all__ = [
    "Cell",
    "ComparisonTable",
    "ReducedColumn",
    "Reduction",
    "ReportResult",
    "Spec",
    "compare",
    "find_report",
    "load_spec",
    "parse_spec",
    "reduction",
    "reductions",
    "render",
    "render_comparison",
    "render_report",
    "report",
    "report_names",
    "spec_names",
]
