"""TOML read with care: every value is checked where it is taken, no key is silently ignored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..schemas import CpmonError
from ..schemas.lookup import nearest


class TomlTable:
    """A TOML table being read: typed access that remembers which keys were asked for."""

    def __init__(self, values: Any, file: str, key: str = "") -> None:
        if not isinstance(values, dict):
            raise wrong_value(file, key, values, "a table of keys")
        self._values: dict[str, Any] = values
        self._asked: set[str] = set()
        self.file, self.key = file, key

    def path(self, key: str) -> str:
        """The key as messages name it, from the top of the file."""
        return f"{self.key}.{key}" if self.key else key

    def wrong(self, key: str, allowed: str) -> CpmonError:
        """The error for the value of a key."""
        return wrong_value(self.file, self.path(key), self._values.get(key), allowed)

    def has(self, key: str) -> bool:
        """Whether the key is there; asking makes it known."""
        self._asked.add(key)
        return key in self._values

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as TOML has it."""
        return self._values[key] if self.has(key) else default

    def text(self, key: str, default: str | None = None) -> str:
        """A string that is not empty."""
        value = self.raw(key, default)
        if not isinstance(value, str) or (not value and default != ""):
            raise self.wrong(key, "a text")
        return value

    def number(self, key: str, default: int, *, most: int) -> int:
        """An integer from 0 to `most`."""
        value = self.raw(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise self.wrong(key, f"an integer from 0 to {most}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def texts(self, key: str, default: list[str] | None = None) -> tuple[str, ...]:
        """A list of texts without repetition."""
        value = self.raw(key, default)
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise self.wrong(key, "a list of texts")
        if len(set(value)) != len(value):
            raise self.wrong(key, "a list without repetition")
        return tuple(value)

    def mapping(self, key: str, allowed: Collection[str]) -> dict[str, str]:
        """Texts by name; the names are some of those allowed. Empty when the key is missing."""
        value = self.raw(key, {})
        if (
            not isinstance(value, dict)
            or not set(value) <= set(allowed)
            or not all(isinstance(text, str) and text for text in value.values())
        ):
            raise self.wrong(key, f"a text for some of {', '.join(allowed)}")
        return dict(value)

    def tables(self, key: str) -> list[TomlTable]:
        """A list of tables; empty when the key is missing."""
        value = self.raw(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list of tables")
        return [TomlTable(v, self.file, f"{self.path(key)}[{n}]") for n, v in enumerate(value)]

    def done(self) -> None:
        """Check that no key was left over: a misspelt one must not be ignored."""
        for key in self._values.keys() - self._asked:
            like = nearest(key, self._asked)
            raise CpmonError(
                f"a table spec has an unknown key {key}",
                place=f"{self.file}: {self.path(key)}",
                expected=", ".join(sorted(self._asked)),
                found=key,
                remedy=f"did you mean {like}?" if like else None,
            )


def wrong_value(file: str, key: str, value: Any, allowed: str) -> CpmonError:
    """The error for a value: file, key, what was found and what would be allowed."""
    found = "nothing" if value is None else repr(value)
    return CpmonError(
        "a table spec has a value that means nothing",
        place=f"{file}: {key}" if key else file,
        expected=allowed,
        found=found,
    )
