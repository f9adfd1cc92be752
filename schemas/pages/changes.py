"""Changes of the files in a site's layout folder that an imported page makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..loader import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS, Row, Sources, build, to_csv
from ..site import home, overlay
from .merge_result import MergeResult


def check(merged: MergeResult, sources: Sources) -> None:
    """Build the record of a page, as the loader will.

    Raises:
        LayoutError: it cannot be loaded.
    """
    lengths = [row for row in sources.lengths if row["dsect"] == merged.page.dsect]
    build(Sources([merged.record], lengths, sources.fields | merged.files))


@dataclass(frozen=True)
class Change:
    """A file of a site's folder before (or as shipped) and after the change."""

    path: Path
    before: str
    after: str


def after(merged: MergeResult, sources: Sources) -> Sources:
    """All layouts after the merge of a page."""
    mine = Sources([merged.record], merged.lengths, merged.files)
    return overlay(sources, mine)


def changes(merged: MergeResult, site: Sources, shipped: Sources, folder: Path) -> Iterator[Change]:
    """The files to write for a page, those of entries before that of the record.

    None if the page changes nothing; else all files of the record, so that the folder is complete
    whatever later versions ship.

    Args:
        site: the layouts of the folder.
        known: the layouts before the import, site's and shipped.
    """
    page, home = merged.page, _home(folder, merged.page.domain)
    # A site's own record is written as a whole, though an import of it was killed half done.
    is_new = any(
        name in site.fields or rows != shipped.fields.get(name)
        for name, rows in merged.files.items()
    )
    for name, rows in reversed(merged.files.items()):
        old = shipped.fields.get(name, [])
        if rows != old or (is_new and name.startswith(page.dsect) and name not in site.fields):
            path = next(folder.glob(f"d[0-9][0-9]*/{name}.csv"), home / f"{name}.csv")
            yield Change(path, to_csv(old, COLUMNS) if old else "", to_csv(rows, COLUMNS))
    if merged.record not in (site.records if is_new else shipped.records):
        rows = _with(site.records, [merged.record])
        yield _change(folder / "records.csv", site.records, rows, RECORD_COLUMNS)
    if any(row not in shipped.lengths for row in merged.lengths):
        rows = _with(site.lengths, merged.lengths)
        yield _change(folder / "lengths.csv", site.lengths, rows, LENGTH_COLUMNS)


def _change(path: Path, old: list[Row], new: list[Row], columns: Sequence[str]) -> Change:
    return Change(path, to_csv(old, columns) if old else "", to_csv(new, columns))


def _with(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Rows of records.csv or lengths.csv, those of the same record and release replaced."""

    def key(row: Row) -> tuple[str, str]:
        return row["dsect"], row.get("release", "")

    rows = {key(row): row for row in (*old, *new)}
    return [rows[k] for k in sorted(rows)]


def _home(folder: Path, domain: int) -> Path:
    """The folder of a domain: the site's own, or one of the shipped name."""
    start = f"d{domain:02d}"
    own = list(folder.iterdir()) if folder.is_dir() else []
    names = [f.name for f in (*own, *home().iterdir()) if f.is_dir() and f.name.startswith(start)]
    return folder / (names[0] if names else start)
