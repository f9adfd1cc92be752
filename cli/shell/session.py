"""A session at the prompt: a connection, how answers are printed, and where they go."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..asking import ask
from ..output import deliver, write_file

if TYPE_CHECKING:
    import duckdb


@dataclass(slots=True)
class Session:
    """State between two lines.

    Attributes:
        mode: format of answers. output: file that they go to; None for standard output.
        timer: whether to say how long each answer took. over: whether to leave.
    """

    connection: duckdb.DuckDBPyConnection
    mode: str = "table"
    output: Path | None = None
    timer: bool = False
    over: bool = False
    _written: bytes = b""

    def ask(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Answer a query.

        Raises:
            CpmonError: it is refused or fails, or the answer cannot be written.
        """
        from ...reduce.render.render import render

        began = time.perf_counter()
        table = ask(self.connection, sql, values)
        self.show(render(table, self.mode))
        if self.timer:
            took = time.perf_counter() - began
            click.echo(f"{table.num_rows:,} rows in {took:.3f} s", err=True)

    def show(self, data: bytes) -> None:
        """Print an answer, or add it to the file.

        Raises:
            CpmonError: it cannot be written, or a Parquet file would hold two answers.
        """
        from ...schemas.errors import CpmonError

        if self.output is None:
            deliver(data, None, self.mode)
            return
        if self._written and self.mode == "parquet":
            raise CpmonError(
                "a Parquet file holds one answer",
                place=str(self.output),
                effect="the file is as it was",
                remedy="name another one with .output FILE",
            )
        write_file(self.output, self._written + data)
        self._written += data

    def send_to(self, file: Path | None) -> None:
        """Let answers go to a file, the first one in place of what it holds."""
        self.output, self._written = file, b""
