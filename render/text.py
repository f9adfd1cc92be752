"""Writes text tables with aligned columns, wrapped notes, and Markdown tables."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..core.text import painted

GAP = "  "
WIDTH = 100
"""Characters of a line of prose."""

Grid = Sequence[Sequence[str]]
"""Lines of cells."""


def text_lines(
    columns: Iterable[pa.Array | Sequence[str]],
    left: Sequence[bool],
    least: Sequence[int] = (),
    gap: str = GAP,
    colours: Iterable[tuple[int, pa.Array, str]] = (),
) -> list[str]:
    """Lines of aligned columns, each as wide as its longest text.

    Args:
        left: for each column whether it is left-aligned.
        least: for each column its minimal width.
        colours: numbers of columns, which of their texts have a colour, and that colour.
    """
    arrays = [c if isinstance(c, pa.Array) else pa.array(c, pa.string()) for c in columns]
    widths = widths_of(arrays, least)
    padded = [
        (pc.utf8_rpad if to_left else pc.utf8_lpad)(array, width)
        for array, to_left, width in zip(arrays, left, widths, strict=True)
    ]
    for number, mask, colour in colours:
        before, after = painted(" ", colour).split(" ")
        inside = pc.binary_join_element_wise(before, padded[number], after, "")
        padded[number] = pc.if_else(mask, inside, padded[number])
    lines: list[str] = pc.utf8_rtrim(pc.binary_join_element_wise(*padded, gap), " ").to_pylist()
    return lines


def widths_of(columns: Iterable[pa.Array], least: Sequence[int] = ()) -> list[int]:
    """How many characters wide columns of texts are; `least` has their minimal widths."""
    widths = [pc.max(pc.utf8_length(array)).as_py() or 0 for array in columns]
    return [max(pair) for pair in zip(widths, least or widths, strict=True)]


def grid_lines(grids: Sequence[Grid], left: int, gap: str) -> list[list[str]]:
    """The lines of several grids with columns of a common width.

    Args:
        left: number of left-aligned columns; the others are right-aligned.
    """
    columns = list(zip(*itertools.chain.from_iterable(grids), strict=True))
    lines = iter(text_lines(columns, [n < left for n in range(len(columns))], gap=gap))
    return [list(itertools.islice(lines, len(grid))) for grid in grids]


def bullets(notes: Iterable[str]) -> list[str]:
    """Notes as wrapped lines with a star before each note."""
    wrap = textwrap.TextWrapper(WIDTH, initial_indent="* ", subsequent_indent="  ")
    return [line for note in notes for line in wrap.wrap(note)]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[bool]) -> str:
    """A Markdown table without a line feed at its end."""

    def escaped(cell: str) -> str:
        """A cell with bars and markup escaped; a backslash is literal in other cells."""
        return re.sub(r"[\\|<]", r"\\\g<0>", cell) if "|" in cell or "<" in cell else cell

    first, *others = (f"| {' | '.join(map(escaped, row))} |" for row in (head, *rows))
    rule = "|" + "|".join(":--" if to_left else "--:" for to_left in left) + "|"
    return "\n".join([first, rule, *others])
