"""The keys of the settings: what each means, what it is without being set, which variable sets it.

`docs/configuration.md` describes them at length; a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .toml_lines import dotted

WITH_FORMAT = (
    *("query", "shell", "report", "exceptions", "compare", "runs", "classes", "store", "validate"),
)
"""Commands that read a store and have --format."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key at the top of the file.

    Attributes:
        doc: what it says.
        default: what holds without it, as printed.
        variable: of the environment, which wins over the file; empty where there is none.
        inner: keys of each table in it; empty where it holds no tables, or others check them.
        named: whether those tables have free names, as [shifts.prime].
        example: a value as it stands in a file.
    """

    name: str
    doc: str
    default: str = ""
    variable: str = ""
    inner: Mapping[str, str] | None = None
    named: bool = False
    example: Any = None


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key("store", "folder of the landed dumps", variable="CPMON_STORE", example="perf"),
        Key("timezone", "in which times are printed", "UTC", "CPMON_TZ", example="Europe/Vienna"),
        Key("classes", "file that says which users belong together", variable="CPMON_CLASSES"),
        Key("memory_limit", "most memory that queries use", "80% of memory", "CPMON_MEMORY_LIMIT"),
        Key("threads", "most threads that queries use", "all processors", "CPMON_THREADS"),
        Key(
            "formats",
            "how results are printed without --format, by command",
            inner={"default": "all commands that read a store", "COMMAND": "one command"},
        ),
        Key(
            "systems",
            "what is known of a system",
            named=True,
            inner={
                "timezone": "in which its times are printed",
                "release": "of z/VM that wrote its dumps",
            },
        ),
        Key(
            "shifts",
            "hours of some days of the week",
            named=True,
            inner={"days": "as mon-fri", "from": "as 08:00", "to": "as 18:00"},
        ),
        Key(
            "retention",
            "how long samples and results are kept",
            inner={
                "raw": "samples",
                "interval": "results of intervals",
                "15m": "roll-ups of 15 minutes",
                "hour": "roll-ups of hours",
                "day": "roll-ups of days",
            },
        ),
        Key("exceptions", "rules of exceptions", named=True),
        Key("validation", "rules of cpmon validate"),
        Key("inbox", "folders that cpmon batch looks into"),
        Key("batch", "what cpmon batch does besides"),
        Key("output", "what cpmon batch writes"),
    )
}
"""By name, in the order in which they are shown."""

RAW = ("inbox", "batch", "output")
"""Tables that whoever uses them checks."""


def flat(values: Any, name: str = "") -> dict[str, Any]:
    """Values by their dotted key: {"shifts": {"prime": {"to": 1}}} is {"shifts.prime.to": 1}."""
    if isinstance(values, dict) and values:
        parts = ((dotted(name, key), value) for key, value in values.items())
    elif isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        parts = ((f"{name}[{number}]", one) for number, one in enumerate(values))
    else:
        return {name: values}
    found: dict[str, Any] = {}
    for key, value in parts:
        found |= flat(value, key)
    return found
