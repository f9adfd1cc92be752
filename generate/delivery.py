"""How a sample and the events before it reach the file: control records and their data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .event_data import EventBatch, event_domains, event_frames
from .files import Chunk
from .monwrite import (
    EVENT_FLAG,
    FRAME,
    MONITOR_DOMAIN,
    SAMPLE_FLAG,
    U8,
    Block,
    Entry,
    Segment,
    control_record,
    event_block,
    sample_frames,
)

_RING_SHARE = 8
_FILLED_SHARE = 4
"""CP tells the reader of events when one of so many parts of their ring is full."""


@dataclass(slots=True)
class Delivery:
    """What CP puts into the monitor segment and tells its reader of, message by message.

    An eighth of the segment is for events. Where more of them happen in an interval than a quarter
    of that holds, they go out in parts, before the sample; the last part goes out with it.

    Attributes:
        size: of the monitor segment in bytes.
        release: CP level, which decides how long event records are.
    """

    size: int
    release: str
    _segment: Segment = field(init=False)
    _messages: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._segment = Segment(self.size, event_size=self.size // _RING_SHARE // FRAME * FRAME)

    def interval(
        self, blocks: Sequence[Block], events: Sequence[EventBatch], end_tod: int
    ) -> Iterator[Chunk]:
        """Control records, each followed by the data of its entries.

        Args:
            blocks: the sample. events: what happened before it. end_tod: when the sample ends.

        Raises:
            ScenarioError: a sample that the segment cannot hold.
        """
        data, domains = event_frames(events, self.release), event_domains(events)
        room = self._segment.event_size // _FILLED_SHARE // FRAME * FRAME
        parts = [data[at : at + room] for at in range(0, len(data), room)]
        for part in parts[:-1]:
            yield self._control([self._events(part, domains)])
            yield event_block(part)
        entries = [self._events(part, domains) for part in parts[-1:]]
        frames = sample_frames(blocks, end_tod)
        start = self._segment.take(frames.size)
        domains = frozenset({MONITOR_DOMAIN, *(block.domain for block in blocks)})
        entries.append(Entry(SAMPLE_FLAG, domains, start, start + frames.size - 1))
        yield self._control(entries)
        for part in parts[-1:]:
            yield event_block(part)
        yield frames.reshape(-1).data

    def _events(self, part: U8, domains: frozenset[int]) -> Entry:
        start = self._segment.take_events(len(part))
        return Entry(EVENT_FLAG, domains, start, start + len(part) - 1)

    def _control(self, entries: Sequence[Entry]) -> bytes:
        self._messages += 1
        return control_record(self._segment, self._messages, entries)
