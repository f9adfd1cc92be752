"""Findings: all that can be wrong with a dump, and what was found in one, counted."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from importlib.resources import files
from typing import Any

import pyarrow as pa

from ..schemas.arrow import FINDING
from .codec import I64


class FindingSeverity(StrEnum):
    """How much a finding costs; the exit status follows the worst."""

    INFO = "info"
    """Worth knowing; nothing is lost."""
    WARNING = "warning"
    """Something is missing or odd; the rest is good."""
    DATA_LOSS = "data_loss"
    """Bytes could not be understood; they are kept in table `quarantine`."""


class Pass(StrEnum):
    """The passes of a check in their order; each relies on what the previous ones proved."""

    FILE = "file"
    CONTROL = "control"
    HEADERS = "headers"
    VALUES = "values"


_ROWS = {
    row["code"]: row
    for row in csv.DictReader(
        (files(__package__) / "findings.csv").read_text(encoding="utf-8").splitlines()
    )
}


class Code(Enum):
    """What can be wrong with a dump: a row each of `findings.csv`.

    Attributes:
        found_in: the pass that reports it.
        quotes: its details may quote bytes of the dump: user ids, devices or values.
    """

    RECORD_SHORT = auto()
    RECORD_LONG = auto()
    HEADER_BAD = auto()
    FRAME_LOST = auto()
    MOSTLY_LOST = auto()
    FRAME_EMPTY = auto()
    FRAME_ORPHAN = auto()
    CONTROL_CUT = auto()
    TRUNCATED = auto()
    COMPRESSED_CUT = auto()
    UNWRAPPED = auto()
    WORDS_BROKEN = auto()
    END_MISSING = auto()
    TRAILING_DATA = auto()
    SETS_MISSED = auto()
    INTERVAL_OPEN = auto()
    CONFIG_MISSING = auto()
    LAYOUT_UNKNOWN = auto()
    GROUP_CUT = auto()
    VALUE_IMPOSSIBLE = auto()
    BLOCK_TORN = auto()
    RECORD_WITHDRAWN = auto()
    RECORD_LONGER = auto()
    SYSTEMS_SEVERAL = auto()
    TOD_BACK = auto()
    CLOCK_SET = auto()
    TOD_DISORDER = auto()
    INTERVAL_GAP = auto()
    COUNTER_FELL = auto()
    OWNER_RESTARTED = auto()
    OWNER_ENDED = auto()
    SAMPLE_MISSING = auto()
    BLOCK_STALE = auto()
    BLOCK_CLOCK_SET = auto()
    WRAPPED_TWICE = auto()
    SUM_OPEN = auto()

    def __init__(self, _number: int) -> None:
        row = _ROWS[self.name]
        self.severity = FindingSeverity(row["severity"])
        self.found_in, self.quotes = Pass(row["pass"]), row["quotes"] == "yes"
        self.meaning, self.remedy = row["meaning"], row["remedy"]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, its place, and its effect.

    `offset` counts bytes of the decompressed dump. `count`: occurrences there:
    records of one kind, frames in a row.
    """

    code: Code
    offset: int
    detail: str
    effect: str = ""
    count: int = 1


OF_KINDS = frozenset({Code.LAYOUT_UNKNOWN, Code.RECORD_LONGER, Code.RECORD_WITHDRAWN})
"""Codes that are reported for each kind of record."""

KEPT = 1000
"""Findings of one code that are stored; further ones are only counted."""


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
        """The first finding of a code."""
        return next(finding for finding in self.kept if finding.code is code)

    def details(self, code: Code) -> list[str]:
        """Details of a code: of the first finding, or of each kind of record (`OF_KINDS`)."""
        details = [finding.detail for finding in self.kept if finding.code is code]
        return details if code in OF_KINDS else details[:1]

    @property
    def worst(self) -> FindingSeverity | None:
        """The worst severity found, or None."""
        order = list(FindingSeverity)
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

    def note(self, code: Code, subject: Any, offsets: Sequence[int] | I64, detail: str) -> None:
        """Count findings about a subject; offset and detail of the first one are kept.

        Args:
            offsets: place of each. detail: of the first of them.
        """
        if len(offsets):
            self._first.setdefault(code, {}).setdefault(subject, (int(offsets[0]), detail))
            self._counts[code, subject] += len(offsets)

    def report(self, findings: Findings, code: Code, effect: str = "") -> None:
        """Add what was counted under a code, sorted by subject."""
        for subject, (offset, detail) in sorted(self._first.get(code, {}).items()):
            findings.add(code, offset, detail, effect, count=self._counts[code, subject])
