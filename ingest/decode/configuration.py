"""Tracks what configuration records state about the dump: system, release, IPL, interval.

The one place of the reader that names records: their meaning goes beyond their own rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...schemas.registry import layout
from ...schemas.release import base_release, with_bits
from ..codec import I64, U8, U64, Mask, tod_to_unix_us
from ..container.record_index import RecordIndex
from ..container.windows import ByteWindow
from .columns import Decoded, decode

SYSTEM = ("mtrsys", "systmid")
LEVEL = "hcpcpeid"
"""The field of MTRSYS with the CP level."""
IDENTITY = {"machine": "sysmseqc", "partition": "lparname"}
"""What tells systems of one name apart -> its field of MTRSYS; not in records before 4.3.0."""
SERVICE = "callevel"
"""Bits of MTRSYS with the service level; known if the site has imported its page."""
IPL = "systodst"
"""The field of MTRSYS with the time at which CP was loaded."""
ZONE = "syszone"
"""The field of MTRSYS with the time zone: seconds east of UTC (believed)."""
INTERVAL = ("mtrspr", "interval")
COMMAND = ("mtrscm", "calcmd")
"""Text of a MONITOR SAMPLE command, in the sample of the interval in which it was given."""
GIVEN = "caltod"
"""The field of MTRSCM with the time at which the command was given."""
_INTERVAL_OPERAND = re.compile(
    r"\bINT(?:ERVAL|ERVA|ERV|ER|E)?\s+(\d{1,9})(?:\s+(MIN|SEC)[A-Z]*)?\b", re.IGNORECASE
)


class SetAt(NamedTuple):
    """What is set at each of some records, None where it is not known.

    Attributes:
        nominal_s: the length that MONITOR was set to. commanded_us, ipl_us: when the last command
            set one, and when CP was loaded, microseconds since 1970 UTC.
        restated: whether the sample profile was written since the record before: monitoring
            started, or went on after a pause.
    """

    nominal_s: list[int | None]
    commanded_us: list[int | None]
    ipl_us: list[int | None]
    restated: Mask


@dataclass
class Configuration:
    """The configuration so far: the latest values.

    `level` is the CP level as "4.3.0", or "7.3.0+callevel.5" with bits of service, or empty;
    `zone_s`: seconds that the system's local time is ahead of UTC, None if unknown. `systems` are
    all names read, `identity` the values of each of `IDENTITY`, and `loads_us` the times of IPL: in
    order, each with the offset of the first record that has it.
    """

    systems: dict[str, int] = field(default_factory=dict)
    identity: dict[str, dict[str, int]] = field(
        default_factory=lambda: {key: {} for key in IDENTITY}
    )
    loads_us: dict[int, int] = field(default_factory=dict)
    level: str = ""
    zone_s: int | None = None
    ipl_us: int | None = None
    nominal_s: int | None = None
    commanded_us: int | None = None
    _latest: dict[str, list[tuple[int, int | None]]] = field(
        default_factory=lambda: {"ipl_us": [], "nominal_s": [], "commanded_us": []}
    )
    """Number of a record in the window, and value, of what may have changed in it."""
    _profiles: list[I64] = field(default_factory=list)
    _restated: bool = False

    @property
    def system(self) -> str:
        """The first name read; empty if there is none."""
        return next(iter(self.systems), "")

    @property
    def release(self) -> str:
        """The CP level without its bits."""
        return base_release(self.level)

    def take(self, decoded: Decoded, records: I64, offsets: I64) -> None:
        """Store the values of configuration records.

        `records`: their numbers in the window; `offsets`: where they stand in the dump.
        """
        name = decoded.layout.name
        if name == SYSTEM[0]:
            _note(self.systems, _texts(decoded, SYSTEM[1]), offsets)
            for key, column in IDENTITY.items():
                _note(self.identity[key], _texts(decoded, column), offsets)
            loads = ipl_times(decoded)
            _note(self.loads_us, [us if us and us > 0 else None for us in loads], offsets)
            self.level = next((level for level in reversed(_levels(decoded)) if level), self.level)
            self.zone_s = _zone(decoded.columns[ZONE][-1].as_py())
            self._latest["ipl_us"] += zip(records.tolist(), loads, strict=True)
        if name == INTERVAL[0]:
            lengths = [v if v and v > 0 else None for v in decoded.columns[INTERVAL[1]].to_pylist()]
            self._latest["nominal_s"] += zip(records.tolist(), lengths, strict=True)
            self._profiles.append(records)

    def at(self, window: ByteWindow, ends: I64) -> SetAt:
        """The configuration at each record of `ends`, by the commands of the window as well.

        Forgets the window's records afterwards, but for the latest values.

        """
        if (commands := decode_records(window.data, window.index, COMMAND[0])) is not None:
            texts = commands[0].columns[COMMAND[1]].to_pylist()
            given = _times(commands[0], GIVEN)
            told = zip(commands[1].tolist(), map(commanded_s, texts), given, strict=True)
            setting = [each for each in told if each[1]]
            self._latest["nominal_s"] += [(number, s) for number, s, _ in setting]
            self._latest["commanded_us"] += [(number, us) for number, _, us in setting]
        found = SetAt(
            self._at("nominal_s", ends),
            self._at("commanded_us", ends),
            self._at("ipl_us", ends),
            self._restated_at(ends),
        )
        for name, values in self._latest.items():
            if values:
                setattr(self, name, max(values, key=lambda value: value[0])[1])
            values.clear()
        return found

    def _at(self, name: str, ends: I64) -> list[int | None]:
        noted = sorted(self._latest[name], key=lambda value: value[0])
        before = np.searchsorted(np.array([n for n, _ in noted], np.int64), ends) - 1
        last: int | None = getattr(self, name)
        return [noted[b][1] if b >= 0 else last for b in before]

    def _restated_at(self, ends: I64) -> Mask:
        profiles = np.sort(np.concatenate([*self._profiles, np.empty(0, np.int64)]))
        before = np.searchsorted(profiles, ends)
        restated = np.diff(before, prepend=0) > 0
        if len(ends):
            restated[0] |= self._restated
            self._restated = bool(before[-1] < len(profiles))
        else:
            self._restated |= len(profiles) > 0
        self._profiles.clear()
        return restated


def _texts(decoded: Decoded, column: str) -> Sequence[str | None]:
    """The texts of a column; none where records end before it."""
    return decoded.columns[column].to_pylist() if column in decoded.columns else []


def _note(known: dict[Any, int], values: Sequence[Any], offsets: I64) -> None:
    """Add values that are new, with the offsets of their records; blank ones are none."""
    for value, offset in zip(values, offsets.tolist(), strict=False):
        if value:
            known.setdefault(value, offset)


def commanded_s(command: str | None) -> int | None:
    """The interval that a MONITOR SAMPLE command sets, seconds; None if it sets none.

    Without a unit it is one of minutes. SUBINTERVAL, RATE and LIMIT are other things.
    """
    match = _INTERVAL_OPERAND.search(command or "")
    if match is None or not int(match[1]):
        return None
    return int(match[1]) * (1 if (match[2] or "").upper() == "SEC" else 60)


def _zone(value: int | None) -> int | None:
    """Seconds east of UTC of SYSZONE, which counts westwards below zero."""
    if value is None:
        return None
    signed = value - (1 << 32) if value >= 1 << 31 else value
    # No time zone is further from UTC; anything more is another thing in its place.
    return signed if abs(signed) <= 15 * 3600 else None


def ipl_times(system: Decoded) -> list[int | None]:
    """When CP was loaded, by each MTRSYS record: microseconds since 1970; None if it is short."""
    return _times(system, IPL)


def _times(decoded: Decoded, field: str) -> list[int | None]:
    """A TOD clock of each record, microseconds since 1970; None if it is short."""
    column = decoded.columns[field]
    clock: U64 = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    both = zip(tod_to_unix_us(clock).tolist(), column.is_valid().to_pylist(), strict=True)
    return [us if is_valid else None for us, is_valid in both]


def decode_records(data: U8, index: RecordIndex, name: str) -> tuple[Decoded, I64] | None:
    """The records of one kind and their numbers; None if there are none."""
    record = layout(name)
    numbers = index.where(record.domain, record.record)
    if not len(numbers):
        return None
    starts, lengths = index.start[numbers], index.length[numbers]
    return decode(record, data, starts, lengths), numbers


def _levels(decoded: Decoded) -> list[str]:
    """The level that each MTRSYS record names, with its bits where the layout has them."""
    releases = [release_of(level) for level in decoded.columns[LEVEL].to_pylist()]
    if SERVICE not in decoded.columns:
        return releases
    width = decoded.layout.field(SERVICE).length
    bits = decoded.columns[SERVICE].to_pylist()
    return [
        release
        if not release or value is None
        else with_bits(release, value if isinstance(value, bytes) else value.to_bytes(width, "big"))
        for release, value in zip(releases, bits, strict=True)
    ]


def release_of(level: str | None) -> str:
    """The release in HCPCPEID, "04030001" being 4.3.0 at service level 1; empty if it has none.

    That the first six digits are version, release and modification is inferred.
    """
    digits = re.match(r"[0-9]{6}", level or "")
    if digits is None or digits[0].startswith("00"):
        return ""
    return ".".join(str(int(digits[0][at : at + 2])) for at in (0, 2, 4))
