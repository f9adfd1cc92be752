"""Comparisons as bytes: tables and run comparisons in every format, by one layout.

The HTML page has no script and asks for nothing: it reads from disk, in light and dark, and
prints.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

from ...config.formats import FORMATS
from ...core.errors import CpmonError
from ...core.text import one_line, printable
from ...render.html import html_page
from ...render.render import render
from ...render.text import bullets, grid_lines, markdown_table
from ...render.xlsx import Column, Sheet, number_of, workbook
from .comparison_table import ComparisonTable
from .layout import Block, Body, Layout
from .run_comparison import RunComparison
from .run_layout import run_layout
from .table_layout import table_layout

UPRIGHT = 8
"""So many columns fit a sheet of paper upright; with more the page is printed across."""
_GAP = "   "


def render_comparison(
    comparison: ComparisonTable | RunComparison, format: str = "text", figure: str = ""
) -> bytes:
    """A comparison in one of FORMATS or html, UTF-8 (parquet and xlsx: the file).

    csv, jsonl and parquet hold the cells of a table in long form, and a line a metric, unrounded,
    of a run comparison; json adds the runs and the reasons or notes. xlsx has both: the tables as
    they are printed on one sheet, the long form on another.

    Args:
        figure: for html, a drawing of the runs, as `page.drawing.runs_figure` makes one.

    Raises:
        CpmonError: there is no such format.
    """
    if isinstance(comparison, ComparisonTable):
        layout = table_layout(comparison)
    else:
        layout = run_layout(comparison)
    match format:
        case "text" | "table":
            return printable("".join(f"{line}\n" for line in _text(layout))).encode()
        case "markdown":
            return printable("\n\n".join(_markdown(layout)) + "\n").encode()
        case "json":
            document = json.dumps(layout.document, indent=2, ensure_ascii=False)
            return (document + "\n").encode()
        case "csv" | "jsonl" | "parquet":
            return render(layout.cells, format)
        case "xlsx":
            return b"".join(workbook(_sheets(layout)))
        case "html":
            return _page(layout, figure)
    raise CpmonError(
        "a comparison cannot be printed in that format",
        expected=", ".join((*FORMATS, "html")),
        found=format,
    )


def _text(layout: Layout) -> Iterator[str]:
    yield layout.heading
    by_head: dict[tuple[str, ...], list[Block]] = {}
    for block in layout.blocks:  # those of the same columns share their widths
        by_head.setdefault(tuple(block.head), []).append(block)
    yield from itertools.chain(*map(_text_blocks, by_head.values()))
    *paragraphs, notes = layout.paragraphs
    for lines in (*paragraphs, bullets(notes)):
        yield from ["", *lines] if lines else []


def _text_blocks(blocks: list[Block]) -> Iterator[str]:
    """Blocks of the same columns, whose head stands once; the others have their heading."""
    grids = [[blocks[0].head], *(body.rows for block in blocks for body in block.bodies)]
    head, *bodies = grid_lines(grids, blocks[0].left, _GAP)
    lines = iter(bodies)
    for block in blocks:
        yield ""
        yield from head if block is blocks[0] else [block.heading]
        for body in block.bodies:
            if not body.about:
                yield from ["", *([body.name] if body.name else [])]
            yield from next(lines)


def _markdown(layout: Layout) -> Iterator[str]:
    """The paragraphs."""
    yield f"## {one_line(layout.heading)}"
    for block in layout.blocks:
        heading = f"### {one_line(block.heading)}"
        if any(body.name for body in block.bodies):
            for body in block.bodies:
                yield f"{heading}: {body.name}"
                yield _markdown_rows(block, [body])
        else:
            yield from [heading] if block.heading else []
            yield _markdown_rows(block, block.bodies)
    yield from map(one_line, itertools.chain(*layout.paragraphs))


def _markdown_rows(block: Block, bodies: Sequence[Body]) -> str:
    left = [n < block.left for n in range(len(block.head))]
    rows = [list(map(one_line, row)) for body in bodies for row in body.rows]
    return markdown_table(list(map(one_line, block.head)), rows, left)


def _sheets(layout: Layout) -> Iterator[Sheet]:
    """The blocks below each other, with numbers as numbers; then the cells in long form."""
    blocks = layout.blocks
    width = max(len(block.head) for block in blocks)
    lines: list[Sequence[str]] = []
    for block in blocks:
        again = block is not blocks[0] and list(block.head) != list(blocks[0].head)
        lines += [[], [block.heading], *([block.head] if again else [])] if lines else []
        for body in block.bodies:
            lines += [[body.name], *body.rows] if body.name else body.rows
    rows = [[number_of(cell) for cell in (*line, *[""] * (width - len(line)))] for line in lines]
    head = [*blocks[0].head, *[""] * (width - len(blocks[0].head))]
    notes = list(itertools.chain(*layout.paragraphs))
    columns = [Column(name, width=24) for name in head]
    yield Sheet("comparison", columns, rows, [layout.heading], (), notes)
    cells = layout.cells
    columns = [Column(name, width=len(name) + 2) for name in cells.column_names]
    yield Sheet("cells", columns, ([*row.values()] for row in cells.to_pylist()))


def _page(layout: Layout, figure: str) -> bytes:
    blocks = list(layout.blocks)
    if layout.statements:
        head = ("Claim", "Runs", "Value")
        blocks.append(Block(head, [Body(layout.statements)], "Claims", left=3))
    return html_page(
        __package__,
        "comparison.html",
        figure=figure,
        title=layout.title,
        subtitle="" if layout.subtitle == layout.title else layout.subtitle,
        blocks=blocks,
        reasons={mark: reason for reason, mark in layout.marks.items()},
        notes=[*layout.remarks, *layout.sources, *layout.footnotes, *layout.notes],
        wide=max(len(block.head) for block in blocks) > UPRIGHT,
    )
