"""What was different at a time: metrics out of range, who contributed, events and exceptions."""

from .explanation import Explanation, explain
from .line import Line
from .rendering import explanation_table, render_explanation

__all__ = ["Explanation", "Line", "explain", "explanation_table", "render_explanation"]
