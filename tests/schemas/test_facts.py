"""Every field that is known of release 5.3.0 has its place in the layouts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from cpmon.schemas import Group, Layout, Type, layouts

FACTS = Path(__file__).parents[1] / "published" / "fields_530.csv"
ENTRIES = {
    "sytcup_cpudata": ("sytcup", "cpu"),
    "sytcum_mibdata": ("sytcum", "cpu"),
    "sytcpm_entry": ("sytcpm", "path"),
    "sytlck_entry": ("sytlck", "lock"),
}
"""Names that the facts have for entries -> record and group."""

ALIASES = {("prcprp", "plsstlct"): "stlct"}
"""Names that the layouts have without the part that others of the record have too."""

DOUBTED: dict[str, str] = {
    "prcapm": "the listing has the last word at 39, misaligned; the layout ends where it can be",
    "scliop": "the listing has IPQUPR1 and SYSIOPQ before their parts; a published page has them "
    "over their parts, which the length of 36 confirms",
}
"""Records in which the facts contradict each other, with the reason."""

Fact = tuple[int, int, str]
"""Offset, length, name without the record's; `*` is reserved."""


def facts() -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    with FACTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            prefix = row["dsect"].partition("_")[0] + "_"
            name = row["name"].removeprefix(prefix)
            name = ALIASES.get((row["dsect"], name), name)
            found.setdefault(row["dsect"], []).append(
                (int(row["offset"]), int(row["length"]), name)
            )
    return found


def layout_of(dsect: str) -> Layout:
    known = {layout.name: layout for layout in layouts()}
    if dsect not in ENTRIES:
        return known[dsect]
    record, group = ENTRIES[dsect]
    return next(g.entry for g in known[record].groups if g.name == group)


def places(layout: Layout) -> Iterator[Fact]:
    """What a layout has at which place, in the words of the facts."""
    for field in layout.fields:
        yield field.offset, field.length, field.name
    for group in (g for g in layout.groups if g.end):
        yield from in_group(group)


def in_group(group: Group) -> Iterator[Fact]:
    """A group as a whole, its entries, and their fields with the number of the entry."""
    start, stride, count = int(group.start), int(group.stride), int(group.count)
    yield start, stride * count, group.name
    for label in group.labels:
        yield label.offset, label.length, label.name
    for number in range(count):
        base = start + number * stride
        yield base, stride, f"{group.name}{number + 1}"
        for field in group.entry.fields:
            for name in numbered(field.name, group.name, number + 1):
                yield base + field.offset, field.length, name


def numbered(field: str, group: str, number: int) -> Iterator[str]:
    """EDEVFCP2 or PTH2ID: where the number stands in the name of an entry's field."""
    if field == "*":
        yield field
    else:
        yield f"{field}{number}"
        yield field.replace(group, f"{group}{number}", 1)


def missing(dsect: str) -> list[Fact]:
    """Facts without a place. Reserved bytes have one where a later release has a name for them."""
    layout = layout_of(dsect)
    found = set(places(layout))
    spans = [(offset, offset + length) for offset, length, _ in found]
    inside = {byte for start, end in spans for byte in range(start, end)}
    return [
        (offset, length, name)
        for offset, length, name in facts()[dsect]
        if (offset, length, name) not in found
        and not (name in ("*", "resvd") and inside.issuperset(range(offset, offset + length)))
    ]


def test_every_known_field_has_its_place_but_in_the_doubted_records():
    without_place = {dsect: lacking for dsect in facts() if (lacking := missing(dsect))}
    assert without_place.keys() == DOUBTED.keys(), without_place


def test_every_field_that_is_not_reserved_has_a_role():
    for dsect in facts():
        fields = [f for f in layout_of(dsect).fields if f.type is not Type.RESERVED]
        assert all(f.role for f in fields), dsect


def test_the_facts_are_all_there():
    assert sum(len(rows) for rows in facts().values()) > 2_400
