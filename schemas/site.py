"""A site's own folder of layouts, which override the shipped ones."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files
from pathlib import Path

from ..core.errors import LayoutError
from .layout import Layout
from .loader import Sources, build, layout_files, read


def home() -> Path:
    """The folder of the installed layouts."""
    return Path(__file__).parent


def shipped() -> Sources:
    """The layouts that come with cpmon."""
    return read(files(__package__))


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
            own = {file.name.removesuffix(".csv"): str(file) for file in layout_files(folder)}
            record = own.get(str(error.place), str(folder / "records.csv"))
            error.place = own.get(table, record)
        raise


def site_files(folder: Path) -> list[Path]:
    """The files of a folder that layouts are read from."""
    lists = [file for name in ("records.csv", "lengths.csv") if (file := folder / name).exists()]
    return [*lists, *(Path(str(file)) for file in layout_files(folder))]


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
