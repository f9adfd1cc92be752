"""Completion at the prompt: tables, columns, functions, keywords, fields, commands."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...config.formats import FORMATS
from .dot_commands import COMMANDS

if TYPE_CHECKING:
    from .session import Session

DELIMITERS = " \t\n()[]{},;=<>+-*/%|&!?'\"`"
"""Characters that end a word; a dot does not: monitor.sytrsp is one word."""


class Completer:
    """Completes words from a catalogue, which is read at the first completion."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def candidates(self, before: str, word: str) -> list[str]:
        """Completions of a word.

        Args:
            before: the statement before the word. word: its typed part.
        """
        first = next(iter(before.split(maxsplit=1)), "")
        if first.startswith(".") or (not before.strip() and word.startswith(".")):
            return _matching(self._behind_dot(first, before), word)
        if "." in word:
            return _matching([*self._tables, *self._dotted(before + word, word)], word)
        if re.search(r"\b(from|join|describe|summarize)\s+(\S+\s*,\s*)*$", before, re.IGNORECASE):
            return _matching([*self._schemas(), *self._tables], word)
        bare = (table for table in self._tables if "." not in table)
        names = [*self._columns_of(before), *bare, *self._schemas(), *self._words]
        return _matching(names, word)

    def _behind_dot(self, command: str, before: str) -> Iterable[str]:
        """Completions of the argument of a dot command, or of the command itself."""
        if not command:
            return COMMANDS
        if len(before.split()) > 1:
            return ()
        match command:
            case ".tables" | ".schema":
                return self._tables
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
    def _tables(self) -> dict[str, list[str]]:
        """Table name -> columns; with schema, and also without if it is optional."""
        columns: dict[str, list[str]] = {}
        for each in self._session.connection.documented():
            name = each.name.lower()
            if not name.startswith("_"):
                columns[name] = columns[name if "." in name else f"main.{name}"] = [*each.columns]
        return columns

    @functools.cached_property
    def _words(self) -> list[str]:
        return [word for (word,) in self._session.listed("words").fetchall()]

    @functools.cached_property
    def _fields(self) -> list[str]:
        return [field for (field,) in self._session.listed("field_names").fetchall()]

    def _schemas(self) -> set[str]:
        return {f"{table.partition('.')[0]}." for table in self._tables if "." in table}

    def _columns_of(self, text: str) -> list[str]:
        """Columns of the tables in a text; of all reductions if it names none."""
        names = set(re.findall(r"[\w.]+", text.lower()))
        tables = names & self._tables.keys() or {t for t in self._tables if "." not in t}
        return [column for table in tables for column in self._tables[table]]

    def _dotted(self, text: str, word: str) -> Iterable[str]:
        """Columns after a table alias: u.cpu_s."""
        alias = word.partition(".")[0]
        if f"{alias.lower()}." in self._schemas():
            return ()
        return (f"{alias}.{column}" for column in self._columns_of(text))


def _matching(names: Iterable[str], word: str) -> list[str]:
    folded = word.lower()
    return sorted({name for name in names if name.lower().startswith(folded)})
