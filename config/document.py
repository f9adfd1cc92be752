"""Converts TOML documents to typed tables: one reader for all files that a site writes.

msgspec converts and checks; it was chosen for its start-up time (20 ms; pydantic takes ten times
as long). Its messages lack lines, and keys of tables with free names; `_mistake` adds both.
"""

from __future__ import annotations

import enum
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ..core.errors import CpmonError, nearest, unknown
from .values import converter

_HEADER = re.compile(r"\s*(\[\[?)(.+?)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def key_lines(text: str) -> dict[str, int]:
    """Key -> line, counted from 1: `shifts.prime.from`, `inbox[0].folder`.

    Keys in inline tables and in lists over several lines are missing; `find_line` returns the line
    of what contains them.
    """
    lines: dict[str, int] = {}
    tables: Counter[str] = Counter()
    top = quote = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quote:
            quote = "" if quote in line else quote
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            *above, top = _names(f"[{header[2]}]", tables)
            if header[1] == "[[":
                tables[top] += 1
                top = f"{top}[{tables[top] - 1}]"
            for name in (*above, top):
                lines.setdefault(name, number)
        elif key:
            *_, inner = _names(f"{key[1]} = 0", Counter())
            lines.setdefault(f"{top}.{inner}" if top else inner, number)
            quote = next((q for q in ('"""', "'''") if line.count(q) == 1), "")
    return lines


def dotted(above: str, key: str) -> str:
    """A dotted key, quoted if necessary."""
    written = key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
    return f"{above}.{written}" if above else written


def find_line(lines: Mapping[str, int], key: str) -> int | None:
    """The line of a key or of the nearest table that contains it; None if unknown."""
    while key:
        if key in lines:
            return lines[key]
        shorter = re.sub(r"""(\.?"(?:[^"\\]|\\.)*"|\.[^.\[\]"]*|\[\d+\])$""", "", key)
        key = shorter if shorter != key else ""
    return None


def _names(piece: str, tables: Counter[str]) -> list[str]:
    """The parts of a header or key, with indexes of tables; empty if it is no TOML."""
    try:
        value: Any = tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return [""]
    names = [""]
    while isinstance(value, dict) and value:
        above = names[-1]
        if tables[above]:
            above = names[-1] = f"{above}[{tables[above] - 1}]"
        ((key, value),) = value.items()
        names.append(dotted(above, key))
    return names[1:]


_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`", re.DOTALL)

Convert = Callable[[type, Any], Any]
Place = Callable[[str], str]
"""Dotted key -> its place for messages: file, key and line."""


def _mistake(
    error: msgspec.ValidationError, values: Any, kind: type, convert: Convert, place: Place
) -> CpmonError:
    """The error for the user.

    Args:
        error: raised when `values` were converted to `kind` with `convert`.
    """

    def recurs(part: Any) -> bool:
        """Whether a part of the values causes the same error."""
        try:
            msgspec.convert(part, kind, dec_hook=convert)
        except msgspec.ValidationError as other:
            return str(other) == str(error)
        return False

    at = _AT.search(str(error))
    problem = str(error)[: at.start()] if at else str(error)
    key, value, schema = "", values, inspect.type_info(kind)
    for step in _steps(at["path"] if at else "", values, recurs):
        value = value[step]
        schema = _inner(schema, step)
        key = f"{key}[{step}]" if isinstance(step, int) else dotted(key, step)
    structs = [member for member in _bare(schema) if isinstance(member, inspect.StructType)]
    keys = [field.encode_name for struct in structs for field in struct.fields]
    if match := _UNKNOWN.fullmatch(problem):
        return unknown("key", match["key"], keys, place=place(dotted(key, match["key"])))
    if match := _MISSING.fullmatch(problem):
        return _missing(match["key"], key, value, keys, place)
    return CpmonError(
        f"{key or 'the document'} has a wrong value",
        place=place(key),
        expected=" or ".join(dict.fromkeys(_words(schema, key))),
        found=repr(value),
    )


def _missing(
    name: str, key: str, values: Mapping[str, Any], keys: list[str], place: Place
) -> CpmonError:
    """The error for a missing key, or for an unknown key that was probably meant instead."""
    misspelt = nearest(name, values.keys() - set(keys))
    if misspelt is not None:
        return unknown("key", misspelt, [name], place=place(dotted(key, misspelt)))
    return CpmonError(
        f"{name} is missing",
        code="key-missing",
        place=place(key),
        expected=f"{name} = ...",
        found=", ".join(values) or "no key",
        remedy=f"add {name} = ... there",
    )


def _steps(path: str, values: Any, recurs: Callable[[Any], bool]) -> Iterator[str | int]:
    """The keys and indexes of a path of msgspec, which writes a free name as `[...]`.

    The name is found by converting with all others removed, until the same error is raised.
    """
    level = values
    kept: list[str | int] = []
    for match in _STEP.finditer(path):
        step: str | int
        if match["index"] is None:
            step = match["name"]
        elif match["index"].isdigit():
            step = int(match["index"])
        else:
            step = next(name for name in level if recurs(_only(values, kept, name)))
        kept.append(step)
        yield step
        level = level[step]


def _only(values: Any, path: list[str | int], name: str) -> Any:
    """The values with only one key in the table at the end of a path."""
    if not path:
        return {name: values[name]}
    first, rest = path[0], path[1:]
    inner = _only(values[first], rest, name)
    if isinstance(first, int):
        return [*values[:first], inner, *values[first + 1 :]]
    return {**values, first: inner}


def _bare(schema: inspect.Type) -> list[inspect.Type]:
    """The possible types of a value, without metadata and None."""
    if isinstance(schema, inspect.Metadata):
        return _bare(schema.type)
    if isinstance(schema, inspect.UnionType):
        return [member for part in schema.types for member in _bare(part)]
    return [] if isinstance(schema, inspect.NoneType) else [schema]


def _inner(schema: inspect.Type, step: str | int) -> inspect.Type:
    """The type of a key or element."""
    for member in _bare(schema):
        if isinstance(member, inspect.StructType):
            for field in member.fields:
                if field.encode_name == step:
                    return field.type
        elif isinstance(member, inspect.DictType):
            return member.value_type
        elif isinstance(member, inspect.ListType | inspect.VarTupleType) and isinstance(step, int):
            return member.item_type
    return inspect.AnyType()


def _words(schema: inspect.Type, key: str) -> Iterator[str]:
    """Descriptions of allowed values."""
    for member in _bare(schema):
        match member:
            case inspect.CustomType(cls=cls):
                yield "a text" if cls is Path else str(getattr(cls, "EXPECTED", cls.__name__))
            case inspect.LiteralType(values=values):
                yield ", ".join(map(str, values))
            case inspect.EnumType(cls=cls) if issubclass(cls, enum.Enum):
                yield ", ".join(str(member.value) for member in cls)
            case inspect.IntType(ge=least, le=most) | inspect.FloatType(ge=least, le=most):
                whole = "a whole number" if isinstance(member, inspect.IntType) else "a number"
                yield whole + _limits(least, most)
            case inspect.BoolType():
                yield "true or false"
            case inspect.StrType(pattern=pattern):
                yield f"a text that matches {pattern}" if pattern else "a text"
            case inspect.StructType() | inspect.DictType():
                yield f"a table, as [{key}]"
            case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
                yield _listed(inner, key)
            case _:
                yield "another value"


def _listed(inner: inspect.Type, key: str) -> str:
    if any(isinstance(member, inspect.StructType | inspect.DictType) for member in _bare(inner)):
        return f"tables, each headed [[{key}]]"
    plural = {"a text": "texts", "a number": "numbers", "a whole number": "whole numbers"}
    words = " or ".join(_words(inner, key))
    return f"a list of {plural.get(words, words)}"


def _limits(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:g} to {most:g}"
    if least is not None:
        return f", {least:g} or more"
    return f", {most:g} or less" if most is not None else ""


T = TypeVar("T")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a TOML file: its fields are its keys, and no other key is allowed."""


def read_values(
    kind: type[T], values: Any, place: Place, folder: Path = Path(), *, strict: bool = True
) -> T:
    """Convert values of TOML to a table of a kind.

    Args:
        place: maps a key of the values to its place.
        folder: base of relative paths.
        strict: do not convert text to numbers.

    Raises:
        CpmonError: a key is unknown or missing, or has a wrong value.
    """
    convert = converter(folder)
    try:
        return msgspec.convert(values, kind, strict=strict, dec_hook=convert)
    except msgspec.ValidationError as error:
        raise _mistake(error, values, kind, convert, place) from None


class Document:
    """A TOML document.

    Attributes:
        file: its name in messages.
        values: the parsed content.
        what: description of the content for messages: "the settings".
    """

    def __init__(self, text: str, file: str, what: str) -> None:
        """Parse a document.

        Raises:
            CpmonError: the text is no TOML.
        """
        self.file, self.what, self._text = file, what, text
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CpmonError(f"{what} cannot be read", place=file, found=str(error)) from None

    @classmethod
    def load(cls, path: Path, what: str) -> Document:
        """The document in a file.

        Raises:
            CpmonError: the file cannot be read, or is no TOML.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"{what} cannot be read"
            raise CpmonError(problem, place=str(path), found=str(error)) from None
        return cls(text, str(path), what)

    def place(self, key: str) -> str:
        """Place of a dotted key: file, key, and line of the key or of its table."""
        if not key:
            return self.file
        line = find_line(self._lines, key)
        return f"{self.file}: {key}" + (f", line {line}" if line else "")

    def read(self, kind: type[T], folder: Path = Path()) -> T:
        """Convert the whole document; see `read_values`."""
        return read_values(kind, self.values, self.place, folder)

    def read_part(self, values: Any, key: str, kind: type[T]) -> T:
        """Convert the part of the document at a key; see `read_values`."""
        return read_values(kind, values, lambda k: self.place(_below(key, k)))

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return key_lines(self._text)


def _below(above: str, key: str) -> str:
    if not above or not key:
        return above or key
    return above + key if key.startswith("[") else f"{above}.{key}"
