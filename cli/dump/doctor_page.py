"""The page of `cpmon doctor`, as text or Markdown, rendered from its JSON document."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...render.html import text_page
from ..output import rows_as

HIDDEN = "not shown; --names shows it"
WIDTH = 96


def page(documents: Iterable[dict[str, Any]], form: str) -> bytes:
    """Renders the pages of several inputs one below the other."""
    return "\n".join(_page(document, _Style(form == "markdown")) for document in documents).encode()


def _page(document: dict[str, Any], style: _Style) -> str:
    tables: dict[str, list[dict[str, Any]]] = {
        "records": [{**row, "name": row["name"] or "?"} for row in document.get("records", ())],
        "pages": [
            {
                "page": row["page"] or "by IBM's list of records",
                **{key: row[key] for key in ("record", "why")},
                "reports": _shortened(row["reports"]),
            }
            for row in document.get("pages", ())
        ],
    }
    values = {**document, **tables, "page": style, "hidden": HIDDEN, "counted": _counted}
    return text_page(__package__, "doctor.txt", **values)


@dataclass(frozen=True)
class _Style:
    """Formats the parts of a page as text or Markdown."""

    is_markdown: bool

    def head(self, text: str, level: int = 2) -> str:
        """A heading, after an empty line unless it is the first."""
        underline = ("=" if level == 1 else "-") * len(text)
        heading = f"{'#' * level} {text}\n" if self.is_markdown else f"{text}\n{underline}"
        return heading if level == 1 else f"\n{heading}"

    def paragraph(self, text: str, details: Iterable[str] = ()) -> str:
        """A paragraph, or a list item with details."""
        lines = textwrap.wrap(text, WIDTH)
        for detail in details:
            lines += textwrap.wrap(detail, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        return ("- " if self.is_markdown and details else "") + "\n".join(lines)

    def fact(self, name: str, text: str) -> str:
        """A name and its value."""
        if self.is_markdown:
            return f"- {name}: {text}"
        return textwrap.fill(f"{name:<15} {text}", WIDTH, subsequent_indent=" " * 16)

    def table(self, rows: list[dict[str, Any]]) -> str:
        """A table of rows with the same keys."""
        return rows_as(rows, "markdown" if self.is_markdown else "table").decode().rstrip("\n")


def _counted(rows: Iterable[dict[str, Any]], key: str) -> str:
    """The values of a key with their counts, the most frequent first."""
    counts = Counter(row[key] for row in rows)
    return ", ".join(f"{count} {value}" for value, count in counts.most_common())


def _shortened(names: list[str]) -> str:
    """At most three names, or two and the number of others."""
    more = len(names) - 2
    return ", ".join([*names[:2], f"{more} others"] if more > 1 else names)
