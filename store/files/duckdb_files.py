"""Lets DuckDB read the files of a store in object storage, without a DuckDB extension.

Requests are sent by threads that start before the sandbox is enabled: Landlock blocks network
connections of the threads that run SQL.
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
"""Concurrency limit of requests by DuckDB."""


class ObjectFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Read-only fsspec file system over the files of one store, which never change."""

    cachable = False

    def __init__(self, files: ObjectFiles) -> None:
        """Starts the threads that send requests."""
        super().__init__()
        self.protocol = files.location.partition("://")[0]
        self._files = files
        self._sizes: dict[str, int] = {}
        self._senders = _started_threads(os.getpid())

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """Name, size in bytes and type of a file."""
        name = self._name(path)
        if name not in self._sizes:
            self._sizes[name] = self._sent(lambda: self._files.size(name))
        return {"name": path, "size": self._sizes[name], "type": "file"}

    def exists(self, path: str, **_options: Any) -> bool:
        """Whether a file exists."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def isdir(self, path: str) -> bool:
        """False: object storage has no folders."""
        del path
        return False

    def modified(self, path: str) -> datetime:
        """A constant time: files never change."""
        del path
        return datetime(2000, 1, 1, tzinfo=UTC)

    def glob(self, path: str, **_options: Any) -> list[str]:
        """The path itself, without a look-up; empty for a pattern."""
        return [] if set("*?[") & set(self._name(path)) else [path]

    def open(self, path: str, mode: str = "rb", **_options: Any) -> io.RawIOBase:
        """A file opened for reading.

        Raises:
            PermissionError: the mode is not `rb`.
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
    """A pool whose threads all start now, before Landlock restricts the calling thread."""
    pool = ThreadPoolExecutor(SENDERS, thread_name_prefix="cpmon-objects")
    together = Barrier(SENDERS + 1)
    for _ in range(SENDERS):
        pool.submit(together.wait)
    together.wait()
    return pool
