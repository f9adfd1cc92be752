"""Output of commands: results to standard output or a file, progress bars to a terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..config.formats import BINARY
from ..core.atomic import replacing
from ..core.errors import CpmonError
from ..core.text import for_screen, printable
from .site_settings import invocation
from .targets import refuse_input

if TYPE_CHECKING:
    import pyarrow as pa

Advance = Callable[..., None]
"""Progress callback: amount done, and the total if it was unknown before."""


@contextmanager
def bar(what: str, total: int | None = None, units: str = "") -> Iterator[Advance]:
    """A progress bar for one long step.

    Args:
        total: None if unknown. units: unit of the counts; bytes by default.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns: list[rich.ProgressColumn] = [rich.TextColumn("{task.description}"), rich.BarColumn()]
    if units:
        columns += [rich.MofNCompleteColumn(), rich.TextColumn(units)]
    else:
        speed = rich.TransferSpeedColumn()
        columns += [rich.DownloadColumn(), speed, rich.TimeRemainingColumn()]
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done, total=None: shown.update(task, completed=done, total=total)


FOR_PEOPLE = ("table", "text", "markdown")


@dataclass(frozen=True, slots=True)
class Output:
    """The format of a result and its output file; None is standard output."""

    format: str
    file: Path | None = None

    def write(self, data: bytes | Iterable[bytes]) -> None:
        """Write a result, streaming its parts, to standard output, or atomically to the file.

        Control characters in names are escaped for terminals and in formats for people.

        Raises:
            CpmonError: a binary format would go to a terminal, or the file cannot be written.
        """
        parts = [data] if isinstance(data, bytes) else data
        to_terminal = self.file is None and sys.stdout.isatty()
        if to_terminal and self.format in BINARY:
            kind = BINARY[self.format]
            raise CpmonError(
                f"{kind} is not for a terminal",
                code="output-is-terminal",
                remedy="name a file with -o",
            )
        if self.format in FOR_PEOPLE or to_terminal:
            shown = for_screen if to_terminal else str
            parts = (shown(printable(part.decode(errors="replace"))).encode() for part in parts)
        if self.file is not None:
            write_file(self.file, parts)
            return
        for part in parts:
            invocation().has_printed = True
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()

    def write_paged(self, data: bytes, pager: str) -> None:
        """Print a result with a pager if it is longer than the terminal.

        Args:
            pager: auto, always or never.
        """
        lines = shutil.get_terminal_size().lines
        is_long = pager == "always" or (pager == "auto" and data.count(b"\n") >= lines)
        if not (self.is_screen and is_long):
            self.write(data)
            return
        invocation().has_printed = True
        click.echo_via_pager(for_screen(printable(data.decode(errors="replace"))), color=True)

    @property
    def is_screen(self) -> bool:
        """Whether it is text on a terminal, where it can be fitted, coloured and paged."""
        return self.file is None and self.format in ("table", "text") and sys.stdout.isatty()

    def write_table(self, table: pa.Table) -> None:
        """Render a table and write it."""
        from ..render.render import render

        self.write(render(table, self.format))

    def write_json(self, document: Any) -> None:
        """Write a document as JSON; types unknown to JSON become text."""
        self.write((json.dumps(document, indent=1, default=str) + "\n").encode())

    def write_rows(self, rows: list[dict[str, Any]]) -> None:
        """Render rows with the same keys and write them."""
        self.write(rows_as(rows, self.format))


def read_input() -> str:
    """Read all of standard input as text.

    Raises:
        CpmonError: it is not text.
    """
    command = invocation()
    try:
        if command.standard_input is None:
            command.standard_input = sys.stdin.read()
        return command.standard_input
    except UnicodeDecodeError as error:
        raise CpmonError(
            "standard input is no text in UTF-8", found=f"byte {error.object[error.start]:#04x}"
        ) from None


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may contain names from dumps, files or users."""
    click.echo(printable(text), err=err)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes about a result to standard error."""
    for note in notes:
        say(note, err=True)


@contextmanager
def written_to(place: Path) -> Iterator[None]:
    """Maps OSError to CpmonError, for writes to a place.

    Raises:
        CpmonError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise CpmonError(
            f"{error.filename or place} cannot be written: {error.strerror or error}"
        ) from None


def write_file(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file atomically, in parts if the data is an iterable; devices are written directly.

    Raises:
        CpmonError: it cannot be written, or it is an input of the command or a file of a store.
    """
    refuse_input(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Devices and pipes are not replaced, because their readers wait for the data.
        is_special = path.exists() and not path.is_file()
        with (
            nullcontext(path) if is_special else replacing(path) as file,
            file.open("wb") as stream,
        ):
            for part in [data] if isinstance(data, bytes) else data:
                stream.write(part)
    except OSError as error:
        raise CpmonError(f"{path} cannot be written: {error.strerror}") from None


def rows_as(rows: list[dict[str, Any]], form: str) -> bytes:
    """Render rows with the same keys."""
    import pyarrow as pa

    from ..render.render import render

    return render(pa.Table.from_pylist(rows), form)
