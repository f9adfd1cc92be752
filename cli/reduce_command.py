"""`cpmon reduce`: compute reductions once, so that reports only read them."""

from __future__ import annotations

import time
from pathlib import Path

import click

from .options import store_option


@click.command("reduce")
@store_option
@click.argument("names", nargs=-1, metavar="[REDUCTION]...")
def command(store: Path, names: tuple[str, ...]) -> None:
    """Compute the reductions of a store (or only those named) and keep the results.

    A report computes what is not kept; a result that new dumps made outdated is never shown.

    \b
    Example:
      cpmon reduce --store perf/
    """
    from ..reduce import reduction, reductions
    from ..store import Store, connect
    from ..store.reduced import keep

    place, views = Store(store), reductions()
    wanted = [reduction(name) for name in names] or [v for v in views if not v.is_private]
    with connect(place, views) as connection:
        for view in wanted:
            started = time.perf_counter()
            rows = keep(place, connection, views, view.name)
            click.echo(f"{view.name}: {rows:,} rows in {time.perf_counter() - started:.1f} s")
