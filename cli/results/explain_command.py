"""`cpmon explain`: what was different at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ..options import choice_option, format_option, output_option, run_option, store_option
from ..output import Output, say_notes
from ..site_settings import opened, settings, store_at
from ..spans import TYPED_MOMENT, day_of_store, printed_zone, selection_options, zone_option


@click.command("explain")
@store_option
@click.option(
    "--at",
    "moment",
    type=TYPED_MOMENT,
    help="The interval at this time; a time of day alone is one of the day of the store.",
)
@selection_options
@run_option("--base", help="Compare with the steady state of this run.")
@choice_option(
    "--against",
    values=("auto", "before", "days"),
    help="Compare with the time before, or the same hours of other days; auto: if there are five.",
)
@click.option(
    "--top",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Only so many lines, the heaviest.",
)
@zone_option
@format_option("html")
@output_option
def command(
    store: Path,
    moment: str | None,
    selection: dict[str, Any],
    doubts: tuple[str, ...],
    base: str | None,
    against: str,
    top: int,
    zone: str | None,
    out: Output,
) -> None:
    """Explain what was different in an interval or a span of time.

    Compares the system and its users, classes, devices, partitions and locks with the time before
    it, the same hours of other days, the week before, or a named run; prints what is new or gone,
    which metrics left their range, who contributed, and which events and exceptions stood near, by
    weight. What could not be looked at is named. A run without a time is compared with its base
    run, a span of more than 23 hours with the week before.

    \b
    Examples:
      cpmon explain --at 2006-10-16T13:30 --store perf/
      cpmon explain --since 09:00 --until 10:00 --against days --store perf/
      cpmon explain --run APT9280 --base APS9220 --store perf/ --format json
      cpmon explain --at 13:30 --store perf/ --format html -o explained.html
    """
    from ...config.moments import parse_moment
    from ...reduce.explain import explain, render_explanation

    if moment and (selection["since"] or selection["until"]):
        raise click.UsageError("--at names one interval: leave out --since and --until")
    if base and against != "auto":
        raise click.UsageError("--base names what to compare with: leave out --against")
    printed = printed_zone(zone, store, selection)
    named = {key: selection[key] for key in ("system", "run")}
    if moment:
        day = day_of_store(store_at(store), printed, **named)
        selection = {**named, "moment": parse_moment(moment, printed, datetime.now(UTC), day)}
    with opened(store) as connection:
        explanation = explain(
            connection, **selection, base=base, against=against, zone=printed, settings=settings()
        )
    out.write(render_explanation(explanation, out.format, printed, top))
    say_notes(doubts)
