"""The `cpmon` command: finds its subcommands, and maps errors to exit statuses.

Status: 0 done, 1 internal error, 2 usage, 3 done with warnings or findings, 4 validation failed,
5 input damaged or no dump, 75 busy, 130 interrupted.
"""

from __future__ import annotations

import atexit
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from ..core import __version__
from ..core.interrupts import hear_interrupts

if TYPE_CHECKING:
    from pathlib import Path

    from ..core.errors import CpmonError


class Status(IntEnum):
    """Exit status of a command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WARNINGS = 3
    INVALID = 4
    DAMAGED = 5
    BUSY = 75
    INTERRUPTED = 130


FROM_BEST = (
    *(Status.DONE, Status.WARNINGS, Status.INVALID, Status.DAMAGED),
    *(Status.BUSY, Status.USAGE, Status.FAILED),
)
"""Statuses from best to worst; the worst counts for several dumps: one did not land at all."""


def status_of(severity: str | None) -> Status:
    """The exit status for the worst severity among findings or failed rules."""
    serious = {
        "warning": Status.WARNINGS,
        "critical": Status.INVALID,
        "data_loss": Status.DAMAGED,
    }
    return serious.get(severity or "", Status.DONE)


COMMANDS = {
    "demo": ("dump", "The published measurements, from generated dumps to tables."),
    "generate": ("dump.generator", "Write the dumps of a scenario, with their companion files."),
    "damage": ("dump.generator", "Write a damaged copy of a dump, to see what becomes of it."),
    "doctor": ("dump.health", "One page on a dump: what it is, which reports it gives."),
    "list": ("dump.contents", "What is inside a dump: system, span, intervals, records by type."),
    "show": ("dump.contents", "Records of a dump field by field, with their bytes."),
    "check": ("dump.health", "What is wrong with a dump, without landing it."),
    "slice": ("dump.rewrite", "Write a part of a dump as a dump of its own."),
    "merge": ("dump.rewrite", "Write several dumps of one system as one."),
    "ingest": ("store", "Land dumps in a store."),
    "follow": ("store", "Land what comes from a device, a pipe or a file that grows."),
    "runs": ("store", "List the runs of a store, or define one."),
    "classes": ("store", "Say which users belong together."),
    "reduce": ("store", "Compute the reductions of a store and keep their results."),
    "report": ("results", "Print a report by time."),
    "exceptions": ("results.rule", "Look for what should not be: rules, and where they are met."),
    "explain": ("results", "Explain what was different at a time, and who contributed."),
    "validate": ("results.rule", "Check what landed by rules: keys, counters, sums that close."),
    "forecast": ("results", "When a metric meets its threshold: trend, weekly season, a band."),
    "whatif": ("results", "What more, fewer or busier guests would add to a week."),
    "compare": ("results", "Print a comparison table of runs, with its ratios."),
    "batch": ("store", "Land what arrives, reduce and report, unattended."),
    "store": ("store", "See what a store holds, keep it in order."),
    "query": ("results", "Ask a store by SQL, or by the name of a query."),
    "top": ("top", "Show the last interval of a system on a screen, as they land."),
    "serve": ("shell", "Show the pages of a store in a browser, made when asked for."),
    "notebook": ("shell", "Copy a notebook for analysts beside a store, and open it."),
    "shell": ("shell", "Ask a store by SQL at a prompt."),
    "config": ("settings", "See the settings and where each came from, or check a file."),
    "completion": ("settings", "Print the completion script of a shell."),
    "schema": ("settings", "Look up records and fields; bring in IBM's pages of them."),
}
"""Command -> its package and description, in the order of a first session.

It is `command` of the package's module `NAME_command`, or `NAME_command` of the module
`NOUN_commands` whose noun stands here.
"""


class ClosedPipe(Exception):
    """The reader of standard output is gone. click would exit with status 1."""


class OutputError(OSError):
    """Standard output cannot be written; a plain OSError would not tell which file failed."""


class _Output(io.FileIO):
    """Standard output; its errors can be distinguished from those of other files."""

    def write(self, data: Any) -> Any:
        """Write bytes; returns how many."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


class Commands(click.Group):
    """Imports subcommands only when they run, so that help is fast."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise ClosedPipe from None

    def list_commands(self, _context: click.Context) -> list[str]:
        """Names, in the order of a first session."""
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Load a command from its module."""
        if name not in COMMANDS:
            return None
        if "pandas" not in sys.modules and _POSTPONED not in sys.meta_path:
            sys.meta_path.insert(0, _POSTPONED)  # until `run` ends
        package, _, noun = COMMANDS[name][0].partition(".")
        place = f".{package}.{noun}_commands" if noun else f".{package}.{name}_command"
        module = importlib.import_module(place, __package__)
        command: click.Command = getattr(module, f"{name}_command" if noun else "command")
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command; an unknown name gets a suggestion."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ..core.errors import nearest

            like = nearest(args[0], COMMANDS)
            hint = f"; did you mean {like}?" if like else ""
            context.fail(f"There is no command {args[0]}{hint}")
        return super().resolve_command(context, args)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "CPMON"},
    epilog="A first session: cpmon demo, then cpmon report --help. "
    "CPMON_STORE stands for --store everywhere.",
)
@click.version_option(__version__, prog_name="cpmon")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cpmon(debug: bool) -> None:
    """Read z/VM CP Monitor data, land it as Parquet, and print performance reports."""
    del debug


def main() -> None:
    """Run the command line and exit with its status.

    The process exits without tearing down its modules, which would take a tenth of a report.
    """
    status = Status.FAILED
    # Arrow's allocator reserves 1 GiB at once, which the limit of the process counts although it is
    # not used; in KiB, and read when it is loaded.
    os.environ.setdefault("MIMALLOC_ARENA_RESERVE", str(64 * 1024))

    def leave() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    hear_interrupts()
    if sys.stdout is not None and not sys.stdout.isatty():
        output = io.BufferedWriter(_Output(sys.stdout.fileno(), "wb", closefd=False))
        coding = (sys.stdout.encoding, sys.stdout.errors)
        sys.stdout = io.TextIOWrapper(output, *coding, write_through=True)
    atexit.register(leave)  # registered first, so called after the handlers of libraries
    status = run(sys.argv[1:])
    sys.exit(status)


def run(arguments: list[str]) -> Status:
    """Run one command line; errors are printed to standard error."""
    try:
        status = cpmon.main(arguments, prog_name="cpmon", standalone_mode=False)
        sys.stdout.flush()
        return Status(status) if isinstance(status, int) else Status.DONE
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        click.echo(_printable(message.getvalue()), err=True, nl=False)
        return Status.USAGE
    except (BrokenPipeError, ClosedPipe):
        _print_no_more()
        return Status.DONE
    except (click.Abort, KeyboardInterrupt):
        pass
    except Exception as error:  # noqa: BLE001 - the last resort: what went wrong, and the status
        from ..core.errors import is_interrupt

        if not is_interrupt(error):
            return _failed(error, debug="--debug" in arguments)
    finally:
        allow_pandas()
    click.echo("interrupted", err=True)
    return Status.INTERRUPTED


def _print_no_more() -> None:
    """Discard buffered output, because its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _printable(text: str) -> str:
    """Escape control characters in a message, which may contain names.

    Most messages have none; then nothing is imported, because help must not wait for numpy.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    from ..core.text import printable

    return printable(text)


def _failed(error: Exception, *, debug: bool) -> Status:
    """Print an error; returns its status. Imports are local: help must not wait for numpy."""
    from ..core.errors import CpmonError

    if isinstance(error, OutputError):
        _print_no_more()
        error = CpmonError(
            "standard output cannot be written",
            code="output-not-writable",
            found=error.strerror,
            effect="what it has is cut off",
            remedy="make room where it goes, or print to another place",
        )
    if isinstance(error, PermissionError):
        error = CpmonError(
            "a file or folder is not open to this user",
            place=error.filename and str(error.filename),
            expected="rights to read it, or to write it where the command writes",
            found=error.strerror,
        )
    if isinstance(error, OSError):
        from ..store.files.disk import read_error

        error = read_error(error) or error
    if not isinstance(error, CpmonError):
        from ..core.memory import memory_error
        from ..store.sql.database import storage_error

        error = memory_error(error) or storage_error(error) or error
    if debug:
        import traceback

        traceback.print_exception(error)
    elif not isinstance(error, CpmonError):
        click.echo(_printable(f"cpmon: {type(error).__name__}: {error}"), err=True)
        click.echo("This is a failure of cpmon; `cpmon --debug ...` shows where.", err=True)
        return Status.FAILED
    return report_error(error, quiet=debug) if isinstance(error, CpmonError) else Status.FAILED


def worst_status(dumps: Sequence[Path], process: Callable[[Path], Status]) -> Status:
    """Process dumps one after the other; returns the worst status.

    The error of one dump is printed and does not stop the others; with a single dump it is raised.
    """
    from ..core.errors import CpmonError, is_interrupt

    worst = Status.DONE
    for dump in dumps:
        try:
            status = process(dump)
        except (click.ClickException, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if len(dumps) == 1 or is_interrupt(error):
                raise
            if isinstance(error, CpmonError):
                status = report_error(error)
            else:
                status = report_failure(str(dump), error)
        worst = worse(worst, status)
    return worst


def worse(one: Status, other: Status) -> Status:
    """The worse of two statuses."""
    return max(one, other, key=FROM_BEST.index)


def report_failure(name: str, error: Exception) -> Status:
    """Print the error of one of several units of work; returns its status."""
    click.echo(_printable(f"{name} failed"), err=True)
    return _failed(error, debug=bool(click.get_current_context().find_root().params.get("debug")))


def report_error(error: CpmonError, *, quiet: bool = False) -> Status:
    """Print an error of the user's input or environment; returns its status."""
    from ..core.errors import BusyError, DumpError

    if not quiet:
        click.echo(f"cpmon: {error}", err=True)
    if isinstance(error, DumpError):
        return Status.DAMAGED
    return Status.BUSY if isinstance(error, BusyError) else Status.USAGE


class _Postponed(MetaPathFinder, Loader):
    """Import hook that finds pandas but refuses to load it; others may check whether it exists.

    When pyarrow first converts a Python value, a list or a numpy array, it imports pandas to check
    whether the value is a pandas object, which takes 0.3 s; no option prevents it. Without pandas
    it works too. Programs that use cpmon as a library are not affected.
    """

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that cannot be loaded, for pandas."""
        return ModuleSpec(name, self) if name == "pandas" else None

    def exec_module(self, _module: ModuleType) -> None:
        """Refuse to load it."""
        raise ImportError("cpmon loads pandas only in commands that need it", name="pandas")


_POSTPONED = _Postponed()


def allow_pandas() -> None:
    """Allow imports of pandas again."""
    if _POSTPONED in sys.meta_path:
        sys.meta_path.remove(_POSTPONED)
