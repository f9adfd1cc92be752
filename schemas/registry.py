"""The registry of all layouts, for docs, tests, decoder and catalogue.

A site's own layouts override the shipped ones; CPMON_SCHEMAS or `use` names their folder.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

import msgspec

from ..core.derived import derived, files_version
from ..core.errors import LayoutError
from .layout import Layout
from .loader import Sources, build, layout_files, read


def home() -> Path:
    """The folder of the installed layouts."""
    return Path(__file__).parent


def shipped() -> Sources:
    """The layouts that come with cpmon."""
    return read(home())


@functools.cache
def shipped_rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a CSV beside the layouts, such as `limits.csv`."""
    text = (home() / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def overlay(base: Sources, site: Sources) -> Sources:
    """Merge both; the site's files and rows replace those of the same name."""
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
        LayoutError: a file is inconsistent or has an unknown word.
    """
    try:
        return build(sources)
    except LayoutError as error:
        if folder is not None:
            table = error.problem.split(".")[0].split(":")[0].split()[-1]
            own = {file.stem: str(file) for file in layout_files(folder)}
            record = own.get(str(error.place), str(folder / "records.csv"))
            error.place = own.get(table, record)
        raise


def site_files(folder: Path) -> list[Path]:
    """The files of a folder that layouts are read from."""
    lists = [file for name in ("records.csv", "lengths.csv") if (file := folder / name).exists()]
    return [*lists, *layout_files(folder)]


def site_archive(folder: Path) -> tuple[bytes, int]:
    """A folder's layouts as a zip archive, the same bytes for the same layouts; and its files.

    Raises:
        LayoutError: the folder holds no layouts, or one that cannot be loaded.
    """
    build_all(overlay(shipped(), read(folder)), folder)
    files = site_files(folder)
    if not files:
        raise LayoutError("there are no layouts", place=str(folder))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix())
            archive.writestr(member, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue(), len(files)


VARIABLE = "CPMON_SCHEMAS"
"""Variable with the folder of a site's own layouts; it precedes the folder beside a store."""

_beside: Path | None = None


def use(folder: Path | None) -> None:
    """Override the shipped layouts by those of a folder, unless CPMON_SCHEMAS names another.

    The folder beside a store is used so. None resets it. Layouts obtained before do not change.
    """
    global _beside  # noqa: PLW0603 - one process has one set of layouts
    if folder != _beside:
        _beside = folder
        reload()


def reload() -> None:
    """Clear the cache of layouts after their files have changed."""
    for function in (_loaded, tables, by_record, records, record_names, _sources):
        function.cache_clear()


def site_folder() -> Path | None:
    """The folder of the site's own layouts, whether it exists or not; None if none is named."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else _beside


def layouts() -> tuple[Layout, ...]:
    """Every record with a layout, by domain and record number."""
    return _loaded().layouts


@functools.cache
def tables() -> dict[str, Layout]:
    """Table name -> layout: the records and the entries of their groups."""
    return {table.name: table for layout in layouts() for table in layout.tables()}


@functools.cache
def by_record() -> dict[tuple[int, int], Layout]:
    """(domain, record) -> layout."""
    return {(layout.domain, layout.record): layout for layout in layouts()}


def layout(name: str) -> Layout:
    """The layout of a record or of a group's entries, by table name.

    Raises:
        LayoutError: no layout has that name.
    """
    by_name = tables().get(name.lower())
    if by_name is None:
        raise LayoutError(f"there is no layout {name}", expected="a name of schemas/records.csv")
    return by_name


def record_of(table: Layout) -> Layout:
    """The record of a table's rows: itself, or the one that contains its entries."""
    while table.parent:
        table = tables()[table.parent]
    return table


@functools.cache
def records() -> tuple[dict[str, str], ...]:
    """The rows of records.csv by domain and record number, also for records without a layout."""
    return tuple(sorted(_sources().records, key=lambda r: (int(r["domain"]), int(r["record"]))))


@functools.cache
def record_names() -> dict[tuple[int, int], str]:
    """(domain, record) -> IBM's name, also for records without a layout."""
    return {(int(r["domain"]), int(r["record"])): r["dsect"] for r in records()}


def fingerprint() -> str:
    """Version of all layouts and of `columns.csv`; dumps record the one that they landed with."""
    return _loaded().fingerprint


class _Loaded(msgspec.Struct, frozen=True):
    fingerprint: str
    layouts: tuple[Layout, ...]


@functools.cache
def _loaded() -> _Loaded:
    folder = site_folder()
    if folder and not folder.is_dir():
        return _load()
    try:
        version = files_version(site_files(folder)) if folder else ""
    except OSError:  # reading it names the file
        return _load()
    return derived("layouts", _Loaded, _load, version)


def _load() -> _Loaded:
    columns = (home() / "columns.csv").read_text(encoding="utf-8")
    text = json.dumps([vars(_sources()), columns], sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return _Loaded(digest, tuple(build_all(_sources(), site_folder())))


@functools.cache
def _sources() -> Sources:
    folder = site_folder()
    if folder is None:
        return shipped()
    if VARIABLE in os.environ and not folder.is_dir():
        raise LayoutError(
            f"{VARIABLE} names no folder",
            code="layout-folder-missing",
            found=str(folder),
            remedy="`cpmon schema import` makes it; or unset the variable",
        )
    return overlay(shipped(), read(folder))
