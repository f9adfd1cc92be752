"""What is in a dump: counts by the headers of its records, and its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ...schemas.registry import by_record, record_names
from ..codec import tod_to_unix_us
from ..container.monwrite import Framer
from ..container.source import Progress, Source
from ..container.windows import ByteWindow, prefetched
from ..decode.configuration import INTERVAL, SYSTEM, Configuration, decode_records, ipl_times
from ..decode.intervals import Intervals
from ..decode.reader import RecordFindings
from ..findings import Code, Findings


@dataclass(frozen=True)
class Start:
    """The monitor's configuration, written when monitoring starts.

    `at_us`: when; `ipl_us`: when CP was loaded, None if the record is too short for it:
    microseconds since 1970 UTC. `again`: CP was loaded since the start before.
    """

    at_us: int
    ipl_us: int | None
    again: bool


@dataclass
class Inventory:
    """What one dump holds.

    Attributes:
        records: (domain, record) -> number of records and their bytes.
        longest: (domain, record) -> bytes of its longest record.
        ends_us: interval ends, microseconds since 1970 UTC.
        configuration: of the system, as recorded in the dump.
        starts: every time that monitoring started.
        findings: what is wrong with the frames, the headers and the order of records; values of
            other records than configuration are not decoded.
    """

    name: str
    size: int = 0
    records: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    longest: dict[tuple[int, int], int] = field(default_factory=dict)
    ends_us: list[int] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None
    starts: list[Start] = field(default_factory=list)
    configuration: Configuration = field(default_factory=Configuration)
    findings: Findings = field(default_factory=Findings)
    _intervals: Intervals = field(default_factory=Intervals, compare=False)
    _record_findings: RecordFindings = field(default_factory=RecordFindings, compare=False)

    @property
    def interval_s(self) -> float | None:
        """Usual seconds of an interval: as MONITOR was set, else as measured."""
        if self.configuration.nominal_s:
            return float(self.configuration.nominal_s)
        return float(np.median(np.diff(self.ends_us))) / 1e6 if len(self.ends_us) > 1 else None

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The interval ends around every stretch of time in which intervals are missing."""
        lengths = self._intervals.lengths()
        behind, ends = np.flatnonzero(lengths.gap), lengths.end_us
        return list(zip(ends[behind - 1].tolist(), ends[behind].tolist(), strict=True))

    @property
    def ipl_us(self) -> int | None:
        """When CP was last loaded; None if the dump does not have it."""
        return next((s.ipl_us for s in reversed(self.starts) if s.ipl_us is not None), None)

    @property
    def resets(self) -> list[Start]:
        """The starts of monitoring that follow an IPL of CP."""
        return [start for start in self.starts if start.again]

    def take(self, window: ByteWindow) -> None:
        """Count the records of the next window."""
        index = window.index
        tod = tod_to_unix_us(index.tod)
        for kind, numbers in index.by_kind():
            count, size = self.records.get(kind, (0, 0))
            lengths = index.length[numbers]
            self.records[kind] = count + len(numbers), size + int(lengths.sum())
            self.longest[kind] = max(self.longest.get(kind, 0), int(lengths.max()))
            if kind not in by_record():
                self._record_findings.note_unknown(kind, index.start[numbers] + window.base)
        for name in (SYSTEM[0], INTERVAL[0]):
            if (records := decode_records(window.data, window.index, name)) is not None:
                offsets = index.start[records[1]] + window.base
                self.configuration.take(*records, offsets)
                if name == SYSTEM[0]:
                    started = zip(tod[records[1]].tolist(), ipl_times(records[0]), strict=True)
                    for at_us, ipl_us in started:
                        again = None not in (ipl_us, self.ipl_us) and self.ipl_us != ipl_us
                        self.starts.append(Start(at_us, ipl_us, again))
        closed = self._intervals.close(window, self.configuration)
        self.ends_us += closed["interval_end_us"].to_pylist()
        self._record_findings.note_frames(window, self.findings)

    def finish(self, source: Source, framing: Findings) -> None:
        """Report what the whole dump shows; `framing`: what is wrong with its frames."""
        self.size, findings = source.size, self.findings
        findings.merge(framing)
        self._record_findings.finish(findings)
        if not self.configuration.system:
            findings.add(Code.CONFIG_MISSING, 0, "expected a record 1.4")
        self._intervals.report(findings)
        self.first_us, self.last_us = self._intervals.first_us, self._intervals.last_us

    def table(self, sort: str = "bytes") -> pa.Table:
        """One row for each kind of record.

        Args:
            sort: most "bytes" or "records" first, or by "type": domain and record.
        """
        names, layouts, kinds = record_names(), by_record(), sorted(self.records)
        numbers = [(*kind, *self.records[kind]) for kind in kinds]
        domain, record, records, size = np.array(numbers, np.int64).reshape(-1, 4).T
        layout = [str(layouts[k].provenance) if k in layouts else "unknown" for k in kinds]
        table = pa.table(
            {
                "domain": domain,
                "record": record,
                "name": pa.array([names.get(k, "").upper() or None for k in kinds], pa.string()),
                "layout": pa.array(layout, pa.string()),
                "records": records,
                "bytes": size,
                "share": size / max(self.size, 1),
            }
        )
        return table if sort == "type" else table.sort_by([(sort, "descending")])


def take_inventory(source: Source, progress: Progress | None = None) -> Inventory:
    """Read a dump's record headers from front to back.

    Raises:
        DumpError: it is no monitor data.
    """
    inventory, framer = Inventory(source.name), Framer(Findings())
    source.hashing = False
    for window in prefetched(source, framer, progress):
        inventory.take(window)
    inventory.finish(source, framer.findings)
    return inventory
