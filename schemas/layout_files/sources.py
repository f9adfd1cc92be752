"""The CSV files of a folder of layouts, read and written as rows of texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable

from ...core.errors import LayoutError

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
    """The files of one folder of layouts, read but not yet understood."""

    records: list[Row] = field(default_factory=list)
    lengths: list[Row] = field(default_factory=list)
    fields: dict[str, list[Row]] = field(default_factory=dict)


def read(root: Traversable) -> Sources:
    """All CSVs below a folder of layouts: `records.csv`, `lengths.csv`, `dNN_*/*.csv`.

    Files that do not exist are empty.

    Raises:
        LayoutError: a file has other columns, or cannot be read, or records.csv names two records
            of one number; the file is named.
    """
    files = {file.name.removesuffix(".csv"): file for file in layout_files(root)}
    records = _rows(root / "records.csv", RECORD_COLUMNS)
    _check_numbers(records, str(root / "records.csv"))
    return Sources(
        records,
        _rows(root / "lengths.csv", LENGTH_COLUMNS),
        {name: _rows(file, COLUMNS) for name, file in files.items()},
    )


def layout_files(root: Traversable) -> list[Traversable]:
    """The layout files of a folder, those of records and of entries; none where it is missing."""
    entries = root.iterdir() if root.is_dir() else ()
    folders = [f for f in entries if f.name[:1] == "d" and f.name[1:3].isdigit()]
    return [
        file
        for folder in sorted(folders, key=lambda folder: folder.name)
        if folder.is_dir()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".csv")
    ]


def to_csv(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """The text of a layout file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(file: Traversable, columns: Sequence[str]) -> list[Row]:
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
    rows = list(reader)
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise LayoutError(
                "a row has more or fewer cells than the header",
                place=f"{file}, line {number}",
                expected=f"{len(expected)} cells",
                remedy="put texts with commas in quotes",
            )
    return [{column: row.get(column, "") for column in columns} for row in rows]


def _check_numbers(records: Iterable[Row], place: str) -> None:
    """A number is that of one record: of two, nothing says which one is right."""
    names: dict[tuple[str, str], str] = {}
    for row in records:
        domain, record, dsect = row["domain"], row["record"], row["dsect"]
        first = names.setdefault((domain, record), dsect)
        if first != dsect:
            raise LayoutError(
                f"two rows have the number {domain}.{record}",
                place=place,
                expected="one record of that number",
                found=f"{first} and {dsect}",
                effect="no layout was loaded",
                remedy="delete the row of the record that is wrong",
            )
