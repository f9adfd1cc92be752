"""What is inside a dump, from record headers alone; only the configuration is decoded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..schemas.registry import by_record, layout, record_names
from .ahead import ahead
from .codec import tod_to_unix_us
from .columns import decode
from .configuration import INTERVAL, SYSTEM, Configuration
from .findings import Findings
from .intervals import closed_intervals
from .monwrite import Framer
from .reader import by_kind
from .sources import Source
from .windows import Window, windows

GAP = 1.5
"""An interval this many times as long as it should be hides a missing one."""


@dataclass
class Inventory:
    """What one dump holds.

    Attributes:
        records: (domain, record) -> number of records and their bytes.
        ends_us: interval ends, microseconds since 1970 UTC.
        configuration: what the dump says of its system.
    """

    name: str
    size: int = 0
    records: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    ends_us: list[int] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None
    configuration: Configuration = field(default_factory=Configuration)
    findings: Findings = field(default_factory=Findings)

    @property
    def interval_s(self) -> float | None:
        """Usual seconds of an interval: as MONITOR was set, else as measured."""
        if self.configuration.nominal_s:
            return float(self.configuration.nominal_s)
        return float(np.median(np.diff(self.ends_us))) / 1e6 if len(self.ends_us) > 1 else None

    @property
    def gaps(self) -> int:
        """How many times intervals are missing between two that are there."""
        usual = self.interval_s
        return 0 if usual is None else int((np.diff(self.ends_us) / 1e6 > GAP * usual).sum())

    def table(self) -> pa.Table:
        """One row for each kind of record, most bytes first."""
        names, known = record_names(), by_record()
        total = max(sum(size for _, size in self.records.values()), 1)
        order = sorted(self.records, key=lambda kind: (-self.records[kind][1], kind))
        rows = [
            {
                "domain": kind[0],
                "record": kind[1],
                "name": names.get(kind, "").upper() or None,
                "layout": str(known[kind].provenance) if kind in known else None,
                "records": self.records[kind][0],
                "bytes": self.records[kind][1],
                "share": self.records[kind][1] / total,
            }
            for kind in order
        ]
        return pa.Table.from_pylist(rows, schema=TABLE)


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


def take_inventory(source: Source) -> Inventory:
    """Read a dump's record headers from front to back.

    Raises:
        DumpError: it is no monitor data.
    """
    found = Inventory(source.name)
    for window in ahead(windows(source, Framer(found.findings))):
        _count(window, found)
    found.size = source.size
    return found


def _count(window: Window, found: Inventory) -> None:
    index = window.index
    telling = {layout(name) for name in (SYSTEM[0], INTERVAL[0])}
    for kind, chosen in by_kind(index):
        lengths = index.length[chosen]
        count, size = found.records.get(kind, (0, 0))
        found.records[kind] = count + len(chosen), size + int(lengths.sum())
        known = by_record().get(kind)
        if known is not None and known in telling:
            decoded = decode(known, window.data, index.start[chosen], lengths)
            found.configuration.take(decoded, chosen)
    stamps = closed_intervals(window, found.configuration)
    found.ends_us += stamps["interval_end_us"].to_pylist()
    if len(index):
        first, last = tod_to_unix_us(index.tod[[0, -1]]).tolist()
        found.first_us = first if found.first_us is None else found.first_us
        found.last_us = last
