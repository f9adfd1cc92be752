"""Views as their SQL states them: columns, the comments above these, and what is read.

DuckDB's own parser drops comments, and the comments document the columns. So the text is cut into
tokens here; whether it is SQL at all, DuckDB decides.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_MARK = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"|[(),]|\b(?:SELECT(?:\s+DISTINCT)?|FROM)\b", re.IGNORECASE
)
"""What the outline of a query follows from; comments and strings hide what they hold."""

_COMMENTS = re.compile(r"\s*((?:--[^\n]*\n\s*)*)")
_NAME = re.compile(r"(\w+)\"?\s*\Z")
_PLAIN = re.compile(r"(?:(\w+)\.)?([^\W\d]\w*)(?:\s+AS\s+\w+)?\s*\Z", re.IGNORECASE)
WIDTH = 80
"""Columns of a line of SQL."""

_PIECE = re.compile(r"(?:'[^']*'|[^\s'])+")
_QUALIFIED = re.compile(r"\b(?:FROM|JOIN)\s+([A-Za-z_]\w*(?:\.\w+)?)", re.IGNORECASE)
_WITH = re.compile(r"\b(\w+) AS \(", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+(?:\.\w+)?)(?:\s+AS\s+(\w+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SelectItem:
    """A column of a SELECT.

    Attributes:
        name: of the column. `comment`: the comment lines above it, empty without any.
        relation, column: where it comes from, if it is selected as it is; else empty. Without
            a qualifier `relation` is empty too.
    """

    name: str
    comment: str
    relation: str
    column: str


@dataclass(frozen=True, slots=True)
class ParsedView:
    """A view of which some columns may inherit their documentation."""

    name: str
    doc: str
    select: str
    items: tuple[SelectItem, ...]
    reads: tuple[str, ...]

    @classmethod
    def from_select(cls, name: str, doc: str, select: str) -> ParsedView:
        """The view of a query."""
        return cls(name, doc, select, tuple(select_items(select)), _reads(select))

    @property
    def sql(self) -> str:
        """The statement that creates the view."""
        return f"CREATE OR REPLACE VIEW {self.name} AS\n{self.select};"

    def over(self, select: str) -> ParsedView:
        """The same view with another query."""
        return self.from_select(self.name, self.doc, select)


def select_items(select: str) -> list[SelectItem]:
    """The columns of a query, in order; those of its first SELECT, where it is a UNION."""
    begin, commas, end = _outline(select)
    starts = (begin, *(comma + 1 for comma in commas))
    return [_item(select[a:b]) for a, b in zip(starts, (*commas, end), strict=True)]


@functools.lru_cache(maxsize=256)
def sources(select: str) -> dict[str, str]:
    """Alias or name -> relation of all that the outermost SELECT reads, from its FROM on."""
    _, _, end = _outline(select)
    return {alias or relation: relation for relation, alias in _SOURCE.findall(select[end:])}


def common_table(select: str, name: str) -> str:
    """The query that a WITH clause calls by that name; empty if there is none."""
    begin = re.search(rf"\b{re.escape(name)} AS \(", select)
    if begin is None:
        return ""
    depth = 1
    for mark in _MARK.finditer(select, begin.end()):
        depth += {"(": 1, ")": -1}.get(mark.group(), 0)
        if not depth:
            return select[begin.end() : mark.start()]
    return ""


def folded(code: str, indent: int) -> str:
    """An expression in lines of at most `WIDTH` columns, the first without its indent."""
    lines = [""]
    for piece in _PIECE.findall(code):
        if lines[-1] and indent + len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return f"\n{' ' * indent}".join(lines)


def without_comments(sql: str) -> str:
    """The SQL without its comments."""
    return re.sub(r"--[^\n]*", "", sql)


def _reads(select: str) -> tuple[str, ...]:
    """The relations that a query names, without its own."""
    code = without_comments(select)
    own = {name.lower() for name in _WITH.findall(code)}
    relations = dict.fromkeys(name.lower() for name in _QUALIFIED.findall(code))
    return tuple(name for name in relations if name not in own)


@functools.lru_cache(maxsize=256)
def _outline(select: str) -> tuple[int, tuple[int, ...], int]:
    """Where the columns of the outermost SELECT begin, the commas between them, where they end."""
    depth, begin, commas = 0, -1, []
    for mark in _MARK.finditer(select):
        text = mark.group().upper()
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth or text.startswith(("-", "'", '"')):
            continue
        if begin < 0 and text.startswith("SELECT"):
            begin = mark.end()
        elif begin >= 0 and text == ",":
            commas.append(mark.start())
        elif begin >= 0 and text == "FROM":
            return begin, tuple(commas), mark.start()
    return max(begin, 0), tuple(commas), len(select)


def _item(text: str) -> SelectItem:
    comments = _COMMENTS.match(text)
    lines = comments[1].strip() if comments else ""
    code = text[comments.end() if comments else 0 :]
    name = _NAME.search(without_comments(code))
    plain = _PLAIN.match(code)
    relation, column = plain.groups() if plain else ("", "")
    return SelectItem(name[1] if name else "", lines, relation or "", column)
