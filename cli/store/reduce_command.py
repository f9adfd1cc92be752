"""`cpmon reduce`: compute reductions once, so that reports only read them."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import store_option
from ..output import say
from ..site_settings import settings


@click.command("reduce")
@store_option
@click.argument("names", nargs=-1, metavar="[REDUCTION]...")
def command(store: Path, names: tuple[str, ...]) -> None:
    """Compute the reductions of a store (or only those named) and keep the results.

    Only days that new dumps have a say in are computed. Beside the intervals stand roll-ups of
    15 minutes, hours and days, over all time and by shift. A report computes what is not kept; a
    result that new dumps made outdated is never shown.

    \b
    Example:
      cpmon reduce --store perf/
    """
    from ...reduce.reports.reducing import reduce
    from ...store import Store

    for done in reduce(Store(store), names, settings()):
        say(str(done))
