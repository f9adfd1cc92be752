"""Reads lines from a terminal or a pipe: prompt, history, completion, splitting into statements."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from ...config.formats import FORMATS
from ...core.errors import CpmonError
from ...core.interrupts import restore_interrupts
from ...queries import query_names
from ..output import say
from .session import COMMANDS, Session, run_dot

if TYPE_CHECKING:
    from .session import Session

_DELIMITERS = " \t\n()[]{},;=<>+-*/%|&!?'\"`"
"""Characters that end a word; a dot does not: monitor.sytrsp is one word."""


class _Completer:
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
            alias = word.partition(".")[0]  # of a table: u.cpu_s
            is_schema = f"{alias.lower()}." in self._schemas()
            columns = [] if is_schema else self._columns_of(before + word)
            return _matching([*self._tables, *(f"{alias}.{name}" for name in columns)], word)
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


def _matching(names: Iterable[str], word: str) -> list[str]:
    folded = word.lower()
    return sorted({name for name in names if name.lower().startswith(folded)})


_PROMPT, _MORE = "cpmon> ", "  ...> "
_LONGEST = 10_000
"""Maximum lines of the history."""


def run_script(session: Session, lines: TextIO) -> None:
    """Run the statements and commands of a file or pipe; stops at the first error.

    Raises:
        CpmonError: a statement or command fails.
    """
    waiting = ""
    for line in _decoded(lines):
        waiting = _take(session, waiting, line)
        if session.over:
            return
    if not is_blank(waiting):
        session.ask(waiting)


def _decoded(lines: TextIO) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError:
        raise CpmonError(
            "a line is no text in UTF-8", effect="nothing behind it was done"
        ) from None


def run_prompt(session: Session) -> None:
    """Read and run lines until the user exits; errors and Ctrl-C only cancel a statement."""
    waiting = ""
    with _line_editing(session, lambda: waiting) as remember:
        while not session.over:
            try:
                restore_interrupts()
                prompt = _MORE if waiting else _PROMPT
                if not sys.stdout.isatty():  # the prompt is no result
                    sys.stderr.write(prompt)
                    sys.stderr.flush()
                    prompt = ""
                line = input(prompt)
                remember(line)
                waiting = _take(session, waiting, line + "\n")
            except EOFError:
                click.echo(err=True)
                return
            except KeyboardInterrupt:
                waiting = ""
                click.echo("interrupted", err=True)
            except (CpmonError, click.ClickException) as error:
                waiting = ""
                say(f"cpmon: {error}", err=True)


def _take(session: Session, waiting: str, line: str) -> str:
    """Run what a line completes; returns the incomplete rest."""
    if not waiting and line.lstrip().startswith("."):
        run_dot(session, line.strip())
        return ""
    statements, rest = split(waiting + line)
    for statement in statements:
        if not is_blank(statement):
            session.ask(statement)
    return "" if is_blank(rest) and "/*" not in rest else rest


@contextmanager
def _line_editing(
    session: Session, statement: Callable[[], str]
) -> Iterator[Callable[[str], None]]:
    """Sets up completion and history if readline exists; yields a function that adds a line."""
    try:
        import readline
    except ImportError:  # Python without readline: lines can be typed without editing
        yield lambda _line: None
        return
    completer = _Completer(session)
    candidates: list[str] = []

    def complete(word: str, number: int) -> str | None:
        nonlocal candidates
        if number == 0:
            before = statement() + readline.get_line_buffer()[: readline.get_begidx()]
            candidates = completer.candidates(before, word)
        return candidates[number] if number < len(candidates) else None

    readline.set_completer(complete)
    readline.set_completer_delims(_DELIMITERS)
    readline.parse_and_bind("tab: complete")
    readline.set_auto_history(False)
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = state if state.is_absolute() else Path("~/.local/state").expanduser()
    file = state / "cpmon/history"
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield lambda line: readline.add_history(line) if line.strip() else None
    finally:
        readline.set_completer(None)
        readline.set_history_length(_LONGEST)
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.chmod(0o600)  # also for an existing file
            readline.write_history_file(file)
        except OSError as error:
            click.echo(f"the history was not kept: {file}: {error.strerror}", err=True)


_PART = re.compile(
    r"""\b[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)"""
    r"""|'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)"""
    r"""|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|(\$\w*\$).*?(?:\1|\Z)"""
    r"""|;|\w+|.""",
    re.DOTALL,
)
"""Tokens: string, quoted name, comment, dollar-quoted string, semicolon, word, other character. A
string with a doubled quote matches as two strings, which makes no difference here."""


def split(text: str) -> tuple[list[str], str]:
    """Split text into complete statements, without semicolons, and the incomplete rest.

    A statement ends at a semicolon outside of strings, quoted names and comments.
    """
    statements, begin = [], 0
    for match in _PART.finditer(text):
        if match[0] == ";":
            statements.append(text[begin : match.start()].strip())
            begin = match.end()
    return [statement for statement in statements if statement], text[begin:]


def is_blank(text: str) -> bool:
    """Whether a text has only blanks and comments."""
    return all(
        part[0].startswith(("--", "/*")) or not part[0].strip() for part in _PART.finditer(text)
    )
