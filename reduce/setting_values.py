"""Values of the settings, each checked where it is taken: what was found, and what is allowed."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..schemas import CpmonError
from ..schemas.formats import FORMATS
from ..schemas.lookup import unknown
from .setting_keys import KEYS, WITH_FORMAT
from .shifts import find_zone
from .toml_lines import dotted

MEMORY = re.compile(r"\d+(\.\d+)?\s*([KMGT]i?B|%)", re.IGNORECASE)
RELEASE = re.compile(r"\d+\.\d+(\.\d+)?")
MOST_THREADS = 1024


@dataclass(frozen=True, slots=True)
class System:
    """What is known of a system; empty where it is as everywhere, or as the dumps say.

    Attributes:
        timezone: in which its times are printed.
        release: of z/VM that wrote its dumps.
    """

    timezone: str = ""
    release: str = ""


class Values:
    """The tables of a file, with the environment over them.

    Args:
        top: the file as TOML has it. file: its name, for messages.
    """

    def __init__(self, top: dict[str, Any], file: str) -> None:
        self._top, self._file = top, file

    def place(self, key: str) -> str:
        """Where a key stands, for messages."""
        return f"{self._file}: {key}"

    def check_keys(self) -> None:
        """Refuse keys that mean nothing, at the top and in the tables whose keys are known."""
        self._known(self._top, KEYS, "")
        for key in KEYS.values():
            if key.inner is None or "COMMAND" in key.inner:
                continue
            table = self.table(key.name)
            if not key.named:
                self._known(table, key.inner, key.name)
                continue
            for name, inner in table.items():
                self._known(self._mapping(inner, dotted(key.name, name)), key.inner, key.name, name)

    def table(self, key: str) -> Mapping[str, Any]:
        """A table; empty where it is not there."""
        return self._mapping(self._top.get(key, {}), key)

    def text(self, key: str) -> str:
        """A text, from the variable of that key or from the file; empty where neither has it."""
        set_by = os.environ.get(KEYS[key].variable or "-")
        value = set_by or self._top.get(key, "")
        if not isinstance(value, str) or "\0" in value or (key in self._top and not value.strip()):
            raise self._wrong(key, "a text", value)
        return value

    def path(self, key: str, folder: Path) -> Path | None:
        """A path: in the file, beside it; in a variable, from the working directory."""
        text = self.text(key)
        if not text:
            return None
        begin = Path() if os.environ.get(KEYS[key].variable or "-") else folder
        return begin / Path(text).expanduser()

    def zone(self, key: str) -> str:
        """The name of a time zone; UTC where it is not set."""
        return self._zone(self.text(key) or "UTC", self._origin(key))

    def memory_limit(self) -> str:
        """An amount of memory; empty where it is not set."""
        text = self.text("memory_limit").strip()
        if text and not MEMORY.fullmatch(text):
            raise self._wrong("memory_limit", "an amount of memory, as 2GB, 512MiB or 50%", text)
        return text

    def threads(self) -> int | None:
        """A number of threads; None where it is not set."""
        set_by = os.environ.get(KEYS["threads"].variable)
        value: Any = int(set_by) if set_by and set_by.isascii() and set_by.isdigit() else set_by
        value = self._top.get("threads") if value is None or value == "" else value
        if value is None:
            return None
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST_THREADS:
            raise self._wrong("threads", f"a number from 1 to {MOST_THREADS}", value)
        return int(value)

    def retention(self) -> dict[str, str]:
        """Lengths of time by level, as they are written."""
        return {level: str(length) for level, length in self.table("retention").items()}

    def formats(self) -> dict[str, str]:
        """Formats by command."""
        table = self.table("formats")
        self._known(table, ("default", *WITH_FORMAT), "formats")
        return {
            command: self._one_of(value, FORMATS, f"formats.{command}")
            for command, value in table.items()
        }

    def systems(self) -> dict[str, System]:
        """What is known of systems."""
        return {
            name: self._system(
                self._mapping(said, dotted("systems", name)), dotted("systems", name)
            )
            for name, said in self.table("systems").items()
        }

    def _system(self, said: Mapping[str, Any], key: str) -> System:
        release, zone = said.get("release", ""), said.get("timezone", "")
        if release and not RELEASE.fullmatch(str(release)):
            raise self._wrong(f"{key}.release", "a release of z/VM, as 7.3", release)
        number = ".".join([*str(release).split("."), "0"][:3]) if release else ""
        return System(self._zone(zone, self.place(f"{key}.timezone")) if zone else "", number)

    def _zone(self, name: Any, place: str) -> str:
        try:
            return find_zone(str(name)).key
        except CpmonError as error:
            error.place = place
            raise

    def _one_of(self, value: Any, allowed: Collection[str], key: str) -> str:
        if value not in allowed:
            raise self._wrong(key, ", ".join(allowed), value)
        return str(value)

    def _known(self, table: Mapping[str, Any], known: Collection[str], *path: str) -> None:
        for key in table:
            if key not in known:
                place = functools.reduce(dotted, [*filter(None, path), key], "")
                raise unknown("setting", key, known, place=self.place(place))

    def _mapping(self, value: Any, key: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self._wrong(key, f"a table, as [{key}]", value)
        return value

    def _origin(self, key: str) -> str:
        """The variable or key that a value came from."""
        variable = KEYS[key].variable if key in KEYS else ""
        return variable if os.environ.get(variable or "-") else self.place(key)

    def _wrong(self, key: str, allowed: str, found: Any) -> CpmonError:
        return CpmonError(
            "a setting has a value that means nothing",
            place=self._origin(key),
            expected=allowed,
            found=repr(found),
        )
