"""Counts the contents of a dump from record headers alone; decodes only the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ...schemas.registry import by_record, layout, record_names
from ...store.views.meta import GAP
from ..codec import I64, tod_to_unix_us
from ..container.frames import INTERVAL_END
from ..container.monwrite import Framer
from ..container.record_runs import Runs, find_runs, tods
from ..container.source import Progress, Source
from ..container.windows import Stretch, report_open, stretches
from ..decode.columns import decode
from ..decode.configuration import INTERVAL, IPL, SYSTEM, Configuration
from ..decode.decoded import Decoded
from ..findings import Findings
from ..prefetch import prefetch

ZONE = "syszone"
"""The field of MTRSYS with the time zone: seconds east of UTC (believed)."""
FURTHEST_S = 15 * 3600
"""No time zone is further from UTC; anything more is another thing in its place."""

UNKNOWN = "unknown"
"""In place of a layout's provenance, where there is no layout."""


TABLE = pa.schema(
    [
        ("domain", pa.int64()),
        ("record", pa.int64()),
        ("name", pa.string()),
        ("layout", pa.string()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("share", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Start:
    """The monitor's configuration, written when monitoring starts.

    `at_us`: when; `ipl_us`: when CP was loaded, None where the record is too short to say it:
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
        ends_us: interval ends, microseconds since 1970 UTC.
        configuration: what the dump says of its system.
        zone_s: seconds that the system's local time is ahead of UTC; None if not known.
        starts: every time that monitoring started.
    """

    name: str
    size: int = 0
    records: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    ends_us: list[int] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None
    zone_s: int | None = None
    starts: list[Start] = field(default_factory=list)
    configuration: Configuration = field(default_factory=Configuration)
    findings: Findings = field(default_factory=Findings)

    @property
    def interval_s(self) -> float | None:
        """Usual seconds of an interval: as MONITOR was set, else as measured."""
        if self.configuration.nominal_s:
            return float(self.configuration.nominal_s)
        return float(np.median(np.diff(self.ends_us))) / 1e6 if len(self.ends_us) > 1 else None

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The interval ends around every stretch of time in which intervals are missing."""
        usual = self.interval_s
        if usual is None:
            return []
        ends = np.array(self.ends_us, np.int64)
        before = np.flatnonzero(np.diff(ends) / 1e6 > GAP * usual)
        return list(zip(ends[before].tolist(), ends[before + 1].tolist(), strict=True))

    @property
    def ipl_us(self) -> int | None:
        """When CP was loaded last, as far as the dump says it."""
        return next((s.ipl_us for s in reversed(self.starts) if s.ipl_us is not None), None)

    @property
    def resets(self) -> list[Start]:
        """The starts of monitoring behind which CP had been loaded again."""
        return [start for start in self.starts if start.again]

    def table(self, sort: str = "bytes") -> pa.Table:
        """One row for each kind of record.

        Args:
            sort: most "bytes" or "records" first, or by "type": domain and record.
        """
        names, layouts = record_names(), by_record()
        rows: list[dict[str, Any]] = [
            {
                "domain": kind[0],
                "record": kind[1],
                "name": names.get(kind, "").upper() or None,
                "layout": str(layouts[kind].provenance) if kind in layouts else UNKNOWN,
                "records": self.records[kind][0],
                "bytes": self.records[kind][1],
                "share": self.records[kind][1] / max(self.size, 1),
            }
            for kind in sorted(self.records)
        ]
        if sort != "type":
            rows.sort(key=lambda row: -row[sort])
        return pa.Table.from_pylist(rows, schema=TABLE)


def take_inventory(source: Source, progress: Progress | None = None) -> Inventory:
    """Read a dump's record headers from front to back.

    Args:
        progress: called now and then.

    Raises:
        DumpError: it is no monitor data.
    """
    inventory = Inventory(source.name)
    counter = _RecordCounter(inventory)
    source.hashing = False
    for stretch in prefetch(stretches(source, Framer(inventory.findings))):
        counter.take(stretch)
        if progress:
            progress(source)
    counter.finish()
    inventory.size = source.size
    return inventory


@dataclass
class _RecordCounter:
    """Counts a dump stretch by stretch, by runs of records of one kind: there are few of them."""

    inventory: Inventory
    _open: int = 0
    """Sample records behind the last interval end, and where the first of them starts."""
    _open_at: int = 0
    _filled: bool = False
    """Whether there is one among them that is no configuration."""

    def take(self, stretch: Stretch) -> None:
        """Count the records of the next stretch."""
        inventory, runs = self.inventory, find_runs(stretch.data, stretch.frames)
        if not len(runs):
            return
        for kind, (count, size) in runs.totals().items():
            before = inventory.records.get(kind, (0, 0))
            inventory.records[kind] = before[0] + count, before[1] + size
        ends = runs.of(INTERVAL_END)
        ends = ends[stretch.frames.sample[runs.frame[ends]]]
        self._configuration(stretch, runs, ends)
        self._close(stretch, runs, ends)
        outermost = runs.start[[0, -1]]
        outermost[1] += runs.length[-1] * (runs.count[-1] - 1)
        first, last = tod_to_unix_us(tods(stretch.data, outermost)).tolist()
        inventory.first_us = first if inventory.first_us is None else inventory.first_us
        inventory.last_us = last

    def finish(self) -> None:
        """Report samples whose interval was not closed."""
        report_open(self._open, self._open_at, self.inventory.findings)

    def _configuration(self, stretch: Stretch, runs: Runs, ends: I64) -> None:
        """Decode the few records that name the system and the interval."""
        for name in (SYSTEM[0], INTERVAL[0]):
            record_layout = layout(name)
            chosen = runs.of((record_layout.domain, record_layout.record))
            if len(chosen):
                starts = runs.starts(chosen)
                lengths = np.repeat(runs.length[chosen], runs.count[chosen])
                decoded = decode(record_layout, stretch.data, starts, lengths)
                numbers = np.repeat(chosen, runs.count[chosen])
                self.inventory.configuration.take(decoded, numbers)
                if name == SYSTEM[0]:
                    self._starts(decoded, tod_to_unix_us(tods(stretch.data, starts)))
        self.inventory.configuration.at(ends)

    def _starts(self, decoded: Decoded, at: I64) -> None:
        inventory = self.inventory
        clocks = decoded.columns[IPL[1]]
        valid = clocks.is_valid().to_pylist()
        loaded = tod_to_unix_us(clocks.fill_null(0).to_numpy().astype(np.uint64)).tolist()
        for at_us, ipl_us, is_valid in zip(at.tolist(), loaded, valid, strict=True):
            again = is_valid and inventory.ipl_us is not None and inventory.ipl_us != ipl_us
            inventory.starts.append(Start(at_us, ipl_us if is_valid else None, again))
        inventory.zone_s = _zone(decoded.columns[ZONE][-1].as_py())

    def _close(self, stretch: Stretch, runs: Runs, ends: I64) -> None:
        """Note the ends of intervals that have samples; an interval may begin stretches before.

        `ends`: numbers of the runs that end one; each is a single record.
        """
        sample = stretch.frames.sample[runs.frame]
        # Of the monitor's own domain only configuration and ends are in sample data.
        upto = np.cumsum(sample & (runs.domain != INTERVAL_END[0]))
        if len(ends):
            many = np.diff(upto[ends], prepend=0)
            many[0] += self._filled
            closed = tods(stretch.data, runs.start[ends[many > 0]])
            self.inventory.ends_us += tod_to_unix_us(closed).tolist()
            self._filled, self._open = False, 0
        self._filled |= bool(upto[-1] > (upto[ends[-1]] if len(ends) else 0))
        behind = int(ends[-1]) + 1 if len(ends) else 0
        waiting = behind + np.flatnonzero(sample[behind:])
        if len(waiting):
            if not self._open:
                self._open_at = stretch.base + int(runs.start[waiting[0]])
            self._open += int(runs.count[waiting].sum())


def _zone(value: int | None) -> int | None:
    """Seconds east of UTC of SYSZONE, which counts westwards below zero."""
    if value is None:
        return None
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return signed if abs(signed) <= FURTHEST_S else None
