"""The files of a store in a folder of this machine."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...core.atomic import LOCK, PART, scratch_folder, unfinished
from ...core.errors import StoreError
from .disk import make_private, replace_durably, sync_folder, write_durably, writing
from .files import File, Inside
from .plain_paths import plain_path

STAGING = "staging"
"""The folder for what is not finished."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What disks without hard links answer."""


class LocalFiles:
    """The files below a folder."""

    is_local = True

    def __init__(self, root: str | Path) -> None:
        """Nothing is read or made."""
        self.root = Path(root)
        self.location = str(root).rstrip("/") or "/"

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return self._path(name).read_bytes()

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return self._path(name).is_file()

    def inside(self, folder: str = "") -> Inside:
        """What is directly in a folder; nothing where it does not exist."""
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
        """All files of a folder and of its folders."""
        content = self.inside(folder)
        yield from content.files
        for each in content.folders:
            yield from self.below(each)

    def names(self, folder: str = "") -> Iterator[str]:
        """The names of all files of a folder and of its folders; none is looked at."""
        for entry in _entries(self._path(folder)):
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir():
                yield from self.names(name)
            elif not entry.name.endswith((PART, LOCK)):
                yield name

    def changed(self, name: str) -> float:
        """When a file was written; 0 where there is none."""
        try:
            return os.stat(f"{self.root}/{name}").st_mtime  # noqa: PTH116 - of each dump: no Path
        except FileNotFoundError:
            return 0

    def size(self, name: str) -> int:
        """The bytes of a file."""
        return self._path(name).stat().st_size

    def create(self, name: str, data: bytes) -> bool:
        """Make a file unless there is one."""
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
        """Make a file, or put another in its place."""
        path = self._path(name)
        with writing(self.root):
            make_folder(self.root, path.parent)
        replace_durably(path, data)

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Rename finished files into the store; those of another disk are copied."""
        with writing(self.root):
            folders = set()
            for name, file in finished.items():
                path = self._path(name)
                make_folder(self.root, path.parent)
                _rename(file, path)
                folders.add(path.parent)
            for folder in folders:
                sync_folder(folder)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, those that are there."""
        with writing(self.root):
            for name in names:
                self._path(name).unlink(missing_ok=True)

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Remove folders, and the folder above where that is then empty."""
        with self.scratch() as trash, writing(self.root):
            above = set()
            for number, folder in enumerate(folders):
                above.add(self._path(folder).parent)
                with suppress(FileNotFoundError):  # done before by a process that was killed
                    self._path(folder).rename(trash / str(number))
            for parent in sorted(above):
                with suppress(OSError):  # it is not empty
                    parent.rmdir()
                with suppress(FileNotFoundError):
                    sync_folder(parent if parent.exists() else parent.parent)

    def opened(self, name: str) -> str:
        """The path of a file."""
        return self.engine_path(name)

    def uri(self, name: str) -> str:
        """The absolute path of a file."""
        return str(self._path(name).absolute())

    def engine_path(self, name: str) -> str:
        """The absolute path of a file, through a link if that of the store has odd characters."""
        return f"{plain_path(self.root)}/{name}"

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the disk of the store."""
        with ExitStack() as stack:
            with writing(self.root):
                make_private(self.root / STAGING)
                folder = stack.enter_context(scratch_folder(self.root / STAGING))
            yield folder

    def _path(self, name: str) -> Path:
        return Path(f"{self.root}/{name}")  # one that begins with a slash is no other place


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def make_folder(root: Path, folder: Path) -> None:
    """Make a folder of a store and those above it, durably.

    Raises:
        StoreError: one of them is a link.
        OSError: the disk refuses it.
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
    """Refuse to change what only seems to be in a store.

    Raises:
        StoreError: the folder, or one above it, is a link, or it is elsewhere.
    """
    place = root.resolve()
    if folder.resolve() != place / folder.relative_to(root):
        raise StoreError(
            "a folder of the store is a link, or leads out of it",
            code="store-folder-is-link",
            place=str(folder),
            expected=f"a folder of {root} itself",
            found=str(folder.resolve()),
            effect="nothing behind it was removed or written",
            remedy="replace it by a folder; a store on another disk is mounted or named as a whole",
        )


def _name_once(part: Path, path: Path) -> None:
    """Give a finished file a name that no other has.

    Raises:
        FileExistsError: another has it.
    """
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_alone(part, path)


def _rename_alone(part: Path, path: Path) -> None:
    """The same on a disk without hard links: one process at a time."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        part.rename(path)
    finally:
        os.close(handle)


def _rename(file: Path, path: Path) -> None:
    """Rename a file; one of another disk is copied, then removed."""
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
