"""What a catalogue holds, and how one is synced by changing only what differs.

Of all that is done to a catalogue, comments take longest: a fifth of a millisecond each, and there
are thousands. They are copied with the views that they belong to, so a catalogue is made from
another one, whatever store that is of: each entry is kept under a digest of its text, and only
those are made whose text is another.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from ..columns import COLUMNS, docs
from .views import Documented, name, text

REGISTER = "meta.catalogue"
_CREATE_REGISTER = f'CREATE TABLE {REGISTER}("name" VARCHAR, kind VARCHAR, digest VARCHAR);'
_KINDS = ("VIEW", "TABLE", "MACRO TABLE")
_QUALIFIED = re.compile(r'(\w+|"[^"]+")(\.(\w+|"[^"]+"))?')
VERSION = "VERSION"
"""The kind of the one row about the catalogue as a whole; its digest is the catalogue's version."""

AT_ONCE = 20
"""Views of a transaction. It keeps a copy of a view for each comment on it: all views in one took
423 MB, and take 202 in parts, in the same time."""


@dataclass(frozen=True)
class Entry:
    """A view, table or table macro of a catalogue.

    Attributes:
        kind: VIEW, TABLE or MACRO TABLE, as DROP has it.
        name: with schema, quoted where that is needed.
        create: the statement that creates it where none of its name is.
        title: the comment on it.
        columns: the comments on its columns.
        stand_in: for a macro, the statement that creates one with the same columns and no rows.
            Views are made while it stands there, since DuckDB looks at all files to make one.
        source: for a macro, the view that it reads, without a schema, and a row of its columns as
            SQL. A temporary view stands for it while the macro is made: DuckDB would bind all that
            lies below it, which takes up to a tenth of a second.
    """

    kind: str
    name: str
    create: str
    title: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    stand_in: str = ""
    source: tuple[str, str] = ("", "")

    @functools.cached_property
    def digest(self) -> str:
        """Changes with anything that it is made of."""
        document = json.dumps([self.kind, self.create, self.title, dict(self.columns)])
        return hashlib.blake2b(document.encode(), digest_size=16).hexdigest()

    @property
    def comments(self) -> str:
        """The statements that comment on it and its columns."""
        statements = (
            [f"COMMENT ON {self.kind} {self.name} IS {text(self.title)};"] if self.title else []
        )
        statements += [
            f"COMMENT ON COLUMN {self.name}.{name(column)} IS {text(doc)};"
            for column, doc in self.columns.items()
        ]
        return "".join(statements)

    @property
    def statements(self) -> str:
        """What makes it where none of its name is."""
        made = f"{self.create.rstrip().rstrip(';')};{self.comments}"
        source, row = self.source
        if not source:
            return made
        return f"CREATE TEMP VIEW {source} AS SELECT {row};{made}DROP VIEW temp.{source};"


def view(documented: Documented) -> Entry:
    """The entry of a view."""
    create = f"CREATE VIEW {documented.name} AS {documented.select}"
    return Entry("VIEW", documented.name, create, documented.title, documented.columns)


def macro(rows: str, query: str, none: str = "", source: tuple[str, str] = ("", "")) -> Entry:
    """The entry of a macro.

    Args:
        rows: how it is called: `landed_rows`.
        none: a relation with its columns and no rows, to stand in for it.
        source: as `Entry` has it.
    """
    create = f"CREATE MACRO {rows} AS TABLE "
    stand_in = replacing(f"{create}SELECT * FROM {none}") if none else ""
    return Entry("MACRO TABLE", rows.removesuffix("()"), create + query, "", {}, stand_in, source)


def sync_entries(
    connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry], version: str
) -> list[Entry]:
    """Make a catalogue hold these entries and no others; what is as it should be stays.

    Args:
        connection: within a transaction, which is committed now and then.
        entries: each behind those that it reads.
        version: of the catalogue as a whole, for `catalogue_version`.

    Returns:
        Those that were made.
    """
    digests = {entry.name: entry.digest for entry in entries}
    registered = _registered(connection)
    stale = {
        stale_name: kind
        for stale_name, (kind, digest) in registered.items()
        if digests.get(stale_name) != digest
    }
    for stale_name, kind in stale.items():
        connection.execute(f"DROP {kind} {stale_name}")
    missing = [entry for entry in entries if entry.name not in registered or entry.name in stale]
    replaced = _with_files(entries) if any(e.kind == "VIEW" for e in missing) else []
    for entry in replaced:
        connection.execute(entry.stand_in)
    begun = [entry for entry in missing if entry not in replaced]
    for number, entry in enumerate(begun, 1):
        connection.execute(entry.statements)
        if not number % AT_ONCE:
            connection.execute("COMMIT; BEGIN")
    for entry in replaced:
        connection.execute(replacing(entry.create))
    rows = [(entry.name, entry.kind, digests[entry.name]) for entry in entries]
    _register(connection, [*rows, ("", VERSION, version)])
    return missing


def _with_files(entries: Sequence[Entry]) -> list[Entry]:
    """The macros that read files: 2 ms each, so the many that are their own stand-in are left."""
    return [e for e in entries if e.stand_in and e.stand_in != replacing(e.create)]


def replacing(create: str) -> str:
    """The statement that creates a macro, where there may be one of its name."""
    return create.replace("CREATE MACRO", "CREATE OR REPLACE MACRO", 1)


def different_views(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> int:
    """How many views a database lacks, or has otherwise, of these entries."""
    registered = {name: digest for name, (_, digest) in _registered(connection).items()}
    return sum(e.kind == "VIEW" and registered.get(e.name) != e.digest for e in entries)


def is_catalogue(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a database has the register, as a table of plain columns.

    A file from elsewhere may have a view of that name, or computed columns, and nothing of it may
    run before the sandbox closes. No name in it can stand for one of `system.main`.
    """
    tables = "SELECT schema_name, table_name, sql FROM system.main.duckdb_tables()"
    return (*REGISTER.split("."), _CREATE_REGISTER) in connection.execute(tables).fetchall()


def catalogue_version(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The version that a catalogue was made with; None if it is no catalogue."""
    try:
        if not is_catalogue(connection):
            return None
        rows = connection.execute(
            f"SELECT digest FROM {REGISTER} WHERE kind = {text(VERSION)}"
        ).fetchall()
    except duckdb.Error:
        return None
    return str(rows[0][0]) if rows else None


def _register(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[str, str, str]]) -> None:
    connection.execute(f"DELETE FROM {REGISTER}")
    columns = ", ".join(f"unnest(${place}::VARCHAR[])" for place in (1, 2, 3))
    by_column = [[row[place] for row in rows] for place in range(3)]
    connection.execute(f"INSERT INTO {REGISTER} SELECT {columns}", by_column)


def _registered(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Kind and digest of what a catalogue holds, by name; rows that name nothing are left out.

    They become parts of statements, and a file from elsewhere may hold any text.
    """
    columns = ", ".join(f"{column} VARCHAR" for column in COLUMNS["catalogue"])
    connection.execute(f"CREATE TABLE IF NOT EXISTS {REGISTER} ({columns})")
    title = "What the catalogue was made of, to see what has changed."
    connection.execute(Entry("TABLE", REGISTER, "", title, docs("catalogue")).comments)
    rows = connection.execute(f"SELECT name, kind, digest FROM {REGISTER}").fetchall()
    return {
        entry_name: (kind, digest)
        for entry_name, kind, digest in rows
        if kind in _KINDS and _QUALIFIED.fullmatch(entry_name)
    }
