"""Comparison tables and run comparisons."""

from .comparison_table import Cell, ComparisonTable, compare
from .rendering import render_comparison
from .run_comparison import RunComparison, compare_runs
from .run_facts import measure_parts
from .spec import Spec, load_spec, parse_spec, spec_names

__all__ = [
    "Cell",
    "ComparisonTable",
    "RunComparison",
    "Spec",
    "compare",
    "compare_runs",
    "load_spec",
    "measure_parts",
    "parse_spec",
    "render_comparison",
    "spec_names",
]
