"""`cpmon report`: a report, by time or by object."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import click

from ..options import (
    Device,
    Length,
    Text,
    listing_option,
    output_options,
    span_options,
    store_option,
)
from ..output import deliver, say, write_file
from ..site_settings import opened, settings


def _reports() -> Iterator[str]:
    """The reports, a line each."""
    from ...reduce import find_report, report_names

    return (f"{name}  {find_report(name).title}" for name in report_names())


@click.command("report")
@click.argument("name", required=False)
@store_option
@click.option("--run", type=Text(), metavar="RUN", help="Only the time of this run.")
@click.option("--system", type=Text(), metavar="NAME", help="The system, where there are several.")
@click.option("--cpu", type=int, help="Follow this processor.")
@click.option("--user", type=Text(), metavar="USERID", help="Follow this user.")
@click.option("--device", type=Device(), metavar="NUMBER", help="Follow this device, as 0A1F.")
@click.option("--by", type=Length(), metavar="SPAN", help="A line for each span, as 15m or 1h.")
@click.option("--top", type=click.IntRange(1), help="Only so many objects, the greatest.")
@click.option("--shift", metavar="NAME", help="Only the hours of this shift of the settings.")
@click.option("--tz", "zone", metavar="ZONE", help="Time zone of the printed times.")
@click.option(
    "--html",
    is_flag=True,
    help="Write pages with charts and all reports into the folder -o, one for each run.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a chart of the report instead: FILE.svg or FILE.png.",
)
@click.option("--columns", metavar="NAMES", help="What the chart shows, as total_util,emul_util.")
@listing_option("Name the reports.", _reports)
@span_options
@output_options
def command(
    name: str | None,
    store: Path,
    run: str | None,
    system: str | None,
    cpu: int | None,
    user: str | None,
    device: int | None,
    by: timedelta | None,
    top: int | None,
    shift: str | None,
    zone: str | None,
    html: bool,
    plot: Path | None,
    columns: str | None,
    since: datetime | None,
    until: datetime | None,
    form: str,
    output: Path | None,
) -> None:
    """Print the report NAME.

    Reports by time have a line an interval (or a --by span) and a mean line from sums over the
    span. The others have a line for each object over the whole span, the greatest first; with
    --user, --device or --cpu they follow one of them over time.

    With --html no NAME is given: a page for each run (or system without runs) has them all, and
    index.html lists the pages. They need no network. Run cpmon reduce before, it is faster then.

    Upper or lower case, dashes or underscores: all the same. Formats other than table carry the
    unrounded values, times in UTC.

    \b
    Examples:
      cpmon report SYSTEM_SUMMARY2_BY_TIME --store perf/ --run 2600NP
      cpmon report processors-by-time --store perf/ --system VMPROD --cpu 0 --format csv
      cpmon report user_resource_util --store perf/ --top 10 --shift prime
      cpmon report user_resource_util --store perf/ --user LINUX001 --by 15m
      cpmon report --html --store perf/ --run 2600NP -o pages/
      cpmon report paging_by_time --store perf/ --run 2600NP --plot paging.png
    """
    from ...reduce import find_report, render_report, report, report_names

    if html:
        narrowed = (name, cpu, user, device, by, top, shift, plot, columns)
        if any(given is not None for given in narrowed):
            raise click.UsageError(
                "--html takes --run, --system, --since, --until and --tz: a page has all reports"
            )
        _write_pages(store, output, run, system, since, until, zone)
        return
    if columns is not None and plot is None:
        raise click.UsageError("--columns chooses what --plot FILE draws")
    if name is None:
        raise click.UsageError(f"which report? One of {', '.join(report_names())}")
    find_report(name)
    objects = {"cpu": cpu, "user": user.upper() if user else None, "device": device}
    with opened(store) as connection:
        found = report(
            connection,
            name,
            run=run,
            system=system,
            since=since,
            until=until,
            objects={key: value for key, value in objects.items() if value is not None},
            by=by,
            top=top,
            shift=shift,
            zone=zone,
            settings=settings(),
        )
    if plot is None:
        deliver(render_report(found, form), output, form)
        return
    from ...reduce.page.plot import plot_report

    wanted = [part.strip() for part in columns.split(",")] if columns else []
    write_file(plot, plot_report(found, plot.suffix.lower().lstrip("."), wanted))


def _write_pages(
    store: Path,
    output: Path | None,
    run: str | None,
    system: str | None,
    since: datetime | None,
    until: datetime | None,
    zone: str | None,
) -> None:
    """Write the pages, and say where they are."""
    from ...reduce.page.page import write_pages

    if output is None or str(output) == "-":
        raise click.UsageError("--html writes several files: name their folder with -o DIR")
    with opened(store) as connection:
        written = write_pages(
            connection,
            output,
            write_file,
            run=run,
            system=system,
            since=since,
            until=until,
            zone=zone,
            settings=settings(),
        )
    for file in written:
        say(f"{file}: {file.stat().st_size / 1e6:.1f} MB", err=True)
