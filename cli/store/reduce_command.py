"""`cpmon reduce`: compute reductions once, so that reports only read them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.text import counted
from .. import completion
from ..main import Status, report_failure
from ..options import DAY, Text, engine_options, store_option
from ..output import bar, say
from ..site_settings import settings, store_at
from ..spans import read_span, span_options, whole_day

if TYPE_CHECKING:
    from ...jobs import Engine


@click.command("reduce")
@store_option
@click.option(
    "--system",
    "systems",
    type=Text(),
    multiple=True,
    metavar="PATTERN",
    help="Only systems of such names, as 'PROD*'; may be repeated.",
)
@click.option("--day", "days", type=DAY, multiple=True, help="Only this day, UTC; may be repeated.")
@span_options("UTC")
@engine_options("reduces some days of a system")
@click.argument("names", nargs=-1, metavar="[REDUCTION]...", shell_complete=completion.reduced)
def command(
    store: Path,
    names: tuple[str, ...],
    systems: tuple[str, ...],
    days: tuple[date, ...],
    since: str | None,
    until: str | None,
    engine: Engine | None,
) -> Status:
    """Compute the reductions of a store (or only those named) and keep the results.

    Only days that new dumps have a say in are computed. Beside the intervals stand roll-ups of
    hours, over all time and by shift. A report computes what is not kept; a result that new
    dumps made outdated is never shown. --since and --until are days of UTC.

    What is of runs and of all days is left out where --system, --day, --since or --until leave
    something out. Days that cannot be computed stop no others. Killed, or started twice at the
    same time, it leaves no wrong or half result.

    \b
    Examples:
      cpmon reduce --store perf/
      cpmon reduce --store perf/ --system 'PROD*' --since 2026-01-01 --jobs 4
      cpmon reduce --store /shared/perf --engine spark --master spark://host:7077
    """
    from ...reduce.engine.planning import DaySelection
    from ...reduce.engine.reducing import reduce_selected

    span = read_span(since, until)
    selection = DaySelection(systems, frozenset(days), whole_day(span.since), whole_day(span.until))
    with bar("reducing", units="results") as advance:
        reduced = reduce_selected(store_at(store), names, settings(), selection, engine, advance)
    for done in reduced.done:
        say(str(done))
    if engine or selection or reduced.failures:
        if reduced.left_out:
            say(f"left out, being of all systems and days: {', '.join(reduced.left_out)}")
        by = f" by {engine.place}" if engine else ""
        lost = f", {len(reduced.failures)} failed" if reduced.failures else ""
        units, systems_of = counted(reduced.units, "unit"), counted(reduced.systems, "system")
        say(f"{units} of {systems_of} reduced{by} in {reduced.seconds:.1f} s{lost}")
    failed = [report_failure(f.name, f.error) for f in reduced.failures]
    return max(failed, default=Status.DONE)
