"""`cpmon whatif`: the hours of a week with more, fewer or busier guests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import completion
from ..options import Text, output_options, pairs, store_option, system_option
from ..output import NOTED, Output, say_notes
from ..site_settings import opened, settings
from ..spans import TYPED_MOMENT, printed_zone, read_span, zone_of_system, zone_option

if TYPE_CHECKING:
    from ...reduce.forecast import Change

_COUNT = click.IntRange(min=1)


@click.command("whatif")
@store_option
@system_option
@click.option("--add", type=_COUNT, metavar="N", help="So many guests more, like --like.")
@click.option("--remove", type=_COUNT, metavar="N", help="So many guests fewer, like --like.")
@click.option(
    "--like",
    type=Text(),
    metavar="USERID",
    help="The guest whose use is added or taken away.",
    shell_complete=completion.users,
)
@click.option(
    "--scale",
    type=(Text(), click.FloatRange(min=0)),
    metavar="CLASS FACTOR",
    help="Users of this class use so many times as much.",
)
@click.option(
    "--threshold",
    "limits",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Limit of a metric, in its printed unit; else that of an exception. Repeatable.",
)
@click.option("--since", type=TYPED_MOMENT, help="Use only hours later than this time.")
@zone_option
@output_options
def command(
    store: Path,
    system: str | None,
    add: int | None,
    remove: int | None,
    like: str | None,
    scale: tuple[str, float] | None,
    limits: tuple[str, ...],
    since: str | None,
    zone: str | None,
    out: Output,
) -> None:
    """What more, fewer or busier guests would add to a week.

    To each hour that is kept of the system it adds what the guest or class used in that hour, and
    prints for processors, paging, page space, storage and I/Os: the mean and the busiest hour of
    the week, before and then, with the 5 and 95 % quantiles of that hour over the weeks, the share
    of hours beyond a limit, and the day by which the trend alone meets it. Below: what that
    cannot tell, and which hours were left out.

    It reads the roll-ups by hour that cpmon reduce keeps, of three weeks or more
    (docs/whatif.md). Formats other than table carry unrounded values.

    \b
    Examples:
      cpmon whatif --add 50 --like LNX1 --store perf/ --system VMPROD
      cpmon whatif --remove 3 --like LNX1 --store perf/ --threshold dasd_page_rate=2000
      cpmon whatif --scale LINUX 1.2 --store perf/
    """
    from ...config.moments import SYSTEM_ZONE
    from ...reduce.forecast import what_if
    from ...reduce.reports.report_text import render_report

    change = _change(add, remove, like, scale)
    thresholds = {}
    for name, text in pairs("--threshold", limits, "--threshold dasd_page_rate=2000").items():
        try:
            thresholds[name] = float(text)
        except ValueError:
            raise click.UsageError(f"--threshold {name}={text} is no number") from None
    selected = {"system": system, "run": None}
    if zone == SYSTEM_ZONE:
        zone = zone_of_system(store, selected)
    span = read_span(since, None, printed_zone(zone, store, selected))
    with opened(store) as connection:
        result = what_if(
            connection,
            change,
            system=system,
            since=span.since,
            zone=zone,
            thresholds=thresholds,
            settings=settings(),
        )
    say_notes(span.notes)
    if out.format not in NOTED:
        say_notes(result.notes)
    out.write(render_report(result, out.format))


def _change(
    add: int | None, remove: int | None, like: str | None, scale: tuple[str, float] | None
) -> Change:
    """The one change of the command line."""
    from ...reduce.forecast import Change

    if [add, remove, scale].count(None) != 2:
        raise click.UsageError("name one change: --add N, --remove N or --scale CLASS FACTOR")
    if scale is not None:
        if like is not None:
            raise click.UsageError("--like goes with --add or --remove; --scale names a class")
        return Change.scaled(scale[0].upper(), scale[1])
    if like is None:
        raise click.UsageError("name the guest that they are like: --like USERID")
    return Change.guests(add or -(remove or 0), like.upper())
