"""The keys of the settings, from the fields of their tables; and all settings as a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

from .positions import dotted
from .settings import DEFAULT, Settings, SiteSettings


@dataclass(frozen=True, slots=True)
class Key:
    """A key at the top of the file.

    Attributes:
        doc: what it says.
        default: what holds without it, as printed.
        variable: of the environment, which wins over the file; empty where there is none.
        inner: keys of each table in it, with what they say.
    """

    name: str
    doc: str
    default: str
    variable: str
    inner: Mapping[str, str]


def flat(values: Any, name: str = "") -> dict[str, Any]:
    """Values by their dotted key: {"shifts": {"prime": {"to": 1}}} is {"shifts.prime.to": 1}."""
    if isinstance(values, dict) and values:
        parts = ((dotted(name, key), value) for key, value in values.items())
    elif isinstance(values, list) and values and all(isinstance(item, dict) for item in values):
        parts = ((f"{name}[{number}]", item) for number, item in enumerate(values))
    else:
        return {name: values}
    leaves: dict[str, Any] = {}
    for key, value in parts:
        leaves |= flat(value, key)
    return leaves


def setting_list(settings: Settings) -> list[dict[str, Any]]:
    """Every setting: `setting` (dotted key), `value` as text, `origin`."""
    values = flat(dict(settings.document.values) if settings.document else {})
    rows = []
    for key in KEYS.values():
        set_here = {name: value for name, value in values.items() if _is_below(name, key.name)}
        if key.variable and key.name in settings.origins:
            set_here = {key.name: getattr(settings, key.name)}
        if not set_here:
            rows.append(_row(key.name, key.default, DEFAULT))
        rows += [_row(n, value, settings.origins.get(n, DEFAULT)) for n, value in set_here.items()]
    return rows


def _keys() -> dict[str, Key]:
    fields = inspect.type_info(SiteSettings).fields  # type: ignore[attr-defined]
    return {field.encode_name: _key(field) for field in fields}


def _key(field: inspect.Field) -> Key:
    extra = (field.type.extra if isinstance(field.type, inspect.Metadata) else None) or {}
    plain = field.default if isinstance(field.default, str) else ""
    default, variable = extra.get("default", plain), extra.get("variable", "")
    return Key(field.encode_name, _doc(field.type), default, variable, _inner(field.type))


def _inner(schema: inspect.Type) -> dict[str, str]:
    """The keys of the tables in a field."""
    match schema:
        case inspect.Metadata(type=inner) | inspect.DictType(value_type=inner):
            return _inner(inner)
        case inspect.StructType(fields=fields):
            return {field.encode_name: _doc(field.type) for field in fields}
    return {}


def _doc(schema: inspect.Type) -> str:
    if isinstance(schema, inspect.Metadata):
        return str((schema.extra_json_schema or {}).get("description", ""))
    return ""


def _is_below(name: str, key: str) -> bool:
    return name == key or name.startswith((f"{key}.", f"{key}["))


def _row(key: str, value: Any, origin: str) -> dict[str, Any]:
    return {"setting": key, "value": "" if value is None else _text(value), "origin": origin}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)


KEYS: Mapping[str, Key] = _keys()
"""By name, in the order in which they are shown."""
