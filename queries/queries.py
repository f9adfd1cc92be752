"""The registry of shipped queries: one documented SQL file each, with parameters.

A file begins with comments: the title, the meaning of the result, and its parameters as
`-- param: top = 10 -- how many users`, which the SQL names `$top`. Defaults are numbers, or texts
in single quotes, and determine the type of a parameter.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from ..core.errors import CpmonError
from ..core.names import fold, unknown

Value = int | float | str

_PARAM = re.compile(r"param:\s*(\w+)\s*=\s*('(?:[^']*)'|-?[\d.]+)\s*--\s*(.+)")


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter; `default` determines its type."""

    name: str
    default: Value
    doc: str

    def read(self, text: str) -> Value:
        """Convert a value that a user typed.

        Raises:
            CpmonError: it is not of the parameter's type.
        """
        kind = type(self.default)
        try:
            return kind(text)
        except ValueError:
            raise CpmonError(
                f"parameter {self.name} has a value of another type",
                expected=f"a value like {self.default!r}: {self.doc}",
                found=repr(text),
            ) from None


@dataclass(frozen=True, slots=True)
class Query:
    """A named query. `sql` runs on a catalogue with `bind()` as its parameters."""

    name: str
    title: str
    description: str
    params: tuple[Param, ...]
    sql: str

    def bind(self, given: Mapping[str, str | Value] | None = None) -> dict[str, Value]:
        """Values of all parameters: the given ones, else defaults.

        Raises:
            CpmonError: a parameter is unknown, or its value of another type.
        """
        params = {param.name: param for param in self.params}
        values: dict[str, Value] = {name: param.default for name, param in params.items()}
        for name, value in (given or {}).items():
            if name not in params:
                raise unknown("parameter", name, params, place=f"query {self.name}")
            values[name] = params[name].read(str(value))
        return values


@functools.cache
def queries() -> tuple[Query, ...]:
    """Every shipped query, by name."""
    folder = files(__package__)
    parsed = [parse(file) for file in folder.iterdir() if file.name.endswith(".sql")]
    return tuple(sorted(parsed, key=lambda query: query.name))


def query_names() -> list[str]:
    """Names of the shipped queries."""
    return [query.name for query in queries()]


def query(name: str) -> Query:
    """The query of that name, in any case, with dashes or underscores.

    Raises:
        CpmonError: there is none; the nearest is suggested.
    """
    by_name = {query.name: query for query in queries()}
    if fold(name) not in by_name:
        raise unknown("query", name, by_name)
    return by_name[fold(name)]


def parse(file: Traversable) -> Query:
    """Parse the file of a query.

    Raises:
        CpmonError: it has no title and description, or a parameter line is wrong.
    """
    text = file.read_text(encoding="utf-8").strip()
    comments = itertools.takewhile(lambda line: line.startswith("--"), text.splitlines())
    head = [line.removeprefix("--").strip() for line in comments]
    prose = [line for line in head if line and not line.startswith("param:")]
    if len(prose) < 2:
        raise CpmonError(
            "a query does not say what it answers",
            place=file.name,
            expected="comment lines first: a title, then a description",
        )
    params = tuple(_param(line, file.name) for line in head if line.startswith("param:"))
    return Query(
        name=file.name.removesuffix(".sql"),
        title=prose[0],
        description=" ".join(prose[1:]),
        params=params,
        sql=text.rstrip(";"),
    )


def _param(line: str, place: str) -> Param:
    match = _PARAM.fullmatch(line)
    if match is None:
        raise CpmonError(
            "a parameter of a query cannot be read",
            place=place,
            expected="-- param: name = default -- what it is for",
            found=line,
        )
    name, default, doc = match.groups()
    if default.startswith("'"):
        return Param(name, default[1:-1], doc)
    return Param(name, float(default) if "." in default else int(default), doc)
