"""A folder of layouts of the user's own, over the shipped ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from .errors import LayoutError
from .layout import Layout
from .loader import Row, Sources, build, read
from .writer import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS


def home() -> Path:
    """The folder of the installed layouts."""
    return Path(__file__).parent


def shipped() -> Sources:
    """The layouts that are installed with cpmon."""
    return read(files(__package__))


def read_site(folder: Path) -> Sources:
    """The layouts of a folder; files that are not there are empty.

    Raises:
        LayoutError: a file has other columns, or cannot be read; it is named.
    """
    if not folder.is_dir():
        return Sources()
    return Sources(
        _rows(folder / "records.csv", RECORD_COLUMNS),
        _rows(folder / "lengths.csv", LENGTH_COLUMNS),
        {path.stem: _rows(path, COLUMNS) for path in layout_files(folder)},
    )


def overlay(base: Sources, site: Sources) -> Sources:
    """Both, with the site's word first: its files and rows replace those of the same name."""
    named = {row["dsect"]: row for row in base.records} | {r["dsect"]: r for r in site.records}
    replaced = {(r["domain"], r["record"]): r["dsect"] for r in site.records}
    records = [
        row
        for row in named.values()
        if replaced.get((row["domain"], row["record"]), row["dsect"]) == row["dsect"]
    ]
    lengths = {(r["dsect"], r["release"]): r for r in (*base.lengths, *site.lengths)}
    return Sources(records, list(lengths.values()), base.fields | site.fields)


def build_all(sources: Sources, folder: Path | None) -> list[Layout]:
    """The layouts of all records. An error of a site's file names the file.

    Raises:
        LayoutError: a file contradicts itself or uses a word that is not in the vocabulary.
    """
    try:
        return build(sources)
    except (LayoutError, ValueError) as error:
        if folder is None:
            raise
        raise _located(sources, folder, error) from error


def layout_files(folder: Path) -> list[Path]:
    """The layout files of a site's folder, those of records and of entries."""
    return sorted(folder.glob("d[0-9][0-9]*/*.csv")) if folder.is_dir() else []


def _rows(path: Path, columns: Sequence[str]) -> list[Row]:
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LayoutError(
            "a layout file cannot be read", place=str(path), found=str(error)
        ) from None
    reader = csv.DictReader(io.StringIO(text))
    optional = [column for column in columns if column not in (reader.fieldnames or ())]
    if optional not in ([], ["until"]) or set(reader.fieldnames or ()) - set(columns):
        raise LayoutError(
            "a layout file has other columns",
            place=f"{path}, line 1",
            expected=",".join(columns),
            found=",".join(reader.fieldnames or ()),
        )
    rows = list(reader)
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise LayoutError(
                "a row has more or fewer cells than the header",
                place=f"{path}, line {number}",
                expected=f"{len(columns)} cells",
                remedy="put texts with commas in quotes",
            )
    return [{column: row.get(column, "") for column in columns} for row in rows]


def _located(sources: Sources, folder: Path, error: Exception) -> LayoutError:
    """The error of the first record that fails, with the site's file that it is in."""
    mine = {path.stem: path for path in layout_files(folder)}
    for record in sources.records:
        name = record["dsect"]
        if name not in sources.fields:
            continue
        lengths = [row for row in sources.lengths if row["dsect"] == name]
        try:
            build(Sources([record], lengths, sources.fields))
        except LayoutError as found:
            place = mine.get(found.problem.split(".")[0].split(":")[0].split()[-1]) or mine.get(
                name
            )
            return LayoutError(
                found.problem,
                place=str(place or folder / "records.csv"),
                expected=found.expected,
                found=found.found,
            )
        except ValueError as found:
            place = mine.get(name) or folder / "records.csv"
            return LayoutError(f"{name}: a number is expected", place=str(place), found=str(found))
    return LayoutError("the layouts cannot be read", place=str(folder), found=str(error))
