"""`cpmon top`: the last interval of a system on a screen."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import ANY_PATH, choice_option, store_option, system_option
from ..output import say
from ..site_settings import settings, store_at

if TYPE_CHECKING:
    from .panels import Lines, Watched


@click.command("top")
@click.argument("shown_source", metavar="[SOURCE]", type=ANY_PATH, required=False, is_eager=True)
@store_option
@system_option
@click.option("--once", is_flag=True, help="Print the last interval, and end.")
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, help="Lines, with --once."
)
@choice_option("--format", "form", values=("text", "json"), help="How to print it, with --once.")
def command(
    shown_source: Path | None,
    store: Path | None,
    system: str | None,
    once: bool,
    top: int,
    form: str,
) -> None:
    """Show the last interval of a system, and the next ones as they land (cpmon follow).

    With a SOURCE, as of cpmon follow, it shows what comes from there, and needs no store: what
    lands is in a temporary folder until it ends.

    Keys: 1 to 6 choose users, devices, processors, paging, Linux guests and exceptions; s orders by
    the next column, r turns the order, / filters by the first column; Enter shows an object over
    time; Space pauses; the arrows go back and forth in time; e explains the interval, n shows
    notes; q ends.

    \b
    Examples:
      cpmon top --store perf/
      cpmon top /dev/monreader
      cpmon top --store perf/ --once --format json
    """
    if form != "text" and not once:
        raise click.UsageError("--format is of --once")
    if not once and not (_has_keys(shown_source) and sys.stdout.isatty()):
        raise click.UsageError("the screen needs a terminal: add --once to print the last interval")
    from .panels import Watched

    if shown_source is None:
        assert store is not None
        _show(Watched(store_at(store), settings(store), system), lambda: "", once, top, form)
        return
    from_command_line = click.core.ParameterSource.COMMANDLINE
    if click.get_current_context().get_parameter_source("store") is from_command_line:
        raise click.UsageError("a SOURCE is shown without a store: leave --store out")
    from .followed import QUIET_S, FollowedSource

    release = settings().release(system) or ""
    idle_s = QUIET_S if once and shown_source.is_file() else None
    source = FollowedSource(shown_source, fallback_release=release, idle_s=idle_s)
    with source.landing() as landed:
        if once:
            source.wait(landed)
        _show(Watched(landed, settings(), system), lambda: source.state, once, top, form)


def _has_keys(source: Path | None) -> bool:
    """Whether keys can be read: from the terminal itself, if standard input is the source."""
    if str(source) == "-":
        with suppress(OSError):
            keys = Path("/dev/tty").open(encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, "__stdin__", keys)  # noqa: B010 - where textual reads; mypy: it is final
            return True
    return sys.stdin.isatty()


def _show(watched: Watched, state: Callable[[], str], once: bool, top: int, form: str) -> None:
    if once:
        _print(watched, top, form)
        return
    from .screen import TopScreen

    TopScreen(watched, state).run()


LINE, NO_BREAK = 80, "\xa0"


def _print(watched: Watched, top: int, form: str) -> None:
    from ...core.errors import NothingToReportError
    from .panels import SUBJECTS

    intervals = watched.intervals()
    if not intervals:
        raise NothingToReportError(
            "no interval with figures has landed yet",
            place=str(watched.system or "the store"),
            expected="two intervals of a system that follow each other",
        )
    last = intervals[-1]
    line = watched.line(last)
    subjects = {name: watched.subject(name, last) for name in SUBJECTS}
    if form == "json":
        about = {"system": watched.system, "begin": last.begin, "interval_end": last.end}
        parts = {name: _document(lines, top) for name, lines in subjects.items()}
        of_line = {"line": line.first, "notes": [*line.notes]}
        document = {"schema_version": 1, **about, **of_line, **parts}
        say(json.dumps(document, default=str))
        return
    items = (f"{head}: {value}".replace(" ", NO_BREAK) for head, value in line.first.items())
    text = textwrap.fill(", ".join((str(watched.system), *items)), LINE)
    for row in (text.replace(NO_BREAK, " "), *_marks(line)):
        say(row)
    for name, lines in subjects.items():
        say(f"\n{name}")
        for row in _rows(lines, top):
            say(row)


def _marks(lines: Lines) -> list[str]:
    """What is not known of figures, as lines of text."""
    return [textwrap.fill(f"* {note}", LINE, subsequent_indent="  ") for note in lines.marks]


def _rows(lines: Lines, top: int) -> list[str]:
    """The heads and first lines, as text."""
    from ...render.text import text_lines

    if not lines.cells or not len(lines.cells[0]):
        return [*lines.notes] or ["nothing"]
    import pyarrow as pa

    blocks = [
        pa.concat_arrays([pa.array([head, ""]), texts.slice(0, top)])
        for head, texts in zip(lines.heads, lines.cells, strict=True)
    ]
    rows = text_lines(blocks, [n == 0 for n in range(len(blocks))], [1] * len(blocks))
    return [*rows, *_marks(lines)]


def _document(lines: Lines, top: int) -> dict[str, Any]:
    return {"lines": lines.values.slice(0, top).to_pylist(), "notes": [*lines.notes]}
