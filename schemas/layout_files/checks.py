"""What the rows of a layout may not say: names twice, bytes twice, groups that lie nowhere."""

from __future__ import annotations

from ...core.errors import LayoutError
from ..field import LONGEST_RECORD, REST, Field, Type
from ..layout import Group, Layout
from ..release import ends_before
from .sources import Row

COMMON = frozenset(
    {"system", "dump", "date", "tod", "tod_us", "interval_end", "record_offset", "seconds"}
    | {"entry", "code", "tail"}
)
"""Columns that tables and their views have beside the fields."""


def check_names(name: str, rows: list[Row]) -> None:
    """Names are those of one thing each, and none of a column that every table has."""
    named = [
        row["name"]
        for row in rows
        if row["name"] != "*" and row["type"] not in (Type.GROUP, Type.PART)
    ]
    twice = sorted({n for n in named if named.count(n) > 1})
    if twice:
        raise LayoutError(f"{name}: two rows have one name", found=", ".join(twice))
    taken = sorted(COMMON & set(named))
    if taken:
        raise LayoutError(f"{name}: a column of every table has that name", found=", ".join(taken))


def check_overlaps(name: str, fields: list[Field], base: int) -> None:
    """Only a declared second view may share bytes; its field must exist and enclose it."""
    reach, own = base, [f for f in fields if not f.of]
    for number, field_ in enumerate(own):
        if field_.offset < base:
            raise LayoutError(
                f"{name}.{field_.name} overlaps the record header",
                expected=f"an offset of at least {base}",
                found=str(field_.offset),
            )
        for before in own[:number] if field_.offset < reach else ():
            if field_.offset < before.end and _together(before, field_):
                raise LayoutError(
                    f"{name}.{field_.name} overlaps {before.name}",
                    expected=f"an offset of at least {before.end}, `of` naming {before.name}, "
                    "or releases that do not meet",
                    found=str(field_.offset),
                )
        reach = max(reach, field_.end)
    for field_ in (f for f in fields if f.is_open):
        if field_.of or field_.offset < reach or field_ is not fields[-1]:
            raise LayoutError(f"{name}.{field_.name} goes on to the end but is not the last field")
    wholes = {f.name: f for f in fields}
    for view in (f for f in fields if f.of):
        whole = wholes.get(view.of)
        if whole is None or not whole.offset <= view.offset <= view.end <= whole.end:
            raise LayoutError(f"{name}.{view.name} is no part of {view.of}")


def _together(field: Field, other: Field) -> bool:
    """Whether some release has both fields."""
    return not (ends_before(field.until, other.since) or ends_before(other.until, field.since))


def check_group(name: str, group: Group) -> None:
    """Entries lie in a record, labels stand on them; those with groups come one a record."""
    if group.stride == 0:
        raise LayoutError(f"group {name} has entries of 0 bytes", expected="1 or more")
    if group.end > LONGEST_RECORD:
        expected = f"an end of at most {LONGEST_RECORD}"
        raise LayoutError(f"group {name} is in no record", expected=expected, found=str(group.end))
    if group.labels and not group.end:
        raise LayoutError(f"group {name} has labels but no place of its own")
    strays = [
        label.name
        for label in group.labels
        if (label.offset - group.offset) % int(group.stride)
        or not group.offset <= label.offset < group.end
    ]
    if strays:
        raise LayoutError(f"group {name} has labels beside its entries", found=", ".join(strays))
    if group.entry.groups and group.count != 1:
        raise LayoutError(f"group {name} holds groups, so it can have but one entry a record")


def check_operands(layout: Layout) -> None:
    """A group's operands are numbers of the fixed part of the record; so is its condition."""
    if layout.sequel and layout.sequel.size:
        numbers = {f.name for f in layout.placed if f.is_number}
        for name in {layout.sequel.start, layout.sequel.size} - numbers:
            raise LayoutError(f"{layout.name}: a part is located by {name}, no number")
    for group in layout.groups:
        for operand in (group.start, group.stride, group.count):
            if isinstance(operand, str) and operand != REST and not layout.field(operand).is_number:
                raise LayoutError(
                    f"{layout.name}: group {group.name} is located by {operand}, no number"
                )
        if group.when:
            layout.field(group.when.field)
