"""A layout as rows for display: fields with their bits, groups with their entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .field import REST, Field, Type
from .layout import Group, Layout
from .release import is_within, release_key

Described = dict[str, str | int | None]
"""One row; every row has the keys of COLUMNS."""

COLUMNS = (
    *("table_name", "offset", "hex", "length", "type", "name", "code", "role", "unit"),
    *("since", "until", "provenance", "meaning"),
)


def describe(layout: Layout, release: str = "") -> Iterator[Described]:
    """The fields of a layout in order of offset.

    Args:
        release: only what that release writes, such as "4.3.0"; everything known if empty.

    Raises:
        LayoutError: the release is not made of numbers and points.
    """
    effective = layout.at(release) if release else layout
    end = layout.length_at(release) if release and not layout.parent else layout.length
    rows: list[Field | Group] = [*effective.fields, *effective.groups]
    for row in sorted(rows, key=_place):
        if isinstance(row, Field):
            if row.end <= end:
                for field in (row, *effective.bits_of(row), *effective.codes_of(row)):
                    yield _field(layout.name, field)
        elif row.end <= end:
            yield _group(layout.name, row)
            yield from (_field(row.entry.name, label) for label in row.labels)
            yield from describe(row.entry)
    if effective.sequel:
        yield from describe(effective.sequel.layout)


def pattern(code: str) -> str:
    """A mask as IBM prints it: 80 is `1... ....`."""
    ones = f"{int(code, 16):08b}".replace("0", ".")
    return f"{ones[:4]} {ones[4:]}"


def _place(row: Field | Group) -> tuple[bool, int, bool]:
    if isinstance(row, Field):
        return False, row.offset, bool(row.of)
    return not isinstance(row.start, int), row.offset, False


def _field(table: str, field: Field) -> Described:
    described: Described = {
        "table_name": table,
        "offset": None if field.behind else field.offset,
        "hex": None if field.behind else f"{field.offset:X}",
        "length": field.length or None,
        **{column: str(getattr(field, column) or "") or None for column in COLUMNS[4:]},
    }
    if field.behind:
        described["meaning"] = f"{field.meaning} (at {field.place})".strip()
    return described


def _group(table: str, group: Group) -> Described:
    at = group.start if isinstance(group.start, int) else None
    where = "" if at is not None else f" from {group.start}"
    each = f"{group.stride} bytes each"
    if group.stride == REST:
        each = "sharing the rest of the record"
    extent = f"table {group.entry.name}: {group.count} entries{where}, {each}"
    return dict.fromkeys(COLUMNS) | {
        "table_name": table,
        "offset": at,
        "hex": None if at is None else f"{at:X}",
        "length": group.stride if isinstance(group.stride, int) else None,
        "type": str(Type.GROUP),
        "name": group.name,
        "since": group.since or None,
        "until": group.until or None,
        "provenance": str(group.provenance),
        "meaning": f"{group.meaning} ({extent})".strip(),
    }


@dataclass(frozen=True)
class LayoutDifference:
    """A difference of a record between two releases; `fields` names the affected fields."""

    record: str
    change: str
    before: str = ""
    after: str = ""
    fields: str = ""


def release_diff(layouts: Iterable[Layout], old: str, new: str) -> Iterator[LayoutDifference]:
    """The differences of each record, in the order of the layouts.

    Raises:
        LayoutError: a release is not made of numbers and points.
    """
    first, last = release_key(old), release_key(new)
    for layout in layouts:
        if layout.until and first <= release_key(layout.until) < last:
            yield LayoutDifference(layout.name, "no longer written", f"up to {layout.until}")
            continue
        lengths = layout.written_at(old), layout.written_at(new)
        if lengths[0] != lengths[1]:
            yield LayoutDifference(layout.name, "length", *map(str, lengths))
        unknown = lengths[1] - max(lengths[0], layout.length)
        if unknown > 0:
            yield LayoutDifference(layout.name, "bytes of unknown meaning", after=str(unknown))
        before, after = set(_names(layout, old)), set(_names(layout, new))
        for change, names in (("gained", after - before), ("lost", before - after)):
            if names:
                yield LayoutDifference(layout.name, change, fields=" ".join(sorted(names)))


def _names(layout: Layout, release: str) -> Iterator[str]:
    """Names of the fields that a release has; those of entries with the name of their table."""
    length = layout.written_at(release)
    tables = [("", f) for f in layout.columns if f.is_inside(length)]
    for group in layout.groups:
        if is_within(release, "", group.until) and group.end <= length:
            tables += [(f"{t.name}.", f) for t in group.entry.tables() for f in t.columns]
    yield from (table + f.name for table, f in tables if is_within(release, f.since, f.until))
