"""Turns windows into tables: every record of a dump, decoded or raw, every byte accounted for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...core.errors import DumpError
from ...schemas.arrow import CODE, ENTRY, QUARANTINE, RAW, arrow_schema, arrow_type, inherited
from ...schemas.field import HEADER_LENGTH
from ...schemas.layout import Kind, Layout
from ...schemas.registry import by_record, record_names
from ...schemas.release import UNNAMED, parse_release
from ..codec import I64, U8, utc_text
from ..container.monwrite import Framer
from ..container.record_index import FRAME, SYSTEM
from ..container.source import Source
from ..container.windows import ByteWindow
from ..findings import Code, Findings, FindingSeverity, Tally
from .columns import Decoded, copied, decode, pieces
from .configuration import Configuration
from .intervals import NO_END, Intervals, Stamps, row_stamps

Tables = list[tuple[str, pa.Table]]


ENOUGH_BYTES = 1024 * 1024
"""Records of this many bytes are worth a call."""


@dataclass(frozen=True)
class Records:
    """Records of one layout: `data[start : start + length]` each, and their stamps."""

    data: U8
    starts: I64
    lengths: I64
    stamps: Stamps


@dataclass
class RecordBuffer:
    """Copies of records of one layout, over several windows, until there are enough to decode.

    Most layouts have a handful of records an interval; decoding them window by window would cost
    more in calls than in bytes.
    """

    _waiting: list[Records] = field(default_factory=list)

    def add(self, records: Records) -> Records | None:
        """Add records; returns all buffered ones once they are enough, else None."""
        if not self._waiting and records.lengths.sum() >= ENOUGH_BYTES:
            return records
        data = copied(records.data, records.starts, records.lengths)
        starts = np.cumsum(records.lengths) - records.lengths
        self._waiting.append(replace(records, data=data, starts=starts))
        return self.take() if sum(len(p.data) for p in self._waiting) >= ENOUGH_BYTES else None

    def take(self) -> Records | None:
        """Remove and return all records, end to end; None if there are none."""
        parts, self._waiting = self._waiting, []
        if not parts:
            return None
        lengths = np.concatenate([p.lengths for p in parts])
        return Records(
            np.concatenate([p.data for p in parts]),
            np.cumsum(lengths) - lengths,
            lengths,
            Stamps.joined([p.stamps for p in parts]),
        )


@dataclass
class RecordFindings:
    """Counts what is wrong with records and frames; reports it once a dump."""

    _tally: Tally = field(default_factory=Tally)
    _frames: int = 0
    _empty: list[tuple[int, int]] = field(default_factory=list)
    """Number and offset of every frame of zeros."""

    def note_unknown(self, kind: tuple[int, int], offsets: I64) -> None:
        """Count records without a layout. `offsets`: (records,) where they start in the dump."""
        name = record_names().get(kind, "unknown").upper()
        self._tally.note(Code.LAYOUT_UNKNOWN, kind, offsets, f"record {kind[0]}.{kind[1]} ({name})")

    def note(self, decoded: Decoded, offsets: I64, level: str) -> None:
        """Count records longer than their layout or withdrawn, and those with impossible values.

        `offsets`: (records,) where they start in the dump. `level`: of CP, empty if not known.
        """
        layout, until = decoded.layout, decoded.layout.until
        if until and level and parse_release(level).is_behind(parse_release(until)):
            detail = f"records of {layout.name}: none after {until} by the layout"
            self._tally.note(Code.RECORD_WITHDRAWN, layout.name, offsets, detail)
        if decoded.tail.null_count < len(decoded.tail):
            longer = decoded.tail.is_valid().to_numpy(zero_copy_only=False)
            length = layout.length + pc.max(pc.binary_length(decoded.tail)).as_py()
            detail = f"records of {layout.name}: {length} bytes, {layout.length} known"
            self._tally.note(Code.RECORD_LONGER, layout.name, offsets[longer], detail)
        self._note_values(decoded, offsets)

    def note_records(self, code: Code, layout: Layout, offsets: I64) -> None:
        """Count records of a layout under a code; nothing is said of them but their kind."""
        self._tally.note(code, layout.name, offsets, f"records of {layout.name}")

    def note_entries(self, decoded: Decoded, offsets: I64) -> None:
        """Count blocks of application data that a guest was writing, and impossible values.

        `offsets`: (entries,) where the record of each starts in the dump.
        """
        if decoded.layout.syncs:
            # The guest was writing when CP sampled.
            counts = [decoded.columns[field.name] for field in decoded.layout.syncs]
            torn = np.flatnonzero(pc.fill_null(pc.not_equal(*counts), False))
            self.note_records(Code.BLOCK_TORN, decoded.layout, offsets[torn])
        self._note_values(decoded, offsets)

    def note_frames(self, window: ByteWindow, findings: Findings) -> None:
        """Report each broken frame of a window, and count its frames of zeros."""
        frames = window.frames
        for frame in window.broken_frames.tolist():
            _report_broken(window, frame, findings)
        is_empty = frames.broken & (frames.stop == frames.start)
        is_empty &= frames.limit - frames.start == FRAME
        is_empty[window.broken_frames] = False
        offsets = (frames.start[is_empty] + window.base).tolist()
        numbers = (np.flatnonzero(is_empty) + self._frames).tolist()
        self._empty += zip(numbers, offsets, strict=True)
        self._frames += len(frames)

    def finish(self, findings: Findings) -> None:
        """Report what was counted; frames of zeros in a row together."""
        numbers = np.array([number for number, _ in self._empty], np.int64)
        for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
            if len(run):
                offset = self._empty[int(run[0])][1]
                detail = "expected a record at its first byte, found zeros only"
                effect = "its records are not in the dump"
                findings.add(Code.FRAME_EMPTY, offset, detail, effect, count=len(run))
        self._tally.report(findings, Code.LAYOUT_UNKNOWN, effect="kept raw")
        for code in (
            Code.RECORD_WITHDRAWN,
            Code.RECORD_LONGER,
            Code.GROUP_CUT,
            Code.BLOCK_TORN,
            Code.VALUE_IMPOSSIBLE,
        ):
            self._tally.report(findings, code)

    def _note_values(self, decoded: Decoded, offsets: I64) -> None:
        """Count values that no system can have, and texts and parts that are cut.

        The first impossible value of each field is described.
        """
        self.note_records(Code.GROUP_CUT, decoded.layout, offsets[decoded.cut])
        for impossible in decoded.impossible:
            limit, first = impossible.field.limit, impossible.first
            name = f"{decoded.layout.name}.{impossible.field.name}"
            detail = f"{name}: expected at most {limit}, found {first} (X'{first:016X}')"
            self._tally.note(Code.VALUE_IMPOSSIBLE, name, offsets[impossible.record], detail)


def _report_broken(window: ByteWindow, frame: int, findings: Findings) -> None:
    """Report the bytes in place of a record's header, and what is skipped because of them."""
    start, behind = int(window.frames.stop[frame]), int(window.frames.limit[frame])
    head = window.data[start : start + 8].tobytes()
    length, room = int.from_bytes(head[:2], "big"), behind - start
    if length < HEADER_LENGTH:
        code = Code.RECORD_SHORT
    elif length > room:
        code = Code.RECORD_LONG
    else:
        code = Code.HEADER_BAD
    first, behind_last = np.searchsorted(window.index.frame, [frame, frame + 1])
    expected = f"length {HEADER_LENGTH} to {room}"
    if code is Code.HEADER_BAD:
        expected += ", then zeros, and a time stamp that is not zero"
    detail = (
        f"record {behind_last - first} of its frame: expected {expected}, "
        f"found {length} ({head.hex(' ')})"
    )
    effect = f"{room} bytes up to the end of the frame kept in quarantine; landing continues"
    findings.add(code, window.base + start, detail, effect)


@dataclass
class ByteCounts:
    """Bytes of a dump, by what became of them; the parts must sum up to its size.

    Attributes:
        size: of the dump, decompressed; counted where it was read.
        decoded: control records, and records with a layout.
        raw: records without one, kept as they are.
        quarantined: not understood, kept as they are.
        filler: between and behind records, as the format leaves it.
    """

    size: int = 0
    decoded: int = 0
    raw: int = 0
    quarantined: int = 0
    filler: int = 0

    @property
    def missing(self) -> int:
        """Bytes that no part accounts for; anything but 0 is a bug."""
        return self.size - self.decoded - self.raw - self.quarantined - self.filler

    @property
    def lost(self) -> str:
        """How much was not understood, for a message."""
        return f"{self.quarantined:,} of {self.size:,} bytes are in no record"

    @property
    def is_mostly_lost(self) -> bool:
        """Whether more than half of a dump of some size was not understood."""
        # A few frames prove nothing.
        return self.size >= 16 * FRAME and 2 * self.quarantined > self.size

    def as_dict(self) -> dict[str, int]:
        """The parts by name."""
        return asdict(self)


@dataclass
class Reader:
    """Turns windows into tables and keeps the state that spans windows.

    `release`: CP level that wrote the dump, if it is to be another than the dump states;
    `fallback_release`: the same, where the dump states none. `layouts`: those by which it is
    decoded, by domain and record.
    """

    source: Source
    release: str = ""
    fallback_release: str = ""
    layouts: Mapping[tuple[int, int], Layout] = field(default_factory=by_record)
    findings: Findings = field(default_factory=Findings)
    configuration: Configuration = field(default_factory=Configuration)
    bytes: ByteCounts = field(default_factory=ByteCounts)
    framer: Framer = field(default_factory=lambda: Framer(Findings()))
    """It works on another thread, so it has findings of its own until the end."""
    intervals: Intervals = field(default_factory=Intervals)
    _buffers: defaultdict[Layout, RecordBuffer] = field(
        default_factory=lambda: defaultdict(RecordBuffer)
    )
    """Copies of records, over several windows, until there are enough to decode."""
    _record_findings: RecordFindings = field(default_factory=RecordFindings)

    @property
    def ends_us(self) -> list[int]:
        """Interval ends so far, microseconds since 1970 UTC."""
        ends: list[int] = self.intervals.closed["interval_end_us"].to_pylist()
        return ends

    @property
    def span_us(self) -> tuple[int | None, int | None]:
        """The time of the dump: from its first to its last record.

        Where the clock was set back in between, from the earliest interval end to the latest.
        """
        first_us, last_us = self.intervals.first_us, self.intervals.last_us
        if first_us is None or last_us is None:
            return None, None
        return min([first_us, *self.ends_us]), max([last_us, *self.ends_us])

    @property
    def level(self) -> str:
        """CP level by which records are decoded; empty if nothing names it."""
        return self.release or self.configuration.level or self.fallback_release

    def tables(self, window: ByteWindow) -> Tables:
        """The tables of a window's records, but for those still buffered.

        Rows of one table come in the order of the dump, over all windows.
        """
        index, stamps = window.index, row_stamps(window)
        tables: Tables = []
        unknown: list[I64] = []
        for kind, chosen in sorted(index.by_kind(), key=self._configuration_first):
            layout = self.layouts.get(kind)
            if layout is None:
                unknown.append(chosen)
                self._record_findings.note_unknown(kind, stamps.offset[chosen])
                continue
            starts, lengths = index.start[chosen], index.length[chosen]
            records = Records(window.data, starts, lengths, stamps[chosen])
            self.bytes.decoded += int(lengths.sum())
            if layout.kind is Kind.CONFIG:
                tables += self._configured(layout, records, chosen)
            elif ready := self._buffers[layout].add(records):
                tables += self._decode(layout, ready)
        if unknown:
            chosen = np.sort(np.concatenate(unknown))
            tables.append(("record_raw", _raw_table(window, stamps, chosen)))
            self.bytes.raw += int(index.length[chosen].sum())
        closed = self.intervals.close(window, self.configuration)
        if len(closed):
            tables.append(("interval", closed))
        return tables + self._quarantine(window)

    def rest(self) -> Tables:
        """The tables of the buffered records, once there are no more windows."""
        waiting = [(layout, buffer.take()) for layout, buffer in self._buffers.items()]
        return [
            table for layout, ready in waiting if ready for table in self._decode(layout, ready)
        ]

    def finish(self) -> None:
        """Check the byte counts, and report the findings that come once a dump."""
        self.end_part()
        self.bytes = replace(self.totals, size=self.source.size)
        if self.bytes.missing:
            raise RuntimeError(f"{self.bytes.missing} bytes of the dump are not accounted for")
        if self.bytes.is_mostly_lost:
            self.findings.add(Code.MOSTLY_LOST, 0, self.bytes.lost)
        if not self.configuration.system:
            self.findings.add(Code.CONFIG_MISSING, 0, "expected a record 1.4")
        systems = [*self.systems.items()]
        for name, offset in systems[1:]:
            self.findings.add(Code.SYSTEMS_SEVERAL, offset, f"{name}; {systems[0][0]} at first")

    @property
    def totals(self) -> ByteCounts:
        """What became of the bytes so far, without those of frames that wait for others."""
        framer, counts = self.framer, self.bytes
        decoded = counts.decoded + framer.control_bytes
        filler = counts.filler + framer.filler_bytes
        size = decoded + counts.raw + counts.quarantined + filler
        return ByteCounts(size, decoded, counts.raw, counts.quarantined, filler)

    def end_part(self, later: int = 0) -> None:
        """Add the findings that are counted, of which the next part begins anew.

        Args:
            later: number of the last intervals whose lengths later ones decide about.
        """
        self.intervals.report(self.findings, later)
        self.findings.merge(self.framer.findings)
        self.framer.findings = Findings()
        self._record_findings.finish(self.findings)
        self._record_findings = RecordFindings()

    @property
    def systems(self) -> dict[str, int]:
        """What tells the systems of the dump apart, each with the offset where it is named first.

        One that goes on elsewhere, on another machine or in another partition, or after an IPL, is
        one all the same; but where time goes back, it is another. So is one of another IPL before
        the dump began.
        """
        found: list[dict[str, int]] = [self.configuration.systems]
        if self.findings.counts[Code.TOD_BACK]:
            first_us = self.intervals.first_us or 0
            found += self.configuration.identity.values()
            loads = self.configuration.loads_us.items()
            found.append({f"IPL {utc_text(us)}": at for us, at in loads if us <= first_us})
        return next((several for several in found if len(several) > 1), found[0])

    def mostly_lost(self) -> DumpError | None:
        """Why the dump, which is read, does not land unless damage is accepted; None if it does."""
        if not self.bytes.is_mostly_lost:
            return None
        losses = [
            finding
            for finding in self.findings.kept
            if finding.effect
            and (
                finding.code.severity is FindingSeverity.DATA_LOSS or finding.code is Code.TRUNCATED
            )
        ]
        first = min(losses, key=lambda finding: finding.offset, default=None)
        return DumpError(
            f"most of {self.source.name} is lost",
            code="dump-mostly-lost",
            place=f"first at offset {first.offset:#x}" if first else None,
            expected="a dump of which at least half can be understood",
            found=f"{self.bytes.lost}"
            + (f"; first {first.code.name}: {first.detail}" if first else ""),
            effect="nothing was landed",
            remedy="transfer it again in binary; `cpmon doctor` says what it is, --accept-damage "
            "lands what is good of it",
        )

    def _configured(self, layout: Layout, records: Records, numbers: I64) -> Tables:
        """The tables of configuration records; `numbers`: of the records in their window.

        Where they name another level, what was kept back is decoded by the one before, and they
        themselves by their own.
        """
        decoded = self._columns(layout, records)
        before = self.configuration.level
        self.configuration.take(decoded, numbers, records.stamps.offset)
        named = self.configuration.level
        if self.release or before == named:
            return self._landed(decoded, records.stamps)
        self.configuration.level = before
        tables = self.rest() if before else []
        self.configuration.level = named
        return tables + self._decode(layout, records)

    def _decode(self, layout: Layout, records: Records) -> Tables:
        return self._landed(self._columns(layout, records), records.stamps)

    def _columns(self, layout: Layout, records: Records) -> Decoded:
        # Without a level only the record itself is evidence: others may be damaged.
        level = self.level or f"{UNNAMED}{layout.until}"
        return decode(layout, records.data, records.starts, records.lengths, level)

    def _landed(self, decoded: Decoded, stamps: Stamps) -> Tables:
        """The table of one layout, and those of its groups."""
        layout = decoded.layout
        self._record_findings.note(decoded, stamps.offset, self.level)
        if layout.kind is not Kind.SAMPLE:
            stamps = replace(stamps, end_us=np.full(len(stamps), NO_END))
        tables = [(layout.name, _table(decoded, stamps, {}))]
        return tables + self._entries(decoded, stamps, {})

    def _entries(self, outer: Decoded, stamps: Stamps, keys: dict[str, pa.Array]) -> Tables:
        """The tables of the groups in decoded records, or in entries that have groups.

        `keys`: what the rows of `outer` have from the record around them.
        """
        tables: Tables = []
        names = [
            field.name for field in (*outer.layout.keys, *outer.layout.slots, *outer.layout.syncs)
        ]
        keys = {**keys, **{name: outer.columns[name] for name in names}}
        for group, entries in zip(outer.layout.groups, outer.entries, strict=True):
            position = pa.array(entries.position.astype(np.int32))
            decoded = entries.decoded
            if group.count != 1:
                decoded = _identified(decoded, position)
            layout = decoded.layout
            cut = stamps.offset[entries.cut]
            self._record_findings.note_records(Code.GROUP_CUT, layout, cut)
            record = pa.array(entries.record)
            above = {field.name: keys[field.name].take(record) for field in inherited(layout)}
            inside = stamps[entries.record]
            parent = {**above, ENTRY.name: position}
            if layout.labelled:
                codes = pa.array(group.codes, pa.string())
                parent[CODE.name] = pa.DictionaryArray.from_arrays(parent[ENTRY.name], codes)
            table = _table(decoded, inside, parent)
            if len(table):
                self._record_findings.note_entries(decoded, inside.offset)
                tables.append((layout.name, table))
                tables += self._entries(decoded, inside, above)
        return tables

    def _quarantine(self, window: ByteWindow) -> Tables:
        """Bytes that are no records: filler where they are zeros or behind a frame's end."""
        self._record_findings.note_frames(window, self.findings)
        stop, limit, broken = window.frames.stop, window.frames.limit, window.broken_frames
        self.bytes.filler += int((limit - stop).sum() - (limit - stop)[broken].sum())
        bad = [*window.lost, *zip(stop[broken].tolist(), limit[broken].tolist(), strict=True)]
        if not bad:
            return []
        at, behind = np.array(sorted(bad), np.int64).T
        self.bytes.quarantined += int((behind - at).sum())
        columns = [pa.array(at + window.base), pieces(window.data, at, behind - at)]
        return [("quarantine", pa.Table.from_arrays(columns, schema=QUARANTINE))]

    def _configuration_first(self, kind: tuple[tuple[int, int], I64]) -> tuple[bool, bool]:
        """Sorts what names the release before what is read by it."""
        layout = self.layouts.get(kind[0])
        return kind[0] != SYSTEM, layout is None or layout.kind is not Kind.CONFIG


def _identified(decoded: Decoded, position: pa.Array) -> Decoded:
    """Entries of a list, those that end before their key identified by their place."""
    keys = {
        key.name: pc.coalesce(decoded.columns[key.name], position.cast(arrow_type(key)))
        for key in decoded.layout.keys
        if key.is_number and decoded.columns[key.name].null_count
    }
    return replace(decoded, columns={**decoded.columns, **keys}) if keys else decoded


def _table(decoded: Decoded, stamps: Stamps, parent: dict[str, pa.Array]) -> pa.Table:
    arrays = [*stamps.arrays(), *parent.values(), *decoded.columns.values(), decoded.tail]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(decoded.layout))


def _raw_table(window: ByteWindow, stamps: Stamps, chosen: I64) -> pa.Table:
    index = window.index
    columns = [
        *stamps[chosen].arrays(),
        pa.array(index.domain[chosen]),
        pa.array(index.record[chosen]),
        pieces(window.data, index.start[chosen], index.length[chosen]),
    ]
    return pa.Table.from_arrays(columns, schema=RAW)
