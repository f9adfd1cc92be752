"""Checks a dump in passes; each relies on what the previous ones proved.

The passes run together, window by window, so that a dump is read once and memory is bounded. That
of values needs whole tables: it judges what has landed in a store for that purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..store.dumps.store import Store
from .container.source import Progress
from .decode.reader import ByteCounts, Reader
from .findings import Code, Findings, Pass
from .landing import Look, publish, write_tables

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
    looked_at: dict[Pass, int] = field(default_factory=dict)

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


def land_checked(
    reader: Reader, store: Store, progress: Progress | None = None, look: Look | None = None
) -> Checked:
    """Land a dump in a store of its own, however damaged, with what the passes found so far.

    Args:
        progress: called after every window. look: called with every window.

    Raises:
        DumpError: it is no monitor data.
        StoreError: the store cannot be written.
    """
    with store.stage() as staged:
        looked_at = write_tables(reader, staged, progress, look)
        publish(reader, staged, store)
    source, system = reader.source, reader.configuration.system
    return Checked(
        source.name, system, source.compression, reader.bytes, reader.findings, looked_at
    )
