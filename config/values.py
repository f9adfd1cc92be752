"""Types that TOML lacks, mostly texts that are checked when they are read.

`EXPECTED` of each class describes allowed values in messages; `parse` raises ValueError for others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, time
from pathlib import Path, PosixPath
from typing import Any, ClassVar, Self
from zoneinfo import ZoneInfo


def scheme_of(location: str) -> str:
    """The scheme of a URL; empty for a path."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/+", location)
    return match[1] if match else ""


def url(location: str) -> str:
    """A URL with two slashes after its scheme; conversion to `Path` removes one of them."""
    scheme, _, rest = location.partition(":")
    return f"{scheme}://{rest.lstrip('/')}"


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Text(str):
    """A text that is not blank and holds no NUL."""

    EXPECTED: ClassVar[str] = "a text"
    PATTERN: ClassVar[str] = r"[^\0]*[^\0\s][^\0]*"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it is a text of this kind."""
        if not isinstance(value, str) or not re.fullmatch(cls.PATTERN, value.strip(), re.DOTALL):
            raise ValueError(cls.EXPECTED)
        return cls(value.strip())


class ZoneName(Text):
    """Name of a time zone."""

    EXPECTED = "a name of the IANA time zones, as Europe/Vienna or UTC"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if there is such a zone."""
        name = super().parse(value)
        try:
            ZoneInfo(name)
        except (KeyError, OSError, ValueError):  # unknown, a folder, or a path to another place
            raise ValueError(cls.EXPECTED) from None
        return name


class MemoryLimit(Text):
    """An amount of memory, as DuckDB understands it."""

    EXPECTED = "an amount of memory, as 2GB, 512MiB or 50%"
    PATTERN = r"(?i:\d+(\.\d+)?\s*([KMGT]i?B|%))"


class Release(Text):
    """A release of z/VM with three parts: 7.3 is read as 7.3.0."""

    EXPECTED = "a release of z/VM, as 7.3"
    PATTERN = r"[0-9]+\.[0-9]+(\.[0-9]+)?"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value with all three parts."""
        return cls(".".join([*super().parse(value).split("."), "0"][:3]))


class SystemName(Text):
    """A name that a site gives to a system."""

    EXPECTED = "a system's name: letters, digits, @ # $ _ + -, up to 16"
    PATTERN = r"[A-Za-z0-9@#$_+-]{1,16}"


class Duration(Text):
    """A length of time in which a batch waits or works."""

    EXPECTED = "a length of time, as 90s, 15m, 1h or 2d"
    PATTERN = r"[0-9]{1,6}[smhd]"

    @property
    def seconds(self) -> float:
        """Its length."""
        return float(int(self[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[self[-1]])


class Days(Text):
    """Days of the week: names and ranges, as `mon-fri` or `sat sun`."""

    EXPECTED = f"days or ranges of days, as mon-fri or sat sun, of {', '.join(DAYS)}"
    PATTERN = rf"(?i:({'|'.join(DAYS)})(-({'|'.join(DAYS)}))?([\s,]+|$))+"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The days in ascending order; Monday is 1."""
        days: set[int] = set()
        for part in self.lower().replace(",", " ").split():
            first, _, last = part.partition("-")
            begin, end = DAYS.index(first), DAYS.index(last or first)
            days |= {day % 7 + 1 for day in range(begin, end + 1 + 7 * (end < begin))}
        return tuple(sorted(days))


class Number(float):
    """A number that is neither infinite nor NaN."""

    EXPECTED: ClassVar[str] = "a number"
    LEAST: ClassVar[float] = -math.inf

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it is such a number."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < cls.LEAST:
            raise ValueError(cls.EXPECTED)
        return cls(value)


class Minutes(Number):
    """A length of time in minutes."""

    EXPECTED = "minutes, 0 or more"
    LEAST = 0.0


class Moment(datetime):
    """A point in time; one without a time zone is UTC."""

    EXPECTED: ClassVar[str] = "a date and time, as 2001-12-18T09:00:00Z"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, a text or a date and time of TOML."""
        try:
            moment = cls.fromisoformat(str(value) if isinstance(value, str | datetime) else "")
        except ValueError:
            raise ValueError(cls.EXPECTED) from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Names(tuple[str, ...]):
    """Names without repetition; a single one stands for a list of one."""

    EXPECTED: ClassVar[str] = "a text, or a list of texts without repetition"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it holds names."""
        names = value if isinstance(value, list) else [value]
        is_valid = all(isinstance(name, str) and name for name in names)
        if not is_valid or len(set(names)) < len(names):
            raise ValueError(cls.EXPECTED)
        return cls(names)


class Clock(time):
    """A time of the day."""

    EXPECTED: ClassVar[str] = "hours and minutes, as 08:00"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, a text or a time of TOML."""
        try:
            return cls.fromisoformat(str(value))
        except ValueError:
            raise ValueError(cls.EXPECTED) from None


class PathPattern(PosixPath):
    """A path with placeholders such as {date} and %Y; `%%` and `%{` stand for `%` and `{`.

    `within` escapes these characters in the name of the folder.
    """

    EXPECTED: ClassVar[str] = "a text"

    @classmethod
    def within(cls, folder: Path, pattern: str) -> Self:
        """An absolute pattern. `folder`: base of a relative one that does not begin with ~.

        Raises:
            RuntimeError: there is no such user's home.
        """
        first, *rest = Path(pattern).parts or (".",)
        if first.startswith("~"):
            folder, first = Path(first).expanduser(), "."
        return cls(re.sub(r"[%{]", r"%\g<0>", str(folder.absolute())), first, *rest)


def converter(folder: Path) -> Callable[[type, Any], Any]:
    """Returns the hook of msgspec for these types.

    Args:
        folder: base of relative paths.
    """

    def convert(kind: type, value: Any) -> Any:
        if kind not in (Path, PathPattern):
            return kind.parse(value)  # type: ignore[attr-defined]
        if scheme_of(str(value)):
            return kind(value)
        try:
            if kind is PathPattern:
                return PathPattern.within(folder, Text.parse(value))
            return folder / Path(Text.parse(value)).expanduser()
        except RuntimeError:
            raise ValueError("a path; there is no such user's home") from None

    return convert
