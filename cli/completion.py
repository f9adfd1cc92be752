"""Completes names on the command line; `cpmon completion` prints the setup of a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .site_settings import settings, site_store

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..store.connection import Connection

NOTEBOOKS = f"{__name__.partition('.')[0]}.notebooks"
"""The package of notebooks: never imported, as they need an extra."""
Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _completing(names: Callable[[click.Context, str], Iterable[str]]) -> Complete:
    """Wraps a function as click's completion callback; matching is case-insensitive."""

    def complete(
        context: click.Context, _parameter: click.Parameter, word: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            with context.scope(cleanup=False):
                settings()  # loads the definitions of the site
            candidates = sorted(set(names(context, word)))
        except Exception:  # noqa: BLE001 - a line that is being typed is no place for an error
            return []
        folded = word.lower()
        return [CompletionItem(name) for name in candidates if name.lower().startswith(folded)]

    return complete


def _of_store(sql: str) -> Complete:
    """Completes names that a query finds in the store of the line, environment or settings."""

    def names(context: click.Context, _word: str) -> Iterable[str]:
        with closing(_connection(context)) as connection:
            return [str(name) for (name,) in connection.execute(sql).fetchall() if name]

    return _completing(names)


def _connection(context: click.Context) -> Connection:
    with context.scope(cleanup=False):
        return site_store(Path(context.params.get("store") or settings().store or "")).connect()


@_completing
def reports(_context: click.Context, _word: str) -> Iterable[str]:
    """The reports, by their names and those of other products."""
    from ..reduce.reports.report_names import other_names, report_names

    return [*report_names(), *other_names()]


@_completing
def comparisons(_context: click.Context, _word: str) -> Iterable[str]:
    """The shipped comparison tables."""
    from ..reduce.compare import spec_names

    return spec_names()


@_completing
def reduced(_context: click.Context, _word: str) -> Iterable[str]:
    """The reductions."""
    from ..reduce.reductions.reductions import reductions

    return (view.name for view in reductions() if not view.name.startswith("_"))


@_completing
def scenarios(_context: click.Context, _word: str) -> Iterable[str]:
    """The shipped scenarios."""
    from ..generate.loading import scenario_names

    return scenario_names()


@_completing
def runs_of_scenario(context: click.Context, _word: str) -> Iterable[str]:
    """The runs of the scenario on the command line."""
    from ..generate import load_scenario

    scenario = context.params["scenario"] or context.args[0]
    return (run.run_id for run in load_scenario(scenario).runs)


@_completing
def records(_context: click.Context, _word: str) -> Iterable[str]:
    """The records, by the names of their tables."""
    from ..schemas.registry import tables

    return tables()


@_completing
def questions(context: click.Context, word: str) -> Iterable[str]:
    """The shipped queries; within SQL text the tables of the store."""
    from ..queries import query_names
    from ..store.answers import relations

    before, blank, _ = word.rpartition(" ")
    if not blank:
        return query_names()
    with closing(_connection(context)) as connection:
        return [f"{before} {table}" for table in relations(connection)]


runs = _of_store("SELECT run_id FROM meta.run")
systems = _of_store("SELECT DISTINCT system FROM meta.dump")
users = _of_store("SELECT DISTINCT userid FROM users_by_time")


def notebook_titles() -> dict[str, str]:
    """The shipped notebooks in the order of a first session, each with its title."""
    titles = {}
    for name in ("first-look", "two-runs"):
        file = files(NOTEBOOKS) / f"{name.replace('-', '_')}.py"
        titles[name] = file.read_text(encoding="utf-8").split('"""', 2)[1]
    return titles


notebooks = _completing(lambda _context, _word: notebook_titles())
