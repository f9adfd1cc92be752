"""A session at the prompt: its connection, output format and output file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...config.formats import BINARY
from ...core.text import counted
from ...store.runs.classes import classes_text
from ...store.runs.runs import run_names
from ..answers import ask
from ..output import Output, write_file
from ..targets import check_target

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ...store import Store
    from ...store.catalogue.connection import Connection


@dataclass(slots=True)
class Session:
    """State between lines.

    Attributes:
        open: opens a connection. store: the store of the connection.
        out: format of results, and the output file.
        timer: print the time of each query. over: end the session.
    """

    open: Callable[[], Connection]
    store: Store
    out: Output
    timer: bool = False
    over: bool = False
    _connection: Connection | None = None
    _state: object = None
    _written: bytes = b""

    @property
    def connection(self) -> Connection:
        """A connection to the current state of the store; reopened if that has changed.

        Raises:
            CpmonError: the store cannot be opened.
        """
        state = self.store.state, run_names(self.store), classes_text(self.store)
        if self._connection is None or state != self._state:
            self.close()
            self._connection, self._state = self.open(), state
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def listed(self, listing: str, **values: Any) -> duckdb.DuckDBPyRelation:
        """The result of a listing: a SQL file of this package."""
        sql = (files(__package__) / f"{listing}.sql").read_text(encoding="utf-8")
        return self.connection.sql(sql, params=values)

    def ask(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a query and print the result.

        Raises:
            CpmonError: the query is rejected or fails, or the result cannot be written.
        """
        from ...render.render import render_parts

        began, rows = time.perf_counter(), 0

        def parts() -> Iterator[pa.Table]:
            nonlocal rows
            for part in ask(self.connection, sql, values):
                rows += len(part)
                yield part

        self.show(render_parts(parts(), self.out.format))
        if self.timer:
            click.echo(f"{counted(rows, 'row')} in {time.perf_counter() - began:.3f} s", err=True)

    def show(self, data: bytes | Iterable[bytes]) -> None:
        """Print a result, or append it to the file.

        Raises:
            CpmonError: the file cannot be written, or a binary file would get a second result.
        """
        from ...core.errors import CpmonError

        if self.out.file is None:
            self.out.write(data)
            return
        if self._written and self.out.format in BINARY:
            raise CpmonError(
                f"a {BINARY[self.out.format]} file holds one answer",
                code="format-holds-one-result",
                place=str(self.out.file),
                effect="the file is as it was",
                remedy="name another one with .output FILE",
            )
        if not self._written:
            check_target(self.out.file, self.out.format)
        self._written += data if isinstance(data, bytes) else b"".join(data)
        write_file(self.out.file, self._written)

    def send_to(self, file: Path | None) -> None:
        """Redirect results to a file, which the first result replaces."""
        self.out, self._written = replace(self.out, file=file), b""
