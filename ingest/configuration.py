"""What the configuration records say about the dump itself: system, release, IPL, interval.

The one place of the reader that names records: their meaning goes beyond their own rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .codec import I64, U64, tod_to_unix_us
from .columns import Decoded

SYSTEM = ("mtrsys", "systmid")
LEVEL = ("mtrsys", "hcpcpeid")
IPL = ("mtrsys", "systodst")
INTERVAL = ("mtrspr", "interval")

UNKNOWN = "UNKNOWN"


@dataclass
class Configuration:
    """What is known so far; `system` is the first name met, the others what was said last.

    `release` is the CP level as "4.3.0", or empty.
    """

    system: str = ""
    release: str = ""
    ipl_us: int | None = None
    nominal_s: int | None = None
    _said: dict[str, tuple[I64, list[int | None]]] = field(default_factory=dict)

    def take(self, decoded: Decoded, records: I64) -> None:
        """Note what the records of one layout say; `records`: their numbers in the window."""
        name = decoded.layout.name
        if name == SYSTEM[0]:
            names = [n for n in decoded.columns[SYSTEM[1]].to_pylist() if n]
            self.system = self.system or (names[0] if names else "")
            levels = [release_of(n) for n in decoded.columns[LEVEL[1]].to_pylist()]
            self.release = next((r for r in reversed(levels) if r), self.release)
            column = decoded.columns[IPL[1]]
            clock: U64 = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
            there = column.is_valid().to_pylist()
            pairs = zip(tod_to_unix_us(clock).tolist(), there, strict=True)
            self._said["ipl_us"] = records, [us if known else None for us, known in pairs]
        if name == INTERVAL[0]:
            lengths = decoded.columns[INTERVAL[1]].to_pylist()
            self._said["nominal_s"] = records, [v if v and v > 0 else None for v in lengths]

    def at(self, ends: I64) -> tuple[list[int | None], list[int | None]]:
        """Interval length in s and IPL in us since 1970 as known at each record of `ends`.

        Forgets the window's records afterwards; the last word stays.
        """
        found = self._known("nominal_s", ends), self._known("ipl_us", ends)
        for name, (_, values) in self._said.items():
            setattr(self, name, values[-1])
        self._said.clear()
        return found

    def _known(self, name: str, ends: I64) -> list[int | None]:
        records, values = self._said.get(name, (np.empty(0, np.int64), []))
        before = np.searchsorted(records, ends) - 1
        last: int | None = getattr(self, name)
        return [values[b] if b >= 0 else last for b in before]


def release_of(level: str | None) -> str:
    """The release in HCPCPEID, "04030001" being 4.3.0 at service level 1; empty if it says none.

    That the first six digits are version, release and modification is inferred.
    """
    if level is None or not level[:6].isdigit() or len(level) < 6 or level[:2] == "00":
        return ""
    return ".".join(str(int(level[at : at + 2])) for at in (0, 2, 4))
