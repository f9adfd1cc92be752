"""`cpmon schema import`: converts IBM pages of a release to layouts of the user."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CpmonError
from ..main import Status
from ..options import ANY_PATH, RELEASE
from ..output import Output, write_file
from ..targets import TARGET, TARGET_FILE, check_target

if TYPE_CHECKING:
    from ...schemas.pages.page_import import Change, Imported, PageImport

FEW = 20
"""For more pages than this only the summary and problems are printed."""


@click.command("import", short_help="Turn IBM's record pages into layouts.")
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
def command(
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
    from ...schemas.pages.page_file import collect_pages
    from ...schemas.pages.page_import import Outcome, PageImport
    from ...schemas.registry import reload

    folder = _folder(into)
    check_target(folder)
    if effects is not None:
        check_target(effects, "markdown")
    importing = PageImport(folder, release=release, replace=replace)
    files = list(collect_pages(pages))
    named = not any(path.is_dir() or path.suffix.lower() == ".zip" for path in pages)
    with click.progressbar(files, label="reading pages", file=sys.stderr, hidden=named) as bar:
        all_files = [imported for file in bar for imported in importing.add(file, named=named)]
    passed = [i.name for i in all_files if i.outcome is Outcome.PASSED_OVER]
    results = [i for i in all_files if i.outcome is not Outcome.PASSED_OVER]
    if not any(imported.merged or imported.problem for imported in results):
        raise _no_pages(pages, passed)
    written = importing.changes()
    if dry_run:
        _show(written, folder)
    else:
        for change in written:
            write_file(change.path, change.after.encode())
        reload()
    for imported in results:
        _tell(imported, details=len(results) <= FEW)
    if effects:
        write_file(effects, _effects(importing, results).encode())
    Output("table").write_rows([_summary(imported) for imported in results])
    for name in passed if verbose else ():
        click.echo(f"passed over: {name}", err=True)
    _tell_totals(results, written, folder, passed=len(passed), dry_run=dry_run)
    return Status.USAGE if any(imported.outcome.is_refused for imported in results) else Status.DONE


def _no_pages(paths: Iterable[Path], passed: Sequence[str]) -> CpmonError:
    from ...schemas.pages.page_file import SUFFIXES

    return CpmonError(
        "there is no page of a record",
        code="record-pages-missing",
        place=", ".join(map(str, paths)),
        expected=f"pages saved as {', '.join(SUFFIXES)}",
        found=_passed_over(len(passed)) + f", {passed[0]} among them" if passed else None,
        remedy="name the folder that they are in",
    )


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
        click.echo(
            "  remedy    check the page against IBM's; if it is right, --replace takes its word",
            err=True,
        )
    elif merged and details:
        about = (
            ("added", merged.added),
            ("changed", merged.changed),
            ("note", merged.notes),
            ("role to look at", merged.doubts),
        )
        for label, lines in about:
            for line in lines:
                click.echo(f"{merged.page.dsect}: {label}: {line}", err=True)


def _passed_over(count: int) -> str:
    return f"{count:,} other {'file' if count == 1 else 'files'} passed over"


def _tell_totals(
    results: Sequence[Imported],
    written: Sequence[Change],
    folder: Path,
    *,
    passed: int,
    dry_run: bool,
) -> None:
    counts = Counter(str(imported.outcome) for imported in results)
    summary_line = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    summary_line += f"; {_passed_over(passed)}" if passed else ""
    verb = "would be written" if dry_run else "written"
    click.echo(f"{summary_line}; files {verb} in {folder}: {len(written)}", err=True)


def _effects(importing: PageImport, results: Sequence[Imported]) -> str:
    from ...reduce.reports.expected_reports import layout_effects

    merged = [
        imported.merged
        for imported in results
        if imported.merged and not imported.outcome.is_refused
    ]
    return layout_effects(importing.before, importing.sources, merged)


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
