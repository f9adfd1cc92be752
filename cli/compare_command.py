"""`cpmon compare`: a comparison table of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from .options import listing_option, output_options, store_option
from .output import deliver


def _tables() -> Iterator[str]:
    """The shipped tables, a line each."""
    from ..reduce import load_spec, spec_names

    return (f"{name}  {load_spec(name).title}" for name in spec_names())


@click.command("compare")
@click.argument("table", required=False)
@store_option
@listing_option("Name the shipped tables.", _tables)
@output_options
def command(table: str | None, store: Path, form: str, output: Path | None) -> None:
    """Print the comparison TABLE: values a run, then ratios to the base run.

    TABLE is a shipped one or a TOML file of your own (docs/reports.md). csv holds one printed cell
    a line: table, run_id, row_label, value_as_printed, source_tag.

    \b
    Examples:
      cpmon compare timer_t1 --store perf/
      cpmon compare my-table.toml --store perf/ --format markdown -o my-table.md
    """
    from ..reduce import compare, load_spec, reductions, render_comparison, spec_names
    from ..store import Store, connect

    if table is None:
        raise click.UsageError(f"which table? One of {', '.join(spec_names())}, or a TOML file")
    spec = load_spec(table)
    with connect(Store(store), reductions()) as connection:
        found = compare(connection, spec)
    deliver(render_comparison(found, form), output, form)
