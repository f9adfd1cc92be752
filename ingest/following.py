"""Lands a dump while it comes: each interval is a part of it, as soon as its last record is there.

All parts of a source are decoded by one reader, so that they have the rows, offsets and settings
that the whole would have; readers of the store see them as one dump (`store.dumps.parts`). The line
of a part says up to where the source is in the store. After a kill, a source that can be read again
is read from its beginning: what the store has is decoded, for the settings in it, and not landed.
Where a source goes on with another system, that is another dump.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..core.errors import BusyError, CpmonError
from ..store.check import collect_garbage
from ..store.format.landed_layouts import save_layouts
from ..store.format.manifest import FAN
from ..store.format.parts import STREAM, combine, followed, part_name, parts_of
from ..store.format.staging import Staging
from ..store.format.store import Store
from .codec import utc_text
from .container.arriving import POLL_S, Arrival, ArrivingReading, ArrivingSource, arrivals
from .container.monwrite import Framer
from .container.source import Container
from .container.windows import ByteWindow
from .decode.configuration import SYSTEM, decode_records
from .decode.intervals import row_stamps
from .decode.reader import ByteCounts, Reader
from .findings import Code, Findings
from .landing import Landed, describe, first_day, landed_before, refuse_another

KEPT = 4096
"""Intervals that are remembered, to see which come again; older ones are forgotten."""
LATER = 2
"""Intervals that decide about the length of the one before them."""


@dataclass
class _LandingPart:
    """What is written of a part that has not landed.

    Attributes:
        times_us: of the first and the last record.
        closed: number of intervals of its dump that ended before it.
    """

    staged: Staging
    times_us: list[int] = field(default_factory=list)
    closed: int = 0


class Follower:
    """What has come of one source, and what of it is in the store."""

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        system: str | None = None,
        fallback_system: str = "UNKNOWN",
        release: str = "",
        fallback_release: str = "",
        container: Container | str = Container.AUTO,
        last_tod: str | None = None,
    ) -> None:
        """Reads nothing of the store yet.

        Args:
            name: of the source, for people.
            system: name to use instead of the one in the data.
            fallback_system: name to use as long as the data has none.
            release: CP level that writes, if not the one that the data names.
            fallback_release: CP level that writes, if it names none.
            last_tod: of a source that cannot be read again, the last record that landed before.
        """
        self._last_tod = last_tod
        self._store, self._given, self._fallback = store, system, fallback_system
        self._releases = release, fallback_release
        self._source = ArrivingSource(name, Container(container))
        self._framer = Framer(Findings())
        self._reading = ArrivingReading(self._source, self._framer)
        self._reader = self._new_reader(ByteCounts())
        self._name = ""
        self._dump, self._dumps = "", 0
        self._identity = ""
        self._number, self._counted = 0, ByteCounts()
        self._has: dict[str, Any] = {}
        self._small: list[str] = []
        self._checked: Any = None
        self._scratch = ExitStack()
        self._part = self._new_part()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: Any, _trace: TracebackType | None
    ) -> None:
        self._scratch.close()

    @property
    def is_ended(self) -> bool:
        """Whether the end-of-data record has come, and nothing behind it."""
        return self._framer.ended and self._reading.position == self._source.size

    def follow(self, arrivals: Iterable[Arrival]) -> Iterator[Landed]:
        """Land what arrives; yields each part that has landed.

        Raises:
            DumpError: it is no monitor data.
            CpmonError: it is compressed, or another source than the one that was followed.
            StoreError: the store cannot be written.
        BusyError: another process follows the same source.
        """
        for data in arrivals:
            if data is None:
                if not self._reading.settle():
                    continue
            else:
                self._reading.arrive(data)
            yield from self._take(final=False)

    def finish(self) -> Iterator[Landed]:
        """Land what is left, where nothing follows; yields the last parts.

        Raises:
            as `follow`.
        """
        self._reading.finish()
        yield from self._take(final=True)
        self._identify(self._source.size)
        if not self._reader.configuration.system:
            self._reader.findings.add(Code.CONFIG_MISSING, 0, "expected a record 1.4")
        yield from self._land(self._reading.position, final=True)
        self._put_together()

    @property
    def size(self) -> int:
        """Bytes that have come."""
        return self._source.size

    def missed(self, detail: str) -> None:
        """Report that data sets of a device are missing."""
        self._reader.findings.add(Code.SETS_MISSED, self._source.size, detail)

    def _take(self, *, final: bool) -> Iterator[Landed]:
        """Write what windows hold, and land it where an interval ends."""
        if (end := self._reading.first_end()) is not None:
            self._identify(end)
        for window in self._reading.windows(final):
            if (name := self._other_system(window)) is not None:
                yield from self._switch(window, name)
            self._write(window)
        self._check_source()
        if not final and len(self._reader.intervals.closed) > self._part.closed:
            yield from self._land(self._reading.position)

    def _write(self, window: ByteWindow) -> None:
        """Write the tables of a window; of what the store has, only the settings are used."""
        tables = self._reader.tables(window)
        if self._is_known(window):
            self._discard()
            return
        for name, table in tables:
            self._part.staged.write(name, table)
        if len(window.index):
            tod_us = row_stamps(window).tod_us
            self._part.times_us += [int(tod_us[0]), int(tod_us[-1])]

    def _discard(self) -> None:
        """Forget what was written, and the findings: the store has them."""
        self._reader.rest()
        self._reader.end_part(LATER)
        self._reader.findings = Findings()
        if self._part.staged.rows:
            self._scratch.close()
            self._part = self._new_part()
        self._part.closed = len(self._reader.intervals.closed)

    def _is_known(self, window: ByteWindow) -> bool:
        """Whether the store has a window."""
        if not len(window.frames):
            return self._reading.position < self._has_to
        return int(window.frames.start[-1]) + window.base < self._has_to

    def _identify(self, end: int) -> None:
        """Name the source by its bytes up to its first interval end, and find what the store has.

        Args:
            end: position behind that record; of all that came, if there is none.
        """
        if self._identity:
            return
        self._identity = self._source.hash_up_to(end)
        for number in itertools.count():
            parts = parts_of(self._store, self._whole(number))
            if not parts:
                break
            self._has = self._store.abouts(parts[-1:])[0][STREAM]
        self._name_dump()
        if self._has:
            self._reading.held_from = self._has["position"]
            self._discard()

    @property
    def _has_to(self) -> int:
        """Position up to which the store has the source."""
        return int(self._has.get("position", 0))

    def _whole(self, number: int) -> str:
        """The identity of a dump of the source: its first one, and those of other systems."""
        if not number:
            return self._identity
        return blake2b(f"{self._identity} {number}".encode(), digest_size=16).hexdigest()

    def _name_dump(self) -> None:
        """Take the next name of a dump, and go on behind the parts that it has."""
        self._dump = self._whole(self._dumps)
        parts = parts_of(self._store, self._dump)
        self._number, self._checked = 0, None
        self._small = [part.dump for part in parts]
        if parts:
            (about,) = self._store.abouts(parts[-1:])
            self._name = about["system"]
            self._number = about[STREAM]["number"] + 1
            self._counted = ByteCounts(**about[STREAM]["bytes"])

    def _check_source(self) -> None:
        """Check that the source is the one that the store has the front of.

        Raises:
            CpmonError: it is another one.
        """
        position = self._has_to
        if not position or self._source.size < position or "is_checked" in self._has:
            return
        self._has["is_checked"] = True
        if self._source.hash_up_to(position) != self._has["hash"]:
            raise CpmonError(
                f"{self._source.name} is not what was followed before",
                code="follow-source-changed",
                place=f"before offset {position:#x}",
                expected=f"the bytes that landed as {self._identity[:12]}",
                found="the same first interval, then others",
                effect="nothing was landed",
                remedy="land it by cpmon ingest, in another store if both are wanted; or take out"
                f" what landed: cpmon store drop {self._identity[:12]}",
            )

    def _other_system(self, window: ByteWindow) -> str | None:
        """The system that a window names, if it is not the one before; None otherwise."""
        found = decode_records(window.data, window.index, SYSTEM[0])
        names = found[0].columns[SYSTEM[1]].to_pylist() if found else ()
        name: str | None = next(filter(None, names), None)
        if name is None or self._given is not None:
            return None
        has_landed = self._number > 0
        if name != self._system and (self._name or has_landed):
            return name
        self._name = name
        return None

    @property
    def _system(self) -> str:
        return self._given or self._name or self._fallback

    def _switch(self, window: ByteWindow, name: str) -> Iterator[Landed]:
        """End the dump before a window that names another system, and begin one of that."""
        place = window.base + int(window.frames.start[0])
        self._identify(place)
        yield from self._land(place, final=True)
        self._put_together()
        self._reader, self._name = self._new_reader(self._reader.bytes), name
        self._dumps += 1
        self._name_dump()
        self._part.closed = 0

    def _land(self, position: int, *, final: bool = False) -> Iterator[Landed]:
        """Land what was written; `position`: up to where that is the source.

        At the end of a dump findings, or bytes that are no records, may be all that is left.
        """
        reader, part = self._reader, self._part
        self._close_part(final=final)
        is_known = position < self._has_to or self._has.get("final", False)
        is_more = final and (reader.totals != self._counted or reader.findings.kept)
        if not part.staged.rows and (is_known or not is_more):
            return
        about = self._facts(position, final=final)
        if about["identity"] != self._checked:
            refuse_another(self._store, about)
            save_layouts(self._store.files)
            self._checked = about["identity"]
        day = first_day(about)
        if not self._store.land(part.staged, about, day):
            raise BusyError(
                f"another process follows {self._source.name} into this store",
                code="follow-twice",
                place=self._store.location,
                found=f"part {about['dump']}",
                effect="nothing more is landed by this one; nothing of the other is changed",
            )
        findings, reader.findings = reader.findings, Findings()
        reader.intervals.forget(KEPT)
        self._small.append(str(about["dump"]))
        self._number, self._counted = self._number + 1, reader.totals
        self._scratch.close()
        self._part = self._new_part()
        self._part.closed = len(reader.intervals.closed)
        yield Landed(str(about["dump"]), self._system, False, about, findings)
        self._put_together(f"date={day}")

    def _close_part(self, *, final: bool) -> None:
        """Write the rows that are left, and what is found at the end of a part."""
        reader, part = self._reader, self._part
        for name, table in reader.rest():
            part.staged.write(name, table)
        if self._last_tod and part.times_us:
            missing = f"{self._last_tod} to {utc_text(part.times_us[0])}: nobody read what came"
            reader.findings.add(Code.SETS_MISSED, 0, missing)
            self._last_tod = None
        reader.end_part(0 if final else LATER)

    def _facts(self, position: int, *, final: bool) -> dict[str, Any]:
        """What the manifest says of the part, with its place in the source."""
        reader, part, totals = self._reader, self._part, self._reader.totals
        ends_us = reader.ends_us[part.closed :]
        last_us = reader.intervals.last_us
        first, last = part.times_us[:1], part.times_us[-1:]
        times = (min([*first, *ends_us], default=last_us), max([*last, *ends_us], default=last_us))
        about = describe(
            reader, part.staged, self._system, part_name(self._dump, self._number), (ends_us, times)
        )
        counts = {key: n - getattr(self._counted, key) for key, n in asdict(totals).items()}
        about["bytes"] = counts
        about[STREAM] = {
            "number": self._number,
            "position": position,
            "hash": self._source.hash_up_to(position),
            "bytes": asdict(totals),
            "final": final,
        }
        return about

    def _put_together(self, today: str = "") -> None:
        """Put parts of days together: those of days that are over, and many of today."""
        parts = [part for part in parts_of(self._store, self._dump) if not part.is_merged]
        for day, group in itertools.groupby(parts, key=lambda part: part.folder.split("/")[2]):
            of_day = [*group]
            if day == today:
                of_day = [part for part in of_day if part.dump in self._small]
                if len(of_day) < FAN:
                    continue
            for _, some in itertools.groupby(of_day, key=lambda part: part.decoding):
                alike = [*some]
                if len(alike) > 1 and combine(self._store, alike) and today not in ("", day):
                    collect_garbage(self._store)  # once a day
            self._small = [*{*self._small} - {part.dump for part in of_day}]

    def _new_reader(self, counts: ByteCounts) -> Reader:
        release, fallback = self._releases
        return Reader(self._source, release, fallback, bytes=counts, framer=self._framer)

    def _new_part(self) -> _LandingPart:
        return _LandingPart(self._scratch.enter_context(self._store.stage()))


def follow(
    path: Path,
    store: Store,
    patterns: Sequence[str] = ("*",),
    *,
    idle_s: float | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    **options: Any,
) -> Iterator[Landed]:
    """Land what comes from a source; yields each part that has landed.

    A file ends with its end-of-data record, a pipe where it is closed; a FIFO is opened again then,
    and a file that was replaced by another one, or begun anew.
    In a folder one file is followed after the other, in the order of their last changes: when there
    is a newer one, the one before is complete.

    Args:
        path: a device, a file that grows, a FIFO, a folder; "-" is standard input.
        patterns: names of the files of a folder that are followed.
        idle_s: ends where nothing has come for so long; a file is followed on later, then.
        is_stopped: asked several times a second; nothing more is read then.
        options: those of `Follower`.

    Raises:
        as `Follower.follow`.
    """
    store.clean()
    sources = _Sources(store, is_stopped, options)
    if path.is_dir():
        yield from sources.files_of(path, patterns, idle_s)
        return
    yield from sources.one(path, idle_s)
    while idle_s is None and (path.is_fifo() or sources.is_replaced) and not is_stopped():
        yield from sources.one(path, idle_s)


class _Sources:
    """Sources that are followed one after the other; what one does not name, the last one did.

    Attributes:
        is_replaced: whether the last one was a file in whose place there is another one.
    """

    def __init__(
        self, store: Store, is_stopped: Callable[[], bool], options: dict[str, Any]
    ) -> None:
        self._store, self._is_stopped, self._options = store, is_stopped, options
        self.is_replaced = False
        self._lasts = followed(store)

    def one(
        self, path: Path, idle_s: float | None, is_over: Callable[[], bool] | None = None
    ) -> Iterator[Landed]:
        """Follow a source.

        Args:
            is_over: of a file among others, whether nothing follows what has come of it.
        """
        name = "standard input" if str(path) == "-" else path.name
        is_file, began = path.is_file(), path.stat() if path.is_file() else None
        self.is_replaced = False
        if is_file and landed_before(path, self._store):
            return
        before = max(
            (about for about in self._lasts if is_over is not None or about["source"] == name),
            key=lambda about: str(about["landed_at"]),
            default={},
        )
        known = {
            "fallback_system": before.get("system", "UNKNOWN"),
            "fallback_release": before.get("release", ""),
            "last_tod": None if is_file else before.get("last_tod"),
        }
        with Follower(self._store, name, **known | self._options) as follower:

            def is_complete() -> bool:
                self.is_replaced = began is not None and _is_other(path, began, follower.size)
                is_over_now = self.is_replaced or (is_over is not None and is_over())
                return is_over_now or (is_file and follower.is_ended)

            def coming() -> Iterator[Arrival]:
                for data in arrivals(path, follower.missed, idle_s):
                    if self._is_stopped():
                        return
                    yield data
                    if data is None and is_complete():
                        return

            for landed in follower.follow(coming()):
                self._lasts.append(landed.about)
                yield landed
            if not is_file or is_complete():
                yield from follower.finish()

    def files_of(
        self, folder: Path, patterns: Sequence[str], idle_s: float | None
    ) -> Iterator[Landed]:
        """Follow the files of a folder."""
        streams = [(about["source"], about[STREAM]) for about in self._lasts]
        ended = {(name, stream["position"]) for name, stream in streams if stream["final"]}
        done, since = set[tuple[str, int]](), time.monotonic()
        while not self._is_stopped():
            files = _files(folder, patterns)
            file = next((f for f in files if (f.name, f.stat().st_ino) not in done), None)
            if file is None:
                if idle_s is not None and time.monotonic() - since >= idle_s:
                    return
                time.sleep(POLL_S)
                continue
            done.add((file.name, file.stat().st_ino))
            if (file.name, file.stat().st_size) not in ended:
                is_over = functools.partial(_has_newer, file, folder, patterns)
                yield from self.one(file, idle_s, is_over)
            since = time.monotonic()


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files of a folder, by their last changes."""
    files = {f for pattern in patterns for f in folder.glob(pattern) if f.is_file()}
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _is_other(path: Path, began: os.stat_result, size: int) -> bool:
    """Whether a file is another one than it began as, or was emptied since so much was read."""
    with suppress(FileNotFoundError):
        now = path.stat()
        return now.st_ino != began.st_ino or now.st_size < size
    return False  # it may be back in a moment


def _has_newer(file: Path, folder: Path, patterns: Sequence[str]) -> bool:
    return _files(folder, patterns)[-1:] != [file]
