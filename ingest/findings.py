"""Catalogue of findings: code, severity, meaning and remedy of everything wrong with a dump."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

import pyarrow as pa

from ..schemas.arrow import FINDING


class Severity(StrEnum):
    """How much a finding costs; the exit status follows the worst."""

    INFO = "info"
    """Worth knowing; nothing is lost."""
    WARNING = "warning"
    """Something is missing or odd; what is there is good."""
    DATA_LOSS = "data_loss"
    """Bytes could not be understood; they are kept in table `quarantine`."""


class Code(Enum):
    """The catalogue of findings: severity, meaning, remedy."""

    RECORD_SHORT = (
        Severity.DATA_LOSS,
        "A record claims fewer bytes than its header has. The rest of its frame is unreadable.",
        "Transfer the dump again in binary; if the finding stays, the dump was written so.",
    )
    RECORD_LONG = (
        Severity.DATA_LOSS,
        "A record claims more bytes than its frame has left. The rest of the frame is unreadable.",
        "Transfer the dump again in binary; if the finding stays, the dump was written so.",
    )
    HEADER_BAD = (
        Severity.DATA_LOSS,
        "Where a record should start there is no record header. The rest of the frame is "
        "unreadable.",
        "Transfer the dump again in binary; if the finding stays, the dump was written so.",
    )
    FRAME_LOST = (
        Severity.DATA_LOSS,
        "Frames that no control record describes, and that do not start with a record.",
        "Look for a transfer that stopped and went on, or for other data in the file.",
    )
    MOSTLY_LOST = (
        Severity.DATA_LOSS,
        "More than half of the dump could not be understood. `cpmon ingest` refuses it.",
        "Transfer the dump again in binary; `cpmon ingest --accept-damage` lands what is good of "
        "this one.",
    )
    FRAME_EMPTY = (
        Severity.WARNING,
        "Frames that a control record describes are all zeros: the records that stood there are "
        "missing. If an interval's end was among them, its samples count to the next interval.",
        "Transfer the dump again; look for a copy that was interrupted, or for a full disk.",
    )
    FRAME_ORPHAN = (
        Severity.WARNING,
        "Frames with records that no control record describes; read as sample data.",
        "The dump starts in mid-stream or a control record is damaged; the data is landed.",
    )
    CONTROL_CUT = (
        Severity.WARNING,
        "A control record describes more frames than stand before the next control record.",
        "Frames are missing; the interval they belong to is incomplete.",
    )
    TRUNCATED = (
        Severity.WARNING,
        "The dump ends in the middle of data that a control record describes, or of a frame.",
        "Transfer the dump again, or close it (MONWRITE STOP) before copying it.",
    )
    COMPRESSED_CUT = (
        Severity.WARNING,
        "The compressed file ends early or is damaged; what could be decompressed is landed.",
        "Compress and transfer the dump again.",
    )
    UNWRAPPED = (
        Severity.INFO,
        "A transfer had put something around the dump; it was taken off. Offsets count without it.",
        "Nothing to do; a transfer in binary, in records of 4096 bytes, has nothing around it.",
    )
    WORDS_BROKEN = (
        Severity.WARNING,
        "Descriptor words of a transfer end to fit; what follows was read as it stands.",
        "Transfer the dump again in binary, in records of 4096 bytes.",
    )
    END_MISSING = (
        Severity.INFO,
        "The dump has no end-of-data record: it is still being written, or was cut at a frame.",
        "Nothing to do if the file was copied while MONWRITE was running.",
    )
    TRAILING_DATA = (
        Severity.WARNING,
        "There is data behind the end-of-data record.",
        "If dumps were joined, the records behind are landed as well.",
    )
    SETS_MISSED = (
        Severity.WARNING,
        "A monreader device could not deliver a data set, or delivered faster than was read.",
        "Give the reading guest a larger share; its kernel log says why a read failed.",
    )
    INTERVAL_OPEN = (
        Severity.WARNING,
        "Samples whose interval is not closed by an interval-end record in this dump.",
        "They are in schema monitor with interval_end NULL, and in no rate.",
    )
    CONFIG_MISSING = (
        Severity.INFO,
        "No system configuration record (1.4): the dump starts in mid-stream.",
        "Name the system with --system; restarts are recognised by falling counters only.",
    )
    LAYOUT_UNKNOWN = (
        Severity.INFO,
        "No layout for this domain and record. Its records are kept raw in `record_raw`.",
        "Bring the layout of your release (cpmon schema import), and land the dump in a new store.",
    )
    GROUP_CUT = (
        Severity.WARNING,
        "A record claims more repeated entries than it has room for; those that fit are landed.",
        "Compare the record's layout with your release.",
    )
    VALUE_IMPOSSIBLE = (
        Severity.WARNING,
        "A field has a value that no system can have. It is landed as NULL, and so is its delta.",
        "Transfer the dump again if bits may have been lost on the way; `cpmon show --at` prints "
        "the record as it stands. Where every dump has them, compare the layout with your release.",
    )
    BLOCK_TORN = (
        Severity.WARNING,
        "A block of application data was sampled while its guest was writing it: its two "
        "synchronisation counts differ. It is landed.",
        "Leave the rows whose sync_count_1 and sync_count_2 differ out of rates.",
    )
    RECORD_LONGER = (
        Severity.INFO,
        "Records are longer than their layout; the bytes behind are kept in column `tail`.",
        "A newer release writes more fields than the layout knows.",
    )
    TOD_BACK = (
        Severity.WARNING,
        "An interval ends no later than the one before: sets stand in the wrong order, or twice.",
        "Merge dumps in the order of their times; look for a clock that was set back.",
    )
    TOD_DISORDER = (
        Severity.INFO,
        "Records of one set of data are not in the order of their time stamps.",
        "Nothing to do; what is grouped by time must not lean on the order of records.",
    )
    INTERVAL_GAP = (
        Severity.WARNING,
        "Between two intervals others are missing; no delta is computed across the gap.",
        "Look for a second dump of that time; MONWRITE may have been too slow for the monitor.",
    )
    COUNTER_FELL = (
        Severity.WARNING,
        "A counter runs backwards, without a wrap, while others of its owner go on.",
        "Compare the layout with your release: the field may be none, or no counter.",
    )
    OWNER_RESTARTED = (
        Severity.INFO,
        "Counters of a user, device or processor start again: it was gone in between.",
        "Nothing to do; no delta is computed across the restart.",
    )
    SUM_OPEN = (
        Severity.WARNING,
        "Figures of one sample contradict each other: parts are more than their whole.",
        "Compare the layout with your release: a field at a wrong offset shows up like this.",
    )

    def __init__(self, severity: Severity, meaning: str, remedy: str) -> None:
        self.severity = severity
        self.meaning = meaning
        self.remedy = remedy


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, where it was met, and what it cost.

    `offset` counts bytes of the decompressed dump. `count` is how many times it was met there:
    records of one kind, frames in a row.
    """

    code: Code
    offset: int
    detail: str
    effect: str = ""
    count: int = 1


KEPT = 1000
"""Findings of one code that are kept one by one; the others are only counted."""


@dataclass
class Findings:
    """The findings of one dump: each located, up to a limit a code, and all counted."""

    kept: list[Finding] = field(default_factory=list)
    counts: Counter[Code] = field(default_factory=Counter)
    _kept_by_code: Counter[Code] = field(default_factory=Counter)

    def add(
        self, code: Code, offset: int, detail: str, effect: str = "", *, count: int = 1
    ) -> None:
        """Count a finding, and keep it unless its code has had `KEPT` of them."""
        self._keep(Finding(code, offset, detail, effect, count))
        self.counts[code] += count

    def merge(self, others: Findings) -> None:
        """Add the findings of another reader of the same dump."""
        for finding in others.kept:
            self._keep(finding)
        self.counts.update(others.counts)

    def _keep(self, finding: Finding) -> None:
        if self._kept_by_code[finding.code] < KEPT:
            self.kept.append(finding)
            self._kept_by_code[finding.code] += 1

    def first(self, code: Code) -> Finding:
        """The first finding of a code that was met."""
        return next(finding for finding in self.kept if finding.code is code)

    def details(self, code: Code) -> list[str]:
        """What is told of a code: of the first, or of each kind of record if it is counted so."""
        details = [finding.detail for finding in self.kept if finding.code is code]
        return details if code in (Code.LAYOUT_UNKNOWN, Code.RECORD_LONGER) else details[:1]

    @property
    def worst(self) -> Severity | None:
        """The gravest severity met, or None."""
        order = list(Severity)
        return max((c.severity for c in self.counts), key=order.index, default=None)

    def table(self) -> pa.Table:
        """The findings kept, in the order of the dump, as rows of `FINDING`."""
        rows = [
            {
                "code": f.code.name,
                "severity": f.code.severity.value,
                "record_offset": f.offset,
                "count": f.count,
                "detail": f.detail,
                "effect": f.effect,
                "meaning": f.code.meaning,
                "remedy": f.code.remedy,
            }
            for f in sorted(self.kept, key=lambda f: f.offset)
        ]
        return pa.Table.from_pylist(rows, schema=FINDING)


@dataclass
class Tally:
    """Counts findings by code and subject over a dump, to report each once at its first place."""

    _first: dict[Code, dict[Any, tuple[int, str]]] = field(default_factory=dict)
    _counts: Counter[tuple[Code, Any]] = field(default_factory=Counter)

    def note(self, code: Code, subject: Any, offset: int, detail: str, count: int = 1) -> None:
        """Count a finding about a subject; offset and detail of the first one are kept."""
        self._first.setdefault(code, {}).setdefault(subject, (offset, detail))
        self._counts[code, subject] += count

    def report(self, findings: Findings, *codes: Code, effect: str = "") -> None:
        """Add what was counted under some codes, sorted by subject."""
        for code in codes:
            for subject, (offset, detail) in sorted(self._first.get(code, {}).items()):
                findings.add(code, offset, detail, effect, count=self._counts[code, subject])
