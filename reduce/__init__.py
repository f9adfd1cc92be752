"""SQL reductions over the store, comparison tables and their rendering."""

from .compare.comparison_table import Cell, ComparisonTable, compare
from .compare.rendering import render_comparison
from .compare.run_comparison import RunComparison, compare_runs
from .compare.spec import Spec
from .compare.spec_file import load_spec, parse_spec, spec_names
from .reductions.reductions import ReducedColumn, Reduction, reduction, reductions
from .render.render import render
from .reports.report import ReportResult, find_report, report, report_names
from .reports.report_text import render_report

__all__ = [
    "Cell",
    "ComparisonTable",
    "ReducedColumn",
    "Reduction",
    "ReportResult",
    "RunComparison",
    "Spec",
    "compare",
    "compare_runs",
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
