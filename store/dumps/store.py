"""A store: the layout of its folder, and how a dump is published by a single rename.

STORE/
  store.json         marker with the version of the store
  records/system=VMSYS1/date=2001-12-18/dump=3f1c9a.../sytrsp.parquet ... dump.json
  months/system=VMSYS1/2001-11.0001-<digest>/  the same for all dumps of a month (`compaction`)
  manifest/          metadata of each dump, by system and month
  layouts/           site layouts that dumps landed with, if any (`kept_layouts`)
  runs/2600NP.json   named measurements, with their companion figures
  classes.txt        user classes, if defined
  staging/           dumps being written; safe to delete
  aside/             dumps that `repair` found incomplete; nobody reads it

Object storage uses the same names; `elsewhere` documents how a dump lands there.
"""

from __future__ import annotations

import copy
import fcntl
import functools
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from ...core.errors import StoreError
from ..files.disk import replace_durably, sync_folder, write_durably, writing
from ..files.files import Files
from ..files.local import STAGING, LocalFiles, make_folder
from ..files.location import open_files
from . import elsewhere
from .cleanup import ASIDE, MERGING, clean, put_aside, settle
from .landed_dump import ABOUT, MONTHS, LandedDump, dump_folder, interval_facts, is_folder, line
from .manifest import LANDING, Manifest
from .staging import Staging

VERSION = 3
MARKER = "store.json"
OWN = frozenset(
    {
        *(MARKER, "classes.txt"),
        *("records", MONTHS, "manifest", "runs", "reduced", STAGING, ASIDE),
    }
)
"""Files and folders of a store that only cpmon itself writes."""
_MARKED = json.dumps({"version": VERSION}).encode()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What readers of a store do without.

    Attributes:
        dumps: names of dumps.
        files: names of runs and materialized results, below the store.
    """

    dumps: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


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
        self.root = Path(location) if is_local else elsewhere.local_folder(self.files.location)
        self.records, self.runs = self.root / "records", self.root / "runs"
        self.staging = self.root / STAGING
        self.is_new = self._has_new_root = False
        self.manifest = Manifest(self.files)
        self._left_out: Callable[[], LeftOut] = LeftOut
        if create and _marker(self.files) is None:
            self._make()
        else:
            check_version(self.files)

    @property
    def left_out(self) -> LeftOut:
        """What readers do without."""
        return self._left_out()

    def without(self, left_out: Callable[[], LeftOut]) -> Store:
        """This store as a reader sees it without some dumps and files.

        Args:
            left_out: returns what else is left out; called once, when dumps, runs or results are
                first asked for.
        """

        @functools.cache
        def both() -> LeftOut:
            more, before = left_out(), self.left_out
            return LeftOut(before.dumps | more.dumps, before.files | more.files)

        other = copy.copy(self)
        other._left_out = both
        other.manifest = self.manifest.without(lambda: other.left_out.dumps)
        return other

    @property
    def location(self) -> str:
        """Absolute path or URL, valid in any process."""
        return self.files.uri("").rstrip("/")

    def find(self, dump: str) -> Path | None:
        """Folder of a landed dump, by identity; a month folder holds other dumps as well."""
        landed = self.manifest.find(dump)
        return None if landed is None else self.root / landed.folder

    def about(self, dump: str) -> dict[str, Any] | None:
        """Metadata of a landed dump, by identity; None if the store does not have it."""
        landed = self.manifest.find(dump)
        if landed is None:
            return None
        abouts = self.manifest.abouts(landed.folder)
        return next((about for about in abouts if about["dump"] == dump), None)

    def abouts(self, dumps: Iterable[LandedDump]) -> Iterator[dict[str, Any]]:
        """Yields the metadata of landed dumps, folder by folder.

        Raises:
            UnreadableError: that of a dump is damaged or missing.
        """
        for folder, group in itertools.groupby(
            sorted(dumps, key=lambda dump: dump.folder), key=lambda dump: dump.folder
        ):
            names = {dump.dump for dump in group}
            abouts = [about for about in self.manifest.abouts(folder) if about["dump"] in names]
            if lost := names - {about["dump"] for about in abouts}:
                raise self.manifest.unreadable(folder, f"no line of {', '.join(sorted(lost))}")
            yield from abouts

    def dumps(self) -> Sequence[LandedDump]:
        """All landed dumps, by system, begin and name."""
        return self.manifest.dumps()

    @property
    def state(self) -> tuple[Sequence[LandedDump], bool]:
        """Snapshot to compare: changes when dumps land, are merged or pruned, or a merge starts."""
        return self.dumps(), self.is_merging

    def tables(self) -> set[str]:
        """Names of the tables that at least one landed dump has."""
        return set(self.manifest.tables())

    def clean(self) -> None:
        """Finishes or removes the work of killed processes. Every writer of a store calls it first.

        Raises:
            StoreError: a folder of the store is a symlink, or the disk refuses a change.
        """
        if not isinstance(self.files, LocalFiles):
            elsewhere.clean(self.files, self.manifest)
            return
        with writing(self.root):
            clean(self.files)
            for intent in sorted(self.staging.glob(f"*{LANDING}")):
                with self.alone():
                    self._finish_landing(intent)
            for marker in self._merging():
                with self.alone():
                    settle(self.files, self.manifest, marker)

    @property
    def is_merging(self) -> bool:
        """Whether a merge of a month is in progress, or was when its process was killed.

        Some dumps are then in two folders, and the manifest tells which one counts. In object
        storage this does not matter: readers never list folders there.
        """
        return self.files.is_local and bool(self._merging())

    def _merging(self) -> list[str]:
        names = (file.name for file in self.files.inside(MONTHS).files)
        return [name for name in names if name.endswith(MERGING)]

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

    def publish(self, staged: Staging, about: dict[str, Any], day: date) -> bool:
        """Publishes a staged dump: renames its folder, then adds it to the manifest.

        If the process is killed in between, an intent file remains, and the next process that
        writes to the store adds the dump. In object storage only the manifest counts (see
        `elsewhere`).

        Args:
            staged: the dump; its tables are finished here.
            about: content of `dump.json`; `system` and `dump` name the folder.
            day: day of the first record, UTC.

        Returns:
            False if the same dump was landed meanwhile; then nothing changes.
        """
        with writing(self.root):
            staged.close()
        facts = interval_facts(staged.folder / "interval.parquet")
        about = {**about, "landed_on": str(day), **facts, "tables": sorted(staged.rows)}
        if not self.files.is_local:
            return elsewhere.publish(self.files, self.manifest, staged, about, day)
        target = self.root / dump_folder(about["system"], day, about["dump"])
        with writing(self.root):
            write_durably(staged.folder / ABOUT, line(about))
            sync_folder(staged.folder)
            with self.alone():
                if self.manifest.find(about["dump"]) is not None:
                    return False
                make_folder(self.root, target.parent)
                put_aside(self.files, str(target.relative_to(self.root)))  # the manifest lacks it
                intent = self.staging / f"{about['dump']}{LANDING}"
                replace_durably(intent, str(target.relative_to(self.root)))
                staged.folder.rename(target)
                for folder in (target.parent, target.parent.parent, self.records, self.root):
                    sync_folder(folder)
                try:
                    self._finish_landing(intent)
                except (OSError, StoreError):
                    target.rename(staged.folder)  # a refused dump has not landed
                    intent.unlink(missing_ok=True)
                    raise
        return True

    def _finish_landing(self, intent: Path) -> None:
        """Adds a dump to the manifest if its folder was renamed; the intent names the folder.

        Raises:
            StoreError: the folder is not the one that its `dump.json` implies.
        """
        with suppress(FileNotFoundError):  # not renamed, or another process has just finished it
            folder = intent.read_text(encoding="utf-8", errors="replace")
            abouts = self.manifest.written(folder) if is_folder(folder) else []
            if [dump_folder(a["system"], a["landed_on"], a["dump"]) for a in abouts] != [folder]:
                raise StoreError(
                    "what a killed process had begun to land cannot be finished",
                    code="landing-intent-damaged",
                    place=str(intent),
                    expected="the folder of a dump, as its dump.json names it",
                    found=folder,
                    effect="nothing was changed",
                    remedy="move that file out of the store",
                )
            self.manifest.add(abouts[0])
        intent.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock of the store, so that no dump lands twice and no month is merged twice.

        Raises:
            BusyError: another process holds it, in object storage; on a disk the call waits.
        """
        if not self.files.is_local:
            with elsewhere.alone(self.files):
                yield
            return
        self.records.mkdir(exist_ok=True)  # missing in a store without dumps
        handle = os.open(self.records, os.O_RDONLY)
        try:
            with suppress(OSError):  # some network disks lock no folders
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

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
            remedy="use the cpmon that wrote it, or land the dumps in a new store",
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
