"""A part of a dump as a dump of its own: by time, by domain or record, thinned out.

Configuration is always part of it, as it was up to the slice's end, so that the slice names its
system; and so are the ends of the intervals that have a part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..schemas.errors import CpmonError
from ..schemas.layout import Kind
from ..schemas.registry import by_record, layout
from .ahead import ahead
from .codec import I64, moment
from .configuration import INTERVAL
from .findings import Findings
from .frames import FRAME_END, INTERVAL_END
from .intervals import NO_END, row_stamps
from .monwrite import Framer
from .packing import Chosen, Mask, Packer, Sink, are
from .sources import Source
from .windows import Window, windows

Progress = Callable[[Source], None]
ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class Part:
    """What a slice takes; all of it by default.

    Attributes:
        since_us, until_us: microseconds since 1970 UTC; later than the one, up to the other. A
            sample has the time of its interval's end, an event its own.
        domains, kinds: with one of these domains, or of one of these (domain, record); all if
            neither is said.
        every: samples of every so many intervals, from the first one of the slice on.
    """

    since_us: int | None = None
    until_us: int | None = None
    domains: frozenset[int] = frozenset()
    kinds: frozenset[tuple[int, int]] = frozenset()
    every: int = 1


@dataclass
class Slice:
    """What was written, and what was met on the way.

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
    found = Slice()
    chooser, packer, any_yet = _Chooser(part), Packer(sink), False
    for window in ahead(windows(source, Framer(found.findings))):
        _note(window, found)
        mask, wanted = chooser.choose(window)
        any_yet = any_yet or bool(wanted.any())
        packer.put(_thinned(Chosen.of(window, mask), part.every), hold=not any_yet)
        if progress:
            progress(source)
        if chooser.over(window):
            break
    if not any_yet:
        raise _nothing(source, found)
    packer.finish()
    found.records, found.intervals, found.size = packer.records, packer.intervals, packer.size
    return found


@dataclass
class _Chooser:
    """Says which records of a window are part of the slice; counts intervals over all windows."""

    part: Part
    _intervals: int = 0

    def choose(self, window: Window) -> tuple[Mask, Mask]:
        """(records,) which are written, and which of them are what was asked for."""
        part, index = self.part, window.index
        key = keys(window)
        in_time = key <= _or(part.until_us, NEVER)
        config = in_time & configuration(window)
        in_time &= key > _or(part.since_us, ALWAYS)
        sample = window.frames.sample[index.frame]
        ends = in_time & sample & are(index, INTERVAL_END)
        number = self._intervals + np.cumsum(ends) - ends
        self._intervals += int(ends.sum())
        in_time &= ~sample | (number % part.every == 0)
        framing = are(index, FRAME_END) | are(index, INTERVAL_END)
        wanted = in_time & ~framing & self._asked(window)
        return config | wanted | (ends & in_time), wanted

    def over(self, window: Window) -> bool:
        """Whether everything in a window is later than the slice, and so all that follows."""
        until = self.part.until_us
        return until is not None and len(window.index) > 0 and bool(keys(window).min() > until)

    def _asked(self, window: Window) -> Mask:
        part, index = self.part, window.index
        if not part.domains and not part.kinds:
            return ~configuration(window)
        kinds = [domain << 16 | record for domain, record in part.kinds]
        of_kind = np.isin(index.domain.astype(np.int64) << 16 | index.record, kinds)
        return np.asarray(of_kind | np.isin(index.domain, list(part.domains)))


def keys(window: Window) -> I64:
    """(records,) the time that decides where a record belongs, microseconds since 1970.

    Samples go with their interval, even those that CP took before an hour was full.
    """
    stamps = row_stamps(window)
    return np.where(stamps.end_us == NO_END, stamps.tod_us, stamps.end_us)


def configuration(records: Window | Chosen) -> Mask:
    """(records,) whether each is configuration."""
    found = records.index if isinstance(records, Window) else records
    kinds = [d << 16 | r for (d, r), known in by_record().items() if known.kind is Kind.CONFIG]
    return np.isin(found.domain.astype(np.int64) << 16 | found.record, kinds)


def _thinned(chosen: Chosen, every: int) -> Chosen:
    """The same records; sample profiles say how far apart the samples are that are left.

    Otherwise every rate of the slice would be taken for one over missing intervals.
    """
    known = layout(INTERVAL[0])
    place = known.field(INTERVAL[1])
    profiles = are(chosen, (known.domain, known.record)) & (chosen.length >= place.end)
    if every == 1 or not profiles.any():
        return chosen
    alone = chosen.alone()
    at = (alone.start[profiles] + place.offset)[:, None] + np.arange(place.length)
    seconds = alone.data[at].view(f">i{place.length}").astype(np.int64) * every
    alone.data[at] = seconds.astype(f">i{place.length}").view(np.uint8)
    return alone


def _note(window: Window, found: Slice) -> None:
    stamps = row_stamps(window)
    if len(stamps):
        found.first_us = int(stamps.tod_us[0]) if found.first_us is None else found.first_us
        found.last_us = int(stamps.tod_us[-1])
    found.damaged += damaged_frames(window)


def damaged_frames(window: Window) -> int:
    """How many frames of a window go on with something else than records or zeros."""
    stop, limit = window.index.stop, window.frames.limit
    broken = np.flatnonzero(window.index.broken)
    return sum(bool(window.data[stop[frame] : limit[frame]].any()) for frame in broken)


def _nothing(source: Source, found: Slice) -> CpmonError:
    span = "no records"
    if found.first_us is not None and found.last_us is not None:
        first, last = (f"{moment(us):%Y-%m-%d %H:%M:%S}" for us in (found.first_us, found.last_us))
        span = f"records of {first} to {last} UTC"
    return CpmonError(
        "nothing but configuration is in this part of the dump",
        place=source.name,
        found=span,
        effect="nothing was written",
        remedy="give another span, domain or record; `cpmon list` shows what there is",
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
