"""A comparison table for a reader: runs across, groups of rows down, the ratio block below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...schemas import CpmonError
from ...schemas.printable import printable
from ..render.render import markdown_row, render
from .comparison import Cell, ComparisonTable

SCHEMA_VERSION = 1
FORMATS = ("text", "table", "csv", "json", "jsonl", "markdown", "parquet", "html")
LETTERED = frozenset({"t", "h", "v", "m"})
_GAP = 3
_HEADINGS = {"cp_level": "CP level"}

Grid = list[list[str]]


def render_comparison(table: ComparisonTable, format: str = "text") -> bytes:
    """A comparison in one of FORMATS, UTF-8 (parquet: the file).

    csv, jsonl and parquet hold the cells in long form; json adds the runs and the reasons.

    Raises:
        CpmonError: there is no such format.
    """
    match format:
        case "text" | "table":
            return printable(_text(table)).encode()
        case "markdown":
            return printable(_markdown(table)).encode()
        case "json":
            return (json.dumps(_document(table), indent=2, ensure_ascii=False) + "\n").encode()
        case "csv" | "jsonl" | "parquet":
            return render(table.to_arrow(), format)
        case "html":
            from .table_html import table_page

            return table_page(table)
    raise CpmonError(
        "a comparison cannot be printed in that format",
        expected=", ".join(FORMATS),
        found=format,
    )


def _document(table: ComparisonTable) -> dict[str, Any]:
    runs = [
        {"run_id": r.run_id, "base_run_id": r.base_run_id or None, **r.attributes}
        for r in table.runs
    ]
    cells = [
        {
            "table": c.table,
            "run_id": c.run_id,
            "row_label": c.row_label,
            "value_as_printed": c.text or None,
            "source_tag": c.source,
            **({"reason": c.reason} if c.reason else {}),
        }
        for c in table.cells
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": table.spec.name,
        "title": table.spec.title,
        "runs": runs,
        "cells": cells,
    }


def heading(key: str) -> str:
    """An attribute's key as a heading: cp_level is "CP level", memory_size "Memory size"."""
    return _HEADINGS.get(key, key.replace("_", " ").capitalize())


def blocks(table: ComparisonTable) -> tuple[Grid, list[Grid], list[Grid]]:
    """Header lines, and the groups of the absolute and of the ratio block, as texts."""
    runs = table.spec.columns
    header = [["Run", *runs]]
    header += [
        [heading(key), *(run.attributes.get(key, "") for run in table.runs)]
        for key in table.spec.header
    ]
    marks = {reason: f"({n})" for n, reason in enumerate(table.reasons(), start=1)}

    def groups(name: str, lettered: bool) -> list[Grid]:
        cells = table.block(name)
        return [
            [
                [
                    _label(row.label, row.source if lettered else ""),
                    *(_cell(cells[row.label, run], marks) for run in runs),
                ]
                for row in group
            ]
            for group in table.spec.groups
        ]

    ratios = groups(table.ratios_table, False) if table.spec.ratios else []
    return header, groups(table.spec.name, True), ratios


def _label(label: str, source: str) -> str:
    return f"{label} ({source})" if source in LETTERED else label


def _cell(cell: Cell, marks: dict[str, str]) -> str:
    return cell.text or marks.get(cell.reason, "")


def claims(table: ComparisonTable) -> Grid:
    """Claims and steps: label, runs compared, what is said of them."""
    wanted = {c.table for c in table.spec.claims} | {s.table for s in table.spec.steps}
    return [
        [c.row_label, c.run_id.replace("|", " to "), c.text or "not known"]
        for c in table.cells
        if c.table in wanted
    ]


def _claim_lines(table: ComparisonTable) -> list[str]:
    """Claims and steps as sentences."""
    return [f"{label}, {runs}: {text}" for label, runs, text in claims(table)]


def computed_lines(table: ComparisonTable) -> list[str]:
    """What the columns are that no run was measured for."""
    named = table.spec.name_of
    return [
        f"{named(d.run)} is {named(d.of)} less {named(d.less)}, sample by sample"
        for d in table.spec.differences
    ] + [
        f"{named(c.run)} is the change from {named(c.base)} to {named(c.of)}, percent"
        for c in table.spec.changes
    ]


def footnotes(table: ComparisonTable) -> list[str]:
    """Why cells are empty, each with the mark that stands there."""
    return [f"({n}) {reason}" for n, reason in enumerate(table.reasons(), start=1)]


def bases_line(table: ComparisonTable) -> list[str]:
    """The run that each column is compared with."""
    return ["Base run", *(run.base_run_id for run in table.runs)]


def _text(table: ComparisonTable) -> str:
    header, groups, ratios = blocks(table)
    base = [bases_line(table)] if ratios else []
    lines = [line for grid in (header, *groups, *ratios, base) for line in grid]
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
    out = [f"{table.spec.name}: {table.spec.title}", ""]
    out += _aligned(header, widths)
    for group in groups:
        out += ["", *_aligned(group, widths)]
    if ratios:
        out += ["", "Ratio to base run", *_aligned(base, widths)]
    for group in ratios:
        out += ["", *_aligned(group, widths)]
    for extra in (computed_lines(table), _claim_lines(table), footnotes(table)):
        out += ["", *extra] if extra else []
    return "\n".join(out) + "\n"


def _aligned(grid: Grid, widths: Sequence[int]) -> list[str]:
    gap = " " * _GAP
    return [
        gap.join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in grid
    ]


def _markdown(table: ComparisonTable) -> str:
    header, groups, ratios = blocks(table)
    rule = "|" + "|".join([":--", *("--:" for _ in table.spec.runs)]) + "|"
    out = [f"## {table.spec.name}: {table.spec.title}", "", markdown_row(header[0]), rule]
    out += [markdown_row(line) for line in header[1:]]
    out += [markdown_row(line) for group in groups for line in group]
    if ratios:
        out += ["", "### Ratio to base run", "", markdown_row(header[0]), rule]
        out.append(markdown_row(bases_line(table)))
        out += [markdown_row(line) for group in ratios for line in group]
    for extra in (computed_lines(table), _claim_lines(table), footnotes(table)):
        for line in extra:
            out += ["", line]
    return "\n".join(out) + "\n"
