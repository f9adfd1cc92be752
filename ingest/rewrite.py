"""Writes dumps from dumps: slices of one, and several of one system merged in the order of time.

A slice (by time, domain or record, or thinned out) always has the configuration up to its end, so
that it names its system, and the ends of its intervals. A merged dump leaves out configuration
records that an earlier dump has, byte for byte: slices of a dump repeat them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..core.errors import CpmonError
from ..core.grace_period import GRACE
from ..schemas.layout import Kind
from ..schemas.registry import by_record, layout
from .codec import I64, U64, Mask, are_within, moment
from .container.monwrite import Framer
from .container.record_index import FRAME_END, INTERVAL_END
from .container.source import Container, Progress, Source, open_source
from .container.windows import ByteWindow, prefetched, windows
from .decode.columns import gather
from .decode.configuration import COMMAND, INTERVAL, SYSTEM, commanded_s, decode_records
from .decode.intervals import NO_END, row_stamps
from .findings import Findings
from .monwrite_writer import MonwriteWriter, RecordSelection, RecordSink


@dataclass(frozen=True)
class SliceSelection:
    """What a slice takes; all of it by default.

    Attributes:
        since_us, until_us: microseconds since 1970 UTC; later than the one, up to the other. A
            sample has the time of its interval's end, an event its own.
        domains, kinds: with one of these domains, or of one of these (domain, record); all if
            neither is given.
        every: samples of every so many intervals, from the first one of the slice on.
    """

    since_us: int | None = None
    until_us: int | None = None
    domains: frozenset[int] = frozenset()
    kinds: frozenset[tuple[int, int]] = frozenset()
    every: int = 1


@dataclass
class Slice:
    """What a slice wrote, and what is wrong with the dump.

    Attributes:
        records, intervals, size: written, without the records that end frames.
        first_us, last_us: span of the dump as far as it was read.
        findings: what is wrong with the dump's frames.
        damaged: frames that were readable up to some record only.
    """

    records: int = 0
    intervals: int = 0
    size: int = 0
    first_us: int | None = None
    last_us: int | None = None
    findings: Findings = field(default_factory=Findings)
    damaged: int = 0


def slice_dump(
    source: Source, sink: RecordSink, part: SliceSelection, *, progress: Progress | None = None
) -> Slice:
    """Write a part of a dump as a MONWRITE file.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: nothing but configuration is in the part; only then nothing was written.
    """
    result = Slice()
    writer, any_yet, intervals = MonwriteWriter(sink), False, 0
    for window in prefetched(source, Framer(result.findings), progress):
        result.damaged += len(window.broken_frames)
        mask, selected, intervals = _choose(window, part, intervals)
        any_yet = any_yet or bool(selected.any())
        writer.put(_thinned(RecordSelection.of(window, mask), part.every), hold=not any_yet)
        if not len(window.index):
            continue
        tod_us = row_stamps(window).tod_us
        result.first_us = int(tod_us[0]) if result.first_us is None else result.first_us
        result.last_us = int(tod_us[-1])
        is_over = not are_within(_effective_times(window), None, part.until_us).any()
        # A file may hold the older of two dumps behind the newer one; a device does not end.
        if is_over and (any_yet or source.device):
            break
    if not any_yet:
        raise _nothing(source, result)
    writer.finish()
    result.records, result.intervals, result.size = writer.records, writer.intervals, writer.size
    return result


def _choose(window: ByteWindow, part: SliceSelection, intervals: int) -> tuple[Mask, Mask, int]:
    """(records,) which are written, and which of them match the part itself.

    Args:
        intervals: how many ended in the part before; they are returned with those of the window.
    """
    index, key = window.index, _effective_times(window)
    configuration = _are_configuration(window)
    in_time = are_within(key, part.since_us, part.until_us)
    ends = in_time & index.sample & index.are_of([INTERVAL_END])
    number = intervals + np.cumsum(ends) - ends
    if part.domains or part.kinds:
        matches = index.are_of(part.kinds) | np.isin(index.domain, list(part.domains))
    else:
        matches = ~configuration
    in_thinned = in_time & (~index.sample | (number % part.every == 0))
    selected = in_thinned & matches & ~index.are_of([FRAME_END, INTERVAL_END])
    written = configuration & are_within(key, None, part.until_us)
    written |= selected | (ends & in_thinned)
    return written, selected, intervals + int(ends.sum())


def _effective_times(window: ByteWindow) -> I64:
    """(records,) the time by which a record is placed, microseconds since 1970 UTC.

    Samples go with their interval, even those that CP took before an hour was full.
    """
    stamps = row_stamps(window)
    return np.where(stamps.end_us == NO_END, stamps.tod_us, stamps.end_us)


def _are_configuration(records: ByteWindow | RecordSelection) -> Mask:
    """(records,) whether each is configuration, or a command that sets the interval."""
    kinds = (k for k, record in by_record().items() if record.kind is Kind.CONFIG)
    mask = records.index.are_of(kinds)
    if (commands := decode_records(records.data, records.index, COMMAND[0])) is not None:
        texts = commands[0].columns[COMMAND[1]].to_pylist()
        mask[commands[1]] |= [commanded_s(text) is not None for text in texts]
    return mask


def _thinned(chosen: RecordSelection, every: int) -> RecordSelection:
    """The same records; sample profiles have the distance of the remaining samples.

    Otherwise the slice would seem to miss intervals.
    """
    profile = layout(INTERVAL[0])
    place = profile.field(INTERVAL[1])
    index = chosen.index
    profiles = index.are_of([(profile.domain, profile.record)]) & (index.length >= place.end)
    if every == 1 or not profiles.any():
        return chosen
    alone = chosen.alone()
    at = (alone.index.start[profiles] + place.offset)[:, None] + np.arange(place.length)
    seconds = alone.data[at].view(f">i{place.length}").astype(np.int64) * every
    alone.data[at] = seconds.astype(f">i{place.length}").view(np.uint8)
    return alone


def _nothing(source: Source, result: Slice) -> CpmonError:
    span = "no records"
    if result.first_us is not None and result.last_us is not None:
        first, last = (
            f"{moment(us):%Y-%m-%d %H:%M:%S}" for us in (result.first_us, result.last_us)
        )
        span = f"records of {first} to {last} UTC"
    return CpmonError(
        "nothing but configuration is in this part of the dump",
        code="slice-empty",
        place=source.name,
        found=span,
        effect="nothing was written",
        remedy="give another span, domain or record; `cpmon list` shows what there is",
    )


_WEIGHTS = np.random.default_rng(1130).integers(0, 1 << 64, 4096, np.uint64)
"""For a hash of records: each byte counts with a weight of its own, modulo 2 to the 64."""


@dataclass
class Merged:
    """What was written of one dump.

    Attributes:
        first_us, last_us: time of its first and last samples or events.
        records: written, without those that end frames.
        repeated: configuration records that an earlier dump had.
        left_out: samples at its end whose interval it does not close, before another dump.
        damaged: frames that were readable up to some record only.
    """

    path: Path
    system: str
    first_us: int
    last_us: int = 0
    records: int = 0
    repeated: int = 0
    left_out: int = 0
    damaged: int = 0
    findings: Findings = field(default_factory=Findings)


def merge(
    paths: Sequence[Path],
    sink: RecordSink,
    *,
    container: Container | str = Container.AUTO,
    progress: Progress | None = None,
) -> list[Merged]:
    """Write several dumps as one; returns what was written of each, in the order of time.

    Every dump is opened twice, first to read the time at its beginning.

    Raises:
        DumpError: one of them is no monitor data.
        CpmonError: they are of several systems, or overlap in time, or one has configuration only.
    """
    parts = sorted((_inspect(path, container) for path in paths), key=lambda part: part.first_us)
    named = [part for part in parts if part.system]
    for part in named[1:]:
        if part.system != named[0].system:
            raise _other_system(part.path, part.system, named[0].path, named[0].system)
    writer, merged = MonwriteWriter(sink), np.empty(0, np.uint64)
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        written = writer.records
        with open_source(part.path, container) as source:
            hashes = [merged]
            for window in prefetched(source, Framer(part.findings), progress):
                chosen = _fresh(window, part, merged, hashes)
                if following is None or part.last_us < following.first_us:
                    writer.put(chosen)
            merged = np.unique(np.concatenate(hashes))
        if following is not None:
            if part.last_us >= following.first_us:
                raise _overlap(part, following)
            # The next dump starts another interval: samples whose end is missing are left out.
            held = writer.take_back()
            configuration: Mask = _are_configuration(held)
            part.left_out = int((~configuration).sum())
            writer.put(held[configuration], hold=True)
        part.records = writer.records - written
    writer.finish()
    parts[-1].records = writer.records - sum(part.records for part in parts[:-1])
    return parts


def beginning(path: Path, container: Container | str) -> tuple[str, int] | None:
    """System of a dump, and time of its first sample or event; None if it has neither.

    The time is in microseconds since 1970, UTC.

    Raises:
        DumpError: it is no monitor data.
    """
    system = ""
    with open_source(path, container) as source:
        for window in windows(source, Framer(Findings())):
            system = system or next(_systems(window), "")
            data = ~_are_configuration(window)
            if data.any():
                return system, int(_effective_times(window)[data].min())
    return None


def _inspect(path: Path, container: Container | str) -> Merged:
    """Reads a dump up to its first sample or event, for its system and first time."""
    if (found := beginning(path, container)) is not None:
        return Merged(path, *found)
    raise CpmonError(
        "there is nothing to merge in this dump: it has neither samples nor events",
        code="dump-without-data",
        place=str(path),
        effect="nothing was written",
        remedy="leave it out",
    )


def _systems(window: ByteWindow) -> Iterator[str]:
    """Names of systems in the configuration records of a window."""
    if (system := decode_records(window.data, window.index, SYSTEM[0])) is not None:
        yield from (name for name in system[0].columns[SYSTEM[1]].to_pylist() if name)


def _fresh(
    window: ByteWindow, part: Merged, merged: U64, hashes_of_part: list[U64]
) -> RecordSelection:
    """Selects the records of a window but for configuration that an earlier dump has.

    Appends the hashes of all its configuration records to `hashes_of_part`.
    """
    part.damaged += len(window.broken_frames)
    for name in _systems(window):
        if part.system and name != part.system:
            raise _other_system(part.path, name, part.path, part.system)
    config = _are_configuration(window)
    times = _effective_times(window)[~config]
    if len(times):
        part.last_us = max(part.last_us, int(times.max()))
    chosen = RecordSelection.of(window, np.ones(len(window.index), np.bool_))
    config = _are_configuration(chosen)
    hashes = record_hashes(chosen[config])
    hashes_of_part.append(hashes)
    repeated = np.zeros(len(chosen), np.bool_)
    repeated[config] = np.isin(hashes, merged)
    part.repeated += int(repeated.sum())
    return chosen[~repeated]


def record_hashes(records: RecordSelection) -> U64:
    """(records,) a hash of the bytes of each, its time stamp included."""
    hashes = np.zeros(len(records), np.uint64)
    index = records.index
    for length in np.unique(index.length).tolist():
        same = index.length == length
        rows = gather(records.data, index.start[same], length)
        hashes[same] = (rows * _WEIGHTS[:length]).sum(axis=1, dtype=np.uint64)
    return hashes


def _other_system(path: Path, system: str, other: Path, expected: str) -> CpmonError:
    return CpmonError(
        "these dumps are of different systems",
        code="dumps-of-different-systems",
        place=str(path),
        expected=f"system {expected}, as in {other}",
        found=f"system {system}",
        effect="nothing was merged",
        remedy="merge the dumps of each system by themselves",
    )


def _overlap(part: Merged, following: Merged) -> CpmonError:
    until = f"{moment(part.last_us):%Y-%m-%dT%H:%M:%S.%f}"
    after = f"{moment(part.last_us) - GRACE:%Y-%m-%dT%H:%M:%S.%f}"
    return CpmonError(
        "these dumps overlap in time",
        code="dumps-overlap",
        place=str(following.path),
        expected=f"nothing up to the end of {part.path}, {until} UTC",
        found=f"it begins at {moment(following.first_us):%Y-%m-%dT%H:%M:%S.%f} UTC",
        effect="nothing was merged",
        remedy="leave out what comes twice: "
        f"cpmon slice {shlex.quote(str(following.path))} --from {after} -o REST",
    )
