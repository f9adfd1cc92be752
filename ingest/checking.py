"""A dump checked in passes, without landing it: each relies on what those before have proved.

The passes run together, window by window, so that a dump is read once and memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .accounting import Bytes
from .ahead import ahead
from .clocks import Clocks
from .closures import Closures
from .counters import Counters
from .findings import Code, Findings
from .reader import Reader, Tables
from .sources import Source
from .successive import IPL, Successive
from .windows import Window, windows

Progress = Callable[[Source], None]


class Pass(StrEnum):
    """The passes in their order; each names what it looks at, and counts it."""

    FILE = "file"
    CONTROL = "control"
    HEADERS = "headers"
    VALUES = "values"


COUNTED = {
    Pass.FILE: "bytes",
    Pass.CONTROL: "frames",
    Pass.HEADERS: "records",
    Pass.VALUES: "rows",
}

PASS_OF = {
    Code.COMPRESSED_CUT: Pass.FILE,
    Code.FRAME_LOST: Pass.CONTROL,
    Code.FRAME_EMPTY: Pass.CONTROL,
    Code.FRAME_ORPHAN: Pass.CONTROL,
    Code.CONTROL_CUT: Pass.CONTROL,
    Code.TRUNCATED: Pass.CONTROL,
    Code.END_MISSING: Pass.CONTROL,
    Code.TRAILING_DATA: Pass.CONTROL,
    Code.RECORD_SHORT: Pass.HEADERS,
    Code.RECORD_LONG: Pass.HEADERS,
    Code.HEADER_BAD: Pass.HEADERS,
    Code.INTERVAL_OPEN: Pass.HEADERS,
    Code.CONFIG_MISSING: Pass.HEADERS,
    Code.LAYOUT_UNKNOWN: Pass.HEADERS,
}
"""Codes of the first passes; all others are about values."""


def pass_of(code: Code) -> Pass:
    """The pass that tells a finding."""
    return PASS_OF.get(code, Pass.VALUES)


@dataclass
class Checked:
    """What a check found.

    `looked_at`: how much each pass has seen, in the units of `COUNTED`.
    """

    name: str
    system: str = ""
    compression: str = ""
    bytes: Bytes = field(default_factory=Bytes)
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
        return {code.name: counts[code] for code in Code if counts[code] and pass_of(code) is which}


def check_dump(source: Source, release: str = "", progress: Progress | None = None) -> Checked:
    """Read a dump as an ingest does, and look at its values; nothing is written.

    Args:
        release: of the system that wrote the dump, if it is to be another than the dump says.
        progress: called after every window.

    Raises:
        DumpError: it is no monitor data.
    """
    check = _Check(Reader(source, release), Checked(source.name))
    for window in ahead(windows(source, check.reader.framer)):
        check.window(window)
        if progress:
            progress(source)
    return check.finish()


@dataclass
class _Check:
    reader: Reader
    found: Checked
    successive: Successive = field(default_factory=Successive)
    counters: Counters = field(default_factory=Counters)
    closures: Closures = field(default_factory=Closures)

    def __post_init__(self) -> None:
        self.clocks = Clocks(self.reader.findings)

    def window(self, window: Window) -> None:
        """Decode a window's records and look at them."""
        tables = self.reader.tables(window)
        self.clocks.take(window, self.reader.configuration.nominal_s)
        self.found.looked_at[Pass.CONTROL] += len(window.frames)
        self.found.looked_at[Pass.HEADERS] += len(window.index)
        self._values(tables)

    def _values(self, tables: Tables) -> None:
        for name, rows in tables:
            if name == IPL[0]:
                self.successive.restarts(rows)
        for name, rows in tables:
            self.found.looked_at[Pass.VALUES] += len(rows)
            self.closures.take(name, rows)
            pairs = self.successive.pairs(name, rows)
            if pairs is not None and len(pairs):
                self.counters.take(pairs)
                self.closures.growth(pairs)

    def finish(self) -> Checked:
        """Close the books."""
        self._values(self.reader.rest())
        self.reader.finish()
        findings = self.reader.findings
        self.counters.finish(findings)
        self.closures.finish(findings)
        source = self.reader.source
        self.found.system = self.reader.configuration.system
        self.found.compression = source.compression
        self.found.bytes, self.found.findings = self.reader.bytes, findings
        self.found.looked_at[Pass.FILE] = source.size
        return self.found
