"""Windows to tables: every record of a dump, decoded or raw, and the books over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ..schemas.arrow import CODE, ENTRY, QUARANTINE, RAW, arrow_schema
from ..schemas.layout import Group, Kind, Layout
from ..schemas.registry import by_record, record_names
from .accounting import Bytes
from .appldata import torn_blocks
from .batches import Batch, Records
from .codec import I64
from .columns import Decoded, Entries, decode, pieces
from .configuration import Configuration
from .findings import Code, Finding, Findings
from .frames import FRAME
from .index import RecordIndex
from .intervals import Stamps, closed_intervals, row_stamps
from .monwrite import Framer
from .sources import Source
from .windows import Window

Tables = list[tuple[str, pa.Table]]


@dataclass
class Reader:
    """Turns windows into tables and keeps what must be known across windows.

    `release`: CP level that wrote the dump, if it is to be another than the dump says.
    """

    source: Source
    release: str = ""
    findings: Findings = field(default_factory=Findings)
    configuration: Configuration = field(default_factory=Configuration)
    bytes: Bytes = field(default_factory=Bytes)
    intervals: int = 0
    first_us: int | None = None
    last_us: int | None = None
    first_end_us: int | None = None
    _batches: dict[Layout, Batch] = field(default_factory=dict)
    _unknown: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _longer: dict[str, tuple[int, int]] = field(default_factory=dict)
    _cut: dict[str, tuple[int, int]] = field(default_factory=dict)
    _torn: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The framer works on another thread, so it has findings of its own until the end.
        self.framer = Framer(Findings())

    def tables(self, window: Window) -> Tables:
        """The tables that a window's records land in, as far as they are not kept for later.

        Rows of one table come in the order of the dump, over all windows.
        """
        index, stamps = window.index, row_stamps(window)
        self._note_span(stamps)
        found: Tables = []
        unknown: list[I64] = []
        for kind, chosen in sorted(by_kind(index), key=_configuration_first):
            layout = by_record().get(kind)
            if layout is None:
                unknown.append(chosen)
                _tally(self._unknown, kind, stamps.offset[chosen])
                continue
            records = Records(
                window.data, index.start[chosen], index.length[chosen], stamps.take(chosen)
            )
            self.bytes.decoded += records.size
            if layout.kind is Kind.CONFIG:
                found += self._configured(layout, records, chosen)
            elif ready := self._batches.setdefault(layout, Batch()).add(records):
                found += self._decode(layout, ready)
        if unknown:
            chosen = np.sort(np.concatenate(unknown))
            found.append(("record_raw", _raw_table(window, stamps, chosen)))
            self.bytes.raw += int(index.length[chosen].sum())
        found += self._intervals(window)
        return found + self._quarantine(window)

    def rest(self) -> Tables:
        """The tables of the records kept back, once there are no more windows."""
        waiting = [(layout, batch.take()) for layout, batch in self._batches.items()]
        return [
            table for layout, ready in waiting if ready for table in self._decode(layout, ready)
        ]

    def finish(self) -> None:
        """Close the books: byte accounting, and the findings that are told once a dump."""
        self.findings.merge(self.framer.findings)
        self.bytes.size = self.source.size
        self.bytes.decoded += self.framer.control_bytes
        self.bytes.filler += self.framer.filler_bytes
        if self.bytes.missing:
            raise RuntimeError(f"{self.bytes.missing} bytes of the dump are not accounted for")
        names = record_names()
        for (domain, record), (offset, count) in sorted(self._unknown.items()):
            said = f"record {domain}.{record} ({names.get((domain, record), 'unknown').upper()})"
            self.findings.add(Finding(Code.LAYOUT_UNKNOWN, offset, said, "kept raw", count))
        for code, tally in (
            (Code.RECORD_LONGER, self._longer),
            (Code.GROUP_CUT, self._cut),
            (Code.BLOCK_TORN, self._torn),
        ):
            for name, (offset, count) in sorted(tally.items()):
                self.findings.add(Finding(code, offset, f"records of {name}", count=count))
        if not self.configuration.system:
            self.findings.add(Finding(Code.CONFIG_MISSING, 0, "expected a record 1.4"))

    def _configured(self, layout: Layout, records: Records, numbers: I64) -> Tables:
        """The tables of configuration records; `numbers`: of the records in their window.

        Where they name another release, what was kept back is decoded by the one before.
        """
        decoded = self._columns(layout, records)
        release = self.configuration.release
        self.configuration.take(decoded, numbers)
        found = self._landed(decoded, records.stamps)
        if self.release or release in ("", self.configuration.release):
            return found
        named, self.configuration.release = self.configuration.release, release
        found += self.rest()
        self.configuration.release = named
        return found

    def _decode(self, layout: Layout, records: Records) -> Tables:
        return self._landed(self._columns(layout, records), records.stamps)

    def _columns(self, layout: Layout, records: Records) -> Decoded:
        release = self.release or self.configuration.release
        return decode(layout, records.data, records.starts, records.lengths, release)

    def _landed(self, decoded: Decoded, stamps: Stamps) -> Tables:
        """The table of one layout, and those of its groups."""
        layout = decoded.layout
        if decoded.tail.null_count < len(decoded.tail):
            longer = decoded.tail.is_valid().to_numpy(zero_copy_only=False)
            _tally(self._longer, layout.name, stamps.offset[longer])
        if layout.kind is not Kind.SAMPLE:
            stamps = stamps.without_end()
        found = [(layout.name, _table(decoded, stamps, {}))]
        return found + self._entries(decoded, stamps, {})

    def _entries(self, outer: Decoded, stamps: Stamps, keys: dict[str, pa.Array]) -> Tables:
        """The tables of the groups in decoded records, or in entries that have groups.

        `keys`: what the rows of `outer` have from the record around them.
        """
        found: Tables = []
        keys = {**keys, **{key.name: outer.columns[key.name] for key in outer.layout.keys}}
        for group, entries in zip(outer.layout.groups, outer.entries, strict=True):
            layout = entries.decoded.layout
            if len(entries.cut):
                _tally(self._cut, layout.name, stamps.offset[entries.cut])
            record = pa.array(entries.record)
            inherited = {name: column.take(record) for name, column in keys.items()}
            inside = stamps.take(entries.record)
            parent = {**inherited, ENTRY.name: pa.array(entries.position.astype(np.int32))}
            if layout.labelled:
                parent[CODE.name] = _codes(group, entries)
            table = _table(entries.decoded, inside, parent)
            if len(table):
                self._note_torn(entries.decoded, inside)
                found.append((layout.name, table))
                found += self._entries(entries.decoded, inside, inherited)
        return found

    def _note_torn(self, block: Decoded, stamps: Stamps) -> None:
        """Blocks of application data that were being written while the sample was taken."""
        torn = torn_blocks(block)
        if len(torn):
            _tally(self._torn, block.layout.name, stamps.offset[torn])

    def _intervals(self, window: Window) -> Tables:
        table = closed_intervals(window, self.configuration)
        if not len(table):
            return []
        self.intervals += len(table)
        if self.first_end_us is None:
            self.first_end_us = table["interval_end_us"][0].as_py()
        return [("interval", table)]

    def _quarantine(self, window: Window) -> Tables:
        """Bytes that are no records: filler where they are zeros or behind a frame's end."""
        frames, index = window.frames, window.index
        rest = frames.limit - index.stop
        bad, empty = [(start, behind) for start, behind in window.lost], []
        for frame in np.flatnonzero(index.broken).tolist():
            start, behind = int(index.stop[frame]), int(frames.limit[frame])
            if window.data[start:behind].any():
                bad.append((start, behind))
                self.findings.add(_broken(window, frame, start, behind))
                rest[frame] = 0
            elif start == frames.start[frame] and behind - start == FRAME:
                empty.append(frame)
        self._note_empty(window, empty)
        self.bytes.filler += int(rest.sum())
        if not bad:
            return []
        at, behind_at = (np.array(side, np.int64) for side in zip(*bad, strict=True))
        self.bytes.quarantined += int((behind_at - at).sum())
        columns = [pa.array(at + window.base), pieces(window.data, at, behind_at - at)]
        return [("quarantine", pa.Table.from_arrays(columns, schema=QUARANTINE))]

    def _note_empty(self, window: Window, empty: list[int]) -> None:
        """Frames of zeros, those in a row together."""
        runs = np.split(np.array(empty, np.int64), np.flatnonzero(np.diff(empty) != 1) + 1)
        for run in runs if empty else []:
            offset = window.base + int(window.frames.start[run[0]])
            detail = "expected a record at its first byte, found zeros only"
            effect = "what stood there is not in the dump"
            self.findings.add(Finding(Code.FRAME_EMPTY, offset, detail, effect, len(run)))

    def _note_span(self, stamps: Stamps) -> None:
        if len(stamps):
            self.first_us = int(stamps.tod_us[0]) if self.first_us is None else self.first_us
            self.last_us = int(stamps.tod_us[-1])


def by_kind(index: RecordIndex) -> list[tuple[tuple[int, int], I64]]:
    """Numbers of the records of each (domain, record), ascending.

    Records come in runs of one kind: sorting the runs costs a fraction of sorting the records.
    """
    kind = index.domain.astype(np.uint32) << 16 | index.record
    start = np.flatnonzero(np.diff(kind, prepend=~kind[:1]))
    if not len(start):
        return []
    length = np.diff(start, append=len(kind))
    order = np.argsort(kind[start], kind="stable")
    start, length = start[order], length[order]
    before = np.cumsum(length) - length
    records = np.repeat(start - before, length) + np.arange(len(kind))
    kinds, first = np.unique(kind[start], return_index=True)
    groups = np.split(records, before[first[1:]])
    return [((int(k) >> 16, int(k) & 0xFFFF), g) for k, g in zip(kinds, groups, strict=True)]


def _configuration_first(kind: tuple[tuple[int, int], I64]) -> bool:
    """Sorts what names the release before what is read by it."""
    layout = by_record().get(kind[0])
    return layout is None or layout.kind is not Kind.CONFIG


def _codes(group: Group, entries: Entries) -> pa.DictionaryArray:
    """What each entry of a labelled group counts."""
    codes = pa.array(group.codes, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(entries.position.astype(np.int32)), codes)


def _table(decoded: Decoded, stamps: Stamps, parent: dict[str, pa.Array]) -> pa.Table:
    arrays = [*stamps.arrays(), *parent.values(), *decoded.columns.values(), decoded.tail]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(decoded.layout))


def _raw_table(window: Window, stamps: Stamps, chosen: I64) -> pa.Table:
    index = window.index
    columns = [
        *stamps.take(chosen).arrays(),
        pa.array(index.domain[chosen]),
        pa.array(index.record[chosen]),
        pieces(window.data, index.start[chosen], index.length[chosen]),
    ]
    return pa.Table.from_arrays(columns, schema=RAW)


def _tally(tally: dict[Any, tuple[int, int]], key: Any, offsets: I64) -> None:
    """Count records under a key; the place of the first is kept."""
    offset, count = tally.get(key, (int(offsets[0]), 0))
    tally[key] = offset, count + len(offsets)


def _broken(window: Window, frame: int, start: int, behind: int) -> Finding:
    """What stands where a record should start, and what is skipped because of it."""
    head = window.data[start : start + 8].tobytes()
    length, room = int.from_bytes(head[:2], "big"), behind - start
    if length < 20:
        code = Code.RECORD_SHORT
    elif length > room:
        code = Code.RECORD_LONG
    else:
        code = Code.HEADER_BAD
    number = int(np.searchsorted(window.index.frame, frame, side="right"))
    first = int(np.searchsorted(window.index.frame, frame))
    expected = f"length 20 to {room}"
    if code is Code.HEADER_BAD:
        expected += ", then zeros, and a time stamp that is not zero"
    detail = (
        f"record {number - first} of its frame: expected {expected}, "
        f"found {length} ({head.hex(' ')})"
    )
    effect = f"{room} bytes up to the end of the frame kept in quarantine; landing continues"
    return Finding(code, window.base + start, detail, effect)
