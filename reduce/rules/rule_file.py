"""Rules of exceptions from TOML: the shipped ones, then those of a site, key by key over them.

A file has a table `[exceptions.ID]` for each rule. A table with the id of a rule read before
changes only the keys that it has; with another source of values (`sql`, `reduction`) it leaves
those of the old one behind.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ...config import Document, Settings
from ...config.document import read_values
from ...config.rules import Layer, rule_layers
from .rule import KIND, Rule, RuleSettings, place_of

SHIPPED = "shipped rules"
OF_REDUCTION = ("reduction", "metric", "per", "object", "least", "record", "record_keys")
OF_SQL = ("sql", "record")


def load_rules(settings: Settings | None = None, file: Path | None = None) -> tuple[Rule, ...]:
    """The shipped rules, with those of the settings and of a file over them; without disabled ones.

    Args:
        file: one more file of rules, which wins over all others.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    layers = [_shipped(), *rule_layers(KIND, settings or Settings(), file)]
    return tuple(rule for rule in _rules(layers) if rule.enabled)


def _shipped() -> Layer:
    text = (files(__package__) / "shipped.toml").read_text(encoding="utf-8")
    document = Document(text, SHIPPED, "the rules")
    return Layer(SHIPPED, document.values[KIND], document.place)


def _rules(layers: Iterable[Layer]) -> Iterable[Rule]:
    """One rule for each id, from the keys of all layers."""
    merged: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, Layer]] = {}
    for layer in layers:
        for name, given in layer.tables.items():
            values, origins = merged.setdefault(name, {}), sources.setdefault(name, {})
            for key in _superseded(values, given):
                values.pop(key, None)
                origins.pop(key, None)
            values |= given
            origins |= dict.fromkeys(given, layer)
    for name, values in merged.items():
        place = functools.partial(place_of, name, sources[name])
        keys = msgspec.structs.asdict(read_values(RuleSettings, values, place))
        rule = Rule(id=name, sources=sources[name], **keys)
        rule.check()
        yield rule


def _superseded(values: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys that belong to the old source of values, when a new one is given."""
    if "sql" in given and "sql" not in values:
        return OF_REDUCTION
    if "reduction" in given and given["reduction"] != values.get("reduction"):
        return (*OF_SQL, *OF_REDUCTION)
    return ()
