"""`cpmon query`: SQL over a store, or a shipped query by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import limit_options, listing_option, output_options, pairs, store_option
from .output import deliver
from .site_settings import opened

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

NAME = re.compile(r"[A-Za-z][\w-]*")


def _shipped() -> Iterator[str]:
    """The shipped queries with their parameters, a line each."""
    from ..queries.queries import queries

    for known in queries():
        yield f"{known.name}  {known.title}"
        yield from (f"    {p.name}={p.default}  {p.doc}" for p in known.params)


@click.command("query")
@click.argument("question", required=False, metavar="SQL|NAME")
@store_option
@click.option("--file", type=click.Path(path_type=Path), metavar="FILE", help="Read the SQL there.")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of a shipped query; may be repeated.",
)
@limit_options
@listing_option("Name the shipped queries.", _shipped)
@output_options
def command(
    question: str | None,
    store: Path,
    file: Path | None,
    params: tuple[str, ...],
    form: str,
    output: Path | None,
) -> None:
    """Ask a store by SQL (DuckDB's), read-only, or run a shipped query by NAME.

    Tables: monitor.RECORD as landed, interval.RECORD with counters as growth since the sample
    before, meta.*, and the reductions. `describe monitor.sytrsp` shows columns; their comments are
    in duckdb_columns() and meta.dictionary.

    \b
    Examples:
      cpmon query "select tod, pfxcpuad, plsmvb2g from interval.sytrsp order by all" --store perf/
      cpmon query busiest_users -p top=5 --store perf/
      cpmon query --file my.sql --store perf/ --format parquet -o my.parquet
    """
    sql, values = _question(question, file, params)
    deliver(_answer(store, sql, values, "table" if form == "text" else form), output, form)


def _question(
    question: str | None, file: Path | None, params: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """The SQL and the values of its parameters."""
    from ..queries.queries import query

    if (question is None) == (file is None):
        raise click.UsageError("give SQL, the name of a shipped query, or --file FILE")
    if question and NAME.fullmatch(question):
        named = query(question)
        return named.sql, named.bind(pairs("--param", params))
    if params:
        raise click.UsageError("--param belongs to a shipped query")
    if question == "-":
        return sys.stdin.read(), {}
    if file is None:
        return str(question), {}
    try:
        return file.read_text(encoding="utf-8"), {}
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from None


def _answer(store: Path, sql: str, values: dict[str, Any], form: str) -> bytes:
    import duckdb

    from ..reduce.render import render
    from ..schemas.errors import CpmonError
    from ..store.safe_sql import select_only

    with opened(store) as connection:
        select_only(connection, sql)
        _known_run(connection, values.get("run"))
        try:
            return render(_run(connection, sql, values), form)
        except duckdb.Error as error:
            raise CpmonError(f"the query failed: {error}") from None


def _known_run(connection: duckdb.DuckDBPyConnection, run: Any) -> None:
    """Refuse a parameter `run` that names none: it would be answered by an empty table."""
    from ..schemas.lookup import unknown

    known = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in known:
        raise unknown("run", run, known)


def _run(connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> pa.Table:
    """The answer as a table. It is asked on a thread, so that this one can hear Ctrl-C."""
    with ThreadPoolExecutor(max_workers=1) as asking:
        answer = asking.submit(lambda: connection.sql(sql, params=values or None).to_arrow_table())
        try:
            return answer.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise
