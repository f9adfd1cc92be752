"""Renders comparison tables and run comparisons in every format, from a common layout.

The HTML page has no script and loads nothing: it opens from disk, supports light and dark mode,
and prints.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...config.formats import FORMATS
from ...core.errors import CpmonError
from ...core.text import one_line, printable
from ...render.html import html_page
from ...render.printing import upper_percent
from ...render.render import render
from ...render.text import Grid, bullets, grid_lines, markdown_table
from ...render.xlsx import Sheet, SheetColumn, number_of, workbook
from .comparison_table import ComparisonTable
from .run_comparison import LARGE_PERCENT, MetricLine, RunComparison, Verdict
from .spec import SOURCES

_SECTIONS = {
    Verdict.CHANGE: "Changes",
    Verdict.UNPROVEN: "Large, but not proven",
    Verdict.UNKNOWN: "Cannot tell",
    Verdict.WITHIN: "No change",
    Verdict.SAME: "No change",
    Verdict.NONE: "No statement",
}


def run_layout(comparison: RunComparison) -> ComparisonLayout:
    """The layout of a run comparison."""
    reasons = dict.fromkeys(line.reason for line in comparison.lines if line.reason)
    marks = footnote_marks(reasons)
    runs = ", ".join(run.run_id for run in comparison.runs)
    title = f"{runs} compared with {comparison.base.run_id}"
    metrics = [_metrics(comparison, run.run_id, marks) for run in comparison.runs]
    notes, cells = list(_notes(comparison)), comparison.to_arrow()
    document = {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "base_run_id": comparison.base.run_id,
        "runs": [
            {
                "run_id": run.run_id,
                "system": run.system,
                **{key: value or None for key, value in run.attributes.items()},
                "steady_since": f"{run.since.isoformat()}Z",
                "steady_until": f"{run.until.isoformat()}Z",
                "intervals": run.intervals,
                "seconds": run.seconds,
            }
            for run in comparison.facts
        ],
        "metrics": cells.to_pylist(),
        "notes": notes,
    }
    blocks = [_facts(comparison), *metrics]
    return ComparisonLayout(title, blocks, cells, document, marks=marks, notes=notes)


def _facts(comparison: RunComparison) -> Block:
    facts = comparison.facts
    rows = [
        ["System", *(run.system for run in facts)],
        *(
            [attribute_heading(key), *(run.attributes[key] for run in facts)]
            for key in facts[0].attributes
        ),
        ["Steady state from", *(f"{run.since:%Y-%m-%d %H:%M:%S}" for run in facts)],
        ["Steady state until", *(f"{run.until:%Y-%m-%d %H:%M:%S}" for run in facts)],
        ["Intervals", *(f"{run.intervals}" for run in facts)],
        ["Seconds", *("" if run.seconds is None else f"{run.seconds:.0f}" for run in facts)],
    ]
    return Block(["Run", *(run.run_id for run in facts)], [Body(rows, about=True)])


def _metrics(comparison: RunComparison, run: str, marks: Mapping[str, str]) -> Block:
    base = comparison.base.run_id
    head = ["Metric", "Unit", base, run, "Difference", "Change %", "Confidence", "Detectable %"]
    bodies = []
    for name, section in itertools.groupby(
        comparison.of(run), key=lambda line: _SECTIONS[line.verdict]
    ):
        lines = list(section)
        rows, metrics = [_row(line, marks) for line in lines], [line.metric.name for line in lines]
        bodies.append(Body(rows, name, changed=name == "Changes", metrics=metrics))
    return Block(head, bodies, run, 2, {2: base, 3: run})


def _row(line: MetricLine, marks: Mapping[str, str]) -> list[str]:
    cells = (*line.printed, line.difference, line.change)
    return [
        line.metric.title,
        line.metric.unit,
        *(cell.text for cell in cells),
        line.confidence or marks.get(line.reason, ""),
        upper_percent(line.detectable) if line.detectable else "",
    ]


def _notes(comparison: RunComparison) -> Iterator[str]:
    """How to read the comparison, and warnings."""
    tests = [line.test for line in comparison.lines if line.test is not None]
    verdicts = {line.verdict for line in comparison.lines}
    yield from comparison.notes
    yield (
        "cl: confidence level of a two-sided t-test of the intervals of both steady states, paired "
        "by their time into the run, which count for less the more each resembles the one before "
        f"it; adjusted for the {len(tests)} differences tested."
    )
    if Verdict.UNPROVEN in verdicts:
        yield (
            f"not proven: {LARGE_PERCENT} % or more, but chance alone would show it in more than "
            "5 % of such comparisons."
        )
    if verdicts & {Verdict.UNKNOWN, Verdict.WITHIN}:
        yield "within: no change, or none that is greater than this part of the base (at 95 %)."
    if Verdict.UNKNOWN in verdicts:
        yield f"Cannot tell: a change of {LARGE_PERCENT} % or more may be there and was not seen."
    if any(line.detectable is not None for line in comparison.lines):
        yield (
            "Detectable: the smallest change that would have been found in four of five such "
            "comparisons."
        )
    if Verdict.SAME in verdicts:
        yield "same: all intervals of both runs have one value."
    alone = [line for line in comparison.lines if line.test is not None and not line.test.pairs]
    if alone:
        metrics = ", ".join(dict.fromkeys(line.metric.title for line in alone))
        which = "The intervals" if len(alone) == len(tests) else f"Those of {metrics}"
        yield (
            f"{which} have no partners in the other run: a course that both runs have in common "
            "counts as autocorrelation, and less is found."
        )
    if any(line.metric.compared.whole and line.printed[1].text for line in comparison.lines):
        yield "CPU/Tx is that of the whole run, its confidence that of the steady state."
    if any(line.metric.unit == "%" for line in comparison.lines):
        yield "Differences of percentages are in percentage points, changes relative to the base."
    lengths = {round(run.seconds or 0) for run in comparison.facts}
    if len(lengths) > 1:
        runs = ", ".join(f"{run.run_id} {run.seconds or 0:.0f} s" for run in comparison.facts)
        yield f"The steady states differ in length: {runs}."


LETTERED = ("t", "h", "v", "m")
"""Sources whose letter follows the label."""


def table_layout(table: ComparisonTable) -> ComparisonLayout:
    """The layout of a comparison table."""
    spec, named = table.spec, table.spec.name_of
    head = ["Run", *spec.columns]
    attributes = [
        [attribute_heading(key), *(run.attributes.get(key, "") for run in table.runs)]
        for key in spec.header
    ]
    blocks = [_block(table, spec.name, head, Body(attributes, about=True))]
    if spec.ratios:
        bases = Body([["Base run", *(run.base_run_id for run in table.runs)]], about=True)
        blocks.append(_block(table, spec.ratios_table, head, bases, "Ratio to base run"))
    used = {row.source_tag for row in spec.rows}
    letters = [f"({tag}) {SOURCES[tag]}" for tag in LETTERED if tag in used]
    cells = table.to_arrow()
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": spec.name,
        "title": spec.heading,
        "runs": [
            {"run_id": r.run_id, "base_run_id": r.base_run_id or None, **r.attributes}
            for r in table.runs
        ],
        "cells": [
            row | ({"reason": cell.reason} if cell.reason else {})
            for row, cell in zip(cells.to_pylist(), table.cells, strict=True)
        ],
        "notes": list(table.notes),
    }
    return ComparisonLayout(
        title=spec.heading,
        subtitle=spec.name,
        blocks=blocks,
        remarks=[
            f"{named(d.run)} is {named(d.of)} less {named(d.less)}, sample by sample"
            for d in spec.differences
        ]
        + [
            f"{named(c.run)} is the change from {named(c.base)} to {named(c.of)}, percent"
            for c in spec.changes
        ],
        statements=[
            [cell.row_label, cell.run_id.replace("|", " to "), cell.text or "not known"]
            for cell in table.cells
            if cell.table in spec.statement_blocks
        ],
        sources=["; ".join(letters)] if letters else [],
        marks=footnote_marks(table.reasons()),
        notes=table.notes,
        cells=cells,
        document=document,
    )


def _block(
    table: ComparisonTable, name: str, head: list[str], about: Body, heading: str = ""
) -> Block:
    """A block of the table's cells; labels of values have the letter of their source."""
    cells, marks = table.block(name), footnote_marks(table.reasons())
    bodies = [about]
    for group in table.spec.groups:
        rows = []
        for row in group.rows:
            has_letter = not heading and row.source_tag in LETTERED
            label = f"{row.label} ({row.source_tag})" if has_letter else row.label
            printed = [cells[row.label, run] for run in head[1:]]
            rows.append([label, *(cell.text or marks.get(cell.reason, "") for cell in printed)])
        bodies.append(Body(rows, metrics=[row.measure or row.samples for row in group.rows]))
    runs = dict(enumerate(head[1:], 1))
    return Block(head, [body for body in bodies if body.rows], heading, runs=runs)


SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Body:
    """Lines under a common name, which may be empty.

    Attributes:
        about: the lines are facts about the runs, not metrics. changed: they are highlighted.
        metrics: column of `run_summary` that each line shows; empty if it shows none.
    """

    rows: Grid
    name: str = ""
    about: bool = False
    changed: bool = False
    metrics: Sequence[str] = ()

    @property
    def lines(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The metric and the texts of each line."""
        return zip(self.metrics or [""] * len(self.rows), self.rows, strict=True)


@dataclass(frozen=True, slots=True)
class Block:
    """A table. Its first `left` columns are texts; `runs`: column with values of a run -> run."""

    head: Sequence[str]
    bodies: Sequence[Body]
    heading: str = ""
    left: int = 1
    runs: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparisonLayout:
    """The layout of a comparison.

    Attributes:
        cells: the values in long form. document: the comparison for JSON.
        subtitle: printed before the title in text, and below it in a page.
        remarks: explain the columns that are computed from other runs.
        statements: change statements and steps: label, runs compared, value.
        sources: legend of the letters after labels.
        marks: reason for empty cells -> footnote mark.
    """

    title: str
    blocks: Sequence[Block]
    cells: pa.Table
    document: Mapping[str, Any]
    subtitle: str = ""
    remarks: Sequence[str] = ()
    statements: Grid = ()
    sources: Sequence[str] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def heading(self) -> str:
        """Subtitle and title on one line."""
        return ": ".join(filter(None, (self.subtitle, self.title)))

    @property
    def footnotes(self) -> list[str]:
        """The footnotes: mark and reason for empty cells."""
        return [f"{mark} {reason}" for reason, mark in self.marks.items()]

    @property
    def paragraphs(self) -> tuple[Sequence[str], ...]:
        """The lines below the blocks: remarks, statements, footnotes and notes."""
        sentences = [f"{label}, {runs}: {text}" for label, runs, text in self.statements]
        return self.remarks, sentences, self.footnotes, self.notes


def footnote_marks(reasons: Iterable[str]) -> dict[str, str]:
    """Reason -> its mark: (1), (2) ..."""
    return {reason: f"({n})" for n, reason in enumerate(reasons, start=1)}


def attribute_heading(key: str) -> str:
    """Formats the key of an attribute as a heading: "CP level", "Memory size"."""
    return "CP level" if key == "cp_level" else key.replace("_", " ").capitalize()


Link = Callable[[str, str], str]
"""Address of the page of a run at a metric, or without one at its begin; empty if there is none."""


def no_links(run: str, metric: str) -> str:
    """No run has a page."""
    return ""


def render_comparison(
    comparison: ComparisonTable | RunComparison,
    format: str = "text",
    figure: str = "",
    link: Link = no_links,
) -> bytes:
    """Render a comparison in one of FORMATS or html: UTF-8, or the file for parquet and xlsx.

    csv, jsonl and parquet hold the cells of a table in long form, or the unrounded metric lines of
    a run comparison; json adds the runs and the reasons or notes. xlsx has both: the printed tables
    on one sheet, the long form on another.

    Args:
        figure: for html, a figure of the runs, from `page.drawing.runs_figure`.
        link: for html, the pages that values lead to.

    Raises:
        CpmonError: no such format.
    """
    if isinstance(comparison, ComparisonTable):
        return render_layout(table_layout(comparison), format, figure, link)
    return render_layout(run_layout(comparison), format, figure, link)


def render_layout(
    layout: ComparisonLayout, format: str, figure: str = "", link: Link = no_links
) -> bytes:
    """Render a layout; the other arguments and the errors are those of `render_comparison`."""
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
            return _page(layout, figure, link)
    raise CpmonError(
        "a comparison cannot be printed in that format",
        expected=", ".join((*FORMATS, "html")),
        found=format,
    )


def _text(layout: ComparisonLayout) -> Iterator[str]:
    yield layout.heading
    by_head: dict[tuple[str, ...], list[Block]] = {}
    for block in layout.blocks:  # blocks with the same columns share their widths
        by_head.setdefault(tuple(block.head), []).append(block)
    yield from itertools.chain(*map(_text_blocks, by_head.values()))
    *paragraphs, notes = layout.paragraphs
    for lines in (*paragraphs, bullets(notes)):
        yield from ["", *lines] if lines else []


def _text_blocks(blocks: list[Block]) -> Iterator[str]:
    """Blocks with the same columns under a common head; later blocks have their own heading."""
    grids = [[blocks[0].head], *(body.rows for block in blocks for body in block.bodies)]
    head, *bodies = grid_lines(grids, blocks[0].left, "   ")
    lines = iter(bodies)
    for block in blocks:
        yield ""
        yield from head if block is blocks[0] else [block.heading]
        for body in block.bodies:
            if not body.about:
                yield from ["", *([body.name] if body.name else [])]
            yield from next(lines)


def _markdown(layout: ComparisonLayout) -> Iterator[str]:
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


def _sheets(layout: ComparisonLayout) -> Iterator[Sheet]:
    """One sheet with the blocks, numbers as numbers, and one with the cells in long form."""
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
    columns = [SheetColumn(name, width=24) for name in head]
    yield Sheet("comparison", columns, rows, [layout.heading], (), notes)
    cells = layout.cells
    columns = [SheetColumn(name, width=len(name) + 2) for name in cells.column_names]
    yield Sheet("cells", columns, ([*row.values()] for row in cells.to_pylist()))


def _page(layout: ComparisonLayout, figure: str, link: Link) -> bytes:
    blocks = list(layout.blocks)
    if layout.statements:
        head = ("Claim", "Runs", "Value")
        blocks.append(Block(head, [Body(layout.statements)], "Claims", left=3))
    return html_page(
        __package__,
        "comparison.html",
        figure=figure,
        link=link,
        title=layout.title,
        subtitle="" if layout.subtitle == layout.title else layout.subtitle,
        blocks=blocks,
        reasons={mark: reason for reason, mark in layout.marks.items()},
        notes=[*layout.remarks, *layout.sources, *layout.footnotes, *layout.notes],
        wide=max(len(block.head) for block in blocks) > 8,  # wide pages are printed in landscape
    )
