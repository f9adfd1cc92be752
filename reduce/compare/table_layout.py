"""A comparison table laid out: runs across, groups of rows down, the ratio block below."""

from __future__ import annotations

from typing import Any

from .comparison_table import ComparisonTable
from .layout import SCHEMA_VERSION, Block, Body, Layout, attribute_heading, footnote_marks
from .spec import SOURCES

LETTERED = ("t", "h", "v", "m")
"""Sources whose letter stands behind the label."""


def table_layout(table: ComparisonTable) -> Layout:
    """The layout of a comparison table."""
    spec = table.spec
    head = ["Run", *spec.columns]
    attributes = [
        [attribute_heading(key), *(run.attributes.get(key, "") for run in table.runs)]
        for key in spec.header
    ]
    blocks = [_block(table, spec.name, head, Body(attributes, about=True))]
    if spec.ratios:
        bases = Body([["Base run", *(run.base_run_id for run in table.runs)]], about=True)
        blocks.append(_block(table, spec.ratios_table, head, bases, "Ratio to base run"))
    return Layout(
        title=spec.heading,
        subtitle=spec.name,
        blocks=blocks,
        remarks=_remarks(table),
        statements=[
            [cell.row_label, cell.run_id.replace("|", " to "), cell.text or "not known"]
            for cell in table.cells
            if cell.table in spec.statement_blocks
        ],
        sources=_sources(table),
        marks=footnote_marks(table.reasons()),
        notes=table.notes,
        cells=table.to_arrow(),
        document=_document(table),
    )


def _block(
    table: ComparisonTable, name: str, head: list[str], about: Body, heading: str = ""
) -> Block:
    """A block of the table's cells; in the one of values labels have the letter of their source."""
    cells, marks = table.block(name), footnote_marks(table.reasons())
    bodies = [about]
    for group in table.spec.groups:
        rows = []
        for row in group.rows:
            has_letter = not heading and row.source_tag in LETTERED
            label = f"{row.label} ({row.source_tag})" if has_letter else row.label
            printed = [cells[row.label, run] for run in head[1:]]
            rows.append([label, *(cell.text or marks.get(cell.reason, "") for cell in printed)])
        bodies.append(Body(rows))
    return Block(head, [body for body in bodies if body.rows], heading)


def _remarks(table: ComparisonTable) -> list[str]:
    named, spec = table.spec.name_of, table.spec
    differences = [
        f"{named(d.run)} is {named(d.of)} less {named(d.less)}, sample by sample"
        for d in spec.differences
    ]
    return differences + [
        f"{named(c.run)} is the change from {named(c.base)} to {named(c.of)}, percent"
        for c in spec.changes
    ]


def _sources(table: ComparisonTable) -> list[str]:
    used = {row.source_tag for row in table.spec.rows}
    letters = [f"({tag}) {SOURCES[tag]}" for tag in LETTERED if tag in used]
    return ["; ".join(letters)] if letters else []


def _document(table: ComparisonTable) -> dict[str, Any]:
    runs = [
        {"run_id": r.run_id, "base_run_id": r.base_run_id or None, **r.attributes}
        for r in table.runs
    ]
    rows = zip(table.to_arrow().to_pylist(), table.cells, strict=True)
    cells = [row | ({"reason": cell.reason} if cell.reason else {}) for row, cell in rows]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": table.spec.name,
        "title": table.spec.heading,
        "runs": runs,
        "cells": cells,
        "notes": list(table.notes),
    }
