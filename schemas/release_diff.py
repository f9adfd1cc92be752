"""What two releases write differently, as far as the layouts know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .layout import Layout
from .release import is_within, release_key


@dataclass(frozen=True)
class Difference:
    """A difference of a record between two releases; `fields` names those that it is about."""

    record: str
    change: str
    before: str = ""
    after: str = ""
    fields: str = ""


def release_diff(layouts: Iterable[Layout], old: str, new: str) -> Iterator[Difference]:
    """The differences of each record, in the order of the layouts.

    Raises:
        LayoutError: a release is not made of numbers and points.
    """
    first, last = release_key(old), release_key(new)
    for layout in layouts:
        if layout.until and first <= release_key(layout.until) < last:
            yield Difference(layout.name, "no longer written", f"up to {layout.until}")
            continue
        lengths = layout.written_at(old), layout.written_at(new)
        if lengths[0] != lengths[1]:
            yield Difference(layout.name, "length", *map(str, lengths))
        unknown = lengths[1] - max(lengths[0], layout.length)
        if unknown > 0:
            yield Difference(layout.name, "bytes of unknown meaning", after=str(unknown))
        before, after = set(_names(layout, old)), set(_names(layout, new))
        for change, names in (("gained", after - before), ("lost", before - after)):
            if names:
                yield Difference(layout.name, change, fields=" ".join(sorted(names)))


def _names(layout: Layout, release: str) -> Iterator[str]:
    """The fields that a release has, those of entries with the name of their table."""
    length = layout.written_at(release)
    tables = [("", f) for f in layout.columns if f.is_inside(length)]
    for group in layout.groups:
        if is_within(release, "", group.until) and group.end <= length:
            tables += [(f"{t.name}.", f) for t in group.entry.tables() for f in t.columns]
    yield from (table + f.name for table, f in tables if is_within(release, f.since, f.until))
