"""What a catalogue holds, and how one is brought up to date by changing only what differs.

Of all that is done to a catalogue, comments take longest: a fifth of a millisecond each, and there
are thousands. They are copied with the views that they belong to, so a catalogue is made from
another one, whatever store that is of: each entry is kept under a digest of its text, and only
those are made whose text is another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from .views import Documented, name, text

REGISTER = "meta._entry"
"""The table of what is in a catalogue, by name, with kind and digest."""


@dataclass(frozen=True)
class Entry:
    """A view, table or table macro of a catalogue.

    Attributes:
        kind: VIEW, TABLE or MACRO TABLE, as DROP has it.
        name: with schema, quoted where that is needed.
        create: the statement that creates it where none of its name is.
        title: the comment on it.
        columns: the comments on its columns.
    """

    kind: str
    name: str
    create: str
    title: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Changes with anything that it is made of."""
        said = json.dumps([self.kind, self.create, self.title, dict(self.columns)])
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()

    @property
    def comments(self) -> str:
        """The statements that comment on it and its columns."""
        said = [f"COMMENT ON {self.kind} {self.name} IS {text(self.title)};"] if self.title else []
        said += [
            f"COMMENT ON COLUMN {self.name}.{name(column)} IS {text(doc)};"
            for column, doc in self.columns.items()
        ]
        return "".join(said)


def view(documented: Documented) -> Entry:
    """The entry of a view."""
    create = f"CREATE VIEW {documented.name} AS {documented.select}"
    return Entry("VIEW", documented.name, create, documented.title, documented.columns)


def bring_up(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> list[Entry]:
    """Make a catalogue hold these entries and no others; what is as it should be stays.

    Args:
        entries: each behind those that it reads.

    Returns:
        Those that were made.
    """
    wanted = {entry.name: entry.digest for entry in entries}
    there = _registered(connection)
    stale = {known: kind for known, (kind, digest) in there.items() if wanted.get(known) != digest}
    for known, kind in stale.items():
        connection.execute(f"DROP {kind} {known}")
    missing = [entry for entry in entries if entry.name not in there or entry.name in stale]
    for entry in missing:
        connection.execute(f"{entry.create.rstrip().rstrip(';')};{entry.comments}")
    connection.execute(
        f"CREATE OR REPLACE TABLE {REGISTER} AS SELECT unnest($1::VARCHAR[]) AS name, "
        "unnest($2::VARCHAR[]) AS kind, unnest($3::VARCHAR[]) AS digest",
        [list(wanted), [entry.kind for entry in entries], list(wanted.values())],
    )
    return missing


def _registered(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Kind and digest of what a catalogue holds, by name."""
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {REGISTER} (name VARCHAR, kind VARCHAR, digest VARCHAR)"
    )
    found = connection.execute(f"SELECT name, kind, digest FROM {REGISTER}").fetchall()
    return {known: (kind, digest) for known, kind, digest in found}
