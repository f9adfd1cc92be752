"""Builds layouts from CSVs: a file for each record, and `records.csv` with a row for each."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import LayoutError
from .field import (
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
from .layout import Condition, Group, Kind, Layout, Sequel
from .release import check_bounds, ends_before, release_key

COMMON = frozenset(
    {"system", "dump", "date", "tod", "tod_us", "interval_end", "record_offset", "seconds"}
    | {"entry", "code", "tail"}
)
"""Columns of tables and views that are no fields."""


_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
"""Names of tables, which are those of files too, and of columns."""


def check_names(name: str, rows: list[Row]) -> None:
    """Check that names can be those of columns, are unique, and not that of a common column."""
    strange = [row["name"] for row in rows if row["name"] != "*" and not _is_name(row["name"])]
    if strange:
        raise _no_name(f"{name}: a name cannot be that of a column", strange[0])
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
    """Check that only second views share bytes with a field, and that it encloses them."""
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
    """Check that entries are in the record and labels on entries; nested groups need one entry."""
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
    """Check that operands and conditions of groups are fields at fixed offsets."""
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


Row = dict[str, str]

COLUMNS = (
    *("offset", "length", "count", "type", "name", "of", "code", "role", "unit"),
    *("since", "until", "provenance", "meaning"),
)
RECORD_COLUMNS = (
    *("domain", "record", "dsect", "kind", "grain", "keys", "until", "title", "provenance"),
)
LENGTH_COLUMNS = ("dsect", "release", "length")


@dataclass
class Sources:
    """The rows of the files of a folder of layouts."""

    records: list[Row] = field(default_factory=list)
    lengths: list[Row] = field(default_factory=list)
    fields: dict[str, list[Row]] = field(default_factory=dict)


def read(root: Path) -> Sources:
    """All CSVs below a folder of layouts: `records.csv`, `lengths.csv`, `dNN_*/*.csv`.

    Files that do not exist are empty.

    Raises:
        LayoutError: a file has other columns, or cannot be read, or records.csv names two records
            of one number; the file is named.
    """
    records = _rows(root / "records.csv", RECORD_COLUMNS)
    names: dict[tuple[str, str], str] = {}
    for row in records:
        domain, record, dsect = row["domain"], row["record"], row["dsect"]
        try:
            _check_record(row)
        except LayoutError as error:
            error.place = str(root / "records.csv")
            raise
        first = names.setdefault((domain, record), dsect)
        if first != dsect:
            raise LayoutError(
                f"two rows have the number {domain}.{record}",
                code="record-number-duplicate",
                place=str(root / "records.csv"),
                expected="one record of that number",
                found=f"{first} and {dsect}",
                effect="no layout was loaded",
                remedy="delete the row of the record that is wrong",
            )
    return Sources(
        records,
        _rows(root / "lengths.csv", LENGTH_COLUMNS),
        {file.stem: _rows(file, COLUMNS) for file in layout_files(root)},
    )


def _check_record(row: Row) -> None:
    """Check number, name and last release of a record, also of one without a layout."""
    for column, most in (("domain", 2**8), ("record", 2**16)):
        # Not 007: a number is that of one record as it is written.
        if not re.fullmatch(r"0|[1-9][0-9]{0,4}", row[column]) or int(row[column]) >= most:
            raise LayoutError(
                f"the {column} of a record is no number of one",
                expected=f"0 to {most - 1}",
                found=row[column],
            )
    if not _is_name(row["dsect"]):
        raise _no_name("the name of a record cannot be that of a table", row["dsect"])
    check_bounds("", row["until"], row["dsect"])


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _no_name(problem: str, found: str) -> LayoutError:
    expected = "up to 63 letters a to z, digits and _, of which a letter is the first"
    return LayoutError(problem, expected=expected, found=found or "nothing")


def layout_files(root: Path) -> list[Path]:
    """The layout files of a folder, those of records and of entries; none where it is missing."""
    entries = sorted(root.iterdir()) if root.is_dir() else ()
    folders = [f for f in entries if re.match(r"d\d\d", f.name) and f.is_dir()]
    return [file for f in folders for file in sorted(f.iterdir()) if file.suffix == ".csv"]


def to_csv(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """The text of a layout file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(file: Path, columns: Sequence[str]) -> list[Row]:
    if not file.is_file():
        return []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LayoutError(
            "a layout file cannot be read", place=str(file), found=str(error)
        ) from None
    reader = csv.DictReader(io.StringIO(text))
    named = tuple(reader.fieldnames or ())
    expected = tuple(columns)
    if expected == RECORD_COLUMNS and "until" not in named:  # of a folder older than that column
        expected = tuple(column for column in columns if column != "until")
    if named != expected:
        raise LayoutError(
            "a layout file has other columns",
            place=f"{file}, line 1",
            expected=",".join(columns),
            found=",".join(named),
        )
    try:
        rows = list(reader)
    except csv.Error as error:
        raise LayoutError(
            "a layout file cannot be read", place=str(file), found=str(error)
        ) from None
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise LayoutError(
                "a row has more or fewer cells than the header",
                code="layout-cell-count-wrong",
                place=f"{file}, line {number}",
                expected=f"{len(expected)} cells",
                remedy="put texts with commas in quotes",
            )
    return [{column: row.get(column, "") for column in columns} for row in rows]


Word = TypeVar("Word", Type, Role, Kind, Provenance)


def build(sources: Sources) -> list[Layout]:
    """The layouts of every record that has a file, sorted by domain and record.

    Raises:
        LayoutError: a file is inconsistent or has an unknown word; its place is the record's name.
    """
    layouts = []
    for record in sources.records:
        if (name := record["dsect"]) in sources.fields:
            try:
                layouts.append(_layout(record, sources))
            except LayoutError as error:
                error.place = name
                raise
            except ValueError as error:
                problem = f"{name}: a number is expected"
                raise LayoutError(problem, place=name, found=str(error)) from None
    return sorted(layouts, key=lambda layout: (layout.domain, layout.record))


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
    """The fields by offset; groups, labels, parts, bits and codes are skipped.

    `behind`: the part or text that has the fields; empty for fixed offsets.
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
    """The sequel of the fields of a part or text, or of those of fixed offsets; None without one.

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
    """The part or text that a row's offset is relative to: `fs_type` of `fs_type+8`; else empty."""
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
    texts = ("name", "of", "code", "unit", "since", "until", "meaning")
    return Field(
        offset=offset,
        length=length,
        type=kind,
        role=_word(Role, row["role"], place) if row["role"] else None,
        provenance=_word(Provenance, row["provenance"], place),
        behind=behind,
        **{column: row[column] for column in texts},
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
    """Parses `mdgprod=D3C9` or `mdgprod!=D3C9/D4`; None without a condition."""
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
