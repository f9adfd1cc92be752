"""Writes tables on a thread of its own: one window is encoded while the next is decoded."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

import pyarrow as pa

from ..store.dumps.staging import Staging

Tables = list[tuple[str, pa.Table]]


class BackgroundWriter:
    """Writes tables to a staged dump; at most two windows are queued, so memory stays bounded.

    An error of the writing side is raised at the next `put`, or at the end.
    """

    def __init__(self, staged: Staging) -> None:
        self._staged = staged
        self._waiting: queue.Queue[Tables | None] = queue.Queue(maxsize=2)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)

    def __enter__(self) -> BackgroundWriter:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waiting.put(None)
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def put(self, tables: Tables) -> None:
        """Queue the tables of one window."""
        if self._error is not None:
            raise self._error
        self._waiting.put(tables)

    def _work(self) -> None:
        """Write until the end of the queue; after an error, only empty it."""
        while (tables := self._waiting.get()) is not None:
            if self._error is not None:
                continue
            try:
                for name, table in tables:
                    self._staged.write(name, table)
            except BaseException as error:  # noqa: BLE001 - raised on the reading side
                self._error = error
