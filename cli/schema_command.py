"""`cpmon schema`: what the bytes of records mean, and pages that say more of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..schemas.errors import CpmonError
from .main import Status
from .options import FORMATS, Release, output_options, use_layouts
from .output import deliver, write_file

if TYPE_CHECKING:
    from ..schemas import Layout
    from ..schemas.description import Described
    from ..schemas.importing import Change
    from ..schemas.loader import Sources
    from ..schemas.merged import Merged

PLAIN = ("table", "text", "markdown")


store_of_layouts = click.option(
    "--store",
    type=click.Path(path_type=Path),
    envvar="CPMON_STORE",
    expose_value=False,
    callback=use_layouts,
    metavar="DIR",
    help="A store; layouts in its folder schemas win over the shipped ones.",
)


@click.group("schema")
def command() -> None:
    """Look up records and fields, and bring in IBM's pages of your release.

    Layouts of your own live in the folder that CPMON_SCHEMAS names, or in the folder schemas of a
    store; they win over the shipped ones.
    """


@command.command("list")
@store_of_layouts
@output_options
def list_(form: str, output: Path | None) -> None:
    """Every record: domain, number, name, what it is about, how much of it is known.

    \b
    Example:
      cpmon schema list
    """
    from ..schemas.registry import by_record, records

    own = by_record()
    rows = [
        _record(said, own.get((int(said["domain"]), int(said["record"])))) for said in records()
    ]
    deliver(_rendered(rows, form), output, form)


def _record(said: dict[str, str], layout: Layout | None) -> dict[str, Any]:
    return {
        "domain": int(said["domain"]),
        "record": int(said["record"]),
        "name": said["dsect"],
        "kind": said["kind"],
        "fields": sum(len(t.columns) for t in layout.tables()) if layout else None,
        "bytes": layout.length if layout else None,
        "provenance": said["provenance"] if layout else None,
        "title": said["title"],
    }


@command.command("show")
@click.argument("name", metavar="RECORD[.FIELD]")
@click.option(
    "--release", type=Release(), default="", metavar="V.R.M", help="As this release writes it."
)
@store_of_layouts
@output_options
def show(name: str, release: str, form: str, output: Path | None) -> None:
    """The layout of a record, or one field of it: where it is, how it is written, what it says.

    Bits stand under their field, the entries of groups under their group, with offsets from the
    entry's start.

    \b
    Examples:
      cpmon schema show SYTRSP --release 4.3
      cpmon schema show SYTRSP.PLSMVB2G
    """
    from ..schemas.description import describe, is_of

    record, _, field = name.lower().partition(".")
    layout = _layout(record)
    rows = list(describe(layout, release))
    if field:
        rows = [row for row in rows if is_of(row, field, layout)]
        if not rows:
            raise _no_field(layout, field, release)
    if form in PLAIN:
        head = "\n".join(_head(layout, release)) + "\n\n"
        deliver(head.encode() + _rendered(_indented(rows, layout), form), output, form)
    else:
        deliver(_rendered(rows, form), output, form)


def _layout(name: str) -> Layout:
    """The layout of a record or of a group's table; names that are close are named."""
    from ..schemas.lookup import unknown
    from ..schemas.registry import records, tables

    found = tables().get(name)
    if found is not None:
        return found
    said = next((r for r in records() if r["dsect"] == name), None)
    if said is None:
        raise unknown("record", name, tables())
    raise CpmonError(
        f"{name.upper()} is known by name only",
        found=f"domain {said['domain']}, record {said['record']}: {said['title']}",
        remedy="save IBM's page of it, and bring it in with `cpmon schema import`",
    )


def _no_field(layout: Layout, field: str, release: str) -> CpmonError:
    from ..schemas.lookup import unknown

    names = [*(f.name for f in (*layout.columns, *layout.bits)), *(g.name for g in layout.groups)]
    if field in names:
        return CpmonError(f"{layout.name}.{field} is not in {release}")
    return unknown("field", field, names, place=layout.name)


def _head(layout: Layout, release: str) -> Iterator[str]:
    """What is said once of a record."""
    if layout.parent:
        yield f"{layout.name.upper()}  entries in {layout.parent.upper()}: {layout.title}"
        return
    yield (
        f"{layout.name.upper()}  domain {layout.domain}, record {layout.record}, "
        f"{layout.kind}: {layout.title}"
    )
    keys = " ".join(key.name for key in layout.keys)
    grain = f"one row per {layout.grain}; " if layout.grain else ""
    yield f"  {grain}keys {keys or 'none'}; layout {layout.provenance}"
    if release:
        yield f"  as of {release}: {layout.length_at(release)} bytes"
    lengths = ", ".join(f"{length} in {of}" for of, length in layout.lengths)
    yield f"  {layout.length} bytes known" + (f"; published lengths: {lengths}" if lengths else "")


def _indented(rows: Iterable[Described], layout: Layout) -> list[dict[str, Any]]:
    """Rows for the eye: bits and entries under what they belong to, without empty columns."""
    from ..schemas.description import pattern

    shown = []
    for row in rows:
        depth = str(row["table_name"]).removeprefix(layout.name).count("_") > 0
        bits = row["type"] == "bit"
        code = pattern(str(row["code"])) if bits else row["code"]
        name = "  " * (depth + bits) + str(row["name"])
        shown.append(
            {k: v for k, v in row.items() if k != "table_name"} | {"name": name, "code": code}
        )
    kept = [k for k in (shown[0] if shown else {}) if any(row[k] is not None for row in shown)]
    return [{k: row[k] for k in kept} for row in shown]


@command.command("dictionary")
@click.argument("text", required=False, metavar="[TEXT]")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, "html"]),
    default="table",
    show_default=True,
    help="How to print it; html is one page with a search box that needs no network.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there instead of standard output (- is standard output).",
)
@store_of_layouts
def dictionary(text: str | None, form: str, output: Path | None) -> None:
    """Every record and field, or those with TEXT in a name, a title or a meaning.

    The same rows are in meta.dictionary of every store. Records known by name only have one row.

    \b
    Examples:
      cpmon schema dictionary paging
      cpmon schema dictionary --format html -o records.html
    """
    from ..store.dictionary import rows
    from ..store.dictionary_page import page

    found = [row for row in rows() if text is None or _has(row, text.lower())]
    if form == "html":
        deliver(page(found).encode(), output, form)
        return
    brief = ("table_name", "column_name", "offset", "length", "type", "role", "unit", "meaning")
    if form in PLAIN:
        found = [{k: row[k] for k in brief} | {"title": row["title"]} for row in found]
    deliver(_rendered(found, form), output, form)


def _has(row: dict[str, object], text: str) -> bool:
    words = ("table_name", "column_name", "record_name", "title", "code", "meaning")
    return any(text in str(row[word] or "").lower() for word in words)


@command.command("import")
@click.argument(
    "pages", nargs=-1, required=True, metavar="PAGE...", type=click.Path(path_type=Path)
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    envvar="CPMON_SCHEMAS",
    metavar="FOLDER",
    help="Folder of your own layouts; CPMON_SCHEMAS stands for it.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "--release",
    type=Release(),
    default="",
    metavar="V.R.M",
    help="Release of the pages, where they do not say it.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Take the page's word where it contradicts the layout known before.",
)
def import_(
    pages: tuple[Path, ...], into: Path | None, dry_run: bool, release: str, replace: bool
) -> Status:
    """Turn IBM's record PAGEs, saved as HTML or text, into layouts of your own.

    A page confirms what the layout says, adds fields that are new, and is refused with its lines
    if it contradicts: nothing is written for it then. - reads a page from standard input.

    \b
    Examples:
      cpmon schema import MRSYTRSP.HTML --into layouts/ --dry-run
      cpmon schema import mon540/*.HTML --into layouts/
    """
    from ..schemas.importing import after, changes
    from ..schemas.site import overlay, read_site, shipped

    folder = _folder(into)
    site = read_site(folder)
    known, summary, status = overlay(shipped(), site), [], Status.DONE
    for path in pages:
        merged = _merged(path, known, release=release, replace=replace)
        if merged is None or merged.contradictions:
            status = Status.USAGE
        if merged is None:
            continue
        if merged.contradictions:
            summary.append(_summary(path, merged, "refused"))
            _tell_contradictions(path, merged)
            continue
        written = list(changes(merged, site, known, folder))
        done = "would be written" if dry_run else "written"
        summary.append(_summary(path, merged, done if written else "nothing new"))
        if dry_run:
            _show(written, folder)
        else:
            for change in written:
                write_file(change.path, change.after.encode())
        known = after(merged, known)
        site = after(merged, site)
        _tell(merged)
    if summary:
        deliver(_rendered(summary, "table"), None, "table")
    return status


def _folder(into: Path | None) -> Path:
    """The user's folder; what is installed stays as it is."""
    from ..schemas.site import home

    if into is None:
        raise CpmonError(
            "nothing says where your layouts are",
            expected="a folder of your own; the installed layouts are never changed",
            remedy="give --into FOLDER, or set CPMON_SCHEMAS",
        )
    if into.resolve() == home().resolve():
        raise CpmonError(
            f"{into} is cpmon's own folder of layouts",
            remedy="give a folder of your own with --into",
        )
    return into


def _merged(path: Path, known: Sources, *, release: str, replace: bool) -> Merged | None:
    """What comes of a page; nothing if it cannot be read, which is told."""
    from ..schemas.importing import check
    from ..schemas.merge import merge
    from ..schemas.page import parse_page

    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        page = parse_page(data, "standard input" if str(path) == "-" else path.name, release)
        merged = merge(page, known, replace=replace)
        if not merged.contradictions:
            check(merged, known)
    except OSError as error:
        click.echo(f"cpmon: {path} cannot be read: {error.strerror}", err=True)
    except CpmonError as error:
        click.echo(f"cpmon: {error}", err=True)
    else:
        return merged
    return None


def _summary(path: Path, merged: Merged, result: str) -> dict[str, Any]:
    return {
        "page": path.name,
        "record": merged.page.dsect,
        "release": merged.page.release,
        "confirmed": merged.confirmed,
        "added": len(merged.added),
        "changed": len(merged.changed),
        "contradicted": len(merged.contradictions),
        "result": result,
    }


def _tell(merged: Merged) -> None:
    """What a reader should know of a page that was taken."""
    about = (
        ("added", merged.added),
        ("changed", merged.changed),
        ("note", merged.notes),
        ("role to look at", merged.doubts),
    )
    for label, lines in about:
        for line in lines:
            click.echo(f"{merged.page.dsect}: {label}: {line}", err=True)


def _tell_contradictions(path: Path, merged: Merged) -> None:
    """Every contradiction as an error, with the page's line."""
    for found in merged.contradictions:
        error = CpmonError(
            f"{path.name} contradicts the layout: {found.problem}",
            place=f"{path.name}, line {found.line}",
            expected=found.expected,
            found=found.text,
            effect=f"nothing was written for {merged.page.dsect}",
        )
        click.echo(f"cpmon: {error}", err=True)
    click.echo(
        "  remedy    check the page against IBM's; if it is right, --replace takes its word",
        err=True,
    )


def _show(written: Iterable[Change], folder: Path) -> None:
    """The difference, as `diff -u` shows it."""
    import difflib

    for change in written:
        name = str(change.path.relative_to(folder))
        lines = difflib.unified_diff(
            change.before.splitlines(), change.after.splitlines(), name, name, lineterm="", n=1
        )
        for line in lines:
            click.echo(line)


def _rendered(rows: list[dict[str, Any]], form: str) -> bytes:
    import pyarrow as pa

    from ..reduce.render import render

    return render(pa.Table.from_pylist(rows), "table" if form == "text" else form)
