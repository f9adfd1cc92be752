"""A comparison laid out for a reader: blocks of lines, statements and notes, in any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ...render.text import Grid

SCHEMA_VERSION = 1
_HEADINGS = {"cp_level": "CP level"}


@dataclass(frozen=True, slots=True)
class Body:
    """Lines that stand together, under a name or none.

    Attributes:
        about: they are about the runs, and no figures.
        changed: they are set off.
    """

    rows: Grid
    name: str = ""
    about: bool = False
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A table. Its first `left` columns hold texts."""

    head: Sequence[str]
    bodies: Sequence[Body]
    heading: str = ""
    left: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """A comparison laid out.

    Attributes:
        subtitle: stands before the title in text, and below it in a page.
        remarks: what columns are that no run was measured for.
        statements: change statements and steps: label, runs compared, value.
        sources: what the letters behind labels mean.
        marks: why a cell is empty -> its mark.
        notes: how to read it.
        cells: the values in long form.
        document: the same with the runs, for JSON.
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
        """Subtitle and title in a line."""
        return ": ".join(filter(None, (self.subtitle, self.title)))

    @property
    def footnotes(self) -> list[str]:
        """Why cells are empty, behind the marks."""
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
    """An attribute's key as a heading: cp_level is "CP level", memory_size "Memory size"."""
    return _HEADINGS.get(key, key.replace("_", " ").capitalize())
