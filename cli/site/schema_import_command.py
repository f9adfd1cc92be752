"""`cpmon schema import`: IBM's pages of a release into layouts of one's own."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...schemas.errors import CpmonError
from ..main import Status
from ..options import RELEASE
from ..output import deliver, rows_as, write_file

if TYPE_CHECKING:
    from ...schemas.loader import Sources
    from ...schemas.pages.changes import Change
    from ...schemas.pages.merge_result import MergeResult


@click.command("import", short_help="Turn IBM's record pages into layouts.")
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
    type=RELEASE,
    default="",
    metavar="V.R.M",
    help="Release of the pages, where they do not say it.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Take the page's word where it contradicts the layout known before.",
)
def command(
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
    from ...schemas.loader import read
    from ...schemas.pages.changes import after, changes
    from ...schemas.registry import reload
    from ...schemas.site import overlay, shipped

    folder = _folder(into)
    site = read(folder)
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
            reload()
        known = after(merged, known)
        site = after(merged, site)
        _tell(merged)
    if summary:
        deliver(rows_as(summary, "table"), None, "table")
    return status


def _folder(into: Path | None) -> Path:
    """The user's folder; what is installed stays as it is."""
    from ...schemas.site import home

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


def _merged(path: Path, known: Sources, *, release: str, replace: bool) -> MergeResult | None:
    """What comes of a page; nothing if it cannot be read, which is told."""
    from ...schemas.pages.changes import check
    from ...schemas.pages.merge import merge
    from ...schemas.pages.page import parse_page

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


def _summary(path: Path, merged: MergeResult, result: str) -> dict[str, Any]:
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


def _tell(merged: MergeResult) -> None:
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


def _tell_contradictions(path: Path, merged: MergeResult) -> None:
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
