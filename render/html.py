"""Self-contained HTML pages from templates: text is escaped, undefined names are errors.

Text pages follow the same rules, without escapes.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..core.text import for_page

if TYPE_CHECKING:
    from jinja2 import Environment

COLORS: dict[str, str] = tomllib.loads(
    (files(__package__) / "colors.toml").read_text(encoding="utf-8")
)
"""Colours of drawings by their names in the style of pages; all are different."""


_TIME = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")
_BASE = (files(__package__) / "base.css").read_text(encoding="utf-8")


def html_page(package: str, template: str, **values: Any) -> bytes:
    """Render a template of a package as a page in UTF-8.

    The filter `drawing` marks markup that needs no escaping, `times` keeps times in a text on one
    line, `sha256` names a script in a content security policy.
    `base` is always defined: the common style, with the rules for the colours of drawings.
    """
    from markupsafe import Markup

    repaint = "".join(
        f'svg [{part}="{value}"]{{{part}:var(--{name})}}\n'
        for name, value in COLORS.items()
        for part in ("fill", "stroke")
    )
    page = _environment(package).get_template(template)
    return for_page(page.render(base=Markup(_BASE + repaint), **values)).encode()


def with_link(page: bytes, text: str, href: str) -> bytes:
    """A page that begins with a link to where it belongs."""
    from markupsafe import escape

    link = f'<body>\n<p><a href="{escape(href)}">{escape(text)}</a></p>'
    return page.replace(b"<body>", link.encode(), 1)


def text_page(package: str, template: str, **values: Any) -> str:
    """Render a template of a package as text."""
    return _environment(package, autoescape=False).get_template(template).render(values)


def sha256(text: str) -> str:
    """The hash of a script in a content security policy."""
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
    environment.filters["sha256"] = sha256
    environment.globals["source"] = lambda name: Markup(read(name))
    return environment
