"""Rules of exceptions from TOML: the shipped ones, then those of a site, key by key over them.

A file has a table `[exceptions.ID]` for each rule. A table with the id of a rule read before
changes only the keys that it has; with another source of values (`sql`, `reduction`) it leaves
those of the old one behind.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..schemas import CpmonError
from ..schemas.lookup import unknown
from .rule import Comparison, Rule, Severity
from .settings import FILE

TOP = "exceptions"
SHIPPED = "shipped rules"
OF_REDUCTION = ("reduction", "metric", "per", "object", "least", "record", "record_keys")
OF_SQL = ("sql", "record")
NEEDED = ("title", "severity", "area")

Layer = tuple[str, Mapping[str, Any]]
"""The name of a file and its tables of rules, by id."""


def load_rules(
    settings: Mapping[str, Any] | None = None, file: Path | None = None, *, place: str = FILE
) -> tuple[Rule, ...]:
    """The shipped rules, with those of the settings and of a file over them; without disabled ones.

    Args:
        settings: the table `exceptions` of the settings. place: what messages call their file.
        file: one more file of rules, which wins over all others.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    layers: list[Layer] = [(SHIPPED, _shipped()), (place, settings or {})]
    if file is not None:
        layers.append((str(file), read_rules(file)))
    return tuple(rule for rule in _rules(layers) if rule.enabled)


def read_rules(file: Path, top: str = TOP) -> Mapping[str, Any]:
    """The tables of rules in a file, by id.

    Args:
        top: the table that holds them; the file has no other.

    Raises:
        CpmonError: it cannot be read, or holds something besides rules.
    """
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CpmonError("the rules cannot be read", place=str(file), found=str(error)) from None
    for key in found:
        if key != top:
            raise unknown("table", key, [top], place=str(file))
    return _tables(found.get(top, {}), str(file), top)


def _shipped() -> Mapping[str, Any]:
    text = (files(__package__) / "exceptions" / "shipped.toml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = tomllib.loads(text)[TOP]
    return found


def _rules(layers: Iterable[Layer]) -> Iterable[Rule]:
    """One rule for each id, from all that was said about it."""
    said: dict[str, dict[str, Any]] = {}
    places: dict[str, dict[str, str]] = {}
    for file, tables in layers:
        for name, given in _tables(tables, file).items():
            values, origins = said.setdefault(name, {}), places.setdefault(name, {})
            for key in _left_behind(values, given):
                values.pop(key, None)
                origins.pop(key, None)
            values |= given
            origins |= dict.fromkeys(given, file)
    for name, values in said.items():
        rule = _rule(name, values, places[name])
        rule.check()
        yield rule


def _left_behind(values: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys that belong to the old source of values, when a new one is given."""
    if "sql" in given and "sql" not in values:
        return OF_REDUCTION
    if "reduction" in given and given["reduction"] != values.get("reduction"):
        return (*OF_SQL, *OF_REDUCTION)
    return ()


def _tables(values: Any, file: str, top: str = TOP) -> Mapping[str, Any]:
    """A table of tables, or the error that says which is none."""
    path = top
    if isinstance(values, Mapping):
        wrong = [name for name, table in values.items() if not isinstance(table, Mapping)]
        if not wrong:
            return values
        path, values = f"{top}.{wrong[0]}", values[wrong[0]]
    raise CpmonError(
        "a rule is a table",
        place=f"{file}: {path}",
        expected=f"[{top}.ID] with the keys of a rule",
        found=repr(values),
    )


def _rule(name: str, values: Mapping[str, Any], places: Mapping[str, str]) -> Rule:
    blank = Rule(name, "", Severity.INFO, "", places=places)
    for key in values:
        if key not in READERS:
            raise unknown("key", key, READERS, place=blank.place(key))
    for key in NEEDED:
        if not values.get(key):
            raise blank.wrong(key, "a text", values.get(key, ""), f"rule {name} has no {key}")
    found: dict[str, Any] = {}
    for key, value in values.items():
        reader, allowed = READERS[key]
        try:
            found[ATTRIBUTES.get(key, key)] = reader(value)
        except (TypeError, ValueError):
            raise blank.wrong(key, allowed, repr(value)) from None
    return Rule(id=name, places=places, **found)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value.strip()


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _minutes(value: Any) -> float:
    found = _number(value)
    if found < 0:
        raise ValueError
    return found


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _table_of(reader: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        return {key: reader(one) for key, one in dict(value).items()}

    return read


READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    **dict.fromkeys(("title", "area", "reduction", "metric", "per", "sql"), (_text, "a text")),
    **dict.fromkeys(("unit", "shift", "object", "record"), (_text, "a text")),
    "severity": (Severity, ", ".join(Severity)),
    "comparison": (Comparison, ", ".join(Comparison)),
    "limit": (_number, "a number"),
    "scale": (_number, "a number"),
    "for": (_minutes, "minutes, 0 or more"),
    "least": (_table_of(_number), "a table: column = least value"),
    "record_keys": (_table_of(_text), "a table: column of the record = column of the reduction"),
    "enabled": (_flag, "true or false"),
}
"""What each key of a rule is read by, and what a message says that it may be."""

ATTRIBUTES = {"for": "for_minutes", "object": "object_name"}
"""Keys that are not called as the attribute of a rule."""
