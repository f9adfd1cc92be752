"""`cpmon shell`: a prompt for SQL over a store."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from ..options import limit_options, output_options, store_option
from ..output import Output
from ..site_settings import opened, store_at


@click.command("shell")
@store_option
@limit_options
@output_options
def command(store: Path, out: Output) -> None:
    """Ask a store by SQL at a prompt, read-only, with completion and history.

    A statement ends with a semicolon and may have several lines. Lines that begin with a dot are
    commands: .tables, .schema TABLE, .explain FIELD, .queries, .run NAME, .help lists them all.
    Ctrl-C stops a query and stays, Ctrl-D leaves.

    From a pipe or file it does what the lines say, and ends at the first error.

    \b
    Examples:
      cpmon shell --store perf/
      echo "select count(*) from monitor.sytrsp;" | cpmon shell --store perf/ --format csv
    """
    from .prompt import run_prompt, run_script
    from .session import Session

    with closing(Session(lambda: opened(store), store_at(store), out)) as session:
        if sys.stdin.isatty():
            click.echo("Statements end with a semicolon; .help tells more.", err=True)
            run_prompt(session)
        else:
            run_script(session, sys.stdin)
