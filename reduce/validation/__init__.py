"""Validation: whether what landed is what it says it is, by rules from layouts and written ones."""

from .outcome import Outcome, Status, Validation
from .rule import Rule, Scope, Severity
from .validate import find_rule, load_rules, offending, validate, validate_span, validate_spans

__all__ = [
    "Outcome",
    "Rule",
    "Scope",
    "Severity",
    "Status",
    "Validation",
    "find_rule",
    "load_rules",
    "offending",
    "validate",
    "validate_span",
    "validate_spans",
]
