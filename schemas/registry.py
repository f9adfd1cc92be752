"""The list of all layouts that docs, tests, decoder and catalogue walk."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict
from importlib.resources import files

from .errors import LayoutError
from .layout import Layout
from .loader import Sources, build, read


@functools.cache
def layouts() -> tuple[Layout, ...]:
    """Every record with a layout, by domain and record number."""
    return tuple(build(_sources()))


@functools.cache
def tables() -> dict[str, Layout]:
    """Table name -> layout: the records and the entries of their groups."""
    return {table.name: table for layout in layouts() for table in layout.tables()}


@functools.cache
def by_record() -> dict[tuple[int, int], Layout]:
    """(domain, record) -> layout."""
    return {(layout.domain, layout.record): layout for layout in layouts()}


def layout(name: str) -> Layout:
    """The layout of a record or of a group's entries, by table name.

    Raises:
        LayoutError: no layout has that name.
    """
    found = tables().get(name.lower())
    if found is None:
        raise LayoutError(f"there is no layout {name}", expected="a name of schemas/records.csv")
    return found


def record_of(table: Layout) -> Layout:
    """The record that a table's rows come from: itself, or the one around its groups."""
    while table.parent:
        table = tables()[table.parent]
    return table


@functools.cache
def record_names() -> dict[tuple[int, int], str]:
    """(domain, record) -> IBM's name, also of records that have no layout."""
    return {(int(r["domain"]), int(r["record"])): r["dsect"] for r in _sources().records}


@functools.cache
def fingerprint() -> str:
    """Changes when any layout does: what a catalogue and a landed dump were made with."""
    text = json.dumps(asdict(_sources()), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@functools.cache
def _sources() -> Sources:
    return read(files(__package__))
