"""All settings as a list, by their dotted keys."""

from __future__ import annotations

from typing import Any

from .positions import dotted
from .settings import DEFAULT, DEFAULTS, VARIABLES, Settings, SiteSettings


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
    for key in SiteSettings.__struct_fields__:
        set_here = {name: value for name, value in values.items() if _is_below(name, key)}
        if key in VARIABLES and key in settings.origins:
            set_here = {key: getattr(settings, key)}
        if not set_here:
            rows.append(_row(key, DEFAULTS.get(key, ""), DEFAULT))
        rows += [_row(n, value, settings.origins.get(n, DEFAULT)) for n, value in set_here.items()]
    return rows


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
