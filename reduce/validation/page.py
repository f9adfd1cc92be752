"""A validation as one self-contained HTML page: `validation.html` filled in, every text escaped.

The page has no script and asks for nothing: it reads from disk, in light and dark, and prints.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ...schemas.printable import for_page
from .outcome import Status, Validation
from .outcome_text import heading, missing, notes

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "validation.html"


def render_page(found: Validation) -> bytes:
    """The page, UTF-8: what failed with its meaning, then every rule that was looked at."""
    counts, span = heading(found)
    failed = found.of(Status.FAILED)
    text = _template().render(
        counts=counts,
        span=span,
        failed=failed,
        passed=found.of(Status.PASSED),
        missing=missing(found),
        notes=notes(failed),
        version=found.suite.get("meta", {}).get("great_expectations_version", ""),
    )
    return for_page(text).encode()


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = (files(__package__) / TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(text)
