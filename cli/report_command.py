"""`cpmon report`: a report by time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click

from .options import listing_option, output_options, span_options, store_option
from .output import deliver


def _reports() -> Iterator[str]:
    """The reports, a line each."""
    from ..reduce import find_report, report_names

    return (f"{name}  {find_report(name).title}" for name in report_names())


@click.command("report")
@click.argument("name", required=False)
@store_option
@click.option("--run", metavar="RUN", help="Only the time of this run.")
@click.option("--system", metavar="NAME", help="The system; needed where the store has several.")
@click.option("--cpu", type=int, help="Only this processor (PROCESSORS_BY_TIME).")
@listing_option("Name the reports.", _reports)
@span_options
@output_options
def command(
    name: str | None,
    store: Path,
    run: str | None,
    system: str | None,
    cpu: int | None,
    since: datetime | None,
    until: datetime | None,
    form: str,
    output: Path | None,
) -> None:
    """Print the report NAME: one line an interval, and a mean line from sums over the span.

    Upper or lower case, dashes or underscores: all the same. Formats other than table carry the
    unrounded values.

    \b
    Examples:
      cpmon report SYSTEM_SUMMARY2_BY_TIME --store perf/ --run 2600NP
      cpmon report processors-by-time --store perf/ --system VMPROD --cpu 0 --format csv
    """
    from ..reduce import find_report, render_report, report, report_names
    from ..reduce.reductions import reductions
    from ..store import Store, connect

    if name is None:
        raise click.UsageError(f"which report? One of {', '.join(report_names())}")
    find_report(name)
    with connect(Store(store), reductions()) as connection:
        found = report(connection, name, run=run, system=system, since=since, until=until, cpu=cpu)
    deliver(render_report(found, form), output, form)
