"""A store: the layout of its folder, and how a dump lands in it.

STORE/
  store.json         marker with the version of the store
  manifest/          what is known of each dump and of results, by system and month
  records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../<token>/sytrsp.parquet ... dump.json
  months/system=VMSYS1/2001-11.0001-<token>/  the same for all dumps of a month (`compaction`)
  reduced/           results of `cpmon reduce`
  layouts/           site layouts that dumps landed with, if any (`landed_layouts`)
  runs/2600NP.json   named measurements, with their companion figures
  classes.txt        user classes, if defined
  staging/           dumps being written; safe to delete

Object storage has the same names. Each writer of a dump has a folder of its own, so that two of the
same dump do not mix; the manifest tells which one counts.
"""

from __future__ import annotations

import itertools
import json
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from ...core.atomic import remove_abandoned_parts, remove_abandoned_scratch
from ...core.derived import cache_folder
from ...core.errors import StoreError
from ..files.disk import sync_folder, write_durably, writing
from ..files.files import Files
from ..files.local import STAGING, LocalFiles, check_inside
from ..files.location import open_files
from .landed_dump import ABOUT, MONTHS, LandedDump, dump_folder, interval_facts, line
from .manifest import Manifest
from .staging import Staging

VERSION = 4
MARKER = "store.json"
OWN = frozenset(
    {
        *(MARKER, "classes.txt"),
        *("records", MONTHS, "manifest", "runs", "reduced", STAGING),
    }
)
"""Files and folders of a store that only cpmon itself writes."""
_MARKED = json.dumps({"version": VERSION}).encode()

_FOLDERS = ("records", MONTHS, "manifest", "runs", "reduced", "batch", STAGING)
"""Top-level folders of a store. None may be a symlink: its files would be another store's."""

POLL_S = 0.5
"""Seconds between looks at the names of the manifest's files."""


class Store:
    """A store, in a folder or in object storage. Opening it reads only the marker.

    Attributes:
        files: its files, by name below the store.
        root: its folder; for object storage, a local cache folder.
        records, runs, staging: folders of landed dumps, of runs, of dumps being written.
        manifest: the landed dumps.
    """

    def __init__(self, location: str | Path, *, create: bool = False) -> None:
        """Opens a store; with `create`, makes a missing one.

        Args:
            location: a path, or a URL of object storage.

        Raises:
            StoreError: there is no store, the folder holds other files, or the version is
                not supported.
        """
        self.files = open_files(str(location))
        is_local = isinstance(self.files, LocalFiles)
        self.root = Path(location) if is_local else _cache_of(self.files.location)
        self.records, self.runs = self.root / "records", self.root / "runs"
        self.staging = self.root / STAGING
        self.is_new = self._has_new_root = False
        self.manifest = Manifest(self.files)
        if create and _marker(self.files) is None:
            self._make()
        else:
            check_version(self.files)

    @property
    def location(self) -> str:
        """Absolute path or URL, valid in any process."""
        return self.files.uri("").rstrip("/")

    def find(self, dump: str) -> Path | None:
        """Folder of a landed dump, by identity; a month folder holds other dumps as well."""
        landed = self.manifest.find(dump)
        return None if landed is None else self.root / landed.folder

    def about(self, dump: str) -> dict[str, Any] | None:
        """All that is known of a landed dump, by identity; None if the store does not have it."""
        landed = self.manifest.find(dump)
        return next(iter(self.abouts([landed])), None) if landed else None

    def abouts(self, dumps: Iterable[LandedDump]) -> list[dict[str, Any]]:
        """All that is known of landed dumps, in their order."""
        return self.manifest.abouts(dumps)

    def dumps(self) -> Sequence[LandedDump]:
        """All landed dumps, by system, begin and name."""
        return self.manifest.dumps()

    def changes(self, poll_s: float = POLL_S) -> Iterator[None]:
        """Yields at once, and whenever dumps have landed, been merged or dropped; it never ends."""
        known = None
        while True:
            version = self.manifest.version
            if version != known:
                known = version
                yield
            time.sleep(poll_s)

    def tables(self) -> set[str]:
        """Names of the tables that at least one landed dump has."""
        return self.manifest.tables()

    def clean(self) -> None:
        """Removes what killed processes had begun to write on a disk. Writers call it first.

        Raises:
            StoreError: a folder of the store is a symlink, or the disk refuses a change.
        """
        if not self.files.is_local:
            return
        with writing(self.root):
            for name in _FOLDERS:
                check_inside(self.root, self.root / name)
            remove_abandoned_scratch(self.staging)
            reduced = self.root / "reduced"
            results = [each for each in reduced.glob("*") if not each.is_symlink()]
            for folder in (self.root, self.runs, self.root / "batch", reduced, *results):
                remove_abandoned_parts(folder)

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """Scratch folder to write a dump to; removed on exit unless the dump was published."""
        if self.files.is_local:
            with writing(self.root):
                for needed in (self.records, self.runs):
                    needed.mkdir(parents=True, exist_ok=True)
        if not self.files.exists(MARKER):  # `discard_unused` of another process
            self.files.replace(MARKER, _MARKED)
        with self.files.scratch() as folder:
            staged = Staging(folder)
            try:
                yield staged
            finally:
                staged.abandon()

    def land(self, staged: Staging, about: dict[str, Any], day: date) -> bool:
        """Lands a staged dump: puts its tables into a folder of their own, then names that.

        Readers see all of its tables from the moment on in which the manifest names them. After a
        kill before that, the folder is in no answer, and `collect_garbage` removes it.

        Args:
            staged: the dump; its tables are finished here.
            about: what is known of it; `system` and `dump` name the folder.
            day: day of the first record, UTC.

        Returns:
            False if the same dump was landed meanwhile; then nothing changes.

        Raises:
            StoreError: the disk or the network refuses it.
        """
        with writing(self.root):
            staged.close()
        if self.manifest.find(about["dump"]) is not None:
            return False
        folder = f"{dump_folder(about['system'], day, about['dump'])}/{secrets.token_hex(6)}"
        facts = interval_facts(staged.folder / "interval.parquet")
        tables = sorted(staged.rows)
        about = {**about, "landed_on": str(day), **facts, "tables": tables, "folder": folder}
        self.manifest.begin(about)
        with writing(self.root):
            write_durably(staged.folder / ABOUT, line(about))
        names = [*(f"{table}.parquet" for table in tables), ABOUT]
        self.files.publish({f"{folder}/{name}": staged.folder / name for name in names})
        has_landed = self.manifest.add(about)
        if not has_landed:
            self.files.delete_folders([folder])
        return has_landed

    def _make(self) -> None:
        if not self._is_empty():
            if _marker(self.files) is not None:  # another process has just made it
                check_version(self.files)
                return
            raise StoreError(
                f"{self.files.location} is neither a store nor empty",
                code="store-folder-not-empty",
                effect="nothing was landed",
                remedy="name a new folder with --store",
            )
        self.is_new, self._has_new_root = True, not self.root.exists()
        if self.files.is_local:
            try:
                with writing(self.root):
                    self.root.mkdir(parents=True, exist_ok=True)
                    sync_folder(self.root.absolute().parent)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise StoreError(
                    "there can be no folder for a store",
                    code="store-folder-impossible",
                    place=str(self.root),
                    found=error.strerror,
                    effect="nothing was landed",
                    remedy="name a folder of a disk with --store",
                ) from None
        self.files.replace(MARKER, _MARKED)

    def _is_empty(self) -> bool:
        """Whether there are no files, except a marker that another process is writing."""
        if self.files.is_local and self.root.exists():
            return self.root.is_dir() and all(
                f.name.startswith(f".{MARKER}") for f in self.root.iterdir()
            )
        return next(self.files.names(), MARKER) == MARKER

    def discard_unused(self) -> None:
        """Removes a store that this object created if it holds only empty folders."""
        if not self.files.is_local:
            if self.is_new and [*itertools.islice(self.files.names(), 2)] == [MARKER]:
                self.files.delete([MARKER])
            return
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


def _cache_of(location: str) -> Path:
    """Local cache folder of a store in object storage."""
    cache = cache_folder() or Path(tempfile.mkdtemp(prefix="cpmon-"))
    folder = cache / "stores" / blake2b(location.encode(), digest_size=8).hexdigest()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def check_version(files: Files) -> None:
    """Checks that a store exists and has this version.

    Raises:
        StoreError: there is no store, or it has another version.
    """
    data, place = _marker(files), files.location
    if data is None:
        is_empty = next(files.names(), None) is None
        is_there = isinstance(files, LocalFiles) and files.root.is_dir()
        found = "an empty folder" if is_there else "no such folder"
        raise StoreError(
            f"{place} is no store",
            code="store-missing",
            expected=f"a folder with {MARKER}",
            found=found if is_empty else "other files",
            remedy="land a dump first: cpmon ingest DUMP --store STORE",
        )
    try:
        version = msgspec.json.decode(data, type=_Marker).version
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(
            "what says that this is a store cannot be read",
            code="store-marker-damaged",
            place=files.uri(MARKER),
            expected=_MARKED.decode(),
            found=str(error),
            effect="nothing was read or written",
            remedy="restore it from a backup, or make it again:"
            f" echo '{_MARKED.decode()}' > {MARKER}, in the folder of the store",
        ) from None
    if version != VERSION:
        raise StoreError(
            f"{place} is a store of another version",
            code="store-version-unsupported",
            expected=f"version {VERSION}",
            found=f"version {version}",
            remedy="ingest the dumps into a new store, or use the cpmon that wrote this one",
        )


class _Marker(msgspec.Struct):
    """Content of the marker file of a store."""

    version: int | str


def _marker(files: Files) -> bytes | None:
    """Content of the marker file; None if there is none.

    Raises:
        StoreError: the user may not read it.
    """
    try:
        return files.read(MARKER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise StoreError(
            f"{files.location} may not be read",
            code="store-access-denied",
            found=error.strerror,
            remedy="let its owner do this, or have the rights to its folders changed",
        ) from None
