"""All settings as a list for people, and a file of them looked through to the last key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas import CpmonError
from ..store.retention import retention
from .rule_file import load_rules
from .setting_keys import KEYS, flat
from .settings import DEFAULT, Settings, located, parse_settings


def setting_list(settings: Settings) -> list[dict[str, Any]]:
    """Every setting: `setting` (dotted key), `value` as text, `origin`."""
    values = flat(dict(settings.said))
    rows = []
    for key in KEYS.values():
        inner = {name: value for name, value in values.items() if _is_of(name, key.name)}
        known = settings.origins.get(key.name)
        if key.name in _TAKEN and known is not None:
            inner = {key.name: getattr(settings, key.name)}
        if not inner:
            rows.append(_row(key.name, key.default, DEFAULT))
        rows += [_row(n, v, settings.origins.get(n, DEFAULT)) for n, v in inner.items()]
    return rows


def check_settings(file: Path) -> Settings:
    """The settings of a file, with the parts checked that only some commands use.

    Raises:
        CpmonError: the first thing that is wrong: file, key and line, found, allowed.
    """
    found = parse_settings(file)
    try:
        retention(found.retention, f"{file}: retention")
        for rule in load_rules(found.exceptions, place=str(file)):
            if rule.shift:
                found.shift(rule.shift)
    except CpmonError as error:
        raise located(error, file) from None
    return found


_TAKEN = ("store", "timezone", "classes", "memory_limit", "threads")


def _is_of(name: str, key: str) -> bool:
    return name == key or name.startswith((f"{key}.", f"{key}["))


def _row(key: str, value: Any, origin: str) -> dict[str, Any]:
    return {"setting": key, "value": "" if value is None else _text(value), "origin": origin}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
