"""Lands a dump: reads, decodes, checks and writes it as tables of the store.

`LandingJob` is a landing as a unit of work, for callers that land several dumps at once.
`land_checked` lands a dump in a scratch store to check it, in passes that run together, window by
window, so that the dump is read once and memory is bounded; checks of values query that store.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from ..core import __version__
from ..core.errors import CpmonError, StoreError
from ..schemas.registry import fingerprint, site_folder, use
from ..schemas.release import base_release
from ..schemas.unplaced import Places, fingerprint_with, layouts_with
from ..store.format.landed_dump import LandedDump
from ..store.format.landed_layouts import save_layouts
from ..store.format.parts import STREAM, followed
from ..store.format.staging import Staging
from ..store.format.store import Store
from ..store.measured.runs import Run, assumed_places, name_of_new, read_run, run_file, save_run
from .codec import moment, unix_us
from .container.source import Container, Progress, open_source
from .container.windows import ByteWindow, prefetch, prefetched
from .decode.reader import ByteCounts, Reader, Tables
from .findings import Code, Findings, Pass

Look = Callable[[ByteWindow], None]
"""Called with every window of a dump, on the thread that decodes it."""
_TABLES_AHEAD = 2
"""Windows that are decoded while the tables of an earlier one are written: a row group that is
written holds up the decoding of a window only. With one, landing takes a fifth longer."""


@dataclass(frozen=True)
class Landed:
    """The result of landing a dump.

    `already`: the store had its bytes before, so that at most its run was written; `system` is then
    the name that they landed under. `not_assumed`: places of the run file that it landed without.
    """

    dump: str
    system: str
    already: bool
    about: dict[str, Any]
    findings: Findings
    run: Run | None = None
    run_changed: bool = False
    not_assumed: Places = ()


def ingest(  # noqa: PLR0913 - most are options of the command
    path: str | Path,
    store: Store,
    *,
    system: str | None = None,
    run_id: str | None = None,
    release: str = "",
    fallback_release: str = "",
    container: Container | str = Container.AUTO,
    accept_damage: bool = False,
    progress: Progress | None = None,
) -> Landed:
    """Land a dump: a path, or "-" for standard input.

    Args:
        system: name to use instead of the one in the dump; of a file with several it says that all
            is of one.
        run_id: make the dump a run of this name.
        release: CP level that wrote the dump ("5.3.0"), if not the one that the dump names.
        fallback_release: CP level that wrote the dump, if it names none.
        container: how the data is wrapped; detected from its first bytes by default.
        accept_damage: land what is good of a dump of which most is lost.
        progress: called after every window.

    Raises:
        DumpError: the input is no monitor data, or most of it is lost; nothing was written.
        BusyError: the file was written to meanwhile; nothing was landed.
        StoreError: the store cannot be written; nothing was landed.
        CpmonError: the run file beside the dump is wrong, or the dump has no records to make a
            run of; the dump itself has landed, unless the file assumes a place that is wrong. Or
            no run can have this `run_id`: nothing was landed.
    """
    if run_id:
        name_of_new(run_id)
    store.clean()
    file = run_file(Path(path)) if str(path) != "-" else None
    places = assumed_places(file) if file else ()
    landed = _landed_before(path, store)
    if landed is None:
        with (
            open_source(path, container) as source,
            store.stage() as staged,
            _frozen_garbage_collector(),
        ):
            reader = Reader(source, release, fallback_release, layouts_with(places))
            write_tables(reader, staged, progress)
            source.check_unchanged()
            if (refusal := reader.mostly_lost()) and not accept_damage:
                raise refusal
            if system is None and (several := _several(reader)):
                raise several
            landed = _publish(reader, staged, store, system, places)
    run = _run(path, file, landed, run_id)
    changed = save_run(store, run) if run else False
    known = landed.about.get("assumed", [])
    missing = tuple(place for place in places if asdict(place) not in known)
    return replace(landed, run=run, run_changed=changed, not_assumed=missing)


def landed_before(path: str | Path, store: Store) -> LandedDump | None:
    """The dump of a file, if one of this size and content has landed before.

    Of a file that was followed to its end it is the last part. A pipe or device can be read only
    once, so it is not opened for that.
    """
    if str(path) == "-" or not Path(path).is_file():
        return None
    with open_source(path) as source:
        size = source.stored_size
        ends = [about for about in followed(store) if about[STREAM]["position"] == size]
        if size is None or not (ends or store.manifest.has_size(size)):
            return None
        scratch = memoryview(bytearray(1024 * 1024))
        while source.readinto(scratch) == len(scratch):
            pass
        parts = {about[STREAM]["hash"]: str(about["dump"]) for about in ends}
        return store.manifest.find(parts.get(source.identity, source.identity))


def _landed_before(path: str | Path, store: Store) -> Landed | None:
    dump = landed_before(path, store)
    about = store.about(dump.dump) if dump else None
    if dump is None or about is None:
        return None
    return Landed(dump.dump, dump.system, True, about, Findings())


def write_tables(
    reader: Reader, staged: Staging, progress: Progress | None = None, look: Look | None = None
) -> dict[Pass, int]:
    """Write the tables of a dump, and finish its findings; returns how much each pass has seen."""
    seen = dict.fromkeys(Pass, 0)

    def decoded() -> Iterator[Tables]:
        """The tables of each window, and of what was buffered."""
        for window in prefetched(reader.source, reader.framer):
            tables = reader.tables(window)
            seen[Pass.CONTROL] += len(window.frames)
            seen[Pass.HEADERS] += len(window.index)
            if look:
                look(window)
            yield tables
        yield reader.rest()

    for tables in prefetch(decoded(), _TABLES_AHEAD):
        for name, table in tables:
            seen[Pass.VALUES] += len(table)
            staged.write(name, table)
        if progress:
            progress(reader.source)
    reader.finish()
    seen[Pass.FILE] = reader.source.size
    return seen


@contextmanager
def _frozen_garbage_collector() -> Iterator[None]:
    """Excludes what is loaded already from garbage collection: it stays, and there is much of it.

    Measured with interleaved runs over a dump of 256 MB: 6 to 8 % of the time of an ingest.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _publish(
    reader: Reader, staged: Staging, store: Store, system: str | None = None, places: Places = ()
) -> Landed:
    """Make a dump whose tables were written part of a store.

    `system`: name to use instead of the one in the dump. `places`: those that it was decoded by,
    beside the layouts.

    Raises:
        StoreError: the store cannot be written; nothing was landed.
    """
    source, findings = reader.source, reader.findings
    name = system or reader.configuration.system or "UNKNOWN"
    about = describe(reader, staged, name, source.identity, (reader.ends_us, reader.span_us))
    if places:
        about["layouts"] = fingerprint_with(places)
        about["assumed"] = [asdict(place) for place in places]
    refuse_another(store, about)
    save_layouts(store.files)
    fresh = store.land(staged, about, first_day(about))
    return Landed(source.identity, name, not fresh, about, findings)


Times = tuple[Sequence[int], tuple[int | None, int | None]]
"""Interval ends, and the first and last time; microseconds since 1970 UTC."""


def describe(
    reader: Reader, staged: Staging, system: str, dump: str, times: Times
) -> dict[str, Any]:
    """What is known of a dump whose tables were written; its findings become the last of them.

    Args:
        dump: its identity. times: those that are in it.
    """
    source, findings = reader.source, reader.findings
    if findings.kept:
        staged.write("finding", findings.table())
    ends_us, (first_us, last_us) = times
    about: dict[str, Any] = {
        "dump": dump,
        "system": system,
        "release": base_release(reader.level),
        "zone_s": reader.configuration.zone_s,
        "identity": {key: [*found] for key, found in reader.configuration.identity.items()}
        | {"IPL": [_iso_us(us) for us in reader.configuration.loads_us]},
        "source": source.name,
        "stored_size": source.stored_size,
        "compression": source.compression,
        "landed_at": _iso_us(unix_us(datetime.now(UTC))),
        "first_tod": _iso_us(first_us),
        "last_tod": _iso_us(last_us),
        "first_interval_end": _iso_us(min(ends_us, default=None)),
        "intervals": len(ends_us),
        "bytes": reader.bytes.as_dict(),
        "rows": staged.rows,
        "findings": {code.name: count for code, count in findings.counts.items()},
        "layouts": fingerprint(),
        "cpmon": __version__,
    }
    if reader.level != reader.configuration.level:
        about["given_release"] = reader.level
    return about


def first_day(about: Mapping[str, Any]) -> date:
    """The day of the first record of a dump, UTC."""
    first = about["first_tod"]
    return moment(0).date() if first is None else date.fromisoformat(first[: len("2001-12-18")])


def refuse_another(store: Store, about: Mapping[str, Any]) -> None:
    """Refuses a dump of another system than the one of its name at the same time.

    Their intervals would stand between each other, and no figure of either would be known. Two of
    one name, machine and partition whose times of IPL differ cannot run at the same time, either.

    Raises:
        StoreError: there is such a system; nothing was landed.
    """
    for other in _at_the_same_time(store, about):
        known = other.get("identity", {})
        for key, own in about["identity"].items():
            theirs = known.get(key, [])
            if own and theirs and set(own).isdisjoint(theirs):
                raise StoreError(
                    f"another system of the name {about['system']} was measured at the same time",
                    code="system-name-twice",
                    place=about["source"],
                    expected=f"{key} {', '.join(theirs)}, as in {other['source']}",
                    found=f"{key} {', '.join(own)}",
                    effect="nothing was landed; what the store has of that system stays known",
                    remedy="land it under a name of its own: cpmon ingest --system NAME",
                )


def _at_the_same_time(store: Store, about: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the metadata of other dumps of a system at times of this one, as far as readable."""
    first, last = about["first_tod"], about["last_tod"]
    if first is None:
        return
    first_day, last_day = (date.fromisoformat(text[: len("2001-12-18")]) for text in (first, last))
    own = str(about["dump"]).partition(".")[0]
    for dump in store.dumps():
        if dump.system != about["system"] or dump.whole == own:
            continue
        if dump.begins > last_day or max(dump.days, default=dump.begins) < first_day:
            continue
        other = store.about(dump.dump)
        if other and other["first_tod"] and other["first_tod"] < last and first < other["last_tod"]:
            yield other


def _several(reader: Reader) -> CpmonError | None:
    """The refusal of a file with records of several systems."""
    first, *others = reader.systems or {"": 0}
    if not others:
        return None
    return CpmonError(
        "a file has records of several systems",
        code="systems-several",
        place=reader.source.name,
        expected=f"those of one, {first} at first",
        found=f"then those of {', '.join(others)}",
        effect="nothing was landed",
        remedy="cut the file where cpmon check finds data behind the end-of-data record,"
        " and land each part; if all is of one system, name it with --system",
    )


def _run(path: str | Path, file: Path | None, landed: Landed, run_id: str | None) -> Run | None:
    if file is None and run_id is None:
        return None
    about = landed.about
    if about["first_tod"] is None:
        raise CpmonError(
            "a dump without records is no run",
            code="run-without-records",
            place=str(path),
            effect="the dump has landed; no run was made",
            remedy="give the run one that has records",
        )
    since = _moment(about["first_interval_end"] or about["first_tod"])
    until = _moment(about["last_tod"])
    if file is None:
        return Run(str(run_id), landed.system, since, until)
    run = read_run(file, landed.system, since, until)
    return run if run_id is None else replace(run, run_id=run_id)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _iso_us(us: int | None) -> str | None:
    """Naive UTC with microseconds, as DuckDB reads a TIMESTAMP."""
    if us is None:
        return None
    return moment(us).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


@dataclass(frozen=True, slots=True)
class LandingJob:
    """A dump and where it lands.

    Attributes:
        store: where it is: a path or a URL.
        layouts: the folder of the site's own layouts, if there is one.
        options: those of `ingest`.
    """

    dump: Path
    store: str
    layouts: Path | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.dump)


def land(job: LandingJob) -> tuple[Landed, float]:
    """Land a dump; returns what landed, and the seconds it took.

    Raises:
        CpmonError: as `ingest`.
    """
    if job.layouts != site_folder():  # in another process
        use(job.layouts)
    started = time.perf_counter()
    landed = ingest(job.dump, Store(job.store), **job.options)
    return landed, time.perf_counter() - started


COUNTED = {
    Pass.FILE: "bytes",
    Pass.CONTROL: "frames",
    Pass.HEADERS: "records",
    Pass.VALUES: "rows",
}
"""What each pass looks at."""


@dataclass
class Checked:
    """The result of a check.

    `looked_at`: how much each pass has seen, in the units of `COUNTED`.
    """

    name: str
    system: str = ""
    compression: str = ""
    bytes: ByteCounts = field(default_factory=ByteCounts)
    findings: Findings = field(default_factory=Findings)
    looked_at: dict[Pass, int] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": 1,
            "dump": self.name,
            "system": self.system or None,
            "compression": self.compression,
            "worst": str(self.findings.worst) if self.findings.worst else None,
            "bytes": self.bytes.as_dict(),
            "passes": [
                {
                    "pass": str(which),
                    "looked_at": self.looked_at[which],
                    "unit": COUNTED[which],
                    "findings": self.of(which),
                }
                for which in Pass
            ],
            "findings": self.findings.table().to_pylist(),
        }

    def of(self, which: Pass) -> dict[str, int]:
        """Findings of one pass: code -> count."""
        counts = self.findings.counts
        return {code.name: counts[code] for code in Code if counts[code] and code.found_in is which}


def land_checked(
    reader: Reader, store: Store, progress: Progress | None = None, look: Look | None = None
) -> Checked:
    """Land a dump in a store of its own, however damaged, with what the passes found so far.

    Raises:
        DumpError: it is no monitor data.
    """
    with store.stage() as staged:
        looked_at = write_tables(reader, staged, progress, look)
        _publish(reader, staged, store)
    source, system = reader.source, reader.configuration.system
    return Checked(
        source.name, system, source.compression, reader.bytes, reader.findings, looked_at
    )
