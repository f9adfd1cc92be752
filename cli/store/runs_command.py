"""`cpmon runs`: the named measurements of a store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import click

from ..options import Name, Text, output_options, pairs, run_option, store_option
from ..output import Output
from ..site_settings import opened, store_at
from ..spans import UTC_ZONE, day_of_store, read_span, span_options

LISTING = """
SELECT run_id, system, since, until, base_run_id, cp_level, users, processors,
  attributes['workload'] AS workload FROM meta.run ORDER BY run_id"""

INTERVALS = """
SELECT min(interval_end), max(interval_end),
  count(CASE WHEN interval_end > ? AND interval_end <= ? THEN 1 END)
FROM meta.interval WHERE system = ?"""


@click.command("runs")
@store_option
@click.option("--define", type=Name(), metavar="RUN", help="Define or replace this run.")
@run_option(
    "--delete", type=Text(), multiple=True, help="Remove this run, and no data; may be repeated."
)
@click.option("--system", metavar="NAME", help="With --define: the system measured.")
@click.option("--base", metavar="RUN", default="", help="With --define: the run to compare with.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --define: an attribute (cp_level, users, workload ...); may be repeated.",
)
@span_options("UTC")  # times in run files are UTC
@output_options
def command(
    store: Path,
    define: str | None,
    delete: tuple[str, ...],
    system: str | None,
    base: str,
    attributes: tuple[str, ...],
    since: str | None,
    until: str | None,
    out: Output,
) -> None:
    """List the runs of a store; with --define, name a part of what was landed.

    A time of day alone is one of the day of --since, or of the only day of the data. A run over a
    span without intervals is refused. CP level, users and processors that no --attribute states are
    those of its records when it is defined. --delete removes the name and the companion figures of
    a run; the dumps stay. A run file beside a dump makes its run again when that dump is ingested
    again.

    \b
    Examples:
      cpmon runs --store perf/
      cpmon runs --store perf/ --define before --system VMPROD \\
        --since 2001-12-18T10:00 --until 11:00 --attribute cp_level=4.2.0
      cpmon runs --store perf/ --delete before
    """
    from ...store import Run, save_run
    from ...store.measured.runs import delete_runs

    place = store_at(store)
    run = None
    if define:
        if not (system and since and until):
            raise click.UsageError("--define needs --system, --since and --until")
        begin, end, recorded = _measured(store, system, since, until)
        run = Run(define, system, begin, end, base, recorded | pairs("--attribute", attributes))
    delete_runs(place, delete)
    if run:
        save_run(place, run)
    with opened(store) as connection:
        table = connection.sql(LISTING).to_arrow_table()
    out.write_table(table)


def _measured(
    store: Path, system: str, since: str, until: str
) -> tuple[datetime, datetime, dict[str, str]]:
    """The span of a run, and the attributes found in its records."""
    from ...config.moments import span_text
    from ...core.errors import CpmonError, unknown
    from ...core.grace_period import GRACE
    from ...reduce.compare.run_facts import recorded_attributes

    place = store_at(store)
    systems = {dump.system for dump in place.dumps()}
    if system not in systems:
        raise unknown("system", system, systems, place=str(store))
    span = read_span(since, until, day=lambda: day_of_store(place, UTC_ZONE, system))
    begin, end = cast("tuple[datetime, datetime]", (span.since, span.until))
    bounds = [time.replace(tzinfo=None) + GRACE for time in (begin, end)]
    with opened(store) as connection:
        ((first, last, count),) = connection.execute(INTERVALS, [*bounds, system]).fetchall()
        recorded = recorded_attributes(connection, system, *bounds) if count else {}
    if not count:
        first, last = (bound and bound.replace(tzinfo=UTC) for bound in (first, last))
        raise CpmonError(
            "a run has no interval in its span",
            code="run-without-intervals",
            place=f"system {system}",
            expected=f"a part of {span_text(first, last, UTC_ZONE)}" if first else None,
            found=str(span),
            effect="no run was defined",
            remedy="name a span of what was landed, with its day",
        )
    return begin, end, recorded
