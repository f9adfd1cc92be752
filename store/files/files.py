"""What a store asks of the place that holds its files, be it a folder or object storage."""

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
        name: from the root of the store, with slashes: `records/system=A/date=2001-12-18/...`.
        size: bytes.
    """

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Inside:
    """What is directly in a folder.

    Attributes:
        folders: their names, from the root of the store, in order.
        files: in order of their names.
    """

    folders: list[str]
    files: list[File]


class Files(Protocol):
    """The files of a store. Names are relative to it; a folder is what names have in common.

    A file is there as a whole or not at all, and durable when the call returns. All methods but
    `read` raise StoreError where the disk, the network or its owner refuses; so does `read`, except
    that it raises FileNotFoundError where there is no such file.

    Attributes:
        location: as the user named it, without a slash at the end.
        is_local: whether the files are in a folder of this machine.
    """

    location: str
    is_local: bool

    def read(self, name: str) -> bytes:
        """The bytes of a file."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    def inside(self, folder: str = "") -> Inside:
        """What is directly in a folder; nothing where it does not exist."""

    def below(self, folder: str = "") -> Iterator[File]:
        """All files of a folder and of its folders, in any order."""

    def names(self, folder: str = "") -> Iterator[str]:
        """The names of all files of a folder and of its folders, in any order."""

    def changed(self, name: str) -> float:
        """When a file was written, in seconds since 1970; 0 where there is none."""

    def size(self, name: str) -> int:
        """The bytes of a file."""

    def create(self, name: str, data: bytes) -> bool:
        """Make a file unless there is one. Of several that try at once exactly one gets True.

        Args:
            data: no two writers have the same: in object storage it says whose the file is.
        """

    def replace(self, name: str, data: bytes) -> None:
        """Make a file, or put another in its place."""

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Make finished, durable files of this machine files of the store: name -> file.

        The local ones are gone then, or removed with the scratch folder they are in. Those that
        come after one that fails may not be there; so what says that they are complete comes last.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, those that are there."""

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Remove folders with all that is in them, and the folder above where that is then empty.

        On a disk each goes at once, for whoever looks into it, and none comes back after a crash.
        """

    def opened(self, name: str) -> Any:
        """A file for pyarrow, which reads parts of it: a path, or what has `seek` and `read`."""

    def uri(self, name: str) -> str:
        """Where a file is, for people and for programs that take a path as it is."""

    def engine_path(self, name: str) -> str:
        """What DuckDB knows a file by, or those of a pattern: `name` alone can be one.

        No character of the path of the store itself means anything in it.
        """

    def scratch(self) -> AbstractContextManager[Path]:
        """A folder of this machine for unfinished work; it is removed at the end."""
