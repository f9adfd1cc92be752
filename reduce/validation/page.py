"""A validation as one self-contained HTML page: `validation.html` filled in, every text escaped.

The page has no script and asks for nothing: it reads from disk, in light and dark, and prints.
"""

from __future__ import annotations

from ...schemas.printable import for_page
from ..render.html_template import html_template
from .outcome import Status, Validation
from .outcome_text import heading, missing, notes

TEMPLATE = "validation.html"


def render_page(found: Validation) -> bytes:
    """The page, UTF-8: what failed with its meaning, then every rule that was looked at."""
    counts, span = heading(found)
    failed = found.of(Status.FAILED)
    text = html_template(__package__, TEMPLATE).render(
        counts=counts,
        span=span,
        failed=failed,
        passed=found.of(Status.PASSED),
        missing=missing(found),
        notes=notes(failed),
        version=found.suite.get("meta", {}).get("great_expectations_version", ""),
    )
    return for_page(text).encode()
