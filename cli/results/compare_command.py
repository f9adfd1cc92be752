"""`cpmon compare`: a comparison table of runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.text import megabytes
from .. import completion
from ..options import format_option, listing_option, output_option, run_option, store_option
from ..output import FileOrName, Output, say, write_file
from ..site_settings import opened, settings, store_at
from ..spans import day_of_store, read_span, span_options

if TYPE_CHECKING:
    from ...reduce.compare.rendering import Link


def _tables() -> Iterator[str]:
    """The shipped tables, one line each."""
    from ...reduce.compare import load_spec, spec_names

    return (f"{name}  {load_spec(name).title}" for name in spec_names())


@click.command("compare")
@click.argument("table", required=False, type=FileOrName(), shell_complete=completion.comparisons)
@store_option
@run_option("--base", help="Without TABLE: the run that others are compared with.")
@run_option("--run", "runs", multiple=True, help="Without TABLE: a run; again.")
@span_options("the zone of each run's system")
@listing_option("Name the shipped tables.", _tables)
@format_option("html")
@click.option(
    "--html", is_flag=True, help="Write a page with a chart of the runs into the folder of -o."
)
@output_option
def command(
    table: str | None,
    store: Path,
    base: str | None,
    runs: tuple[str, ...],
    since: str | None,
    until: str | None,
    html: bool,
    out: Output,
) -> None:
    """Print the comparison TABLE: values a run, then ratios to the base run.

    TABLE is a shipped one or a TOML file of your own (docs/comparisons.md). csv holds one printed
    cell a line: table, run_id, row_label, value_as_printed, source_tag.

    Without TABLE, --run and --base compare runs on the standard metrics, and say for each by a
    test of the intervals of both steady states, paired by time, whether it changed, is large but
    not proven, or within how many percent it did not change. The base run is by default the one
    that the runs name themselves. --since and --until compare a part of each steady state; a time
    of day alone is one of the day of each run. csv holds one metric a line, unrounded.

    \b
    Examples:
      cpmon compare timer_t1 --store perf/
      cpmon compare my-table.toml --store perf/ --format html -o my-table.html
      cpmon compare --base 2600NP --run 3600NP1 --store perf/
      cpmon compare --base 2600NP --run 3600NP1 --since 10:10 --until 10:30 --store perf/
      cpmon compare timer_t1 --store perf/ --html -o pages/
    """
    if table is None and base and not runs:
        raise click.UsageError(f"--base {base} needs --run: the runs that are compared with it")
    if table is None and not runs:
        from ...reduce.compare import spec_names

        raise click.UsageError(
            f"which table? One of {', '.join(spec_names())}, or a TOML file; "
            "or runs with --base and --run"
        )
    if table is not None and (runs or base or since or until):
        raise click.UsageError(
            "a table names its runs: leave out TABLE, or --base, --run, --since and --until"
        )
    if html and out.file is None:
        raise click.UsageError("--html writes a page: name its folder with -o DIR")
    from ...reduce.compare import (
        compare,
        compare_runs,
        load_spec,
        measure_parts,
        render_comparison,
    )
    from ...reduce.page.drawing import runs_figure

    spec = load_spec(table) if table is not None else None
    form = "html" if html else out.format
    with opened(store) as connection:
        if since or until:
            measure_parts(connection, runs, base, lambda run: _part(store, run, since, until))
        comparison = compare(connection, spec) if spec else compare_runs(connection, runs, base)
        figure = runs_figure(connection, comparison.run_ids) if form == "html" else ""
    if not html or out.file is None:
        out.write(render_comparison(comparison, form, figure))
        return
    from ...reduce.page.content import plain_name
    from ...reduce.page.index import with_comparison
    from ...render.html import with_link

    name = Path(table).stem if table else "-".join(runs) + (f"-with-{base}" if base else "")
    page = out.file / f"{plain_name(name)}.html"
    index = out.file / "index.html"
    link = _link(index)
    data = render_comparison(comparison, form, figure, link)
    if index.is_file():
        data = with_link(data, "all pages", index.name)
        write_file(index, with_comparison(index.read_bytes(), name, page.name))
    write_file(page, data)
    say(f"{page}: {megabytes(page.stat().st_size)}", err=True)


def _link(index: Path) -> Link:
    """The addresses of metrics on the pages of an index, which need not exist."""
    from ...reduce.compare.rendering import no_links
    from ...reduce.page.index import load_index, metric_address

    known = load_index(index.read_bytes()) if index.is_file() else None
    return partial(metric_address, known) if known else no_links


def _part(
    store: Path, run: str, since: str | None, until: str | None
) -> tuple[datetime | None, datetime | None]:
    """The bounds of a part of a run, which are typed in the zone of its system."""
    from ...config.moments import find_zone
    from ...store.measured.runs import system_of_run

    reader = store_at(store)
    zone = find_zone(settings().zone(system_of_run(reader, run)))
    span = read_span(since, until, zone, lambda: day_of_store(reader, zone, run=run))
    return span.since, span.until
