"""Comparisons as one self-contained HTML page: `comparison.html` filled in, every text escaped.

The page has no script and asks for nothing: it reads from disk, in light and dark, and prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...schemas.printable import for_page
from ..render.html_template import html_template
from .comparison import ComparisonTable
from .row import SOURCES
from .table_text import LETTERED, Grid, bases_line, blocks, claims, computed_lines, footnotes
from .two_runs import RunComparison, Verdict
from .two_runs_text import cells, head, headings, marks, sections, title

TEMPLATE = "comparison.html"
UPRIGHT = 7
"""So many columns fit a sheet of paper upright; with more the page is printed across."""


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """A text, and why there is no value where it is but the mark of a footnote."""

    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class HtmlRow:
    """A line of a table; `changed` sets it off."""

    cells: tuple[HtmlCell, ...]
    changed: bool = False


@dataclass(frozen=True, slots=True)
class HtmlBody:
    """Lines that stand together, under a name or none; `about` says that they are no figures."""

    rows: tuple[HtmlRow, ...]
    name: str = ""
    about: bool = False


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table of the page. The first `texts` columns hold texts, and break lines if it `wraps`."""

    head: Sequence[str]
    bodies: tuple[HtmlBody, ...]
    heading: str = ""
    texts: int = 1
    wraps: bool = False


def table_page(table: ComparisonTable, figure: str = "") -> bytes:
    """A comparison table as a page, UTF-8: values, ratios, claims, notes.

    Args:
        figure: a drawing of its runs, as `page.figure.runs_figure` makes one.
    """
    head, *about = (lines := blocks(table))[0]
    why = dict(zip(_numbers(table.reasons()), table.reasons(), strict=True))
    bodies = [_body(about, about=True), *(_body(group, why) for group in lines[1])]
    tables = [HtmlTable(head, tuple(body for body in bodies if body.rows))]
    if lines[2]:
        base = _body([bases_line(table)], about=True)
        ratios = (base, *(_body(group, why) for group in lines[2]))
        tables.append(HtmlTable(head, ratios, "Ratio to base run"))
    if said := claims(table):
        parts = (_body(said),)
        tables.append(HtmlTable(("Claim", "Runs", "Value"), parts, "Claims", texts=3, wraps=True))
    notes = [*computed_lines(table), *_sources(table), *footnotes(table)]
    return _page(table.spec.title, table.spec.name, tables, notes, figure)


def runs_page(found: RunComparison, figure: str = "") -> bytes:
    """Runs beside a base run as a page, UTF-8: what is known of them, then a table for each.

    Args:
        figure: a drawing of the runs, as `page.figure.runs_figure` makes one.
    """
    noted = marks(found)
    why = {mark: reason for reason, mark in noted.items()}
    first, *about = head(found)
    tables = [HtmlTable(first, (_body(about),))]
    for run in found.runs:
        bodies = [
            HtmlBody(
                tuple(
                    HtmlRow(_cells(cells(line, noted), why), line.verdict is Verdict.CHANGE)
                    for line in lines
                ),
                name,
            )
            for name, lines in sections(found, run.run_id)
        ]
        top = headings(found, run.run_id)
        tables.append(HtmlTable(top, tuple(bodies), run.run_id, texts=2))
    notes = [*(f"{mark} {reason}" for reason, mark in noted.items()), *found.notes()]
    return _page(title(found), "", tables, notes, figure)


def _page(
    title: str, subtitle: str, tables: Sequence[HtmlTable], notes: Sequence[str], figure: str
) -> bytes:
    from markupsafe import Markup

    text = html_template(__package__, TEMPLATE).render(
        figure=Markup(figure),
        repaint=_repaint() if figure else "",
        title=title,
        subtitle="" if subtitle == title else subtitle,
        tables=tables,
        notes=notes,
        wide=max(len(table.head) for table in tables) > UPRIGHT,
    )
    return for_page(text).encode()


def _repaint() -> str:
    """The drawing in the colours of the page."""
    from markupsafe import Markup

    from ..page.drawing import repaint

    return Markup(repaint())


def _body(grid: Grid, why: Mapping[str, str] | None = None, *, about: bool = False) -> HtmlBody:
    return HtmlBody(tuple(HtmlRow(_cells(line, why or {})) for line in grid), about=about)


def _cells(line: Iterable[str], why: Mapping[str, str]) -> tuple[HtmlCell, ...]:
    return tuple(HtmlCell(text, why.get(text, "")) for text in line)


def _numbers(reasons: Sequence[str]) -> list[str]:
    return [f"({n})" for n in range(1, len(reasons) + 1)]


def _sources(table: ComparisonTable) -> list[str]:
    """What the letters behind the labels mean."""
    used = [source for source in SOURCES if source in LETTERED]
    found = {row.source for row in table.spec.rows}
    said = [f"({source}) {SOURCES[source]}" for source in used if source in found]
    return ["; ".join(said)] if said else []
