"""Unplaced fields: IBM's pages of later releases name them, but their offset is not known here.

Views show them as NULL, so that reductions can use them. If a site imports the page of its
release, the fields get their offset, and those of the layout replace them. Their type, role and
unit, which no page has, are the ones that the import assigns.

A generated dump can have such a field at an offset that its scenario assumes. The run file beside
the dump names this offset, which applies to this dump alone; the landed dump is marked.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec

from ..core.errors import LayoutError, unknown
from .field import Field, Provenance, Role, Type
from .layout import Layout
from .registry import by_record, fingerprint, layout, shipped_rows


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A field of record `dsect`. `since`: the first release on whose page it was seen."""

    dsect: str
    name: str
    type: str
    role: str
    unit: str
    since: str
    meaning: str

    @property
    def can_be_assumed(self) -> bool:
        """Whether a dump can have it at an assumed offset: only levels, which need no deltas."""
        return self.role == Role.GAUGE


class AssumedPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The offset of an unplaced field in the records of a dump, as `source` assumes.

    `offset` and `length` are bytes, the header included in the offset.
    """

    record: str
    field: str
    offset: int
    length: Annotated[int, msgspec.Meta(ge=1, le=8)]
    source: str = ""

    def __str__(self) -> str:
        """The field as USEACT_VMDCTPVG."""
        return f"{self.record}_{self.field}".upper()


Places = tuple[AssumedPlace, ...]


def unplaced(layout: Layout) -> list[Unplaced]:
    """The fields of a record that its layout lacks."""
    placed = {field.name for field in (*layout.columns, *layout.bits)}
    return [row for row in all_unplaced() if row.dsect == layout.name and row.name not in placed]


@functools.cache
def all_unplaced() -> tuple[Unplaced, ...]:
    """Every row of the file."""
    return tuple(Unplaced(**row) for row in shipped_rows("unplaced.csv"))


def still_unplaced(places: Iterable[AssumedPlace], where: Callable[[str], str] = str) -> Places:
    """The assumed places of fields that are still unplaced in the layouts.

    Args:
        where: key of a place in its file -> position, for messages.

    Raises:
        CpmonError: a place is not of an unplaced level, or not in reserved bytes of its record.
    """
    rows = {f"{row.dsect}.{row.name}": row for row in all_unplaced() if row.can_be_assumed}
    used = []
    for number, place in enumerate(places):
        name, stands = f"{place.record}.{place.field}", where(f"assumed[{number}]")
        if name not in rows:
            raise unknown("field to assume a place of", name, rows, place=stands)
        record, end = layout(place.record), place.offset + place.length
        if rows[name] not in unplaced(record):
            continue
        reserved = [field for field in record.fields if field.type is Type.RESERVED]
        if not any(field.offset <= place.offset and end <= field.end for field in reserved):
            free = ", ".join(f"{field.offset} to {field.end - 1}" for field in reserved)
            raise LayoutError(
                f"the assumed place of {place} is not reserved",
                code="assumed-field-not-reserved",
                place=stands,
                expected=f"bytes within {free or 'none'}",
                found=f"{place.offset} to {end - 1}",
                remedy="name an offset and a length within reserved bytes of the record",
            )
        used.append(place)
    return tuple(used)


def layouts_with(places: Places) -> dict[tuple[int, int], Layout]:
    """(domain, record) -> layout, with fields at assumed places, which have been checked."""
    return _layouts_with(fingerprint(), places)


@functools.lru_cache(maxsize=4)
def _layouts_with(_fingerprint: str, places: Places) -> dict[tuple[int, int], Layout]:
    return {key: with_places(record, places) for key, record in by_record().items()}


def fingerprint_with(places: Places) -> str:
    """The fingerprint of the layouts that a dump with such places is decoded with."""
    if not places:
        return fingerprint()
    named = f"{fingerprint()}\0{msgspec.json.encode(places).decode()}"
    return hashlib.blake2b(named.encode(), digest_size=8).hexdigest()


def with_places(record: Layout, places: Places) -> Layout:
    """A layout with fields at assumed places; the same object without such fields."""
    rows = {row.name: row for row in unplaced(record)}
    own = [(rows[p.field], p) for p in places if p.record == record.name and p.field in rows]
    if not own:
        return record
    placed = [
        Field(
            place.offset,
            place.length,
            Type(row.type),
            row.name,
            role=Role(row.role),
            unit=row.unit,
            provenance=Provenance.ASSUMED,
            meaning=f"{row.meaning}; place assumed by {place.source}",
        )
        for row, place in own
    ]
    fields = sorted([*record.fields, *placed], key=lambda field: field.offset)
    return replace(record, fields=tuple(fields))
