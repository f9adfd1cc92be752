"""TOML tables to frozen dataclasses: unknown keys, wrong types and bad values named with place."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from ..schemas.errors import CpmonError
from ..schemas.lookup import nearest

Table = TypeVar("Table")


class ScenarioError(CpmonError):
    """A scenario file asks for something that cannot be."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What a number or text may be; put beside its type with `Annotated`.

    A text with a `longest` goes into records, so it must also be one that EBCDIC can say. One with
    a `pattern` matches it as a whole; `example` shows how, in messages.
    """

    least: float | None = None
    most: float | None = None
    longest: int | None = None
    pattern: str | None = None
    example: str = ""

    def __str__(self) -> str:
        """The limits in words."""
        words = []
        if self.least is not None:
            words.append(f"at least {self.least:g}")
        if self.most is not None:
            words.append(f"at most {self.most:g}")
        if self.longest is not None:
            words.append(f"1 to {self.longest} characters of EBCDIC (code page 037)")
        if self.pattern is not None:
            words.append(f"as in {self.example}")
        return ", ".join(words)

    def hold(self, value: Any) -> bool:
        """Whether a value keeps the limits."""
        if self.longest is not None:
            return 1 <= len(value) <= self.longest and _is_ebcdic(value)
        if self.pattern is not None:
            return re.fullmatch(self.pattern, value) is not None
        low = self.least is None or value >= self.least
        return low and (self.most is None or value <= self.most)


def _is_ebcdic(text: str) -> bool:
    try:
        text.encode("cp037")
    except UnicodeEncodeError:
        return False
    return True


def read_table(kind: type[Table], values: Mapping[str, Any], file: str, place: str) -> Table:
    """A dataclass from a TOML table.

    Fields without a default must be there. Nested tables are read by their own callers.

    Raises:
        ScenarioError: with file, key, value found and values allowed.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise unknown_key(key, list(fields), file, place)
    taken = {}
    for name, field in fields.items():
        if name in values:
            taken[name] = _value(values[name], hints[name], file, f"{place}.{name}".lstrip("."))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ScenarioError(
                f"the scenario lacks {name}",
                place=f"{file}: {place or 'top level'}",
                expected=_words(hints[name]),
                remedy=f"add {name} = ... there",
            )
    return kind(**taken)


def unknown_key(key: str, known: list[str], file: str, place: str) -> ScenarioError:
    """The error for a key that nothing reads, with the nearest one that something does."""
    near = nearest(key, known)
    return ScenarioError(
        f"{key} is no key of a scenario's {place or 'top level'}",
        place=f"{file}: {place}.{key}" if place else f"{file}: {key}",
        expected=", ".join(sorted(known)),
        found=key,
        remedy=f"did you mean {near}?" if near else "remove it, or see docs/generate.md",
    )


def _value(value: Any, hint: Any, file: str, place: str) -> Any:
    bare, limits = _parts(hint)
    found = _converted(value, bare)
    if found is None or (limits is not None and not limits.hold(found)):
        raise ScenarioError(
            f"{place} cannot be {value!r}",
            place=f"{file}: {place}",
            expected=_words(hint),
            found=f"{value!r} ({type(value).__name__})",
        )
    return found


def _parts(hint: Any) -> tuple[Any, Limits | None]:
    """Type without `None` and `Annotated`, and the limits that were noted there."""
    limits = None
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Annotated:
        hint, limits = typing.get_args(hint)
    return hint, limits


def _converted(value: Any, kind: Any) -> Any:
    """The value as that type, or None when it is of another one."""
    if typing.get_origin(kind) is typing.Literal:
        return value if value in typing.get_args(kind) else None
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        found = tuple(_converted(one, typing.get_args(kind)[0]) for one in value)
        return None if None in found else found
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else None
    if kind is dt.datetime:
        if not isinstance(value, dt.datetime):
            return None
        return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    plain = typing.get_origin(kind) or kind
    if plain is int and isinstance(value, bool):
        return None
    return value if isinstance(value, plain) else None


def _words(hint: Any) -> str:
    """What a value may be, for a message."""
    kind, limits = _parts(hint)
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(repr(word) for word in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return f"a list of {_words(typing.get_args(kind)[0])}"
    names = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        dict: "a table",
        dt.datetime: "a date and time, as 2001-12-18T09:00:00Z",
    }
    word = names.get(typing.get_origin(kind) or kind, str(kind))
    return f"{word}, {limits}" if limits else word
