"""What a site's own layouts bring beside the shipped ones: no table says what it holds."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...schemas import Layout, Type, layouts
from ...schemas.registry import site_folder
from ...schemas.site import build_all, shipped

Nature = tuple[Any, ...]

WRITTEN = frozenset({"mtrecm", "mtrscm", "mtrend", "mtreof", "mtrsos", "apledt"})
"""Records that are written without a table."""


@functools.lru_cache(maxsize=512)
def unmodelled(record: Layout) -> frozenset[str]:
    """Fields of a record that are none of the shipped layout, or are written in another way.

    Second readings of bytes are left out, and what entries are found by, or tell the records apart
    that have them.
    """
    if site_folder() is None:
        return frozenset()
    before = dict(_natures(_shipped()[record.name])) if record.name in _shipped() else {}
    natures = _natures(record)
    return frozenset(name for name, nature in natures if nature and before.get(name) != nature)


def own_records(modelled: Collection[str]) -> list[Layout]:
    """Records that have something to hold, and that are neither known nor written otherwise."""
    if site_folder() is None:
        return []
    return [
        each for each in layouts() if each.name not in {*modelled, *WRITTEN} and unmodelled(each)
    ]


def modelled(record: Layout, names: Mapping[str, str]) -> dict[str, str]:
    """Expressions of a record's fields or groups, without those that a site's layout lacks.

    Names that no layout has are kept: they are mistakes.
    """
    if site_folder() is None or record.name not in _shipped():
        return dict(names)
    own, before = dict(_natures(record)), dict(_natures(_shipped()[record.name]))
    gone = before.keys() - (own.keys() - unmodelled(record))
    return {name: text for name, text in names.items() if name not in gone}


@functools.cache
def _shipped() -> dict[str, Layout]:
    return {each.name: each for each in build_all(shipped(), None)}


def _natures(table: Layout, prefix: str = "", counts: Nature = ()) -> Iterator[tuple[str, Nature]]:
    """How each field is written, and nothing of those that hold no value of their own."""
    operands = {at for group in table.groups for at in (group.start, group.stride, group.count)}
    operands |= {group.when.field for group in table.groups if group.when}
    for field in table.columns:
        is_value = not (field.of or field.is_open or field.name in operands)
        nature = (field.type, field.length, field.is_cumulative, *counts)
        yield prefix + field.name, nature if is_value else ()
    for group in table.groups:
        yield prefix + group.name, ()
        for label in group.labels:
            yield prefix + label.name, ()
        if not group.when:
            each = (*counts, group.count if group.end else 0)
            yield from _natures(group.entry, f"{prefix}{group.name}.", each)


def standing_for(record: Layout) -> tuple[str, ...]:
    """Shared tables that say of what a record's rows are, by the fields that tell them apart.

    An imported page does not say which fields are keys, so that their names decide.
    """
    own = {field.name: field.type for field in record.columns if field.name in unmodelled(record)}
    if (own.get("vmduser"), own.get("vmdcpuad")) == (Type.CHAR, Type.UNSIGNED):
        return ("session",)
    return ("processor",) if own.get("pfxcpuad") is Type.UNSIGNED else ()
