"""The SQL files of `sql/`: read, understood as far as docs and order need it, never rewritten.

One file holds one view: a comment block, `CREATE OR REPLACE VIEW name (`, one column a line with
its comment above, `) AS`, and a SELECT in the portable subset.
"""

from __future__ import annotations

import functools
import graphlib
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from ..schemas import CpmonError
from ..schemas.lookup import fold, unknown

_VIEW = re.compile(
    r"\A(?P<doc>(?:--[^\n]*\n)+)"
    r"CREATE OR REPLACE VIEW (?P<name>\w+) \(\n"
    r"(?P<columns>.*?)\n\) AS\n"
    r"(?P<select>.*?);?\s*\Z",
    re.DOTALL,
)
_QUALIFIED = re.compile(r"\b(?:FROM|JOIN)\s+([A-Za-z_]\w*(?:\.\w+)?)", re.IGNORECASE)
_WITH = re.compile(r"\b(\w+) AS \(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReducedColumn:
    """A column of a reduction. `doc` says unit, range and what NULL means."""

    name: str
    doc: str

    @property
    def absence(self) -> str:
        """What NULL means, as the doc says it ("without SYTPRP deltas"); empty if never NULL."""
        _, found, rest = self.doc.partition("NULL ")
        return rest.strip().rstrip(".") if found else ""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One view: its SQL as written, and what its comments say.

    `sql` creates the view in the current schema; `select` is its query alone, whose output names
    are those of `columns`. `reads` are the relations it names: `interval.sytprp`, `_interval`.
    """

    name: str
    doc: str
    columns: tuple[ReducedColumn, ...]
    sql: str
    select: str
    reads: tuple[str, ...]

    @property
    def is_private(self) -> bool:
        """Whether only other reductions should read it."""
        return self.name.startswith("_")

    def column(self, name: str) -> ReducedColumn:
        """The column of that name.

        Raises:
            CpmonError: there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown("column", name, [c.name for c in self.columns], place=self.name)


@functools.cache
def reductions() -> tuple[Reduction, ...]:
    """Every shipped reduction, each behind those that it reads."""
    folder = files(__package__) / "sql"
    found = [parse(file) for file in folder.iterdir() if file.name.endswith(".sql")]
    return ordered(found)


def reduction(name: str) -> Reduction:
    """The reduction of that name.

    Raises:
        CpmonError: there is none.
    """
    for candidate in reductions():
        if candidate.name == fold(name):
            return candidate
    raise unknown("reduction", name, [r.name for r in reductions() if not r.is_private])


def parse(file: Traversable) -> Reduction:
    """A reduction from its file.

    Raises:
        CpmonError: the file has not the shape that the module's docstring describes.
    """
    text = file.read_text(encoding="utf-8")
    match = _VIEW.match(text)
    if match is None:
        raise CpmonError(
            "a reduction is not one documented view",
            place=file.name,
            expected="comment lines, CREATE OR REPLACE VIEW name (, columns, ) AS, SELECT",
        )
    name, select = match["name"], match["select"].strip()
    if f"{name}.sql" != file.name:
        raise CpmonError(
            "a reduction's file is not called as its view",
            place=file.name,
            expected=f"{name}.sql",
        )
    return Reduction(
        name=name,
        doc=comment(match["doc"]),
        columns=_columns(match["columns"], file.name),
        sql=text.strip(),
        select=select,
        reads=_reads(select),
    )


def comment(block: str) -> str:
    """Comment lines as one running text; an empty comment line starts a new paragraph."""
    lines = [line.strip().removeprefix("--").strip() for line in block.strip().splitlines()]
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _columns(block: str, place: str) -> tuple[ReducedColumn, ...]:
    columns: list[ReducedColumn] = []
    words: list[str] = []
    for line in (line.strip() for line in block.splitlines()):
        if line.startswith("--"):
            words.append(line)
            continue
        name = line.rstrip(",")
        if not words or not name.isidentifier():
            raise CpmonError(
                "a column of a reduction has no comment",
                place=place,
                expected="a comment with unit, range and meaning of NULL above every column",
                found=line,
            )
        columns.append(ReducedColumn(name, comment("\n".join(words))))
        words.clear()
    return tuple(columns)


def _reads(select: str) -> tuple[str, ...]:
    code = re.sub(r"--[^\n]*", "", select)
    own = {name.lower() for name in _WITH.findall(code)}
    named = dict.fromkeys(name.lower() for name in _QUALIFIED.findall(code))
    return tuple(name for name in named if name not in own)


def ordered(found: list[Reduction]) -> tuple[Reduction, ...]:
    """The reductions so that each stands behind those it reads; otherwise by name.

    Raises:
        CpmonError: one reads a view that no file defines, or they read each other in a ring.
    """
    by_name = {r.name: r for r in found}
    graph: dict[str, list[str]] = {}
    for r in sorted(found, key=lambda r: r.name):
        graph[r.name] = [name for name in r.reads if "." not in name]
        for name in graph[r.name]:
            if name not in by_name:
                raise unknown("reduction", name, by_name, place=f"{r.name}.sql")
    try:
        order = tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        ring = " reads ".join(error.args[1])
        raise CpmonError("reductions read each other in a ring", found=ring) from None
    return tuple(by_name[name] for name in order)
