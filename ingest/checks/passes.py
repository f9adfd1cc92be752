"""Checks a dump in passes, without landing it; each relies on what the previous ones proved.

The passes run together, window by window, so that a dump is read once and memory is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..container.source import Progress, Source
from ..container.windows import Window, prefetched
from ..decode.reader import ByteCounts, Reader, Tables
from ..findings import Code, Findings, Pass
from .consistency import ConsistencyChecks
from .deltas import DeltaChecks
from .time_stamps import TimeStampChecks

COUNTED = {
    Pass.FILE: "bytes",
    Pass.CONTROL: "frames",
    Pass.HEADERS: "records",
    Pass.VALUES: "rows",
}
"""What each pass looks at."""


@dataclass
class Checked:
    """The result of a check.

    `looked_at`: how much each pass has seen, in the units of `COUNTED`.
    """

    name: str
    system: str = ""
    compression: str = ""
    bytes: ByteCounts = field(default_factory=ByteCounts)
    findings: Findings = field(default_factory=Findings)
    looked_at: dict[Pass, int] = field(default_factory=lambda: dict.fromkeys(Pass, 0))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": 1,
            "dump": self.name,
            "system": self.system or None,
            "compression": self.compression,
            "worst": str(self.findings.worst) if self.findings.worst else None,
            "bytes": self.bytes.as_dict(),
            "passes": [
                {
                    "pass": str(which),
                    "looked_at": self.looked_at[which],
                    "unit": COUNTED[which],
                    "findings": self.of(which),
                }
                for which in Pass
            ],
            "findings": self.findings.table().to_pylist(),
        }

    def of(self, which: Pass) -> dict[str, int]:
        """Findings of one pass: code -> count."""
        counts = self.findings.counts
        return {code.name: counts[code] for code in Code if counts[code] and code.found_in is which}


def check_dump(source: Source, release: str = "", progress: Progress | None = None) -> Checked:
    """Read a dump as an ingest does, and check its values; nothing is landed.

    Args:
        release: of the system that wrote the dump, if it is to be another than the dump states.
        progress: called after every window.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: the disk has no room for the rows that deltas need.
    """
    with DeltaChecks() as deltas:
        check = DumpCheck(Reader(source, release), Checked(source.name), deltas)
        for window in prefetched(source, check.reader.framer, progress):
            check.take(window)
        return check.finish()


@dataclass
class DumpCheck:
    """Checks a dump window by window; `deltas` is closed by its owner."""

    reader: Reader
    checked: Checked
    deltas: DeltaChecks
    consistency: ConsistencyChecks = field(default_factory=ConsistencyChecks)
    time_stamps: TimeStampChecks = field(default_factory=TimeStampChecks)

    def take(self, window: Window) -> None:
        """Decode a window's records and check them."""
        tables = self.reader.tables(window)
        self.time_stamps.take(window, self.reader.closed)
        self.checked.looked_at[Pass.CONTROL] += len(window.frames)
        self.checked.looked_at[Pass.HEADERS] += len(window.index)
        self._values(tables)

    def _values(self, tables: Tables) -> None:
        for name, rows in tables:
            self.checked.looked_at[Pass.VALUES] += len(rows)
            self.consistency.take(name, rows)
            self.deltas.take(name, rows)

    def finish(self) -> Checked:
        """Report what the whole dump shows."""
        self._values(self.reader.rest())
        self.reader.finish()
        findings = self.reader.findings
        self.time_stamps.finish(findings)
        self.deltas.finish(findings)
        self.consistency.finish(findings)
        source = self.reader.source
        self.checked.system = self.reader.configuration.system
        self.checked.compression = source.compression
        self.checked.bytes, self.checked.findings = self.reader.bytes, findings
        self.checked.looked_at[Pass.FILE] = source.size
        return self.checked
