"""Input dumps with a progress bar, and the option `-o` for output dumps."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ...config.formats import DUMP
from ..options import choice_option
from ..output import FOR_PEOPLE, TARGET, Command, Output, bar, check_target, parents_option

if TYPE_CHECKING:
    import pyarrow as pa

    from ...generate.sink import DumpSink
    from ...ingest.container.source import Progress, Source

container_option = choice_option(
    "--container",
    values=("auto", "monwrite", "monreader"),
    help="How the input is wrapped; auto looks at its first bytes.",
)


def output_option(command: Command) -> Command:
    """Adds `-o`, the output dump; it must not be an input."""

    @click.option(
        "-o",
        "--output",
        type=TARGET,
        required=True,
        metavar="FILE",
        help="The dump to write; compressed if it ends with .gz or .zst (- is standard output).",
    )
    @parents_option
    @functools.wraps(command)
    def with_output(output: Path, **values: Any) -> Any:
        check_target(None if str(output) == "-" else output, DUMP)
        return command(output=output, **values)

    return cast("Command", with_output)


@contextmanager
def dump_input(dump: Path, container: str, verb: str) -> Iterator[tuple[Source, Progress]]:
    """Open a dump; yields it with the callback of its progress bar, labelled `verb`.

    Raises:
        CpmonError: the file does not exist or cannot be read.
    """
    from ...ingest.container.source import open_source

    with (
        open_source(dump, container) as source,
        bar(f"{verb} {dump.name}", source.stored_size) as advance,
    ):
        yield source, lambda read: advance(read.stored_read)


@contextmanager
def dump_output(output: Path, finish: Callable[[Path], None] | None = None) -> Iterator[DumpSink]:
    """Open a new dump for writing.

    Args:
        finish: called with the complete file before it is renamed; not for a pipe.

    Raises:
        CpmonError: the file cannot be written, or is a terminal.
    """
    from ...core.errors import CpmonError
    from ...generate.sink import SUFFIXES, dump_file

    if str(output) == "-":
        if sys.stdout.isatty():
            raise CpmonError(
                "a dump is not for a terminal",
                code="output-is-terminal",
                remedy="name a file with -o",
            )
        yield cast("DumpSink", sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    by_suffix = {suffix: name for name, suffix in SUFFIXES.items() if suffix}
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with dump_file(output, by_suffix.get(output.suffix, "none"), finish) as sink:
            yield sink
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CpmonError(f"{output} cannot be written: {error.strerror or error}") from None


def write_dumps(
    out: Output,
    documents: Callable[[], list[dict[str, Any]]],
    texts: Callable[[], Iterable[bytes]],
    tables: Callable[[], Iterable[tuple[str, pa.Table]]],
) -> None:
    """Write results of several dumps: as JSON documents, as text, or else as one table.

    Args:
        tables: name and rows of each dump.
    """
    import pyarrow as pa

    if out.format == "json":
        out.write_json(documents())
    elif out.format in FOR_PEOPLE:
        out.write(b"\n".join(texts()))
    else:
        named = [
            table.add_column(0, "dump", pa.array([name] * len(table), pa.string()))
            for name, table in tables()
        ]
        out.write_table(pa.concat_tables(named))
