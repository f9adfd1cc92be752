"""A catalogue over just the dumps that a scope rests on, so that the age of a store does not count.

Its macros name the files of these dumps one by one; the views over them are those of any store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ...store import Store, connect
from ...store.catalogue import live_catalogue
from ...store.days import Held, held
from ...store.sealing import Limits, seal
from ...store.sources import sources
from ...store.views import text
from ..reductions import reductions
from .rule import Scope

CONFIGURATION = "mtrsys.parquet"
"""The file of a dump that begins with the configuration of its system."""
FILES = ("*.parquet", "dump.json")


@contextmanager
def narrowed(
    store: Store, scope: Scope, limits: Limits | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, set[str]]]:
    """A read-only connection to the dumps that a scope rests on, and the tables they landed in.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    every = held(store)
    dumps = basis(every, scope)
    if len(dumps) in (0, len(every)):  # none: messages tell what there is instead
        with connect(store, reductions(), limits or Limits()) as connection:
            yield connection, store.tables()
        return
    with live_catalogue(store, reductions()) as connection:
        landed = _narrow(connection, store, dumps)
        seal(connection, store, limits or Limits())
        yield connection, landed


def basis(every: Sequence[Held], scope: Scope) -> list[Held]:
    """The dumps of a scope; before them those with the interval before, and the configuration."""
    found: list[Held] = []
    for system in dict.fromkeys(one.system for one in every):
        if scope.system not in (None, system):
            continue
        dumps = [one for one in every if one.system == system]
        inside = [n for n, one in enumerate(dumps) if _overlaps(one, scope)]
        if inside:
            found += dumps[_first(dumps, inside[0]) : inside[-1] + 1]
    return found


def _overlaps(dump: Held, scope: Scope) -> bool:
    """Whether a dump may have records of a scope, by their days."""
    days = (dump.begins, *dump.days)
    early = scope.until is not None and min(days) > scope.until.date()
    late = scope.since is not None and max(days) < scope.since.date()
    return not early and not late


def _first(dumps: Sequence[Held], at: int) -> int:
    """The place of the first dump that those from `at` on rest on."""
    for place in range(max(at - 1, 0), -1, -1):
        if (dumps[place].folder / CONFIGURATION).exists():
            return place
    return 0


def _narrow(connection: duckdb.DuckDBPyConnection, store: Store, dumps: Sequence[Held]) -> set[str]:
    """Let the macros of a catalogue name the files of some dumps only; the tables they have."""
    files: dict[str, list[Path]] = {}
    for file in (file for one in dumps for kind in FILES for file in one.folder.glob(kind)):
        files.setdefault(file.name, []).append(file.absolute())
    landed = {Path(name).stem for name in files if name.endswith(".parquet")}
    anywhere = store.records.absolute() / "*" / "*" / "*"
    for entry in sources(store, landed):
        create = entry.create.replace("CREATE MACRO", "CREATE OR REPLACE MACRO", 1)
        for name, found in files.items():
            listed = f"[{', '.join(text(str(file)) for file in found)}]"
            pattern = text(str(anywhere / name))
            create = create.replace(f"[{pattern}]", listed).replace(pattern, listed)
        connection.execute(create)
    return landed
