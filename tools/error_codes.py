"""The catalogue of error codes, read from the calls in the sources that have `code=`.

docs/errors.md is made of it, and tests/remedies checks that a test tries the remedy of each code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .check_imports import ALLOWED

ROOT = Path(__file__).resolve().parent.parent
_PLACEHOLDER = re.compile(r"\{\w*\}")
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


@dataclass(frozen=True, order=True)
class Fault:
    """One problem of a code, with the remedy that is given for it, if there is one."""

    code: str
    problem: str
    remedy: str | None


class CatalogueError(Exception):
    """A call that breaks the rules of codes; the message names its line."""


@cache
def catalogue() -> dict[str, tuple[Fault, ...]]:
    """The faults of each code, sorted.

    Raises:
        CatalogueError: a remedy has no code, or a code is not in kebab-case.
    """
    files = [file for folder in ALLOWED for file in sorted((ROOT / folder).rglob("*.py"))]
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}
    faults = sorted({fault for name in texts for fault in faults_in(texts[name], name)}, key=str)
    return {code: tuple(f for f in faults if f.code == code) for code in {f.code for f in faults}}


def faults_in(source: str, name: str) -> Iterator[Fault]:
    """The faults of a source text; `name` is its file, for messages.

    Raises:
        CatalogueError: as `catalogue`.
    """
    module = ast.parse(source)
    nodes = [*ast.walk(module)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        parts = {keyword.arg: keyword.value for keyword in call.keywords}
        if not {"code", "remedy"} & set(parts):
            continue
        place = f"{name}:{call.lineno}"
        if "code" not in parts:
            raise CatalogueError(f"{place}: an error with a remedy has no code")
        around = [f for f in functions if f.lineno <= call.lineno <= (f.end_lineno or 0)]
        texts = _Texts(module, around[-1:])
        problem_node = call.args[0] if call.args else ast.Constant("")
        problems, codes = texts.of(problem_node), texts.of(parts["code"])
        remedies = texts.of(parts["remedy"]) if "remedy" in parts else [None]
        for number in range(max(map(len, (problems, codes, remedies)))):
            problem, code, remedy = (
                each[number] if number < len(each) else each[-1]
                for each in (problems, codes, remedies)
            )
            if code and _PLACEHOLDER.fullmatch(code):  # of a helper: its callers have it
                continue
            if code is None or not _KEBAB.fullmatch(code):
                raise CatalogueError(f"{place}: {code!r} is no code in kebab-case")
            yield Fault(code, problem or "", remedy)


class _Texts:
    """What expressions can say; names stand for all that their function or module sets them to."""

    def __init__(self, module: ast.Module, around: list[ast.FunctionDef]) -> None:
        self._scopes = [*around, module]

    def of(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> list[str | None]:
        """Alternatives in the order of the source, {name} for what varies; None for no text."""
        match node:
            case ast.Constant(value=str() | None as text):
                return [text]
            case ast.IfExp(body=body, orelse=orelse):
                return [*self.of(body, seen), *self.of(orelse, seen)]
            case ast.JoinedStr(values=parts):
                return ["".join(self._part(part, seen) for part in parts)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [self._part(left, seen) + self._part(right, seen)]
            case ast.Name(id=name):
                for scope in self._scopes if name not in seen else ():
                    if values := list(_set_in(scope, name)):
                        return [text for v in values for text in self.of(v, seen | {name})]
            case ast.Attribute(attr=name):
                pass
            case ast.FormattedValue(value=value):
                return self.of(value, seen)
            case _:
                name = ""
        return [f"{{{name}}}"]

    def _part(self, node: ast.expr, seen: frozenset[str]) -> str:
        """A part of a text; what has alternatives varies."""
        texts = self.of(node, seen)
        return (texts[0] if len(texts) == 1 else None) or "{}"


def _set_in(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a function or module sets a name to; of a module only what stands at its top."""
    nodes = scope.body if isinstance(scope, ast.Module) else ast.walk(scope)
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True)
            else:
                pairs = zip([target], [node.value], strict=True)
            for each, value in pairs:
                if isinstance(each, ast.Name) and each.id == name:
                    yield value
