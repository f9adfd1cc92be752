"""Settings of a site, from `cpmon.toml`: time zone and shifts. `docs/reports.md` has the keys."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..schemas import CpmonError
from ..schemas.lookup import unknown
from .shifts import Shift, find_zone, read_shifts

FILE = "cpmon.toml"
VARIABLE = "CPMON_CONFIG"
KEYS = ("timezone", "shifts", "exceptions", "retention")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site has set.

    Attributes:
        timezone: in which times are printed and shifts counted.
        shifts: by name.
        exceptions: the table of that name, for `exceptions`.
        retention: level -> how long it is kept, for `cpmon store prune`.
    """

    timezone: str = "UTC"
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    exceptions: Mapping[str, Any] = field(default_factory=dict)
    retention: Mapping[str, str] = field(default_factory=dict)

    def shift(self, name: str) -> Shift:
        """The shift of that name.

        Raises:
            CpmonError: there is none.
        """
        if name not in self.shifts:
            raise unknown("shift", name, self.shifts)
        return self.shifts[name]


def read_settings(store: Path, file: Path | None = None) -> Settings:
    """The settings for a store: a file that is named, that of CPMON_CONFIG, or the store's own.

    Raises:
        CpmonError: a file that was named is not there, or something in it is wrong.
    """
    named = file or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    place = named or store / FILE
    if named is None and not place.exists():
        return Settings()
    try:
        top = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CpmonError(
            "the settings cannot be read", place=str(place), found=str(error)
        ) from None
    for key in top:
        if key not in KEYS:
            raise unknown("setting", key, KEYS, place=str(place))
    zone = str(top.get("timezone", "UTC"))
    find_zone(zone)
    shifts = read_shifts(top.get("shifts", {}), zone, f"{place}: shifts")
    kept = {level: str(length) for level, length in top.get("retention", {}).items()}
    return Settings(zone, shifts, top.get("exceptions", {}), kept)
