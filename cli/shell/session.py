"""A session at the prompt: connection, output and dot commands, which are not SQL."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...config.formats import BINARY, FORMATS
from ...core.errors import CpmonError, nearest, unknown, unknown_of_many
from ...core.text import counted
from ...store.answers import ask, no_table
from ...store.measured.classes import classes_text
from ...store.measured.runs import run_names
from ..options import pairs
from ..output import Output, check_target, rows_as, write_file

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ...store import Store
    from ...store.connection import Connection
    from ...store.sql.views import Documented


@dataclass(slots=True)
class Session:
    """State between lines.

    Attributes:
        open: opens a connection. store: the store of the connection.
        out: format of results, and the output file. written: what this file has by now.
        timer: print the time of each query. over: end the session.
    """

    open: Callable[[], Connection]
    store: Store
    out: Output
    timer: bool = False
    over: bool = False
    _connection: Connection | None = None
    _state: object = None
    written: bytes = b""

    @property
    def connection(self) -> Connection:
        """A connection to the current state of the store; reopened if that has changed.

        Raises:
            CpmonError: the store cannot be opened.
        """
        state = self.store.dumps(), run_names(self.store), classes_text(self.store)
        if self._connection is None or state != self._state:
            self.close()
            self._connection, self._state = self.open(), state
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def listed(self, listing: str, **values: Any) -> duckdb.DuckDBPyRelation:
        """The result of a listing: a SQL file of this package."""
        sql = (files(__package__) / f"{listing}.sql").read_text(encoding="utf-8")
        return self.connection.sql(sql, params=values)

    def ask(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a query and print the result.

        Raises:
            CpmonError: the query is rejected or fails, or the result cannot be written.
        """
        from ...render.render import render_parts

        began, rows = time.perf_counter(), 0

        def parts() -> Iterator[pa.Table]:
            nonlocal rows
            for part in ask(self.connection, sql, values):
                rows += len(part)
                yield part

        self.show(render_parts(parts(), self.out.format))
        if self.timer:
            click.echo(f"{counted(rows, 'row')} in {time.perf_counter() - began:.3f} s", err=True)

    def show(self, data: bytes | Iterable[bytes]) -> None:
        """Print a result, or append it to the file.

        Raises:
            CpmonError: the file cannot be written, or a binary file would get a second result.
        """
        if self.out.file is None:
            self.out.write(data)
            return
        if self.written and self.out.format in BINARY:
            raise CpmonError(
                f"a {BINARY[self.out.format]} file holds one answer",
                code="format-holds-one-result",
                place=str(self.out.file),
                effect="the file is as it was",
                remedy="name another one with .output FILE",
            )
        if not self.written:
            check_target(self.out.file, self.out.format)
        self.written += data if isinstance(data, bytes) else b"".join(data)
        write_file(self.out.file, self.written)


Words = Sequence[str]


def run_dot(session: Session, line: str) -> None:
    """Run a dot command.

    Raises:
        CpmonError: no such command, or it fails.
    """
    try:
        name, *words = shlex.split(line)
    except ValueError as error:
        raise CpmonError("the line cannot be read", found=f"{line}: {error}") from None
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    usage, _, act, least, most = COMMANDS[name]
    if not least <= len(words) <= most:
        raise CpmonError(f"{name} is used otherwise", expected=usage, found=line)
    act(session, words)


def _show(session: Session, rows: list[dict[str, Any]]) -> bool:
    """Print rows in the session's format; returns whether there are any."""
    if rows:
        session.show(rows_as(rows, session.out.format))
    return bool(rows)


def _listed(session: Session) -> list[tuple[str, Documented]]:
    """The public relations, by name with schema."""
    every = session.connection.documented()
    named = ((each.name if "." in each.name else f"main.{each.name}", each) for each in every)
    return sorted((n, each) for n, each in named if not each.name.startswith("_"))


def _tables(session: Session, words: Words) -> None:
    pattern = words[0] if words else "*"
    wild = pattern if set(pattern) & set("*?") else f"*{pattern}*"
    regex = re.escape(wild).replace(r"\*", ".*").replace(r"\?", ".")
    is_like = re.compile(regex, re.IGNORECASE).fullmatch
    rows = [
        {"table": table, "comment": each.title}
        for table, each in _listed(session)
        if is_like(table) or is_like(table.partition(".")[2])
    ]
    if not _show(session, rows):
        raise no_table(session.connection, pattern)


def _schema(session: Session, words: Words) -> None:
    name = words[0].lower()
    for table, each in _listed(session):
        if name in (table, table.partition(".")[2]):
            _show(session, [row | {"comment": doc} for row, doc in _columns(session, each)])
            return
    raise no_table(session.connection, words[0])


def _columns(session: Session, documented: Documented) -> Iterator[tuple[dict[str, str], str]]:
    """The columns of a table with their types and documentation."""
    table = session.connection.table(documented.name)
    place = documented.name if "." in documented.name else f"main.{documented.name}"
    for column, kind in zip(table.columns, table.types, strict=True):
        row = {"table": place, "column": column, "type": str(kind)}
        yield row, documented.columns.get(column, "")


def _explain(session: Session, words: Words) -> None:
    table, _, column = words[0].lower().rpartition(".")
    table = table.rpartition(".")[2]
    rows = session.listed("fields", column=column, table=table).to_arrow_table().to_pylist()
    others = [
        row | {"meaning": doc}
        for name, each in _listed(session)
        if name.startswith(("main.", "meta."))
        and table in ("", name.partition(".")[2])
        and column in each.columns
        for row, doc in _columns(session, each)
        if row["column"] == column
    ]
    if not (_show(session, rows) | _show(session, others)):
        sql = "SELECT DISTINCT name FROM meta.dictionary WHERE name IS NOT NULL"
        fields = [str(name) for (name,) in session.connection.sql(sql).fetchall()]
        look = ".schema TABLE lists its columns"
        raise unknown_of_many("field", words[0], nearest(column, fields), look)


def _queries(session: Session, _words: Words) -> None:
    from ...queries import queries

    rows = []
    for query in queries():
        parameters = " ".join(f"{p.name}={p.default}" for p in query.params)
        rows.append({"name": query.name, "title": query.title, "parameters": parameters})
    session.show(rows_as(rows, session.out.format))


def _run(session: Session, words: Words) -> None:
    from ...queries import query

    named = query(words[0])
    session.ask(named.sql, named.bind(pairs(".run", words[1:])))


def _mode(session: Session, words: Words) -> None:
    if words[0] not in FORMATS:
        raise unknown("format", words[0], FORMATS)
    session.out = replace(session.out, format=words[0])


def _output(session: Session, words: Words) -> None:
    file = Path(words[0]).expanduser() if words and words[0] != "-" else None
    session.out, session.written = replace(session.out, file=file), b""


def _timer(session: Session, words: Words) -> None:
    if words[0] not in ("on", "off"):
        raise unknown("state", words[0], ("on", "off"))
    session.timer = words[0] == "on"


def _help(_session: Session, _words: Words) -> None:
    for usage, purpose, *_ in COMMANDS.values():
        click.echo(f"{usage:<26} {purpose}")
    click.echo("\nAnything else is SQL, up to a semicolon. Ctrl-C stops a query, Ctrl-D leaves.")


def _quit(session: Session, _words: Words) -> None:
    session.over = True


Act = Callable[[Session, Words], None]

COMMANDS: dict[str, tuple[str, str, Act, int, int]] = {
    ".tables": (".tables [PATTERN]", "tables, those with PATTERN in the name", _tables, 0, 1),
    ".schema": (".schema TABLE", "columns of a table and what they say", _schema, 1, 1),
    ".explain": (
        ".explain [TABLE.]FIELD",
        "what a field says, and where it stands",
        _explain,
        1,
        1,
    ),
    ".queries": (".queries", "the shipped queries", _queries, 0, 0),
    ".run": (".run NAME [KEY=VALUE]...", "run a shipped query", _run, 1, 99),
    ".mode": (".mode FORMAT", f"print as one of {', '.join(FORMATS)}", _mode, 1, 1),
    ".output": (".output [FILE]", "write answers there; without FILE: here again", _output, 0, 1),
    ".timer": (".timer on|off", "say how long answers took", _timer, 1, 1),
    ".help": (".help", "this list", _help, 0, 0),
    ".quit": (".quit", "leave", _quit, 0, 0),
}
"""Name -> usage, description, function, minimum and maximum number of arguments."""
