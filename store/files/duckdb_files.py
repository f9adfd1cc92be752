"""Lets DuckDB read the files of a store in object storage, without an extension of DuckDB.

Requests are sent by threads that were started before the sandbox closes: Landlock keeps the threads
that run SQL from making connections.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

from fsspec import AbstractFileSystem

from .objects import ObjectFiles, ObjectReader

SENDERS = 16
"""Requests of DuckDB that are under way at once."""


class ObjectFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The files of one store as DuckDB asks for them. They can only be read, and never change."""

    cachable = False

    def __init__(self, files: ObjectFiles) -> None:
        """Start the threads that send."""
        super().__init__()
        self.protocol = files.location.partition("://")[0]
        self._files = files
        self._sizes: dict[str, int] = {}
        self._senders = _started_threads(os.getpid())

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """Name and size of a file."""
        name = self._name(path)
        if name not in self._sizes:
            self._sizes[name] = self._sent(lambda: self._files.size(name))
        return {"name": path, "size": self._sizes[name], "type": "file"}

    def exists(self, path: str, **_options: Any) -> bool:
        """Whether there is such a file."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def isdir(self, path: str) -> bool:
        """There are no folders."""
        del path
        return False

    def modified(self, path: str) -> datetime:
        """A time, always the same: a file never changes."""
        del path
        return datetime(2000, 1, 1, tzinfo=UTC)

    def glob(self, path: str, **_options: Any) -> list[str]:
        """The file of a name, which is not looked for; nothing is listed for a pattern."""
        return [] if set("*?[") & set(self._name(path)) else [path]

    def open(self, path: str, mode: str = "rb", **_options: Any) -> io.RawIOBase:
        """A file to read.

        Raises:
            PermissionError: it is to be written.
        """
        if mode != "rb":
            raise PermissionError(f"{path}: files of a store are not written by SQL")
        size, name = self.info(path)["size"], self._name(path)
        return ObjectReader(
            lambda start, length: self._sent(lambda: self._files.part(name, start, length)), size
        )

    def _name(self, path: str) -> str:
        return path.removeprefix(self._files.engine_path(""))

    def _sent(self, request: Callable[[], Any]) -> Any:
        return self._senders.submit(request).result()


@functools.cache
def _started_threads(_process: int) -> ThreadPoolExecutor:
    """Threads that are all started now, by a thread that Landlock does not restrict."""
    pool = ThreadPoolExecutor(SENDERS, thread_name_prefix="cpmon-objects")
    together = Barrier(SENDERS + 1)
    for _ in range(SENDERS):
        pool.submit(together.wait)
    together.wait()
    return pool
