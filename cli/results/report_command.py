"""`cpmon report`: a report, by time or by object."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.errors import CpmonError
from ...core.text import megabytes
from .. import completion
from ..options import (
    LINE_LENGTH,
    Text,
    choice_option,
    listing_option,
    object_options,
    output_options,
    store_option,
)
from ..output import NOTED, TARGET_FILE, Output, check_target, say, say_notes, write_file
from ..site_settings import opened, settings, store_at
from ..spans import selection_options, zone_option

if TYPE_CHECKING:
    from ...reduce.reports.report import ReportResult
    from ...reduce.reports.report_text import ColourLimit, Screen


def _reports() -> Iterator[str]:
    """The reports, one line each, with the names that other products have for them."""
    settings()  # loads the definitions of the site
    from ...reduce.reports.report_names import find_report, labels_of, report_names

    for name in report_names():
        others = labels_of(name)
        yield f"{name}  {find_report(name).title}{f' ({others})' if others else ''}"


NEW, LIKE = "cpmon.report.new", "cpmon.report.like"


def _begin(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Write the draft of a report once both its name and the report to copy are known."""
    context.meta[f"cpmon.report.{option.name}"] = value
    new, like = context.meta.get(NEW), context.meta.get(LIKE)
    if context.resilient_parsing or not (new and like):
        return
    from ...reduce.metrics.report_set import draft
    from ...reduce.reports.report_names import find_report

    if not re.fullmatch(r"[A-Za-z][\w-]*", new):
        raise click.UsageError(f"--new {new}: a name has letters, digits, _ and -")
    beside = settings().file or Path("cpmon.toml")
    file = beside.parent / "reports" / f"{new.lower()}.toml"
    if file.exists():
        raise CpmonError(
            "there is a file for a report of that name",
            code="report-file-exists",
            place=str(file),
            remedy="edit it, or choose another name",
        )
    write_file(file, draft(new, find_report(like)).encode())
    say(f"{file}: edit it, then cpmon report {new}", err=True)
    if not beside.exists():
        write_file(beside, b"")
        say(f"{beside}: made, so that it is read; here it precedes that of a store", err=True)
    context.exit()


_draft_option = functools.partial(click.option, is_eager=True, expose_value=False, callback=_begin)
"""An option that needs no store."""


@click.command("report")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completion.reports)
@store_option
@selection_options
@object_options
@click.option(
    "--by",
    type=LINE_LENGTH,
    help="A line for each span of the printed zone, as 15m, 1h, 1d, 1w or 1mo.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Only so many objects, the greatest; of one, or with none: so many lines, by --sort.",
)
@choice_option(
    "--top-of",
    values=("span", "line"),
    help="Which are the greatest with --by: those of the whole span, or of each line.",
)
@click.option(
    "--sort",
    type=Text(),
    metavar="COLUMN",
    help="Order lines by a column, as cpu_s; userid:desc turns it round.",
)
@click.option(
    "--where",
    type=Text(),
    metavar="CONDITION",
    help='Only lines for which it holds, as "cpu_util > 50 and io_rate > 10".',
)
@click.option(
    "--with",
    "statistics",
    metavar="NAMES",
    default="",
    callback=lambda _context, _option, names: [n.strip() for n in names.split(",") if n.strip()],
    help="Beside each figure of --by lines and objects: max, with its time, and p95 of intervals.",
)
@click.option("--shift", metavar="NAME", help="Only the hours of this shift of the settings.")
@zone_option
@click.option(
    "--html",
    is_flag=True,
    help="Write pages with charts and all reports into the folder -o, one for each run.",
)
@click.option(
    "--single-file",
    is_flag=True,
    help="With --html: put all that a page needs into it; to be mailed.",
)
@click.option(
    "--plot", type=TARGET_FILE, help="Write a chart of the report instead: FILE.svg or FILE.png."
)
@click.option("--columns", metavar="NAMES", help="Show only these, as total_util,emul_util.")
@click.option("--wide", is_flag=True, help="All columns, also those a terminal has no room for.")
@click.option("--notes", is_flag=True, help="All notes, also those on layouts and columns.")
@click.option(
    "--watch",
    is_flag=True,
    help="Go on: print each new line of a report by time when its interval is in the store.",
)
@choice_option(
    "--pager",
    values=("auto", "always", "never"),
    help="Show what is longer than the terminal page by page.",
)
@listing_option("Name the reports.", _reports)
@_draft_option(
    "--new",
    metavar="NAME",
    help="Write the start of a report of your own, reports/NAME.toml beside the settings.",
)
@_draft_option(
    "--like",
    metavar="REPORT",
    help="The report that it begins as a copy of.",
    shell_complete=completion.reports,
)
@output_options
def command(
    names: tuple[str, ...],
    store: Path,
    selection: dict[str, Any],
    doubts: tuple[str, ...],
    html: bool,
    plot: Path | None,
    columns: str | None,
    wide: bool,
    notes: bool,
    watch: bool,
    pager: str,
    out: Output,
    **narrowed: Any,
) -> None:
    """Print the reports NAME.

    Reports by time have a line an interval (or a --by span) and a mean line from sums over the
    span. The others have a line for each object over the whole span, the greatest first; with
    --user, --device, --partition or --cpu they follow one of them over time: a partition has
    lines for each type of its processors, and no mean line over several types.
    With --by they have a line for each object in each span.

    With --html no NAME is given: a page for each run (or day of a system without runs) has them
    all, and index.html lists the pages. They need no network. Run cpmon reduce before, it is
    faster then. With --top N the N greatest users, devices, processors, partitions and classes
    have pages of their own too, with --user, --device, --cpu, --partition or --class that one;
    tables link them.

    --system 'PROD*' prints the lines of all these systems with their system, times in the default
    zone of the settings; --top then counts those of all of them, and with --by and several
    objects those of each. Names of columns instead of reports, as total_util page_rate, make one
    table of them by time, of the system or of one object.

    Several reports stand one below the other, or each on a sheet of an XLSX file.

    Upper or lower case, dashes or underscores: all the same. Names of Performance Toolkit and
    VMPRF do as well: FCX112, USTAT; docs/report-names.md has them all. Formats other
    than table carry the unrounded values, times in UTC.

    \b
    Examples:
      cpmon report SYSTEM_SUMMARY2_BY_TIME --store perf/ --run 2600NP
      cpmon report processors-by-time --store perf/ --system VMPROD --cpu 0 --format csv
      cpmon report user_resource_util --store perf/ --top 10 --shift prime
      cpmon report user_resource_util --store perf/ --user LINUX001 --by 15m
      cpmon report user_resource_util --store perf/ --user 'LNX*' --by 1h --top 5
      cpmon report system_summary_by_time --store perf/ --sort total_util --top 5
      cpmon report system_summary_by_time --store perf/ --by 1d --with max,p95
      cpmon report total_util steal_rate users_active --store perf/ --by 1h
      cpmon report chargeback --store perf/ --system 'PROD*' --by 1mo --format csv
      cpmon report FCX112 --store perf/ --top 10
      cpmon report dasd_by_activity --store perf/ --device 0A00-0AFF --where "ssch_rate > 10"
      cpmon report user_paging dasd_by_activity --store perf/ --run 2600NP -o reports.xlsx
      cpmon report --html --store perf/ --run 2600NP -o pages/
      cpmon report --html --store perf/ --run 2600NP --top 10 -o pages/
      cpmon report paging_by_time --store perf/ --run 2600NP --plot paging.png
      cpmon report processors-by-time --store perf/ --cpu 0 --watch
      cpmon report --new LINUX_USERS --like USER_RESOURCE_UTIL
    """
    options = {"each": narrowed.pop("top_of") == "line", **narrowed}
    if html:
        pages = {key: options.pop(key) for key in ("zone", "objects", "top", "single_file")}
        if names or plot or columns or watch or any(options.values()):
            raise click.UsageError(
                "--html takes --run, --system, --since, --until and --tz: a page has all reports"
            )
        say_notes(doubts)
        _write_pages(store, out, selection | pages | {"top": pages["top"] or 0})
        return
    if options.pop("single_file"):
        raise click.UsageError("--single-file is for pages: add --html")
    meta = click.get_current_context().meta
    if meta.get(NEW) or meta.get(LIKE):
        raise click.UsageError("--new NAME needs --like REPORT, and --like a --new")
    _check_asked(names, plot)
    chosen = [part.strip() for part in columns.split(",")] if columns else []
    options |= {**selection, "settings": settings()} | ({} if plot else {"columns": chosen})
    if watch:
        say_notes(doubts)
        _watch(store, names, options | {"plot": plot}, out, _screen(out, wide, notes))
        return
    from ...reduce.reports.combined import combined_reports

    with opened(store) as connection:
        reports = combined_reports(connection, names, **options)
    if plot is not None:
        say_notes(doubts)
        _write_plot(plot, reports[0], chosen, names)
        return
    from ...reduce.reports.report_text import render_reports

    if out.format in NOTED:
        reports = [replace(each, notes=(*doubts, *each.notes)) for each in reports]
    else:
        say_notes(doubts)
    out.write_paged(render_reports(reports, out.format, _screen(out, wide, notes)), pager)


def _check_asked(names: Sequence[str], plot: Path | None) -> None:
    """Reject names that are unknown or too many, before the store is opened."""
    from ...reduce.reports.combined import are_metrics, check_names
    from ...reduce.reports.report_names import report_names

    if plot is not None and len(names) > 1 and not are_metrics(names):
        raise click.UsageError("--plot draws one report: name it alone")
    if plot is not None:
        check_target(plot)
    if not names:
        raise click.UsageError(f"which report? One of {', '.join(report_names())}")
    check_names(names)


def _write_plot(
    file: Path, result: ReportResult, chosen: Sequence[str], names: Sequence[str]
) -> None:
    """Write the chart of a report, or of metrics, by the columns that are named."""
    from ...reduce.page.plot import plot_report
    from ...reduce.reports.combined import are_metrics

    drawn = [name.lower().replace("-", "_") for name in names if are_metrics(names)]
    write_file(file, plot_report(result, file.suffix.lower().lstrip("."), chosen or drawn))


WATCHED = ("table", "text", "csv", "jsonl")
"""Formats in which further lines can follow."""


def _watch(
    store: Path, names: Sequence[str], options: dict[str, Any], out: Output, screen: Screen | None
) -> None:
    """Print the lines of a report, and further ones as they come, until it is interrupted."""
    from ...core.errors import NothingToReportError
    from ...reduce.metrics.metric import TIME
    from ...reduce.metrics.report_set import Lines
    from ...reduce.reports.combined import are_metrics, combined_reports
    from ...reduce.reports.report_names import find_report
    from ...reduce.reports.report_text import lines_after

    is_metrics = are_metrics(names)
    is_one = is_metrics or len(names) == 1
    if options.pop("plot") or not is_one or out.file or out.format not in WATCHED:
        formats = ", ".join(WATCHED)
        raise click.UsageError(f"--watch prints one report on standard output, as {formats}")
    no_times = click.UsageError("--watch needs lines by time: follow an object, or add --by")
    if not (is_metrics or options["by"] or options["objects"]):
        definition = find_report(names[0])
        if definition.lines is not Lines.TIME and definition.keys:
            raise no_times
    last, told = None, set[str]()
    for _ in store_at(store).changes():
        with opened(store) as connection:
            try:
                (result,) = combined_reports(connection, names, **options)
            except CpmonError as error:
                if isinstance(error, NothingToReportError) or error.code == "store-empty":
                    continue
                raise
        if TIME not in result.table.column_names:
            raise no_times
        if text := lines_after(result, last, out.format, screen):
            out.write(text)
            sys.stdout.flush()
            kinds = {re.sub(r"[0-9,]+", "", note): note for note in result.marks}
            for kind in kinds.keys() - told:
                say(f"* {kinds[kind]}", err=True)
            told = {*kinds}
            last = max(result.table.column(TIME).to_pylist())
            options["since"] = max(filter(None, (options["since"], last - BEFORE)))


BEFORE = timedelta(hours=1)
"""What is read again for each new line: more than its interval and the one before."""


def _screen(out: Output, wide: bool, notes: bool) -> Screen | None:
    """How a table is read."""
    if out.format not in NOTED:
        return None
    from ...reduce.reports.report_text import Screen
    from ...reduce.rules.exceptions import thresholds

    limits: Sequence[ColourLimit] = ()
    with suppress(CpmonError):  # a wrong rule keeps no report from being printed
        limits = thresholds(settings())
    return Screen(
        shutil.get_terminal_size().columns if out.is_screen and not wide else None,
        limits,
        has_colours=out.is_screen and not os.environ.get("NO_COLOR"),
        is_brief=not notes and out.file is None,
    )


def _write_pages(store: Path, out: Output, selection: dict[str, Any]) -> None:
    """Write the pages, and print their paths."""
    from ...reduce.page.page import write_pages

    objects = selection["objects"].values()
    if any(isinstance(each, tuple) or set(str(each)) & set("*?") for each in objects):
        raise click.UsageError("--html follows one object: name no pattern and no range")
    if out.file is None:
        raise click.UsageError("--html writes several files: name their folder with -o DIR")
    with opened(store) as connection:
        written = write_pages(connection, out.file, write_file, **selection, settings=settings())
    for file in written:
        say(f"{file}: {megabytes(file.stat().st_size)}", err=True)
