"""Comparison tables and run comparisons."""

from .comparison_table import Cell, ComparisonTable, compare
from .rendering import render_comparison
from .run_comparison import RunComparison, compare_runs
from .run_facts import base_and_runs
from .spec import Spec, load_spec, parse_spec, spec_names

__all__ = [
    "Cell",
    "ComparisonTable",
    "RunComparison",
    "Spec",
    "base_and_runs",
    "compare",
    "compare_runs",
    "load_spec",
    "parse_spec",
    "render_comparison",
    "spec_names",
]
