"""The reductions by name, the landed tables that they read, and which of these are inferred.

What the SQL files of `sql/` say is cached: only reading them again imports their parser.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...config.definitions import definitions, of_definitions
from ...core.derived import derived
from ...core.errors import fold, unknown
from ...schemas.field import Field
from ...schemas.layout import Group, Layout
from ...schemas.registry import record_of, tables
from .reduction import Reduction


@of_definitions
def reductions() -> tuple[Reduction, ...]:
    """All reductions including the views generated from metrics, dependencies first.

    Raises:
        CpmonError: a reduction or metric of the site is invalid: file, expected, found.
    """
    return derived("reductions", tuple[Reduction, ...], _read, definitions().version)


def _read() -> tuple[Reduction, ...]:
    from .sql_files import read_reductions

    return read_reductions()


def reduction(name: str) -> Reduction:
    """Find a reduction.

    Raises:
        CpmonError: no such reduction.
    """
    found = _by_name().get(fold(name))
    if found is None:
        raise unknown("reduction", name, [r.name for r in reductions() if not r.is_private])
    return found


@of_definitions
def _by_name() -> dict[str, Reduction]:
    return {each.name: each for each in reductions()}


_LANDED = ("interval", "monitor")


WITNESS = "_witness"
"""End of the names of views that hold a record against another that knows the same."""


@of_definitions
def tables_of(name: str) -> frozenset[str]:
    """The landed tables that the figures of a reduction rest on, directly or through others.

    What a witness reads is left out: it can contradict figures, and makes none.
    """
    tables: set[str] = set()
    for read in reduction(name).reads:
        schema, _, table = read.rpartition(".")
        if schema in _LANDED:
            tables.add(table)
        elif not schema and not read.endswith(WITNESS):
            tables |= tables_of(read)
    return frozenset(tables)


@of_definitions
def own_tables_of(name: str) -> frozenset[str]:
    """The landed tables that a reduction names itself; if none, those of its dependencies."""
    reads = [read.rpartition(".") for read in reduction(name).reads]
    own = frozenset(table for schema, _, table in reads if schema in _LANDED)
    below = (own_tables_of(table) for schema, _, table in reads if not schema)
    return own or frozenset[str]().union(*below)


def is_inferred(record: Layout, releases: Collection[str] = ()) -> bool:
    """Whether a layout has inferred (unpublished) fields.

    Args:
        releases: CP levels that write the record; fields absent from all of them are ignored.
    """
    if record.provenance != "inferred":
        return False
    rows: list[Field | Group] = [*record.columns, *record.groups]
    guesses = {row.name for row in rows if row.provenance == "inferred"}
    return not guesses or not releases or any(guesses - record.absent(r) for r in releases)


def inferred_records(landed: Iterable[str], releases: Collection[str] = ()) -> tuple[str, ...]:
    """Records with inferred layouts behind some landed tables, as "USEACT (4.3)"."""
    layouts = tables()
    landed_records = (record_of(layouts[table]) for table in landed if table in layouts)
    records = {record.name: record for record in landed_records}
    return tuple(
        f"{record.name.upper()} ({record.domain}.{record.record})"
        for record in sorted(records.values(), key=lambda record: (record.domain, record.record))
        if is_inferred(record, releases)
    )


def inferred_notes(landed: Iterable[str], releases: Collection[str] = ()) -> list[str]:
    """A note on the inferred layouts of landed tables; empty if there are none."""
    records = inferred_records(landed, releases)
    if not records:
        return []
    noun, verb = ("layout", "is") if len(records) == 1 else ("layouts", "are")
    return [f"The {noun} of {', '.join(records)}, on which this rests, {verb} inferred."]
