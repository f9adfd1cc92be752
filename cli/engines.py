"""`--jobs`, `--engine` and `--master`: who does the units of work of a command."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .options import choice_option

if TYPE_CHECKING:
    from ..jobs import Engine

LOCAL, SPARK = "local", "spark"


def engine_options(of_job: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--jobs`, `--engine` and `--master`, as `engine`; None for one job in this process.

    Args:
        of_job: what one job does, for the help.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--jobs",
            type=click.IntRange(1, 1024),
            default=1,
            show_default=True,
            metavar="N",
            help=f"So many processes on this machine, each of which {of_job}.",
        )
        @choice_option(
            "--engine",
            values=(LOCAL, SPARK),
            help="Where that is done: spark has it done by the executors of a Spark.",
        )
        @click.option(
            "--master",
            metavar="URL",
            help="Where Spark is, as spark://host:7077; else as its own settings have it.",
        )
        @functools.wraps(command)
        def choose(jobs: int, engine: str, master: str | None, **values: Any) -> Any:
            return command(engine=_engine(jobs, engine, master), **values)

        return choose

    return decorate


def _engine(jobs: int, engine: str, master: str | None) -> Engine | None:
    if engine == SPARK:
        if jobs > 1:
            raise click.UsageError("--jobs is of this machine; Spark has executors instead")
        from ..jobs.spark import Spark

        return Spark(master)
    if master:
        raise click.UsageError("--master is of Spark; add --engine spark")
    if jobs == 1:
        return None
    from ..jobs.processes import Processes

    return Processes(jobs)
