"""`cpmon runs`: the named measurements of a store."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

import click

from ..options import MOMENT, Name, output_options, pairs, span_options, store_option
from ..output import Output
from ..site_settings import opened, store_at

LISTING = """
SELECT run_id, system, since, until, base_run_id, cp_level, users, processors,
  attributes['workload'] AS workload FROM meta.run ORDER BY run_id"""


@click.command("runs")
@store_option
@click.option("--define", type=Name(), metavar="RUN", help="Define or replace this run.")
@click.option("--system", metavar="NAME", help="With --define: the system measured.")
@click.option("--base", metavar="RUN", default="", help="With --define: the run to compare with.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --define: an attribute (cp_level, users, workload ...); may be repeated.",
)
@partial(span_options, kind=MOMENT, zone="UTC")  # as it is written down
@output_options
def command(
    store: Path,
    define: str | None,
    system: str | None,
    base: str,
    attributes: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    out: Output,
) -> None:
    """List the runs of a store; with --define, name a part of what was landed.

    \b
    Examples:
      cpmon runs --store perf/
      cpmon runs --store perf/ --define before --system VMPROD \\
        --since 2001-12-18T10:00 --until 2001-12-18T11:00 --attribute cp_level=4.2.0
    """
    from ...schemas.lookup import unknown
    from ...store import Run, save_run

    place = store_at(store)
    if define:
        if not (system and since and until):
            raise click.UsageError("--define needs --system, --since and --until")
        systems = {dump.system for dump in place.dumps()}
        if system not in systems:
            raise unknown("system", system, systems, place=str(store))
        values = pairs("--attribute", attributes)
        save_run(place, Run(define, system, since, until, base, values))
    with opened(store) as connection:
        table = connection.sql(LISTING).to_arrow_table()
    out.write_table(table)
