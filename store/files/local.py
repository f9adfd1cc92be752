"""The files of a store in a local folder."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...core.atomic import LOCK, PART, scratch_folder, unfinished
from ...core.errors import StoreError, UnreadableError
from .disk import make_private, replace_durably, sync_folder, write_durably, writing
from .files import File, Inside
from .plain_paths import plain_path

STAGING = "staging"
"""Folder of unfinished files."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Errors of `link` on file systems without hard links."""


class LocalFiles:
    """`Files` below a local folder."""

    is_local = True

    def __init__(self, root: str | Path) -> None:
        """Reads and creates nothing."""
        self.root = Path(root)
        self.location = str(root).rstrip("/") or "/"

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            UnreadableError: a folder has its name.
        """
        try:
            return self._path(name).read_bytes()
        except IsADirectoryError:
            raise UnreadableError(
                "a folder is where a file of the store belongs",
                code="store-file-is-folder",
                place=self.uri(name),
                expected="a file, or nothing",
                found="a folder",
                effect="nothing was read or written",
                remedy="move the folder out of the store",
            ) from None

    def exists(self, name: str) -> bool:
        """Whether a file exists."""
        return self._path(name).is_file()

    def inside(self, folder: str = "") -> Inside:
        """The direct content of a folder; empty if it does not exist."""
        folders, files = [], []
        for entry in _entries(self._path(folder)):
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir():
                folders.append(name)
            elif not entry.name.endswith((PART, LOCK)):
                with suppress(FileNotFoundError):  # removed meanwhile
                    files.append(File(name, entry.stat().st_size))
        return Inside(sorted(folders), sorted(files, key=lambda file: file.name))

    def below(self, folder: str = "") -> Iterator[File]:
        """Yields all files below a folder."""
        content = self.inside(folder)
        yield from content.files
        for subfolder in content.folders:
            yield from self.below(subfolder)

    def names(self, folder: str = "") -> Iterator[str]:
        """Yields the names of all files below a folder, without a `stat` of each."""
        for entry in _entries(self._path(folder)):
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir():
                yield from self.names(name)
            elif not entry.name.endswith((PART, LOCK)):
                yield name

    def changed(self, name: str) -> float:
        """When a file was written, in seconds since 1970; 0 if there is no such file."""
        try:
            return os.stat(f"{self.root}/{name}").st_mtime  # noqa: PTH116 - called for each dump: no Path
        except FileNotFoundError:
            return 0

    def size(self, name: str) -> int:
        """Size of a file in bytes."""
        return self._path(name).stat().st_size

    def create(self, name: str, data: bytes) -> bool:
        """Creates a file unless it exists; returns whether this call created it."""
        path = self._path(name)
        with writing(self.root):
            if path.exists():
                return False
            make_folder(self.root, path.parent)
            with unfinished(path) as part:
                write_durably(part, data)
                try:
                    _name_once(part, path)
                except FileExistsError:
                    return False
            sync_folder(path.parent)
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Creates or replaces a file."""
        path = self._path(name)
        with writing(self.root):
            make_folder(self.root, path.parent)
        replace_durably(path, data)

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Renames finished files into the store; copies those on another disk."""
        with writing(self.root):
            folders = set()
            for name, file in finished.items():
                path = self._path(name)
                make_folder(self.root, path.parent)
                try:
                    _rename(file, path)
                except FileNotFoundError:  # another process removed the folder, being empty
                    make_folder(self.root, path.parent)
                    _rename(file, path)
                folders.add(path.parent)
            for folder in folders:
                sync_folder(folder)

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files; missing ones are ignored.

        Raises:
            StoreError: one is behind a symlink, or outside of the store.
        """
        paths = [self._path(name) for name in names]
        with writing(self.root):
            for folder in {path.parent for path in paths}:
                check_inside(self.root, folder)
            for path in paths:
                path.unlink(missing_ok=True)

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Deletes folders with their content, and parent folders that are then empty."""
        with self.scratch() as trash, writing(self.root):
            parents = set[Path]()
            for number, folder in enumerate(folders):
                check_inside(self.root, self._path(folder))
                above = Path(folder).parents
                parents |= {self._path(str(each)) for each in above if len(each.parts) > 1}
                with suppress(FileNotFoundError):  # renamed earlier by a process that was killed
                    self._path(folder).rename(trash / str(number))
            for parent in sorted(parents, reverse=True):  # the inner ones first
                with suppress(OSError):  # it is not empty
                    parent.rmdir()
                with suppress(FileNotFoundError):
                    sync_folder(parent)

    def opened(self, name: str) -> str:
        """Path of a file, for pyarrow."""
        return self.engine_path(name)

    def uri(self, name: str) -> str:
        """Absolute path of a file."""
        return str(self._path(name).absolute())

    def engine_path(self, name: str) -> str:
        """Absolute path of a file; through a link if the store's has special characters."""
        return f"{plain_path(self.root)}/{name}"

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary folder on the disk of the store."""
        with ExitStack() as stack:
            with writing(self.root):
                make_private(self.root / STAGING)
                folder = stack.enter_context(scratch_folder(self.root / STAGING))
            yield folder

    def _path(self, name: str) -> Path:
        return Path(
            f"{self.root}/{name}"
        )  # not `root / name`: an absolute name must stay below the root


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def make_folder(root: Path, folder: Path) -> None:
    """Creates a folder of a store and its parents, durably.

    Raises:
        StoreError: one of them is a symlink.
    """
    check_inside(root, folder)
    _make_folder(folder)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def check_inside(root: Path, folder: Path) -> None:
    """Checks that a folder lies inside a store.

    Raises:
        StoreError: the folder or a parent is a symlink, or it is outside of the store.
    """
    resolved = root.resolve()
    if folder.resolve() != resolved / folder.relative_to(root):
        raise StoreError(
            "a folder of the store is a symlink, or lies outside of it",
            code="store-folder-is-link",
            place=str(folder),
            expected=f"a folder inside {root}",
            found=str(folder.resolve()),
            effect="nothing was deleted or written there",
            remedy="replace it by a folder; a store on another disk is mounted or named as a whole",
        )


def _name_once(part: Path, path: Path) -> None:
    """Gives a finished file its name; raises FileExistsError if the name is taken."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_alone(part, path)


def _rename_alone(part: Path, path: Path) -> None:
    """Does the same on a disk without hard links, under a lock of the folder."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        part.rename(path)
    finally:
        os.close(handle)


def _rename(file: Path, path: Path) -> None:
    """Renames a file; copies and deletes it if it is on another disk."""
    try:
        file.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with unfinished(path) as part:
            shutil.copyfile(file, part)
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(path)
        file.unlink()
