"""Merges dumps of one system into one dump, in the order of time.

Configuration records that an earlier dump has, byte for byte, are left out: slices of a dump
repeat them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...core.errors import CpmonError
from ..codec import U64, Mask, moment
from ..container.monwrite import Framer
from ..container.source import Container, Progress, open_source
from ..container.windows import Window, prefetched, windows
from ..decode.columns import gather
from ..decode.configuration import SYSTEM, decode_records
from ..findings import Findings
from .monwrite_writer import MonwriteWriter, RecordSelection, Sink
from .slicing import are_configuration, effective_times

WEIGHTS = np.random.default_rng(1130).integers(0, 1 << 64, 4096, np.uint64)
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
    sink: Sink,
    *,
    container: Container | str = Container.AUTO,
    progress: Progress | None = None,
) -> list[Merged]:
    """Write several dumps as one; returns what became of each, in the order of time.

    Every dump is opened twice: its beginning tells where it belongs.

    Args:
        progress: called after every window.

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
            _close(writer, part)
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
            data = ~are_configuration(window)
            if data.any():
                return system, int(effective_times(window)[data].min())
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


def _systems(window: Window) -> Iterator[str]:
    """Names of systems in the configuration records of a window."""
    if (system := decode_records(window, SYSTEM[0])) is not None:
        yield from (name for name in system[0].columns[SYSTEM[1]].to_pylist() if name)


def _fresh(window: Window, part: Merged, merged: U64, hashes_of_part: list[U64]) -> RecordSelection:
    """Selects the records of a window but for configuration that an earlier dump has.

    Appends the hashes of all its configuration records to `hashes_of_part`.
    """
    part.damaged += len(window.broken_frames)
    for name in _systems(window):
        if part.system and name != part.system:
            raise _other_system(part.path, name, part.path, part.system)
    config = are_configuration(window)
    times = effective_times(window)[~config]
    if len(times):
        part.last_us = max(part.last_us, int(times.max()))
    chosen = RecordSelection.of(window, np.ones(len(window.index), np.bool_))
    config = are_configuration(chosen)
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
        hashes[same] = (rows * WEIGHTS[:length]).sum(axis=1, dtype=np.uint64)
    return hashes


def _close(writer: MonwriteWriter, part: Merged) -> None:
    """Leave out the samples that wait for the end of an interval: the next dump has another."""
    held = writer.take_back()
    config: Mask = are_configuration(held)
    part.left_out = int((~config).sum())
    writer.put(held[config], hold=True)


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
    return CpmonError(
        "these dumps overlap in time",
        code="dumps-overlap",
        place=str(following.path),
        expected=f"nothing up to the end of {part.path}, {until} UTC",
        found=f"it begins at {moment(following.first_us):%Y-%m-%dT%H:%M:%S.%f} UTC",
        effect="nothing was merged",
        remedy="leave out what comes twice: "
        f"cpmon slice {shlex.quote(str(following.path))} --from {until} -o REST",
    )
