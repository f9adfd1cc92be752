"""Layouts from the rows of their files: one file a record, `records.csv` for what it has once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ...core.errors import LayoutError
from ..field import (
    COUNT_LENGTH,
    HEADER_LENGTH,
    LONGEST_RECORD,
    NUMBERS,
    REST,
    WIDTHS,
    Field,
    Provenance,
    Role,
    Type,
)
from ..layout import Condition, Group, Kind, Layout, Sequel
from ..release import check_bounds, release_key
from .checks import check_group, check_names, check_operands, check_overlaps
from .sources import Row, Sources

Word = TypeVar("Word", Type, Role, Kind, Provenance)

TEXT_COLUMNS = ("name", "of", "code", "unit", "since", "until", "meaning")


def build(sources: Sources) -> list[Layout]:
    """The layouts of every record that has a file, sorted by domain and record.

    Raises:
        LayoutError: a file contradicts itself or uses a word that is not in the vocabulary.
    """
    layouts = [_record(row, sources) for row in sources.records if row["dsect"] in sources.fields]
    return sorted(layouts, key=lambda layout: (layout.domain, layout.record))


def _record(record: Row, sources: Sources) -> Layout:
    """The layout of a record; an error has the name of the record as its place."""
    name = record["dsect"]
    try:
        return _layout(record, sources)
    except LayoutError as error:
        error.place = name
        raise
    except ValueError as error:
        problem = f"{name}: a number is expected"
        raise LayoutError(problem, place=name, found=str(error)) from None


def _layout(record: Row, sources: Sources) -> Layout:
    name = record["dsect"]
    lengths = [
        (row["release"], int(row["length"])) for row in sources.lengths if row["dsect"] == name
    ]
    layout = _table(
        name,
        sources.fields[name],
        sources,
        (name,),
        domain=int(record["domain"]),
        record=int(record["record"]),
        kind=_word(Kind, record["kind"], name),
        grain=record["grain"],
        until=record.get("until", ""),
        title=record["title"],
        provenance=_word(Provenance, record["provenance"], name),
        lengths=tuple(sorted(lengths, key=lambda pair: release_key(pair[0]))),
    )
    declared = record["keys"].split()
    if declared != [key.name for key in layout.keys]:
        raise LayoutError(
            f"{name}: records.csv and the layout name different keys",
            expected=" ".join(key.name for key in layout.keys),
            found=record["keys"],
        )
    return layout


def _table(
    name: str, rows: list[Row], sources: Sources, above: Sequence[str], **attributes: Any
) -> Layout:
    """The layout of a record, or of a group's entries, from the rows of its file.

    `above`: this file and those of the groups and the record around it.
    """
    check_names(name, rows)
    layout = Layout(
        name=name,
        fields=_fields(name, rows, "", 0 if attributes.get("parent") else HEADER_LENGTH),
        sequel=_sequel(name, rows, ""),
        bits=_bits(name, rows),
        codes=_codes(name, rows),
        groups=tuple(
            _group(name, row, rows, sources, above) for row in rows if row["type"] == Type.GROUP
        ),
        **attributes,
    )
    check_operands(layout)
    return layout


def _fields(name: str, rows: list[Row], behind: str, base: int = 0) -> tuple[Field, ...]:
    """The rows that are read, by offset: all but groups, their labels, parts, bits and codes.

    `behind`: the part or text whose fields they are; empty for those of fixed offsets.
    """
    groups = {row["name"] for row in rows if row["type"] == Type.GROUP}
    fields = [
        _field(name, row)
        for row in rows
        if row["type"] not in (Type.GROUP, Type.PART, Type.BIT, Type.CODE)
        and row["of"] not in groups
        and _anchor(row) == behind
    ]
    fields.sort(key=lambda f: (f.offset, bool(f.of)))
    check_overlaps(name, fields, base)
    return tuple(fields)


def _sequel(name: str, rows: list[Row], behind: str) -> Sequel | None:
    """What follows the fields `behind` a part or text, or those of fixed offsets; None if nothing.

    Raises:
        LayoutError: several parts or texts, one that is not the last, or an offset from neither.
    """
    own = [row for row in rows if row["type"] == Type.COUNTED and _anchor(row) == behind]
    parts = [row for row in rows if row["type"] == Type.PART and not behind]
    if len(own) + len(parts) > 1:
        raise LayoutError(f"{name}: two rows say where the bytes behind them begin")
    if not behind:
        anchors = {row["name"] for row in rows if row["type"] in (Type.COUNTED, Type.PART)}
        strays = sorted({_anchor(row) for row in rows} - anchors - {""})
        if strays:
            raise LayoutError(f"{name}: offsets count from no text or part", found=strays[0])
    if not own and not parts:
        return None
    anchor = (*own, *parts)[0]["name"]
    layout = Layout(
        name=name,
        fields=_fields(name, rows, anchor),
        bits=_bits(name, rows),
        parent=name,
        sequel=_sequel(name, rows, anchor),
    )
    if own:
        last = _fields(name, rows, behind)[-1]
        if last.name != anchor or last.length != COUNT_LENGTH:
            raise LayoutError(
                f"{name}.{anchor} is not the last field in front of what follows it",
                expected=f"{COUNT_LENGTH} bytes that hold its length, and none behind them",
                found=last.name,
            )
    return Sequel(
        parts[0]["offset"] if parts else anchor, parts[0]["length"] if parts else "", layout
    )


def _anchor(row: Row) -> str:
    """The part or text from which a row's offset counts: `fs_type` of `fs_type+8`; else empty."""
    return row["offset"].rpartition("+")[0]


def _bits(name: str, rows: list[Row]) -> tuple[Field, ...]:
    """The rows that name bits, from left to right."""
    bits = [_field(name, row) for row in rows if row["type"] == Type.BIT]
    wholes = [row for row in rows if row["type"] in (Type.BITS, Type.UNSIGNED)]
    fields = {row["name"]: _field(name, row) for row in wholes}
    for bit in bits:
        whole = fields.get(bit.of)
        if bit.length != 1 or not (whole and whole.offset <= bit.offset and bit.end <= whole.end):
            raise LayoutError(f"{name}.{bit.name} is no bit of a field", found=bit.of or "nothing")
        if len(bit.code) != 2 or not 0 < int(bit.code, 16) < 256:
            raise LayoutError(f"{name}.{bit.name} has no mask", expected="80", found=bit.code)
    return tuple(sorted(bits, key=lambda bit: (bit.offset, -bit.mask)))


def _codes(name: str, rows: list[Row]) -> tuple[Field, ...]:
    """The rows that name values, field by field, in the order of these."""
    codes = [_field(name, row) for row in rows if row["type"] == Type.CODE]
    places = {row["name"]: (row["offset"], row["length"]) for row in rows if row["name"] != "*"}
    for code in codes:
        if places.get(code.of) != (code.place, str(code.length)):
            raise LayoutError(
                f"{name}.{code.name} is no code of a field",
                expected="`of` naming a field, with its offset and length",
                found=code.of or "nothing",
            )
        try:
            value, mask = code.named_value
        except ValueError:
            value, mask = 1, 0
        if value & ~mask or mask >> 8 * code.length:
            raise LayoutError(
                f"{name}.{code.name} has no value that {code.of} can have",
                expected="hexadecimal digits, as 1F, or value/mask, as 40/C0",
                found=code.code,
            )
    return tuple(sorted(codes, key=lambda code: (code.offset, code.of, code.named_value)))


def _field(name: str, row: Row) -> Field:
    place = f"{name}.{row['name']}"
    kind = _word(Type, row["type"], place)
    check_bounds(row["since"], row["until"], place)
    if kind is not Type.RESERVED and not row["role"]:
        raise LayoutError(f"{place} has no role", expected=", ".join(Role))
    if kind in NUMBERS and row["length"] not in map(str, WIDTHS):
        raise LayoutError(f"{place} is no number of machine width", found=row["length"])
    behind, _, at = row["offset"].rpartition("+")
    offset, length = int(at), 0 if row["length"] == REST else int(row["length"])
    if offset < 0 or not 0 <= length <= LONGEST_RECORD - offset:
        raise LayoutError(
            f"{place} is in no record",
            expected=f"bytes 0 to {LONGEST_RECORD - 1} or some of them",
            found=f"offset {offset}, length {length}",
        )
    return Field(
        offset=offset,
        length=length,
        type=kind,
        role=_word(Role, row["role"], place) if row["role"] else None,
        provenance=_word(Provenance, row["provenance"], place),
        behind=behind,
        **{column: row[column] for column in TEXT_COLUMNS},
    )


def _group(parent: str, row: Row, rows: list[Row], sources: Sources, above: Sequence[str]) -> Group:
    name = f"{parent}_{row['name']}"
    check_bounds(row["since"], row["until"], name)
    labels = tuple(_field(name, label) for label in rows if label["of"] == row["name"])
    file = row["of"] or name
    if file not in sources.fields:
        raise LayoutError(f"group {name} has no layout file", expected=f"{file}.csv")
    if file in above:
        raise LayoutError(
            f"group {name} holds itself",
            expected="the file of its entries, not of what is around it",
            found=f"{file}.csv",
        )
    provenance = _word(Provenance, row["provenance"], name)
    entry = _table(
        name,
        sources.fields[file],
        sources,
        (*above, file),
        title=row["meaning"],
        provenance=provenance,
        parent=parent,
        labelled=bool(labels),
    )
    group = Group(
        name=row["name"],
        start=_operand(row["offset"]),
        stride=_operand(row["length"]),
        count=_operand(row["count"]),
        entry=entry,
        when=_condition(name, row["code"]),
        labels=labels,
        since=row["since"],
        until=row["until"],
        provenance=provenance,
        meaning=row["meaning"],
    )
    check_group(name, group)
    return group


def _condition(group: str, text: str) -> Condition | None:
    """`mdgprod=D3C9` or `mdgprod!=D3C9/D4` as a condition; None where there is none."""
    if not text:
        return None
    field_, _, prefixes = text.partition("=")
    try:
        choices = tuple(map(bytes.fromhex, prefixes.split("/")))
        return Condition(field_.removesuffix("!"), choices, field_.endswith("!"))
    except ValueError:
        raise LayoutError(
            f"group {group} has a condition that cannot be read",
            expected="a field, = or !=, and hexadecimal digits, several with / between",
            found=text,
        ) from None


def _operand(cell: str) -> int | str:
    return int(cell) if cell.isdigit() else cell


def _word(vocabulary: type[Word], text: str, place: str) -> Word:
    try:
        return vocabulary(text)
    except ValueError:
        raise LayoutError(
            f"{place}: unknown {vocabulary.__name__.lower()}",
            expected=", ".join(vocabulary),
            found=text or "nothing",
        ) from None
