"""Settings of a site, from one TOML file and the environment. `docs/configuration.md` has the keys.

The first file that is there counts, whole: the one that is named (`--config`, CPMON_CONFIG), else
`cpmon.toml` in the working directory, the store's own, and that of the user. Variables of the
environment win over it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..schemas import CpmonError
from ..schemas.lookup import unknown
from .setting_keys import KEYS, RAW, flat
from .setting_values import System, Values
from .shifts import Shift, read_shifts
from .toml_lines import find_line, key_lines

FILE = "cpmon.toml"
VARIABLE = "CPMON_CONFIG"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site has set.

    Attributes:
        timezone: in which times are printed and shifts counted.
        shifts: by name.
        exceptions: the table of that name, for `exceptions`.
        retention: level -> how long it is kept, for `cpmon store prune`.
        store: folder of the landed dumps; None where it is not set.
        systems: what is known of systems, by name.
        classes: file of user classes; None where it is not set.
        formats: command, or `default` -> how its results are printed.
        memory_limit: most memory that queries use, as DuckDB has it; empty for its default.
        threads: most threads that queries use; None for all processors.
        validation: the table of that name, for `cpmon validate`.
        tables: `inbox`, `batch` and `output` as they stand in the file, for `cpmon batch`.
        file: where it was read from; None without a file.
        origins: dotted key -> file, key and line, or the variable, that it came from.
        said: the whole file, as TOML has it.
    """

    timezone: str = "UTC"
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    exceptions: Mapping[str, Any] = field(default_factory=dict)
    retention: Mapping[str, str] = field(default_factory=dict)
    store: Path | None = None
    systems: Mapping[str, System] = field(default_factory=dict)
    classes: Path | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    memory_limit: str = ""
    threads: int | None = None
    validation: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)

    def shift(self, name: str) -> Shift:
        """The shift of that name.

        Raises:
            CpmonError: there is none.
        """
        if name not in self.shifts:
            raise unknown("shift", name, self.shifts)
        return self.shifts[name]

    def zone(self, system: str | None) -> str:
        """In which times of a system are printed."""
        known = self.systems.get(system or "")
        return (known.timezone if known else "") or self.timezone

    def release(self, system: str | None) -> str:
        """Release of z/VM that wrote the dumps of a system, where that is set; else empty."""
        known = self.systems.get(system or "")
        return known.release if known else ""

    def format_of(self, command: str) -> str | None:
        """How results of a command are printed without --format; None where that is not set."""
        return self.formats.get(command, self.formats.get("default"))

    def place(self, key: str) -> str:
        """Where a key stands, for messages: file, key, and line where it is known."""
        return self.origins.get(key) or _place(self.file or Path(FILE), key, _lines(self.file))


def places(store: Path | None) -> list[Path]:
    """Where settings are looked for without being named; the first that is there counts."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    users = Path(home).expanduser() / "cpmon" / "config.toml"
    return [Path(FILE), *([store / FILE] if store else []), users]


def find_file(store: Path | None, file: Path | None = None) -> Path | None:
    """The file of the settings: one that is named, or the first of `places` that is there."""
    named = file or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return named or next(filter(_is_file, places(store)), None)


def _is_file(place: Path) -> bool:
    """Whether settings are there; where this user may not look there are none for it."""
    try:
        return place.is_file()
    except PermissionError:
        return False


def read_settings(store: Path | None = None, file: Path | None = None) -> Settings:
    """The settings for a store.

    Args:
        store: the store if it is known already; its own file is one of `places`.
        file: the file, if it is named.

    Raises:
        CpmonError: a file that was named is not there, or something is wrong in it or in a
            variable: file, key and line, what was found and what is allowed.
    """
    found = parse_settings(find_file(store, file))
    if store is None and found.store is not None and found.file not in (None, file, Path(FILE)):
        own = parse_settings(find_file(found.store, file))
        if own.file != found.file and own.store is None:  # the user's file only names the store
            origins = {**own.origins, "store": found.origins["store"]}
            return replace(own, store=found.store, origins=origins)
    return found


def parse_settings(file: Path | None) -> Settings:
    """The settings of a file, or of none, with what the environment says over it.

    Raises:
        CpmonError: as `read_settings`.
    """
    text = _text(file)
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(file, error) from None
    lines = key_lines(text)
    try:
        return _settings(file, top, lines)
    except CpmonError as error:
        raise located(error, file) from None


def located(error: CpmonError, file: Path | None) -> CpmonError:
    """The same error, with the line of the key of that file which its place names."""
    begin = f"{file}: "
    if file and error.place and error.place.startswith(begin) and ", line " not in error.place:
        key = error.place.removeprefix(begin).replace(": ", ".")
        error.place = _place(file, key, _lines(file))
    return error


def passed_over(store: Path | None, counted: Path | None) -> list[Path]:
    """Files of settings that are there and were not read, since another one counts."""
    return [place for place in places(store) if place.is_file() and place != counted]


def _settings(file: Path | None, top: dict[str, Any], lines: dict[str, int]) -> Settings:
    values = Values(top, str(file) if file else FILE)
    values.check_keys()
    folder = file.parent if file else Path()
    zone, set_by = values.zone("timezone"), dict(_variables())
    return Settings(
        timezone=zone,
        shifts=read_shifts(values.table("shifts"), zone, values.place("shifts")),
        exceptions=values.table("exceptions"),
        retention=values.retention(),
        store=values.path("store", folder),
        systems=values.systems(),
        classes=values.path("classes", folder),
        formats=values.formats(),
        memory_limit=values.memory_limit(),
        threads=values.threads(),
        validation=values.table("validation"),
        tables={key: top[key] for key in RAW if key in top},
        file=file,
        origins={
            **{key: _place(file or Path(FILE), key, lines) for key in flat(top) if key},
            **set_by,
        },
        said=top,
    )


def _variables() -> Iterator[tuple[str, str]]:
    """Keys that a variable sets, with its name."""
    return ((k.name, k.variable) for k in KEYS.values() if os.environ.get(k.variable or "-"))


def _text(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path | None, error: Exception) -> CpmonError:
    return CpmonError("the settings cannot be read", place=str(file), found=str(error))


def _lines(file: Path | None) -> dict[str, int]:
    return key_lines(_text(file))


def _place(file: Path, key: str, lines: dict[str, int]) -> str:
    line = find_line(lines, key)
    return f"{file}: {key}, line {line}" if line else f"{file}: {key}"
