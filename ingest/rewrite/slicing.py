"""Writes a part of a dump as a dump of its own: by time, by domain or record, thinned out.

Configuration is always part of it, as it was up to the slice's end, so that the slice names its
system; and so are the ends of the intervals that have a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core.errors import CpmonError
from ...schemas.layout import Kind
from ...schemas.registry import by_record, layout
from ..codec import I64, Mask, moment
from ..container.monwrite import Framer
from ..container.record_index import FRAME_END, INTERVAL_END
from ..container.source import Progress, Source
from ..container.windows import Window, prefetched
from ..decode.configuration import COMMAND, INTERVAL, Indexed, commanded_s, decode_records
from ..decode.intervals import NO_END, row_stamps
from ..findings import Findings
from .monwrite_writer import MonwriteWriter, RecordSelection, Sink

ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class Part:
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
    source: Source, sink: Sink, part: Part, *, progress: Progress | None = None
) -> Slice:
    """Write a part of a dump as a MONWRITE file.

    Args:
        progress: called after every window.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: nothing but configuration is in the part; only then nothing was written.
    """
    result = Slice()
    chooser, writer, any_yet = _Chooser(part), MonwriteWriter(sink), False
    for window in prefetched(source, Framer(result.findings), progress):
        _note(window, result)
        mask, selected = chooser.choose(window)
        any_yet = any_yet or bool(selected.any())
        writer.put(_thinned(RecordSelection.of(window, mask), part.every), hold=not any_yet)
        # A file may hold the older of two dumps behind the newer one; a device does not end.
        if (any_yet or source.device) and chooser.over(window):
            break
    if not any_yet:
        raise _nothing(source, result)
    writer.finish()
    result.records, result.intervals, result.size = writer.records, writer.intervals, writer.size
    return result


@dataclass
class _Chooser:
    """Selects the records of a window that are part of the slice; counts intervals over windows."""

    part: Part
    _intervals: int = 0

    def choose(self, window: Window) -> tuple[Mask, Mask]:
        """(records,) which are written, and which of them match the part itself."""
        part, index = self.part, window.index
        key = effective_times(window)
        in_time = key <= _or(part.until_us, NEVER)
        config = in_time & are_configuration(window)
        in_time &= key > _or(part.since_us, ALWAYS)
        sample = index.sample
        ends = in_time & sample & index.are_of([INTERVAL_END])
        number = self._intervals + np.cumsum(ends) - ends
        self._intervals += int(ends.sum())
        in_time &= ~sample | (number % part.every == 0)
        framing = index.are_of([FRAME_END, INTERVAL_END])
        selected = in_time & ~framing & self._matches(window)
        return config | selected | (ends & in_time), selected

    def over(self, window: Window) -> bool:
        """Whether everything in a window is later than the slice."""
        until = self.part.until_us
        if until is None or not len(window.index):
            return False
        return bool(effective_times(window).min() > until)

    def _matches(self, window: Window) -> Mask:
        part, index = self.part, window.index
        if not part.domains and not part.kinds:
            return ~are_configuration(window)
        return index.are_of(part.kinds) | np.isin(index.domain, list(part.domains))


def effective_times(window: Window) -> I64:
    """(records,) the time by which a record is placed, microseconds since 1970 UTC.

    Samples go with their interval, even those that CP took before an hour was full.
    """
    stamps = row_stamps(window)
    return np.where(stamps.end_us == NO_END, stamps.tod_us, stamps.end_us)


def are_configuration(records: Indexed) -> Mask:
    """(records,) whether each is configuration, or a command that sets the interval."""
    kinds = (k for k, record in by_record().items() if record.kind is Kind.CONFIG)
    mask = records.index.are_of(kinds)
    if (commands := decode_records(records, COMMAND[0])) is not None:
        texts = commands[0].columns[COMMAND[1]].to_pylist()
        mask[commands[1]] |= [commanded_s(text) is not None for text in texts]
    return mask


def _thinned(chosen: RecordSelection, every: int) -> RecordSelection:
    """The same records; sample profiles say how far apart the samples are that are left.

    Otherwise every rate of the slice would be taken for one over missing intervals.
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


def _note(window: Window, result: Slice) -> None:
    stamps = row_stamps(window)
    if len(stamps):
        result.first_us = int(stamps.tod_us[0]) if result.first_us is None else result.first_us
        result.last_us = int(stamps.tod_us[-1])
    result.damaged += len(window.broken_frames)


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


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
