"""Converts TOML documents to typed tables: one reader for all files that a site writes.

msgspec converts and checks; it was chosen for its start-up time (20 ms; pydantic takes ten times
as long). Its messages lack values, and keys of tables with free names; `_mistake` adds both.
"""

from __future__ import annotations

import copy
import enum
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ..core.errors import CpmonError, nearest, unknown
from .values import converter


def dotted(above: str, key: str) -> str:
    """A dotted key, quoted if necessary."""
    written = key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
    return f"{above}.{written}" if above else written


_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`", re.DOTALL)

Convert = Callable[[type, Any], Any]
Place = Callable[[str], str]
"""Dotted key -> its place for messages: file and key."""


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
    trial = level = copy.deepcopy(values)
    for match in _STEP.finditer(path):
        step: str | int = match["name"] or match["index"]
        if step == "...":
            for step, part in list(level.items()):
                level.clear()
                level[step] = part
                if recurs(trial):
                    break
        elif match["index"]:
            step = int(step)
        yield step
        level = level[step]


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
    """

    def __init__(self, text: str, file: str, what: str) -> None:
        """Parse a document.

        Args:
            what: description of the content for messages: "the settings".

        Raises:
            CpmonError: the text is no TOML.
        """
        self.file = file
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
        """Place of a dotted key: file and key."""
        return f"{self.file}: {key}" if key else self.file

    def read(self, kind: type[T], folder: Path = Path()) -> T:
        """Convert the whole document; see `read_values`."""
        return read_values(kind, self.values, self.place, folder)

    def read_part(self, values: Any, key: str, kind: type[T]) -> T:
        """Convert the part of the document at a key; see `read_values`."""
        return read_values(kind, values, lambda k: self.place(_below(key, k)))


def _below(above: str, key: str) -> str:
    if not above or not key:
        return above or key
    return above + key if key.startswith("[") else f"{above}.{key}"
