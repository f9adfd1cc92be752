"""Self-contained HTML pages: templates filled in, every text escaped, every name given.

Text pages are filled in by the same rules, without escapes.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..core.text import for_page

if TYPE_CHECKING:
    from jinja2 import Environment

COLORS: dict[str, str] = tomllib.loads(
    (files(__package__) / "colors.toml").read_text(encoding="utf-8")
)
"""The colours of a drawing by the names that the pages' style has for them; all differ."""


_TIME = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")
_BASE = (files(__package__) / "base.css").read_text(encoding="utf-8")


def html_page(package: str, template: str, **values: Any) -> bytes:
    """A page, UTF-8: a template that lies in a package, filled in.

    The filter `drawing` is for markup that needs no escaping, `times` for texts with times, which
    then do not break across lines. `base` is always given: the style
    that all pages have, with rules that repaint drawings in the colours of the page.
    """
    from markupsafe import Markup

    repaint = "".join(
        f'svg [{part}="{value}"]{{{part}:var(--{name})}}\n'
        for name, value in COLORS.items()
        for part in ("fill", "stroke")
    )
    page = _environment(package).get_template(template)
    return for_page(page.render(base=Markup(_BASE + repaint), **values)).encode()


def text_page(package: str, template: str, **values: Any) -> str:
    """A text: a template that lies in a package, filled in."""
    return _environment(package, autoescape=False).get_template(template).render(values)


@cache
def _environment(package: str, *, autoescape: bool = True) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup, escape

    def read(name: str) -> str:
        return files(package).joinpath(name).read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(read),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawing"] = Markup
    environment.filters["times"] = lambda text: Markup(
        _TIME.sub(r"<time>\g<0></time>", str(escape(text)))
    )
    environment.globals["source"] = lambda name: Markup(read(name))
    return environment
