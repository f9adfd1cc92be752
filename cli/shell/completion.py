"""What a half-written word may become: tables, columns, functions, keywords, fields, commands."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...schemas.formats import FORMATS
from .dot_commands import COMMANDS

if TYPE_CHECKING:
    from .session import Session

DELIMITERS = " \t\n()[]{},;=<>+-*/%|&!?'\"`"
"""What ends a word; a dot does not: monitor.sytrsp is one."""


class Completer:
    """Completes words by what a catalogue holds, which is read at the first word."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def candidates(self, before: str, word: str) -> list[str]:
        """What a word can become.

        Args:
            before: the statement up to the word. word: its beginning.
        """
        first = next(iter(before.split(maxsplit=1)), "")
        if first.startswith(".") or (not before.strip() and word.startswith(".")):
            return _matching(self._behind_dot(first, before), word)
        if "." in word:
            return _matching([*self._tables(), *self._dotted(before + word, word)], word)
        if re.search(r"\b(from|join|describe|summarize)\s+(\S+\s*,\s*)*$", before, re.IGNORECASE):
            return _matching([*self._schemas(), *self._tables(), *self._bare()], word)
        names = [*self._columns_of(before), *self._bare(), *self._schemas(), *self._words]
        return _matching(names, word)

    def _behind_dot(self, command: str, before: str) -> Iterable[str]:
        """What may stand behind a dot command, or the commands themselves."""
        if not command:
            return COMMANDS
        if len(before.split()) > 1:
            return ()
        match command:
            case ".tables" | ".schema":
                return [*self._tables(), *self._bare()]
            case ".explain":
                return self._fields
            case ".run":
                from ...queries.queries import query_names

                return query_names()
            case ".mode":
                return FORMATS
            case ".timer":
                return ("on", "off")
        return ()

    @functools.cached_property
    def _known(self) -> dict[tuple[str, str], list[str]]:
        """Columns by schema and table."""
        rows = self._ask("columns_of_tables.sql")
        return {(schema, table): columns for schema, table, columns in rows}

    @functools.cached_property
    def _words(self) -> list[str]:
        return [str(word) for (word,) in self._ask("words.sql")]

    @functools.cached_property
    def _fields(self) -> list[str]:
        rows = self._session.connection.sql(
            "SELECT DISTINCT unnest([name, table_name || '.' || name])"
            " FROM meta.dictionary WHERE name IS NOT NULL"
        ).fetchall()
        return [str(field) for (field,) in rows]

    def _ask(self, file: str) -> list[Any]:
        sql = (files(__package__) / file).read_text(encoding="utf-8")
        return self._session.connection.sql(sql).fetchall()

    def _schemas(self) -> set[str]:
        return {f"{schema}." for schema, _ in self._known}

    def _tables(self) -> list[str]:
        return [f"{schema}.{table}" for schema, table in self._known]

    def _bare(self) -> list[str]:
        """Tables that need no schema."""
        return [table for schema, table in self._known if schema == "main"]

    def _columns_of(self, text: str) -> list[str]:
        """Columns of the tables that a text names; of all reductions where it names none."""
        names = set(re.findall(r"[\w.]+", text.lower()))
        tables = [
            columns
            for (schema, table), columns in self._known.items()
            if f"{schema}.{table}" in names or (schema == "main" and table in names)
        ]
        if not tables:
            tables = [columns for (schema, _), columns in self._known.items() if schema == "main"]
        return [column for columns in tables for column in columns]

    def _dotted(self, text: str, word: str) -> Iterable[str]:
        """Columns behind the short name of a table: u.cpu_s."""
        alias = word.partition(".")[0]
        if any(schema == alias.lower() for schema, _ in self._known):
            return ()
        return (f"{alias}.{column}" for column in self._columns_of(text))


def _matching(names: Iterable[str], word: str) -> list[str]:
    folded = word.lower()
    return sorted({name for name in names if name.lower().startswith(folded)})
