"""The registry of shipped queries: one documented SQL file each, with parameters.

The shipped ones are in this folder, those of a site among its definitions.

A file opens with comments: the title, then what the answer means, then its parameters as
`-- param: top = 10 -- how many users`, which the SQL names `$top`. Defaults are numbers, or texts
in single quotes, and determine the type of a parameter.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from ..config.definitions import definitions, of_definitions
from ..core.errors import CpmonError, fold, unknown

Value = int | float | str

_PARAM = re.compile(r"param:\s*(\w+)\s*=\s*(?:'([^']*)'|(-?[\d.]+))\s*--\s*(.+)")


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
        """A value for every parameter; raises as `bound`."""
        return bound(f"query {self.name}", self.params, given or {})


def bound(
    place: str, declared: Iterable[Param], given: Mapping[str, str | Value]
) -> dict[str, Value]:
    """A value for every parameter of a query: those given, defaults for the rest.

    Args:
        place: the query, for messages.

    Raises:
        CpmonError: a parameter is unknown, or its value of another type.
    """
    params = {param.name: param for param in declared}
    values: dict[str, Value] = {name: param.default for name, param in params.items()}
    if given and not params:
        raise CpmonError(
            "the query has no parameter",
            place=place,
            expected="comments at its head that say them: -- param: top = 10 -- how many users",
            found=", ".join(given),
        )
    for name, value in given.items():
        if name not in params:
            raise unknown("parameter", name, params, place=place)
        values[name] = params[name].read(str(value))
    return values


@of_definitions
def queries() -> tuple[Query, ...]:
    """Every query, by name.

    Raises:
        CpmonError: a query of the site has no title or description, a parameter that cannot be
            read, or the name of a shipped one.
    """
    shipped = (file for file in files(__package__).iterdir() if file.name.endswith(".sql"))
    by_name: dict[str, Query] = {}
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in shipped]
    for file, text in (*texts, *definitions().questions):
        parsed = parse(file, text)
        if fold(parsed.name) in by_name:
            raise CpmonError("two queries have one name", place=file, found=parsed.name)
        by_name[fold(parsed.name)] = parsed
    return tuple(sorted(by_name.values(), key=lambda query: query.name))


def query_names() -> list[str]:
    """Names of the queries."""
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


def parse(file: str, text: str) -> Query:
    """A query from the text of its file.

    Raises:
        CpmonError: it has no title and description, or a parameter line is wrong.
    """
    text = text.strip()
    head = _head(text)
    prose = [line for _, line in head if not line.startswith("param:")]
    if len(prose) < 2:
        raise CpmonError(
            "a query does not say what it answers",
            place=file,
            expected="comment lines first: a title, then a description",
        )
    return Query(
        name=file.rpartition("/")[2].removesuffix(".sql"),
        title=prose[0],
        description=" ".join(prose[1:]),
        params=params_of(file, text),
        sql=text.rstrip(";"),
    )


def params_of(file: str, text: str) -> tuple[Param, ...]:
    """The parameters that the comments at the head of some SQL declare.

    Raises:
        CpmonError: the line of one cannot be read.
    """
    params = []
    for at, line in _head(text):
        if not line.startswith("param:"):
            continue
        match = _PARAM.fullmatch(line)
        if match is None:
            raise CpmonError(
                "a parameter of a query cannot be read",
                place=f"{file}:{at}",
                expected="-- param: name = default -- what it is for",
                found=line,
            )
        name, quoted, number, doc = match.groups()
        default = quoted if number is None else float(number) if "." in number else int(number)
        params.append(Param(name, default, doc))
    return tuple(params)


def _head(text: str) -> list[tuple[int, str]]:
    """Number and text of the comment lines that some SQL begins with, without empty ones."""
    lines = itertools.takewhile(lambda line: line.startswith("--"), text.splitlines())
    comments = ((at, line.removeprefix("--").strip()) for at, line in enumerate(lines, 1))
    return [(at, line) for at, line in comments if line]
