"""`cpmon schema`: looks up records and fields; converts IBM pages of a release to own layouts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CpmonError, unknown
from ...core.text import counted
from .. import completion
from ..main import Status
from ..options import (
    ANY_PATH,
    LEVEL,
    RELEASE,
    format_option,
    output_option,
    output_options,
)
from ..output import (
    FOR_PEOPLE,
    TARGET,
    TARGET_FILE,
    Output,
    check_target,
    parents_option,
    rows_as,
    write_file,
)

if TYPE_CHECKING:
    from ...schemas import Layout
    from ...schemas.description import Described
    from ...schemas.pages.page_import import Change, Imported


def _use_layouts(context: click.Context, _option: click.Parameter, store: Path | None) -> None:
    if not context.resilient_parsing:
        from ...schemas.registry import use
        from ...store.format.landed_layouts import layouts_of

        use(layouts_of(store) if store else None)


store_of_layouts = click.option(
    "--store",
    type=ANY_PATH,
    envvar="CPMON_STORE",
    expose_value=False,
    callback=_use_layouts,
    metavar="DIR",
    help="A store; layouts in its folder schemas win over the shipped ones.",
)


@click.group("schema")
def command() -> None:
    """Look up records and fields; bring in IBM's pages of them.

    Layouts of your own live in the folder that CPMON_SCHEMAS names, or in the folder schemas of a
    store; they win over the shipped ones.

    \b
    Examples:
      cpmon schema show SYTRSP --release 4.3
      cpmon schema dictionary "expanded storage"
      cpmon schema import MRSYTRSP.html --into layouts/
    """


@command.command("list", short_help="Every record, and how much of it is known.")
@store_of_layouts
@output_options
def list_(out: Output) -> None:
    """Every record: domain, number, name, what it is about, how much of it is known.

    \b
    Example:
      cpmon schema list
    """
    from ...schemas.registry import by_record, records

    rows = []
    for row in records():
        domain, record = int(row["domain"]), int(row["record"])
        layout = by_record().get((domain, record))
        rows.append(
            {
                "domain": domain,
                "record": record,
                "name": row["dsect"],
                "kind": row["kind"],
                "fields": sum(len(t.columns) for t in layout.tables()) if layout else None,
                "bytes": layout.length if layout else None,
                "provenance": row["provenance"] if layout else None,
                "title": row["title"],
            }
        )
    out.write_rows(rows)


@command.command("diff", short_help="What two releases write differently.")
@click.argument("old", type=RELEASE)
@click.argument("new", type=RELEASE)
@store_of_layouts
@output_options
def diff(old: str, new: str, out: Output) -> None:
    """What two releases write differently, as far as the layouts know: lengths, fields, records.

    Pages that were imported say more: see cpmon schema import.

    \b
    Example:
      cpmon schema diff 5.3.0 7.3.0
    """
    from dataclasses import asdict

    from ...schemas.description import release_diff
    from ...schemas.registry import layouts

    rows = [asdict(difference) for difference in release_diff(layouts(), old, new)]
    if not rows:
        click.echo(f"no difference between {old} and {new} is known", err=True)
        return
    out.write_rows(rows)


@command.command("export", short_help="Layouts of your own as a zip archive, to share them.")
@click.argument("archive", type=TARGET_FILE, metavar="ARCHIVE.zip")
@parents_option
@click.option(
    "--layouts",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="CPMON_SCHEMAS",
    required=True,
    metavar="FOLDER",
    help="Folder of your own layouts; CPMON_SCHEMAS stands for it.",
)
def export(archive: Path, folder: Path) -> None:
    """Write the layouts that were imported into an archive, to share them inside a site.

    Unpacked into a folder that CPMON_SCHEMAS names, or into the folder schemas of a store, they
    are in force there. Descriptions on IBM's pages are IBM's: keep the archive inside.

    \b
    Example:
      cpmon schema export layouts-730.zip --layouts layouts/
    """
    from ...schemas.registry import site_archive

    check_target(archive, "application/zip")
    data, count = site_archive(folder)
    write_file(archive, data)
    click.echo(f"{archive}: {counted(count, 'file')}")


@command.command("show", short_help="The layout of a record, or one field of it.")
@click.argument("name", metavar="RECORD[.FIELD]", shell_complete=completion.records)
@click.option("--release", type=LEVEL, default="", help="As this release writes it.")
@store_of_layouts
@output_options
def show(name: str, release: str, out: Output) -> None:
    """The layout of a record, or one field of it: where it is, how it is written, what it says.

    Bits stand under their field, the entries of groups under their group, with offsets from the
    entry's start.

    \b
    Examples:
      cpmon schema show SYTRSP --release 4.3
      cpmon schema show SYTRSP.PLSMVB2G
    """
    from ...schemas.description import describe
    from ...schemas.registry import tables

    record, _, field = name.lower().partition(".")
    layout = tables().get(record)
    if layout is None:
        raise unknown("record", record, tables())
    rows = list(describe(layout, release))
    if field:
        below = {
            (part.type, part.name) for part in (*layout.bits, *layout.codes) if part.of == field
        }
        rows = [row for row in rows if row["name"] == field or (row["type"], row["name"]) in below]
    if field and not rows:
        names = [part.name for part in (*layout.columns, *layout.bits)]
        names += [group.name for group in layout.groups]
        if field in names:
            raise CpmonError(f"{layout.name}.{field} is not in {release}")
        raise unknown("field", field, names, place=layout.name)
    if out.format in FOR_PEOPLE:
        head = "\n".join(_head(layout, release)) + "\n\n"
        fields = rows_as(_indented(rows, layout), out.format) if rows else b""
        out.write(head.encode() + fields)
    else:
        out.write_rows(rows)


def _head(layout: Layout, release: str) -> Iterator[str]:
    """The lines about the record as a whole."""
    if layout.parent:
        yield f"{layout.name.upper()}  entries in {layout.parent.upper()}: {layout.title}"
        return
    number = f"domain {layout.domain}, record {layout.record}"
    yield f"{layout.name.upper()}  {number}, {layout.kind}: {layout.title}"
    keys = " ".join(key.name for key in layout.keys)
    grain = f"one row per {layout.grain}; " if layout.grain else ""
    yield f"  {grain}keys {keys or 'none'}; layout {layout.provenance}"
    if release:
        yield f"  as of {release}: {layout.length_at(release)} bytes"
    if not layout.columns:
        yield "  only its name is known: cpmon schema import brings IBM's page of it"
    if layout.until:
        yield f"  written up to {layout.until}"
    lengths = ", ".join(f"{length} in {of}" for of, length in layout.lengths)
    yield f"  {layout.length} bytes known" + (f"; published lengths: {lengths}" if lengths else "")


def _indented(rows: Iterable[Described], layout: Layout) -> list[dict[str, Any]]:
    """Rows for printing: bits, codes and entries below their field, without empty columns."""
    from ...schemas.description import pattern

    shown: list[dict[str, Any]] = []
    for row in rows:
        is_entry = "_" in str(row["table_name"]).removeprefix(layout.name)
        depth = is_entry + (row["type"] in ("bit", "code"))
        code = pattern(str(row["code"])) if row["type"] == "bit" else row["code"]
        shown.append({**row, "name": "  " * depth + str(row["name"]), "code": code})
        del shown[-1]["table_name"]
    kept = [k for k in (shown[0] if shown else {}) if any(row[k] is not None for row in shown)]
    return [{k: row[k] for k in kept} for row in shown]


@command.command("dictionary", short_help="Search all records and fields.")
@click.argument("text", required=False, metavar="[TEXT]")
@format_option("html", help_text="How to print it; html is one page with a search box.")
@output_option
@store_of_layouts
def dictionary(text: str | None, out: Output) -> None:
    """Every record and field, or those with TEXT in a name, a title or a meaning.

    The same rows are in meta.dictionary of every store. Records known by name only have one row.

    \b
    Examples:
      cpmon schema dictionary paging
      cpmon schema dictionary --format html -o records.html
    """
    from ...store.sql.dictionary import page, rows

    words = ("table_name", "name", "record_name", "title", "code", "meaning")
    matches = [
        row
        for row in rows()
        if text is None or any(text.lower() in str(row[word] or "").lower() for word in words)
    ]
    if not matches:
        raise CpmonError(
            f"no record or field has {text} in its name, title or meaning",
            code="dictionary-no-match",
            remedy="`cpmon schema list` names all records",
        )
    if out.format == "html":
        out.write(page(matches).encode())
        return
    brief = ("table_name", "name", "offset", "length", "type", "role", "unit", "meaning")
    if out.format in FOR_PEOPLE:
        matches = [{k: row[k] for k in brief} | {"title": row["title"]} for row in matches]
    out.write_rows(matches)


@command.command("import", short_help="Turn IBM's record pages into layouts.")
@click.argument("pages", nargs=-1, required=True, metavar="PAGE...", type=ANY_PATH)
@click.option(
    "--into",
    type=TARGET,
    envvar="CPMON_SCHEMAS",
    metavar="FOLDER",
    help="Folder of your own layouts; CPMON_SCHEMAS stands for it.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "--release",
    type=RELEASE,
    default="",
    help="Release of the pages, where they do not say it.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Take the page's word where it contradicts the layout known before.",
)
@click.option("--verbose", is_flag=True, help="Name the files that are passed over.")
@click.option(
    "--effects",
    type=TARGET_FILE,
    metavar="FILE.md",
    help="Write there what each report gains and loses by the pages.",
)
@parents_option
def import_(
    pages: tuple[Path, ...],
    into: Path | None,
    dry_run: bool,
    release: str,
    replace: bool,
    verbose: bool,
    effects: Path | None,
) -> Status:
    """Turn IBM's record PAGEs, saved as HTML, MHTML or text, into layouts of your own.

    PAGE is a file, a folder of them, or a zip archive; - is standard input. A file may hold several
    pages; what has another suffix in a folder or an archive is counted and passed over. A page
    confirms what the layout says, adds fields that are new, and is refused with its lines if it
    contradicts or is not understood: nothing is written for it then.

    \b
    Examples:
      cpmon schema import MRSYTRSP.HTML --into layouts/ --dry-run
      cpmon schema import mon730/ --into layouts/ --effects effects.md
      cpmon schema import mon730.zip --into layouts/
    """
    from ...schemas.pages.page_file import SUFFIXES, collect_pages
    from ...schemas.pages.page_import import PageImport, PageOutcome
    from ...schemas.registry import reload

    folder = _folder(into)
    check_target(folder, in_missing=True)  # as schemas/ of a store that is to come
    if effects is not None:
        check_target(effects, "markdown")
    importing = PageImport(folder, release=release, replace=replace)
    files = list(collect_pages(pages))
    named = not any(path.is_dir() or path.suffix.lower() == ".zip" for path in pages)
    with click.progressbar(files, label="reading pages", file=sys.stderr, hidden=named) as bar:
        all_files = [imported for file in bar for imported in importing.add(file, named=named)]
    passed = [i.name for i in all_files if i.outcome is PageOutcome.PASSED_OVER]
    results = [i for i in all_files if i.outcome is not PageOutcome.PASSED_OVER]
    others = f"{len(passed):,} other {'file' if len(passed) == 1 else 'files'} passed over"
    if not any(imported.merged or imported.problem for imported in results):
        raise CpmonError(
            "there is no page of a record",
            code="record-pages-missing",
            place=", ".join(map(str, pages)),
            expected=f"pages saved as {', '.join(SUFFIXES)}",
            found=f"{others}, {passed[0]} among them" if passed else None,
            remedy="name the folder that they are in",
        )
    written = importing.changes()
    if dry_run:
        _show(written, folder)
    else:
        for change in written:
            write_file(change.path, change.after.encode())
        reload()
    for imported in results:
        _tell(imported, details=len(results) <= 20)  # of more, problems and the summary
    if effects:
        from ...reduce.reports.expected_reports import layout_effects

        merged = [i.merged for i in results if i.merged and not i.outcome.is_refused]
        text = layout_effects(importing.before, importing.sources, merged)
        write_file(effects, text.encode())
    Output("table").write_rows([_summary(imported) for imported in results])
    for name in passed if verbose else ():
        click.echo(f"passed over: {name}", err=True)
    counts = Counter(str(imported.outcome) for imported in results)
    totals = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    totals += f"; {others}" if passed else ""
    verb = "would be written" if dry_run else "written"
    click.echo(f"{totals}; files {verb} in {folder}: {len(written)}", err=True)
    return Status.USAGE if any(imported.outcome.is_refused for imported in results) else Status.DONE


def _folder(into: Path | None) -> Path:
    """The user's folder of layouts; shipped layouts are never changed."""
    from ...schemas.registry import home

    if into is None:
        raise CpmonError(
            "nothing says where your layouts are",
            code="layout-folder-required",
            expected="a folder of your own; the installed layouts are never changed",
            remedy="give --into FOLDER, or set CPMON_SCHEMAS",
        )
    if into.resolve() == home().resolve():
        raise CpmonError(
            f"{into} is cpmon's own folder of layouts",
            code="layout-folder-shipped",
            remedy="give a folder of your own with --into",
        )
    return into


def _summary(imported: Imported) -> dict[str, Any]:
    merged = imported.merged
    return {
        "page": imported.name,
        "record": merged.page.dsect if merged else None,
        "release": merged.page.release if merged else None,
        "confirmed": merged.confirmed if merged else None,
        "added": len(merged.added) if merged else None,
        "changed": len(merged.changed) if merged else None,
        "contradicted": len(merged.contradictions) if merged else None,
        "result": str(imported.outcome),
    }


def _tell(imported: Imported, *, details: bool) -> None:
    """Print the problems of a page, and what was imported from it."""
    merged = imported.merged
    contradictions = merged.contradictions if merged else []
    for error in (imported.problem, *contradictions):
        if error:
            click.echo(f"cpmon: {error}", err=True)
    if contradictions:
        remedy = "check the page against IBM's; if it is right, --replace takes its word"
        click.echo(f"  remedy    {remedy}", err=True)
    elif merged and details:
        parts = {
            "added": merged.added,
            "changed": merged.changed,
            "note": merged.notes,
            "role to look at": merged.doubts,
        }
        for label, lines in parts.items():
            for line in lines:
                click.echo(f"{merged.page.dsect}: {label}: {line}", err=True)


def _show(written: Iterable[Change], folder: Path) -> None:
    """Print the difference, in the format of `diff -u`."""
    import difflib

    for change in written:
        name = str(change.path.relative_to(folder))
        lines = difflib.unified_diff(
            change.before.splitlines(), change.after.splitlines(), name, name, lineterm="", n=1
        )
        for line in lines:
            click.echo(line)
