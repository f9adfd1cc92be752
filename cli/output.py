"""Results to standard output, or to a file that appears as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..schemas.atomic import replacing
from ..schemas.errors import CpmonError
from ..schemas.printable import printable

FOR_PEOPLE = ("table", "text", "markdown")


def deliver(data: bytes, output: Path | None, form: str) -> None:
    """Print a result, or write it beside the file and rename it.

    Control characters in names reach neither a terminal nor what is meant for people.

    Raises:
        CpmonError: Parquet would go to a terminal, or the file cannot be written.
    """
    if form in FOR_PEOPLE or (output is None and form != "parquet" and sys.stdout.isatty()):
        data = printable(data.decode(errors="replace")).encode()
    if output is None or str(output) == "-":
        if form == "parquet" and sys.stdout.isatty():
            raise CpmonError("Parquet is not for a terminal", remedy="name a file with -o")
        stream = sys.stdout.buffer
        stream.write(data)
        stream.flush()
        return
    write_file(output, data)


def read_input() -> str:
    """All of standard input, as text.

    Raises:
        CpmonError: it is none.
    """
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise CpmonError(
            "standard input is no text in UTF-8", found=f"byte {error.object[error.start]:#04x}"
        ) from None


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names from dumps, files or users."""
    click.echo(printable(text), err=err)


@contextmanager
def written_to(place: Path) -> Iterator[None]:
    """Tell what the disk of a place refuses.

    Raises:
        CpmonError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise CpmonError(
            f"{error.filename or place} cannot be written: {error.strerror or error}"
        ) from None


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old or the new one.

    Raises:
        CpmonError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_bytes(data)
    except OSError as error:
        raise CpmonError(f"{path} cannot be written: {error.strerror}") from None


def rows_as(rows: list[dict[str, Any]], form: str) -> bytes:
    """Rows with the same keys, rendered."""
    import pyarrow as pa

    from ..reduce.render.render import render

    return render(pa.Table.from_pylist(rows), form)
