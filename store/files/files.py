"""The interface of a file storage: a local folder or object storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class File:
    """A file of a store.

    Attributes:
        name: path below the root of the store: `records/system=A/date=2001-12-18/...`.
        size: in bytes.
    """

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Inside:
    """The direct content of a folder.

    Attributes:
        folders: paths below the root of the store, sorted.
        files: sorted by name.
    """

    folders: list[str]
    files: list[File]


class Files(Protocol):
    """The files of a store. Names are paths below its root; a folder is a common prefix of names.

    Writes are atomic, and durable when the call returns. All methods raise StoreError if the disk,
    the network or the access rights prevent the operation; `read` raises FileNotFoundError if there
    is no such file.

    Attributes:
        location: as the user named it, without a trailing slash.
        is_local: whether the files are in a local folder.
    """

    location: str
    is_local: bool

    def read(self, name: str) -> bytes:
        """The bytes of a file."""

    def exists(self, name: str) -> bool:
        """Whether a file exists."""

    def inside(self, folder: str = "") -> Inside:
        """The direct content of a folder; empty if it does not exist."""

    def below(self, folder: str = "") -> Iterator[File]:
        """Yields all files below a folder, in any order."""

    def names(self, folder: str = "") -> Iterator[str]:
        """Yields the names of all files below a folder, in any order."""

    def changed(self, name: str) -> float:
        """When a file was written, in seconds since 1970; 0 if there is no such file."""

    def size(self, name: str) -> int:
        """Size of a file in bytes."""

    def create(self, name: str, data: bytes) -> bool:
        """Creates a file unless it exists. Of concurrent calls, exactly one returns True.

        Args:
            data: differs between writers: in object storage it identifies the one that succeeded.
        """

    def replace(self, name: str, data: bytes) -> None:
        """Creates or replaces a file."""

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Moves finished, durable local files into the store. `finished`: name -> local file.

        The local files may remain; they are removed with their scratch folder. They arrive in any
        order, and if one fails, any other may be missing: what marks them as complete takes a
        call of its own, behind this one.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files; missing ones are ignored."""

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Deletes folders with their content, and folders above that are then empty.

        On a disk each folder disappears atomically, and does not reappear after a crash.
        """

    def opened(self, name: str) -> Any:
        """A file that pyarrow reads in parts: a path, or an object with `seek` and `read`."""

    def uri(self, name: str) -> str:
        """Path or URL of a file, for people and for programs that do not interpret it."""

    def engine_path(self, name: str) -> str:
        """Path of a file, or of files that match a pattern, in DuckDB's syntax.

        `name` may be a pattern; no character of the store's own path is interpreted.
        """

    def scratch(self) -> AbstractContextManager[Path]:
        """A local folder for unfinished work, deleted on exit."""
