"""Every `remedy=` of the product, found in its sources: where it stands and what it says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.check_imports import ALLOWED

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = tuple(ALLOWED)


@dataclass(frozen=True, order=True)
class Remedy:
    """One thing that a message tells the reader to do.

    Attributes:
        file: in the repository. problem, text: as written there, {} for what is filled in.
    """

    file: str
    problem: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem!r}: {self.text!r}"


@dataclass(frozen=True)
class Site:
    """A call with `remedy=`: its lines, and the remedies that it can say."""

    file: str
    lines: range
    remedies: tuple[Remedy, ...]


@cache
def sites() -> tuple[Site, ...]:
    """All of them."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    return tuple(site for file in files for site in _sites(file))


def all_remedies() -> set[Remedy]:
    return {remedy for site in sites() for remedy in site.remedies}


def _sites(file: Path) -> Iterator[Site]:
    name = str(file.relative_to(ROOT))
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for said in (keyword.value for keyword in node.keywords if keyword.arg == "remedy"):
            inside = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
            problem = "{}" if not node.args else text_of(node.args[0])
            texts = _texts(said, inside[-1] if inside else tree)
            yield Site(
                name,
                range(node.lineno, (node.end_lineno or node.lineno) + 1),
                tuple(Remedy(name, problem, text) for text in dict.fromkeys(texts)),
            )


def _texts(said: ast.expr, inside: ast.AST | None) -> Iterator[str]:
    """What an expression can say; a name stands for all that its function sets it to."""
    if isinstance(said, ast.IfExp):
        yield from _texts(said.body, inside)
        yield from _texts(said.orelse, inside)
    elif isinstance(said, ast.Name):
        # Where a name is set from itself, inside is None: it stands for what was there already.
        values = list(_set(said.id, inside)) if inside else []
        for value in values:
            yield from _texts(value, None)
        if inside and not values:
            yield "{}"
    elif not (isinstance(said, ast.Constant) and said.value is None):
        yield text_of(said)


def _set(name: str, inside: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(inside):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=True)
                else:
                    pairs = zip([target], [node.value], strict=True)
                for one, value in pairs:
                    if isinstance(one, ast.Name) and one.id == name:
                        yield value


def text_of(said: ast.expr) -> str:
    """A text as it is written in a source, with {} for what is filled in."""
    match said:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
        case ast.BinOp(left=left, right=right):
            return text_of(left) + text_of(right)
    return "{}"
