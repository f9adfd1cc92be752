"""`-o` of commands that write a dump: a file that appears when it is complete, or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from ...generate.sink import Sink

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The dump to write; compressed if it ends with .gz or .zst (- is standard output).",
)

container_option = click.option(
    "--container",
    type=click.Choice(["auto", "monwrite", "monreader"]),
    default="auto",
    show_default=True,
    help="How the input is wrapped; auto looks at its first bytes.",
)


@contextmanager
def dump_output(output: Path, finish: Callable[[Path], None] | None = None) -> Iterator[Sink]:
    """What takes the bytes of a new dump.

    Args:
        finish: called with the file as it was written, before it appears; not for a pipe.

    Raises:
        CpmonError: it cannot be written, or would go to a terminal.
    """
    from ...generate.sink import SUFFIXES, dump_file
    from ...schemas.errors import CpmonError

    if str(output) == "-":
        if sys.stdout.isatty():
            raise CpmonError("a dump is not for a terminal", remedy="name a file with -o")
        yield cast("Sink", sys.stdout.buffer)
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
