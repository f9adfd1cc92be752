"""The batch's tables of the settings, read with care: no key is silently ignored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..reduce.toml_table import TomlTable
from ..schemas.errors import CpmonError
from ..schemas.lookup import nearest, unknown

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Keys(TomlTable):
    """A table of the settings: as `TomlTable`, with lengths of time, paths and commands."""

    def wrong(self, key: str, allowed: str) -> CpmonError:
        """The error for the value of a key, or for a key that is not there."""
        if not self.has(key):
            return self._missing(key, allowed)
        return CpmonError(
            "a setting has a value that means nothing",
            place=f"{self.file}: {self.path(key)}",
            expected=allowed,
            found=repr(self.raw(key)),
            effect="nothing was done",
        )

    def _missing(self, key: str, allowed: str) -> CpmonError:
        """A key that was probably meant is named: it would be called unknown later."""
        misspelt = nearest(key, self._values.keys() - self._asked)
        if misspelt is not None:
            return unknown("setting", misspelt, [key], place=f"{self.file}: {self.path(misspelt)}")
        return CpmonError(
            f"{key} is missing",
            place=f"{self.file}: {self.path(key)}",
            expected=allowed,
            effect="nothing was done",
            remedy=f"add {key} = ... there",
        )

    def done(self) -> None:
        """Check that no key was left over."""
        for key in self._values.keys() - self._asked:
            place = f"{self.file}: {self.path(key)}"
            raise unknown("setting", key, self._asked, place=place)

    def seconds(self, key: str, default: str) -> float:
        """A length of time, as 90s, 15m, 1h, 2d."""
        match = re.fullmatch(r"(\d{1,6})([smhd])", self.text(key, default))
        if match is None:
            raise self.wrong(key, "a length of time, as 90s, 15m, 1h or 2d")
        return float(int(match[1]) * _UNITS[match[2]])

    def place(self, key: str) -> Path | None:
        """A path, from the folder of the settings on where it is relative; None if missing."""
        return self._from_here(self.text(key)) if self.has(key) else None

    def places(self, key: str) -> Path:
        """A path that must be there."""
        return self._from_here(self.text(key))

    def command(self, key: str) -> tuple[str, ...]:
        """A program and its arguments; none if missing. No shell reads them."""
        value = self.raw(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong(key, 'a list of texts, as ["/usr/local/bin/notify", "--new"]')
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """A text, or a list of texts; none if missing."""
        value = self.raw(key, [])
        return (value,) if isinstance(value, str) and value else self.texts(key, [])

    def _from_here(self, text: str) -> Path:
        return Path(self.file).absolute().parent / Path(text).expanduser()


def key_tables(values: Any, file: str, key: str) -> list[Keys]:
    """A list of tables of the settings ([[inbox]]); a single table stands for a list of one.

    Raises:
        CpmonError: it is something else.
    """
    listed = [values] if isinstance(values, dict) else values
    if not isinstance(listed, list) or not all(isinstance(value, dict) for value in listed):
        raise CpmonError(
            "a setting has a value that means nothing",
            place=f"{file}: {key}",
            expected=f"tables, each headed [[{key}]]",
            found=repr(values),
            effect="nothing was done",
        )
    return [Keys(value, file, f"{key}[{number}]") for number, value in enumerate(listed)]
