"""Rules of a site: changes to shipped rules, and new ones by SQL.

A table `[validation.ID]` with the id of a known rule changes its severity or switches it off; any
other id is a new rule, which needs a title, a severity and the SQL that `written` describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...config import Place, Settings, Table
from ...config.document import read_values
from ...config.rules import rule_layers
from ...config.values import Names, Text
from ...core.errors import CpmonError
from ...core.names import unknown
from ...schemas.registry import tables
from .layout_rules import KINDS
from .rule import Rule, Severity
from .written import COLUMNS, WrittenCheck, landed_in

KIND = "validation"


class ChangedRule(Table, frozen=True):
    """What a site may say of a shipped rule."""

    severity: Severity | None = None
    enabled: bool = True


class NewRule(Table, frozen=True):
    """A rule of the site's own."""

    title: Text
    severity: Severity
    sql: Text
    enabled: bool = True
    meaning: Text = Text("A rule of the site.")
    remedy: Text = Text("Ask who wrote the rule.")
    needs: Names | None = None


def with_site_rules(
    shipped: Iterable[Rule], settings: Settings, file: Path | None
) -> tuple[Rule, ...]:
    """The shipped rules with those of the settings and of a file over them, without disabled ones.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    rules = {rule.id: rule for rule in shipped}
    disabled: set[str] = set()
    for layer in rule_layers(KIND, settings, file):
        for name, values in layer.tables.items():
            place = _place_in(name, layer.place)
            if name in rules or _is_of_layouts(name):
                change = read_values(ChangedRule, values, place)
                enabled = change.enabled
                if name in rules and change.severity:
                    rules[name] = replace(rules[name], severity=change.severity, place=place(""))
            else:
                rules[name], enabled = _new(name, values, place)
            disabled = disabled - {name} if enabled else disabled | {name}
    return tuple(rule for rule in rules.values() if rule.id not in disabled)


def _place_in(name: str, place: Place) -> Place:
    return lambda key: place(".".join(filter(None, (KIND, name, key))))


def _is_of_layouts(name: str) -> bool:
    """Whether it is the rule of a table that the store just has not got."""
    table, _, kind = name.partition(".")
    return table in tables() and kind in {check.name for check in KINDS}


def _new(name: str, values: Mapping[str, Any], place: Place) -> tuple[Rule, bool]:
    """A rule of the site's own, and whether it is enabled."""
    if "sql" not in values:
        raise CpmonError(
            f"there is no rule {name}, and it has no sql to be a new one",
            place=place(""),
            expected=f"the id of a shipped rule, or sql = SELECT {', '.join(COLUMNS)}",
            remedy="`cpmon validate --list` names the rules",
        )
    new = read_values(NewRule, values, place)
    select = new.sql.rstrip(";")
    needs = landed_in(select) if new.needs is None else new.needs
    for table in needs:
        if table not in tables():
            raise unknown("table", table, tables(), place=place("needs"))
    check = WrittenCheck(select, shipped=False)
    rule = Rule(
        name, new.title, new.severity, new.meaning, new.remedy, tuple(needs), check, place("")
    )
    return rule, new.enabled
