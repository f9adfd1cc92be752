"""Layout files to layouts: one CSV a record, `records.csv` for what is said once a record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TypeVar

from .errors import LayoutError
from .layout import (
    HEADER_LENGTH,
    NUMBERS,
    WIDTHS,
    Field,
    Group,
    Kind,
    Layout,
    Provenance,
    Role,
    Type,
    release_key,
)

Row = dict[str, str]
Word = TypeVar("Word", Type, Role, Kind, Provenance)


@dataclass
class Sources:
    """The files of one folder of layouts, read but not yet understood."""

    records: list[Row] = field(default_factory=list)
    lengths: list[Row] = field(default_factory=list)
    fields: dict[str, list[Row]] = field(default_factory=dict)


def read(root: Traversable) -> Sources:
    """All CSVs below a folder of layouts: `records.csv`, `lengths.csv`, `dNN_*/*.csv`."""
    found = Sources(_rows(root / "records.csv"), _rows(root / "lengths.csv"))
    for folder in sorted(root.iterdir(), key=lambda f: f.name):
        if folder.is_dir() and folder.name[:1] == "d" and folder.name[1:3].isdigit():
            for file in folder.iterdir():
                if file.name.endswith(".csv"):
                    found.fields[file.name.removesuffix(".csv")] = _rows(file)
    return found


def build(sources: Sources) -> list[Layout]:
    """The layouts of every record that has a file, sorted by domain and record.

    Raises:
        LayoutError: a file contradicts itself or uses a word that is not in the vocabulary.
    """
    layouts = [_layout(row, sources) for row in sources.records if row["dsect"] in sources.fields]
    return sorted(layouts, key=lambda layout: (layout.domain, layout.record))


def _rows(file: Traversable) -> list[Row]:
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


def _layout(record: Row, sources: Sources) -> Layout:
    name = record["dsect"]
    lengths = [
        (row["release"], int(row["length"])) for row in sources.lengths if row["dsect"] == name
    ]
    rows = sources.fields[name]
    layout = Layout(
        name=name,
        fields=_fields(name, rows, base=HEADER_LENGTH),
        domain=int(record["domain"]),
        record=int(record["record"]),
        kind=_word(Kind, record["kind"], name),
        grain=record["grain"],
        title=record["title"],
        provenance=_word(Provenance, record["provenance"], name),
        groups=tuple(_group(name, row, sources) for row in rows if row["type"] == Type.GROUP),
        lengths=tuple(sorted(lengths, key=lambda pair: release_key(pair[0]))),
    )
    declared = record["keys"].split()
    if declared != [key.name for key in layout.keys]:
        raise LayoutError(
            f"{name}: records.csv and the layout name different keys",
            expected=" ".join(key.name for key in layout.keys),
            found=record["keys"],
        )
    _check_operands(layout)
    return layout


def _fields(name: str, rows: Iterable[Row], base: int) -> tuple[Field, ...]:
    fields = [_field(name, row) for row in rows if row["type"] != Type.GROUP]
    fields.sort(key=lambda f: (f.offset, bool(f.of)))
    _check_overlaps(name, fields, base)
    return tuple(fields)


def _field(name: str, row: Row) -> Field:
    place = f"{name}.{row['name']}"
    kind = _word(Type, row["type"], place)
    if kind is not Type.RESERVED and not row["role"]:
        raise LayoutError(f"{place} has no role", expected=", ".join(Role))
    if kind in NUMBERS and int(row["length"]) not in WIDTHS:
        raise LayoutError(f"{place} is no number of machine width", found=row["length"])
    return Field(
        offset=int(row["offset"]),
        length=int(row["length"]),
        type=kind,
        name=row["name"],
        of=row["of"],
        role=_word(Role, row["role"], place) if row["role"] else None,
        unit=row["unit"],
        since=row["since"],
        until=row["until"],
        provenance=_word(Provenance, row["provenance"], place),
        meaning=row["meaning"],
    )


def _group(parent: str, row: Row, sources: Sources) -> Group:
    name = f"{parent}_{row['name']}"
    if name not in sources.fields:
        raise LayoutError(f"group {name} has no layout file", expected=f"{name}.csv")
    entry = Layout(
        name=name,
        fields=_fields(name, sources.fields[name], base=0),
        title=row["meaning"],
        provenance=_word(Provenance, row["provenance"], name),
        parent=parent,
    )
    return Group(
        name=row["name"],
        start=_operand(row["offset"]),
        stride=_operand(row["length"]),
        count=_operand(row["count"]),
        entry=entry,
        since=row["since"],
        until=row["until"],
        provenance=entry.provenance,
        meaning=row["meaning"],
    )


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


def _check_overlaps(name: str, fields: list[Field], base: int) -> None:
    """Only a declared second view may share bytes; its field must exist and enclose it."""
    end, last = base, "the record header" if base else "nothing"
    for field_ in (f for f in fields if not f.of):
        if field_.offset < end:
            raise LayoutError(
                f"{name}.{field_.name} overlaps {last}",
                expected=f"an offset of at least {end}, or `of` naming {last}",
                found=str(field_.offset),
            )
        end, last = field_.end, field_.name
    wholes = {f.name: f for f in fields}
    for view in (f for f in fields if f.of):
        whole = wholes.get(view.of)
        if whole is None or not whole.offset <= view.offset <= view.end <= whole.end:
            raise LayoutError(f"{name}.{view.name} is no part of {view.of}")


def _check_operands(layout: Layout) -> None:
    """A group's operands are numbers of the fixed part of the record."""
    for group in layout.groups:
        for operand in (group.start, group.stride, group.count):
            if isinstance(operand, str) and not layout.field(operand).is_number:
                raise LayoutError(
                    f"{layout.name}: group {group.name} is located by {operand}, no number"
                )
