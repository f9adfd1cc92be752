"""Commands at the prompt that are no SQL: each begins with a dot."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...config.formats import FORMATS
from ...schemas.errors import CpmonError
from ...schemas.lookup import nearest, unknown, unknown_of_many
from ..answers import no_table
from ..options import pairs
from .session import Session

Words = Sequence[str]

LIKE = {
    ord(mark): text for mark, text in {"*": "%", "?": "_", "%": "^%", "_": "^_", "^": "^^"}.items()
}


def run_dot(session: Session, line: str) -> None:
    """Do what a line with a dot says.

    Raises:
        CpmonError: there is no such command, or it cannot be done.
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


def _list(session: Session, listing: str, **values: Any) -> int:
    """Answer the query `listing`.sql in the session's format; returns its number of rows."""
    from ...reduce.render.render import render

    table = session.listed(listing, **values).to_arrow_table()
    if table.num_rows:
        session.show(render(table, session.out.format))
    return int(table.num_rows)


def _tables(session: Session, words: Words) -> None:
    pattern = words[0] if words else ""
    wild = pattern if set(pattern) & set("*?") or not pattern else f"*{pattern}*"
    like = wild.translate(LIKE)
    if not _list(session, "tables", like=like):
        raise no_table(session.connection, pattern)


def _schema(session: Session, words: Words) -> None:
    if not _list(session, "columns", name=words[0].lower()):
        raise no_table(session.connection, words[0])


def _explain(session: Session, words: Words) -> None:
    table, _, column = words[0].lower().rpartition(".")
    table = table.rpartition(".")[2]
    values = {"column": column, "table": table}
    rows = _list(session, "fields", **values) + _list(session, "others", **values)
    if not rows:
        sql = "SELECT DISTINCT name FROM meta.dictionary WHERE name IS NOT NULL"
        fields = [str(name) for (name,) in session.connection.sql(sql).fetchall()]
        look = ".schema TABLE lists its columns"
        raise unknown_of_many("field", words[0], nearest(column, fields), look)


def _queries(session: Session, _words: Words) -> None:
    from ...queries.queries import queries
    from ..output import rows_as

    rows = [
        {
            "name": query.name,
            "title": query.title,
            "parameters": " ".join(f"{p.name}={p.default}" for p in query.params),
        }
        for query in queries()
    ]
    session.show(rows_as(rows, session.out.format))


def _run(session: Session, words: Words) -> None:
    from ...queries.queries import query

    named = query(words[0])
    session.ask(named.sql, named.bind(pairs(".run", words[1:])))


def _mode(session: Session, words: Words) -> None:
    if words[0] not in FORMATS:
        raise unknown("format", words[0], FORMATS)
    session.out = replace(session.out, format=words[0])


def _output(session: Session, words: Words) -> None:
    session.send_to(Path(words[0]).expanduser() if words and words[0] != "-" else None)


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
"""Name -> usage, what it does, the function, least and most words behind it."""
