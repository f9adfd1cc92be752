"""A rule of exceptions: which figure is looked at, and from where on it is worth a word.

Rules are read from TOML: the shipped ones, then those of a site, key by key over them. A file has a
table `[exceptions.ID]` for each rule. A table with the id of a rule read before changes only the
keys that it has; with another source of values (`sql`, `reduction`) it leaves those of the old one
behind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ...config import Document, Settings, Table
from ...config.document import read_values
from ...config.rules import Layer, rule_layers
from ...config.values import Minutes, Number, Text
from ...core.errors import CpmonError
from ...core.names import unknown
from ...schemas.registry import tables
from ...store.results.lineage import code_of
from ..reductions.reductions import reductions, tables_of

KEY = re.compile(r"\{(\w+)(:04X)?\}")
"""A key of the object in its name: {cpu}, or {device:04X} for four hexadecimal digits."""

_WORD = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?")
KIND = "exceptions"
"""The table of a file that holds such rules."""


def place_of(rule: str, sources: Mapping[str, Layer], key: str) -> str:
    """Where a key of a rule stands; one that is not written, where the rule begins."""
    path = ".".join(filter(None, (KIND, rule, key)))
    layer = sources.get(key.partition(".")[0]) or next(iter(sources.values()), None)
    return layer.place(path) if layer else path


class Severity(StrEnum):
    """How bad it is that a rule is met, the least first."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place in the order."""
        return list(Severity).index(self)


class Comparison(StrEnum):
    """On which side of its limit a value is an exception."""

    ABOVE = "above"
    BELOW = "below"

    @property
    def sign(self) -> str:
        """As SQL and readers write it."""
        return ">" if self is Comparison.ABOVE else "<"


class RuleSettings(Table, frozen=True):
    """The keys of a rule.

    A value comes from column `metric` of `reduction` (over column `per`, if there is one), or from
    `sql`, a SELECT with the columns system, interval_end, object, value and, where it knows the
    place, dump and record_offset.

    Attributes:
        title: what it means that the rule is met. area: what part of the system it is about.
        scale: what a value is multiplied by, before the limit is looked at. unit: of the product.
        limit: None where every row of `sql` is an exception.
        for_minutes: how long, in intervals in a row, the value must be beyond the limit.
        shift: of the settings, which alone is looked at.
        object_name: of the object, with its key columns in braces.
        least: column -> least value: intervals with less of it are not looked at.
        record: table of the record in which a value is looked up; `record_keys`: its columns and
            those of the reduction that they equal.
    """

    title: Text
    severity: Severity
    area: Text
    reduction: Text = Text()
    metric: Text = Text()
    per: Text = Text()
    sql: Text = Text()
    scale: Number = Number(1)
    unit: Text = Text()
    comparison: Comparison = Comparison.ABOVE
    limit: Number | None = None
    for_minutes: Minutes = msgspec.field(name="for", default=Minutes(0))
    shift: Text = Text()
    object_name: Text = msgspec.field(name="object", default=Text())
    least: dict[str, Number] = msgspec.field(default_factory=dict)
    record: Text = Text()
    record_keys: dict[str, Text] = msgspec.field(default_factory=dict)
    enabled: bool = True


class Rule(RuleSettings, frozen=True, kw_only=True):
    """One rule.

    Attributes:
        id: its name; a rule read later replaces one of the same id.
        sources: key -> where it was written.
    """

    id: str
    sources: Mapping[str, Layer] = msgspec.field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell objects apart, as they stand in the object's name."""
        return tuple(dict.fromkeys(name for name, _ in KEY.findall(self.object_name)))

    @property
    def files(self) -> tuple[str, ...]:
        """The files that say something of it."""
        return tuple(dict.fromkeys(layer.file for layer in self.sources.values()))

    @property
    def tables(self) -> frozenset[str]:
        """The landed tables that it reads, also through reductions."""
        if self.reduction:
            return tables_of(self.reduction)
        words = set(_WORD.findall(self.sql.lower()))
        below = (tables_of(r.name) for r in reductions() if r.name in words)
        return frozenset(landed_tables(self.sql)).union(*below)

    def place(self, key: str = "") -> str:
        """Where a key was written, for messages."""
        return place_of(self.id, self.sources, key)

    def wrong(self, key: str, allowed: str, found: object, problem: str = "") -> CpmonError:
        """The error for the value of a key."""
        return CpmonError(
            problem or "a rule has a value that means nothing",
            place=self.place(key),
            expected=allowed,
            found=str(found) or "nothing",
        )

    def check(self) -> None:
        """Check that what the rule names exists and that its parts go together.

        Raises:
            CpmonError: they do not.
        """
        if bool(self.sql) == bool(self.reduction):
            sources = "both" if self.sql else "neither"
            raise self.wrong(
                "", "either reduction and metric, or sql", sources, "a rule has one source"
            )
        if self.limit is None and not self.sql:
            raise self.wrong("limit", "a number", "nothing")
        if self.record:
            self._check_record()
        if self.reduction:
            self._check_reduction()
        else:
            self._check_sql()

    def _check_reduction(self) -> None:
        by_name = {r.name: r for r in reductions()}
        if self.reduction not in by_name:
            raise unknown("reduction", self.reduction, by_name, place=self.place("reduction"))
        columns = [column.name for column in by_name[self.reduction].columns]
        if not {"system", "interval_end"} <= set(columns):
            raise self.wrong("reduction", "one with lines by time", self.reduction)
        if not self.metric:
            raise self.wrong("metric", f"a column of {self.reduction}", "nothing")
        used: dict[str, Iterable[str]] = {
            "metric": [self.metric],
            "per": [self.per] if self.per else [],
            "object": self.keys,
            "least": self.least,
            "record_keys": self.record_keys.values(),
        }
        for key, names in used.items():
            self._check_columns(key, names, columns)

    def _check_sql(self) -> None:
        given = {"metric": self.metric, "per": self.per, "object": self.object_name}
        for key, value in {**given, "least": self.least, "record_keys": self.record_keys}.items():
            if value:
                raise self.wrong(key, "nothing: the sql says it", value)

    def _check_record(self) -> None:
        if self.record not in tables():
            raise unknown("table", self.record, tables(), place=self.place("record"))
        columns = [f.name for f in tables()[self.record].columns]
        self._check_columns("record_keys", self.record_keys, columns)

    def _check_columns(self, key: str, names: Iterable[str], columns: Sequence[str]) -> None:
        for name in names:
            if name not in columns:
                raise unknown("column", name, columns, place=self.place(key))


def landed_tables(sql: str) -> list[str]:
    """The landed tables that some SQL reads itself, in its order."""
    names = dict.fromkeys(re.findall(r"\b(?:interval|monitor)\.(\w+)", code_of(sql)))
    return [name for name in names if name in tables()]


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
    text = (files(__package__) / "shipped.toml").read_text(encoding="utf-8")
    document = Document(text, SHIPPED, "the rules")
    shipped = Layer(SHIPPED, document.values[KIND], document.place)
    layers = [shipped, *rule_layers(KIND, settings or Settings(), file)]
    return tuple(rule for rule in _rules(layers) if rule.enabled)


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
