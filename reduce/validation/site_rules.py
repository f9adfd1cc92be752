"""Rules of a site, from TOML: changes to shipped rules, and new ones by SQL.

A table `[validation.ID]` with the id of a known rule changes its severity or switches it off; any
other id is a new rule, which needs a title, a severity and the SQL that `written` describes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...schemas import CpmonError
from ...schemas.lookup import unknown
from ...schemas.registry import tables
from ..rule_file import read_rules
from .layout_rules import KINDS
from .rule import Rule, Severity
from .written import COLUMNS, WrittenCheck, landed_in

TOP = "validation"
OF_ALL = ("severity", "enabled")
OF_NEW = (*OF_ALL, "title", "meaning", "remedy", "needs", "sql")


def with_site_rules(
    shipped: Iterable[Rule],
    settings: Mapping[str, Any],
    file: Path | None,
    *,
    place: str,
) -> tuple[Rule, ...]:
    """The shipped rules with those of the settings and of a file over them, without disabled ones.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    found = {rule.id: rule for rule in shipped}
    layers = [(place, settings)]
    if file is not None:
        layers.append((str(file), read_rules(file, TOP)))
    off: set[str] = set()
    for origin, layer in layers:
        for name, values in layer.items():
            table = _Table(name, values, origin)
            off = off - {name} if table.flag("enabled", True) else off | {name}
            if name in found:
                found[name] = _changed(found[name], table)
            elif not _is_of_layouts(name):
                found[name] = _new(name, table)
            else:
                table.only(OF_ALL)
    return tuple(rule for rule in found.values() if rule.id not in off)


@dataclass(frozen=True, slots=True)
class _Table:
    """What is said of one rule, and in which file."""

    name: str
    values: Any
    file: str

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise self.wrong("", "a table with the keys of a rule", self.values)

    def only(self, keys: Collection[str]) -> None:
        """Refuse keys that mean nothing."""
        for key in self.values:
            if key not in keys:
                raise unknown("key", key, keys, place=self.place(key))

    def place(self, key: str = "") -> str:
        """File and key, for messages."""
        return f"{self.file}: {TOP}.{self.name}" + (f".{key}" if key else "")

    def wrong(self, key: str, allowed: str, found: Any) -> CpmonError:
        """The error for the value of a key."""
        return CpmonError(
            "a rule has a value that means nothing",
            place=self.place(key),
            expected=allowed,
            found="nothing" if found is None else repr(found),
        )

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false", value)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "a text", value)
        return value.strip()

    def severity(self) -> Severity:
        """How bad a break of the rule is."""
        said = self.text("severity")
        if said not in set(Severity):
            raise self.wrong("severity", ", ".join(Severity), said)
        return Severity(said)

    def needs(self, default: Sequence[str]) -> tuple[str, ...]:
        """The tables that must have landed."""
        value = self.values.get("needs", list(default))
        if not isinstance(value, list):
            raise self.wrong("needs", "a list of tables", value)
        for one in value:
            if one not in tables():
                raise unknown("table", str(one), tables(), place=self.place("needs"))
        return tuple(value)


def _is_of_layouts(name: str) -> bool:
    """Whether it is the rule of a table that the store just has not got."""
    table, _, kind = name.partition(".")
    return table in tables() and kind in {known.name for known in KINDS}


def _changed(rule: Rule, table: _Table) -> Rule:
    """A known rule with what is said of it."""
    table.only(OF_ALL)
    if "severity" not in table.values:
        return rule
    return replace(rule, severity=table.severity(), place=table.place())


def _new(name: str, table: _Table) -> Rule:
    """A rule of the site's own."""
    table.only(OF_NEW)
    if "sql" not in table.values:
        raise CpmonError(
            f"there is no rule {name}, and it has no sql to be a new one",
            place=table.place(),
            expected=f"the id of a shipped rule, or sql = SELECT {', '.join(COLUMNS)}",
            remedy="`cpmon validate --list` names the rules",
        )
    select = table.text("sql").rstrip(";")
    return Rule(
        name,
        table.text("title"),
        table.severity(),
        table.text("meaning", "A rule of the site."),
        table.text("remedy", "Ask who wrote the rule."),
        table.needs(landed_in(select)),
        WrittenCheck(select, shipped=False),
        table.place(),
    )
