"""`cpmon forecast`: the future of a metric from its kept hours."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from .. import completion
from ..options import (
    LENGTH,
    Text,
    choice_option,
    object_options,
    output_options,
    store_option,
    system_option,
)
from ..output import NOTED, TARGET_FILE, Output, check_target, say_notes, write_file
from ..site_settings import opened, settings
from ..spans import TYPED_MOMENT, printed_zone, read_span, zone_of_system, zone_option


@click.command("forecast")
@click.argument("metric", type=Text())
@store_option
@click.option(
    "--report",
    type=Text(),
    help="The report that prints METRIC, if several do.",
    shell_complete=completion.reports,
)
@system_option
@object_options
@click.option("--since", type=TYPED_MOMENT, help="Use only hours later than this time.")
@click.option("--until", type=TYPED_MOMENT, help="Forecast up to the day of this time.")
@click.option(
    "--horizon",
    type=LENGTH,
    default="90d",
    show_default=True,
    help="Forecast so far from the last hour on, without --until.",
)
@choice_option(
    "--by",
    values=("auto", "1d", "1w"),
    help="A line a day or a week; auto: weeks if there are more than 31 days.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="VALUE",
    help="Limit of the busiest hour, in the printed unit; else that of an exception.",
)
@zone_option
@click.option("--plot", type=TARGET_FILE, help="Write a chart instead: FILE.svg or FILE.png.")
@output_options
def command(
    metric: str,
    store: Path,
    report: str | None,
    system: str | None,
    objects: dict[str, Any],
    since: str | None,
    until: str | None,
    horizon: timedelta,
    by: str,
    threshold: float | None,
    zone: str | None,
    plot: Path | None,
    out: Output,
) -> None:
    """Forecast METRIC, a column of a report, from months of kept hours.

    A line for each day or week: the mean and the busiest hour as expected, with a band that holds
    nine of ten, the probability that the busiest hour meets a threshold within it, and up to its
    end. Below: the trend, the weekly season, the days by which the threshold is met with
    probability 10, 50 and 90 %, and which hours were left out.

    It reads the roll-ups by hour that cpmon reduce keeps, at least six weeks of them, and assumes
    that trend and season go on as they were (docs/forecast.md). Formats other than table carry
    unrounded values, times in UTC.

    \b
    Examples:
      cpmon forecast total_util --store perf/ --system VMPROD
      cpmon forecast page_used_share --store perf/ --threshold 80 --horizon 365d
      cpmon forecast cpu_util --user LINUX001 --store perf/ --plot linux001.svg
    """
    from ...config.moments import SYSTEM_ZONE
    from ...reduce.forecast import forecast, plot_forecast
    from ...reduce.reports.report_text import render_report

    if plot is not None:
        check_target(plot)
    selected = {"system": system, "run": None}
    if zone == SYSTEM_ZONE:
        zone = zone_of_system(store, selected)
    span = read_span(since, until, printed_zone(zone, store, selected))
    with opened(store) as connection:
        found = forecast(
            connection,
            metric,
            report=report,
            system=system,
            since=span.since,
            until=span.until,
            horizon=horizon,
            by=None if by == "auto" else timedelta(days=7 if by == "1w" else 1),
            threshold=threshold,
            objects=objects,
            zone=zone,
            settings=settings(),
        )
    say_notes(span.notes)
    if plot is not None:
        write_file(plot, plot_forecast(found, plot.suffix.lower().lstrip(".")))
        return
    if out.format not in NOTED:
        say_notes(found.result.notes)
    out.write(render_report(found.result, out.format))
