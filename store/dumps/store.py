"""The folder of landed dumps: what is in it, and how a dump gets in by a single rename.

STORE/
  store.json         what this folder is
  records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../sytrsp.parquet ... dump.json
  runs/2600NP.json   named measurements, with their companion figures
  classes.txt        which users belong together, if anybody said so
  catalog.duckdb     views over all of it; a cache
  sizes/             an empty file for each size of file landed: what is new needs no look
  layouts/           the same for each set of layouts that a dump was decoded with
  staging/           half-written dumps; safe to delete
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...schemas.atomic import scratch_folder
from ...schemas.errors import StoreError
from .cleanup import clean
from .disk import make_private, replace_durably, sync_folder, write_durably, writing
from .folders import Folders
from .staging import Staging

VERSION = 1
MARKER = "store.json"


class Store:
    """A store on disk. Opening one reads nothing but its marker."""

    def __init__(self, root: str | Path, *, create: bool = False) -> None:
        """Open a store, or make one where `create` allows it.

        Raises:
            StoreError: there is none, the folder holds something else, or a newer version.
        """
        if scheme := re.match(r"([a-z][a-z0-9+.-]+):/", str(root)):
            raise StoreError(
                f"a store is a folder; {scheme[1]} is not supported",
                place=str(root),
                expected="a path of this machine",
                effect="nothing was read or made",
                remedy="mount it, or copy the store to a disk: a path is taken as it is",
            )
        self.root = Path(root)
        self.is_new = self._has_new_root = False
        self.folders = Folders(self.records)
        marker = self.root / MARKER
        if _is_there(marker):
            self._check(marker)
        elif not create:
            raise StoreError(
                f"{self.root} is no store",
                expected=f"a folder with {MARKER}",
                found="no such folder" if not self.root.exists() else "other files",
                remedy="land a dump first: cpmon ingest DUMP --store STORE",
            )
        else:
            self._make(marker)

    @property
    def records(self) -> Path:
        """Folder of the landed dumps."""
        return self.root / "records"

    @property
    def runs(self) -> Path:
        """Folder of the runs."""
        return self.root / "runs"

    @property
    def staging(self) -> Path:
        """Folder of the dumps that are being written."""
        return self.root / "staging"

    def find(self, dump: str) -> Path | None:
        """The folder of a landed dump, by identity."""
        path = self.folders.find(dump)
        return None if path is None else Path(path)

    def about(self, dump: str) -> dict[str, Any] | None:
        """What was written about a landed dump, by identity; None if it is not here."""
        folder = self.find(dump)
        if folder is None:
            return None
        document: dict[str, Any] = json.loads((folder / "dump.json").read_text(encoding="utf-8"))
        return document

    def has_size(self, stored_size: int) -> bool:
        """Whether some landed file had that many bytes; if not, another one is surely new."""
        return (self.root / "sizes" / str(stored_size)).exists()

    def dumps(self) -> Iterator[dict[str, Any]]:
        """What is written in the `dump.json` of every landed dump."""
        for file in sorted(self.records.glob("system=*/date=*/dump=*/dump.json")):
            yield json.loads(file.read_text(encoding="utf-8"))

    def layouts(self) -> set[str]:
        """Fingerprints of the layouts that dumps were decoded with, perhaps of some that are gone.

        They are noted when a dump lands, so that nobody needs to look into all of them.
        """
        folder = self.root / "layouts"
        if folder.is_dir():
            return {file.name for file in folder.iterdir()}
        fingerprints = {str(about.get("layouts")) for about in self.dumps()}
        # A disk that cannot be written serves readers all the same.
        with suppress(OSError, StoreError), self.scratch() as scratch:
            for name in fingerprints:
                (scratch / name).touch()
            scratch.rename(folder)
        return fingerprints

    def tables(self) -> set[str]:
        """Names of the tables that at least one dump has landed in."""
        return set(self.folders.tables())

    def clean(self) -> None:
        """Finish or remove what killed processes left. Whoever writes to a store begins with it.

        Raises:
            StoreError: the disk refuses it, or a folder of the store is a link.
        """
        with writing(self.root):
            clean(self.root)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder for unfinished work, on the disk of the store; removed at the end.

        Raises:
            StoreError: the disk refuses it.
        """
        with ExitStack() as stack:
            with writing(self.root):
                make_private(self.staging)
                folder = stack.enter_context(scratch_folder(self.staging))
            yield folder

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """A place to write a dump to; removed at the end unless it was published.

        Raises:
            StoreError: the disk refuses it.
        """
        with writing(self.root):
            for needed in (self.records, self.runs, self.root / "sizes"):
                needed.mkdir(parents=True, exist_ok=True)
        if not (self.root / MARKER).exists():  # `discard_unused` of another process
            replace_durably(self.root / MARKER, json.dumps({"version": VERSION}))
        with self.scratch() as folder:
            staged = Staging(folder)
            try:
                yield staged
            finally:
                staged.abandon()

    def publish(self, staged: Staging, about: dict[str, Any], day: date) -> bool:
        """Make a staged dump part of the store by one rename.

        Args:
            staged: the dump; its tables are finished here.
            about: what `dump.json` says; `system` and `dump` name the folder.
            day: of the first record, UTC.

        Returns:
            False if the same dump had been landed meanwhile; then nothing changes.

        Raises:
            StoreError: the disk refuses it.
        """
        target = self.records.joinpath(
            f"system={quote(about['system'], safe='')}", f"date={day}", f"dump={about['dump']}"
        )
        with writing(self.root):
            staged.close()
            write_durably(staged.folder / "dump.json", json.dumps(about, indent=1))
            sync_folder(staged.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if about["stored_size"] is not None:
                (self.root / "sizes" / str(about["stored_size"])).touch()
            self.layouts()  # of a store that did not note them yet
            (self.root / "layouts" / str(about["layouts"])).touch()
            with self._alone():
                if self.find(about["dump"]) is not None:
                    return False
                staged.folder.rename(target)
            for folder in (target.parent, target.parent.parent, self.records, self.root):
                sync_folder(folder)
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time: the same dump must not land twice, under two names."""
        handle = os.open(self.records, os.O_RDONLY)
        try:
            with suppress(OSError):  # some network disks lock no folders
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _check(self, marker: Path) -> None:
        try:
            version = json.loads(marker.read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{marker} cannot be read", found=str(error), remedy="restore it from a backup"
            ) from None
        if version != VERSION:
            raise StoreError(
                f"{self.root} is a store of another version",
                expected=f"version {VERSION}",
                found=f"version {version}",
                remedy="use the cpmon that wrote it, or land the dumps in a new store",
            )

    def _make(self, marker: Path) -> None:
        if self.root.exists() and not _is_empty(self.root):
            raise StoreError(
                f"{self.root} is neither a store nor empty",
                effect="nothing was landed",
                remedy="name a new folder with --store",
            )
        self.is_new, self._has_new_root = True, not self.root.exists()
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            sync_folder(self.root.absolute().parent)
        replace_durably(marker, json.dumps({"version": VERSION}))

    def discard_unused(self) -> None:
        """Remove a store that this object made if there is nothing in it but empty folders."""
        contents = sorted(self.root.rglob("*"), reverse=True) if self.is_new else []
        files = [path for path in contents if not path.is_dir()]
        if files != [self.root / MARKER]:
            return
        with suppress(OSError):  # another process has begun to write
            files[0].unlink()
            for folder in contents:
                if folder != files[0]:
                    folder.rmdir()
            if self._has_new_root:
                self.root.rmdir()


def _is_there(marker: Path) -> bool:
    """Whether a folder is a store.

    Raises:
        StoreError: this user may not know, or not read it.
    """
    try:
        if marker.exists():
            marker.open("rb").close()
            return True
    except PermissionError as error:
        raise StoreError(
            f"{marker.parent} may not be read",
            found=error.strerror,
            remedy="let its owner do this, or have the rights to its folders changed",
        ) from None
    return False


def _is_empty(folder: Path) -> bool:
    """Nothing in it but, perhaps, the marker that another process is writing just now."""
    return folder.is_dir() and all(f.name.startswith(f".{MARKER}") for f in folder.iterdir())
