"""The release that wrote a dump, as its system configuration record says, and where it changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..schemas.registry import layout
from .columns import decode
from .configuration import SYSTEM
from .windows import Window

LEVEL = "hcpcpeid"
"""The field of MTRSYS that has the level of CP."""
DIGITS = re.compile(r"(\d\d)(\d\d)(\d\d)\d*")


def release_of(level: str) -> str:
    """The release of a level of CP: 5.3.0 of 05030000, two digits each (inferred); else nothing."""
    found = DIGITS.fullmatch(level.strip())
    return ".".join(str(int(part)) for part in found.groups()) if found else ""


@dataclass
class Releases:
    """What the windows read so far have said: offset in the dump -> release from there on."""

    said: list[tuple[int, str]] = field(default_factory=list)

    def take(self, window: Window) -> None:
        """Note what the system configuration records of a window say."""
        known = layout(SYSTEM[0])
        numbers = window.index.where(known.domain, known.record)
        if not len(numbers):
            return
        starts, lengths = window.index.start[numbers], window.index.length[numbers]
        levels = decode(known, window.data, starts, lengths).columns[LEVEL].to_pylist()
        for start, level in zip(starts.tolist(), levels, strict=True):
            self.said.append((window.base + start, release_of(level or "")))

    def at(self, offset: int) -> str:
        """The release as of a place in the dump; that of the first word before any was said."""
        before = [release for start, release in self.said if start <= offset]
        return before[-1] if before else next((r for _, r in self.said), "")
