"""`cpmon query`: SQL over a store, or a shipped query by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import completion
from ..options import (
    ANY_PATH,
    FILE_PATH,
    choice_option,
    limit_options,
    listing_option,
    output_options,
    pairs,
    store_option,
)
from ..output import Output, read_input
from ..site_settings import opened, settings, store_at, warn_of_exposure

if TYPE_CHECKING:
    import pyarrow as pa

SPARK = "spark"


def _queries() -> Iterator[str]:
    """The queries with their parameters, one line each."""
    settings()  # loads the definitions of the site
    from ...queries import queries

    for query in queries():
        yield f"{query.name}  {query.title}"
        yield from (f"    {p.name}={p.default}  {p.doc}" for p in query.params)


@click.command("query")
@click.argument("question", required=False, metavar="SQL|NAME", shell_complete=completion.questions)
@store_option
@click.option(
    "--dump",
    type=FILE_PATH,
    is_eager=True,  # --store is not needed with it
    metavar="DUMP",
    help="Ask the records of this dump, without a store.",
)
@click.option("--file", type=ANY_PATH, metavar="FILE", help="Read the SQL there.")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the query; may be repeated.",
)
@choice_option(
    "--engine",
    values=("duckdb", SPARK),
    help="What runs the SQL: DuckDB on this machine, or a Spark.",
)
@click.option(
    "--master",
    metavar="URL",
    help="The Spark, such as spark://host:7077 or local[4]; else what its own settings say.",
)
@limit_options
@listing_option("Name the queries.", _queries)
@output_options
def command(
    question: str | None,
    store: Path,
    dump: Path | None,
    file: Path | None,
    params: tuple[str, ...],
    engine: str,
    master: str | None,
    out: Output,
) -> None:
    """Ask a store by SQL (DuckDB's), read-only, or run a query by NAME: shipped, or of the site.

    Tables: monitor.RECORD as landed, interval.RECORD with counters as deltas to the previous
    sample, meta.*, and the reductions. `describe monitor.sytrsp` shows columns; their comments are
    in duckdb_columns() and meta.dictionary.

    SQL in a file takes parameters too: comments at its head say their names and defaults, as
    `-- param: top = 10 -- how many users`, and the SQL names them as `$top`.

    \b
    Examples:
      cpmon query "select tod, pfxcpuad, plsmvb2g from interval.sytrsp order by all" --store perf/
      cpmon query busiest_users -p top=5 --store perf/
      cpmon query --file my.sql -p top=5 --store perf/ --format parquet -o my.parquet
      cpmon query --dump quiet-hour.mon "select count(*) from monitor.sytrsp"
      cpmon query --engine spark --master spark://host:7077 --file fleet.sql --store perf/
    """
    sql, values = _question(question, file, params)
    if master is not None and engine != SPARK:
        raise click.UsageError("--master names a Spark: add --engine spark")
    from ...render.render import render_parts
    from ...store.answers import ask

    if engine == SPARK and dump is not None:
        raise click.UsageError("--dump is read here: leave out --engine spark")
    if engine == SPARK:
        out.write(render_parts(_ask_spark(sql, values, store, master), out.format))
        return
    if dump is not None:
        from ...api.dump import Dump

        with Dump(dump, settings=settings()) as records:
            out.write(render_parts(ask(records.connection, sql, values), out.format))
        return
    with opened(store) as connection:
        out.write(render_parts(ask(connection, sql, values), out.format))


def _ask_spark(
    sql: str, values: dict[str, Any], store: Path, master: str | None
) -> Iterator[pa.Table]:
    """Run a query by Spark; yields the result in one part."""
    from ...spark.dialect import guarded
    from ...spark.fleet import Fleet, session

    warn_of_exposure(store)
    place = store_at(store)
    guarded(sql, lambda _, name: name, values)  # check first: Spark takes seconds to start
    with session(master) as spark:
        yield Fleet(spark, place).answer(sql, values)


def _question(
    question: str | None, file: Path | None, params: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """The SQL and the values of its parameters."""
    from ...queries import bound, params_of, query

    given = pairs("--param", params)
    if (question is None) == (file is None):
        raise click.UsageError("give SQL, the name of a query, or --file FILE")
    if question and re.fullmatch(r"[A-Za-z][\w-]*", question):
        named = query(question)
        return named.sql, named.bind(given)
    try:
        text = file.read_text(encoding="utf-8") if file else question or ""
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{file} is no text in UTF-8") from None
    sql = read_input() if question == "-" else text
    return sql, bound(str(file or "the SQL"), params_of(str(file or ""), sql), given)
