"""A rule: its condition, severity, meaning and remedy.

Rules of exceptions and of validation are loaded the same way: first the shipped rules, then the
rules of a site, which override them key by key. A file has a table
`[exceptions.ID]` or `[validation.ID]` for each rule. A table with the id of a known rule overrides
only the keys that it has; if it has another source of values (`sql`, `reduction`), the keys of the
previous source are dropped.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from ...config import Document, Place, Settings, Table
from ...config.document import read_values
from ...config.settings import FILE
from ...config.values import Minutes, Names, Number, Text
from ...core.errors import CpmonError, fold, nearest, unknown
from ...core.memory import memory_error
from ...core.sql import UserSql
from ...schemas.registry import tables
from ...store.connection import table_of
from ...store.sandbox.guard import guarded
from ...store.sql.database import storage_error
from ..reductions.reductions import reductions, tables_of
from .layout_checks import LayoutCheck, is_of_layouts, landed_tables, layout_rules, sampled_tables

KEY = re.compile(r"\{(\w+)(:04X)?\}")
"""A key of the object in its name: {cpu}, or {device:04X} for four hexadecimal digits."""

_WORD = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?")
SHIPPED = "shipped rules"


class Purpose(StrEnum):
    """What a rule is for; its value is the table of a file that holds such rules."""

    EXCEPTIONS = "exceptions"
    """Conditions of the measured system: episodes in which a value exceeds a limit."""
    VALIDATION = "validation"
    """Conditions that all landed rows meet: the number of rows that violate the rule."""

    @property
    def command(self) -> str:
        """The command that lists its rules."""
        return "cpmon exceptions" if self is Purpose.EXCEPTIONS else "cpmon validate"

    @property
    def sources(self) -> str:
        """The alternative keys for the source of values; a new rule has one of them."""
        return "sql or reduction" if self is Purpose.EXCEPTIONS else "sql"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the SQL of a rule must have."""
        columns = ("interval_end", "object", "value")
        return columns if self is Purpose.EXCEPTIONS else ("system", *columns, "least", "most")

    @property
    def keys(self) -> frozenset[str]:
        """The keys that a rule may have."""
        if self is Purpose.VALIDATION:
            return frozenset({"title", "severity", "meaning", "remedy", "sql", "enabled", "needs"})
        keys = frozenset(f.encode_name for f in msgspec.structs.fields(RuleKeys))
        return keys - {"needs", "finding"}


class Severity(StrEnum):
    """Severity of an exception or of a violated rule, in ascending order."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its rank: 0 for the lowest severity."""
        return list(Severity).index(self)


def worst(severities: Iterable[str]) -> Severity | None:
    """The highest of some severities, or None."""
    return max(map(Severity, severities), key=lambda severity: severity.rank, default=None)


class Comparison(StrEnum):
    """Which side of the limit is an exception."""

    ABOVE = "above"
    BELOW = "below"

    @property
    def sign(self) -> str:
        """The comparison operator in SQL and in messages."""
        return ">" if self is Comparison.ABOVE else "<"


class RuleKeys(Table, frozen=True):
    """The keys of a rule; `Purpose.keys` has those of each purpose.

    A value comes from column `metric` of `reduction` (over column `per`, if there is one), or from
    `sql`, a SELECT with the columns of its purpose. For exceptions it may also return system, dump
    and record_offset.

    Attributes:
        title: the condition in words: of an exception, or the one that valid rows meet.
        meaning: the reason for the rule. remedy: what to do.
        area: the part of the system that it concerns.
        scale: factor applied to values before they are compared with the limit. unit: of the
            product.
        limit: None where every row of `sql` is an exception.
        for_minutes: minimum duration beyond the limit, in consecutive intervals.
        shift: a shift of the settings; the rule applies only to its hours.
        object_name: of the object, with its key columns in braces.
        least: column -> minimum; intervals below it are not evaluated.
        record: table of the record that a value comes from; `record_keys`: its columns and
            those of the reduction that they equal.
        needs: tables that must have landed; by default the samples that `sql` reads.
        finding: code of `cpmon check` for violations; empty if `cpmon check` skips the rule.
    """

    title: Text
    severity: Severity
    meaning: Text = Text()
    remedy: Text = Text()
    area: Text = Text()
    reduction: Text = Text()
    metric: Text = Text()
    per: Text = Text()
    sql: UserSql = UserSql("")
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
    needs: Names = Names()
    finding: Text = Text()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Layer:
    """Tables of rules from one source (`file`), by id; `shipped`: it comes with cpmon."""

    file: str
    tables: Mapping[str, Mapping[str, Any]]
    place: Place
    shipped: bool = False


class Rule(RuleKeys, frozen=True, kw_only=True):
    """One rule; `id` is its name.

    Attributes:
        sources: key -> where it was written.
        check: the check of a table, if the rule is generated from its layout.
    """

    id: str
    purpose: Purpose = Purpose.EXCEPTIONS
    sources: Mapping[str, Layer] = msgspec.field(default_factory=dict)
    check: LayoutCheck | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns in the name of the object, in order."""
        return tuple(dict.fromkeys(name for name, _ in KEY.findall(self.object_name)))

    @property
    def written_in(self) -> str:
        """The sources that define it, with the place in files of a site."""
        path = f"{self.purpose}.{self.id}"
        layers = sorted(self.sources.values(), key=lambda layer: not layer.shipped)
        return ", ".join(dict.fromkeys(x.file if x.shipped else x.place(path) for x in layers))

    @property
    def is_shipped(self) -> bool:
        """Whether its values are not those of a site's SQL."""
        return not self.sql or ("sql" in self.sources and self.sources["sql"].shipped)

    @property
    def tables(self) -> frozenset[str]:
        """The landed tables that it reads, also through reductions."""
        if self.reduction:
            return tables_of(self.reduction)
        words = set(_WORD.findall(self.sql.unchecked.lower()))
        below = (tables_of(r.name) for r in reductions() if r.name in words)
        return frozenset(landed_tables(self.sql.unchecked)).union(*below)

    def place(self, key: str = "") -> str:
        """The place of a key, for messages; the begin of the rule if the key is not set."""
        return _place_of(self.purpose, self.id, self.sources, key)

    def wrong(self, key: str, allowed: str, found: object, problem: str = "") -> CpmonError:
        """The error for the value of a key."""
        return CpmonError(
            problem or "a rule has an invalid value",
            place=self.place(key),
            expected=allowed,
            found=str(found) or "nothing",
        )

    def failed(self, found: str) -> CpmonError:
        """The error for a rule whose query fails."""
        return CpmonError(
            f"rule {self.id} cannot be evaluated",
            code="rule-failed",
            place=self.place("sql" if self.sql else "reduction"),
            expected=f"a SELECT of {', '.join(self.purpose.columns)}" if self.sql else None,
            found=found,
            effect="no rule was evaluated",
            remedy=f"correct it, or switch it off: enabled = false in [{self.purpose}.{self.id!r}]",
        )

    def guarded_sql(self, con: duckdb.DuckDBPyConnection) -> str:
        """Its `sql` as it is executed: written from a checked tree unless it is shipped.

        Raises:
            CpmonError: it is not a single read-only query.
        """
        try:
            if self.is_shipped:
                return self.sql.unchecked
            return guarded(con, self.sql, explain=False)
        except CpmonError as error:
            raise self.failed(f"{error.problem}; found {error.found}") from None

    def query(
        self, con: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any] = ()
    ) -> pa.Table:
        """Run a query of the rule.

        Raises:
            CpmonError: it fails.
        """
        with self.evaluated():
            return table_of(con, sql, values)

    @contextmanager
    def evaluated(self) -> Iterator[None]:
        """Names the rule in the error of a query that fails in the block by a fault of its own.

        Raises:
            CpmonError: it fails.
        """
        try:
            yield
        except duckdb.Error as error:
            not_of_rule = memory_error(error) or storage_error(error)
            raise not_of_rule or self.failed(str(error).partition("\n\nLINE")[0]) from None

    def check_parts(self) -> None:
        """Check that tables and columns exist, and that the keys are consistent.

        Raises:
            CpmonError: a name is unknown, or keys contradict each other.
        """
        if self.purpose is Purpose.VALIDATION:
            for table in self.needs:
                if table not in tables():
                    raise unknown("table", table, tables(), place=self.place("needs"))
            return
        if bool(self.sql) == bool(self.reduction):
            sources = "both" if self.sql else "neither"
            raise self.wrong(
                "", "either reduction and metric, or sql", sources, "a rule has one source"
            )
        if self.limit is None and not self.sql:
            raise self.wrong("limit", "a number", "nothing")
        if self.record:
            if self.record not in tables():
                raise unknown("table", self.record, tables(), place=self.place("record"))
            fields = [field.name for field in tables()[self.record].columns]
            self._check_columns("record_keys", self.record_keys, fields)
        if self.reduction:
            self._check_reduction()
            return
        given = {"metric": self.metric, "per": self.per, "object": self.object_name}
        for key, value in {**given, "least": self.least, "record_keys": self.record_keys}.items():
            if value:
                raise self.wrong(key, "nothing: the sql says it", value)

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

    def _check_columns(self, key: str, names: Iterable[str], columns: Sequence[str]) -> None:
        for name in names:
            if name not in columns:
                raise unknown("column", name, columns, place=self.place(key))


OF_REDUCTION = ("reduction", "metric", "per", "object", "least", "record", "record_keys")
OF_SITE = {"meaning": "A rule of the site.", "remedy": "Ask who wrote the rule."}
"""Default texts of a site's rule of validation."""


def load_rules(
    purpose: Purpose,
    settings: Settings | None = None,
    file: Path | None = None,
    *,
    landed: Collection[str] = (),
) -> tuple[Rule, ...]:
    """The enabled rules: shipped ones, overridden by the settings and then by a file.

    Args:
        file: another file of rules, with the highest precedence.
        landed: tables that have landed in a store; rules of validation follow from their layouts.

    Raises:
        CpmonError: a file cannot be read, or a rule is wrong: file, key, found, allowed.
    """
    merged: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, Layer]] = {}
    allowed = purpose.keys
    for layer in (*_shipped(purpose, landed), *_of_site(purpose, settings or Settings(), file)):
        for name, given in layer.tables.items():
            strange = next((key for key in given if key not in allowed), None)
            if strange is not None and not layer.shipped:
                place = layer.place(f"{purpose}.{name}.{strange}")
                raise unknown("key", strange, allowed, place=place)
            values, origins = merged.setdefault(name, {}), sources.setdefault(name, {})
            for key in _superseded(values, given):
                values.pop(key, None)
                origins.pop(key, None)
            values |= given
            origins |= dict.fromkeys(given, layer)
    rules = (_rule(purpose, name, values, sources[name]) for name, values in merged.items())
    return tuple(rule for rule in rules if rule and rule.enabled)


def find_rule(rules: Sequence[Rule], name: str) -> Rule:
    """Find a rule by name, ignoring case; dashes are underscores.

    Raises:
        CpmonError: there is none; the nearest is suggested.
    """
    for rule in rules:
        if fold(rule.id) == fold(name):
            return rule
    like = nearest(name, [rule.id for rule in rules])
    command = next((rule.purpose.command for rule in rules), "cpmon")
    raise CpmonError(
        f"there is no rule {name}",
        code="name-unknown",
        expected=f"one of the {len(rules)} that {command} --list names",
        found=name,
        remedy=f"did you mean {like}?" if like else None,
    )


def _shipped(purpose: Purpose, landed: Collection[str]) -> Iterator[Layer]:
    if purpose is Purpose.VALIDATION:
        for source, rules in layout_rules(landed):
            yield Layer(source, rules, functools.partial(_named, source), shipped=True)
    text = (files(__package__) / f"{purpose}.toml").read_text(encoding="utf-8")
    document = Document(text, SHIPPED, "the rules")
    yield Layer(SHIPPED, document.values[purpose], document.place, shipped=True)


def _named(source: str, key: str) -> str:
    """The place of a key that is in no file: its source."""
    return source


def _of_site(purpose: Purpose, settings: Settings, file: Path | None) -> Iterator[Layer]:
    """The rules of the settings, then those of a file."""
    yield Layer(str(settings.file or FILE), getattr(settings, purpose), settings.place)
    if file is not None:
        document, kind = Document.load(file, "the rules"), str(purpose)
        for key in document.values:
            if key != kind:
                raise unknown("table", key, [kind], place=document.place(key))
        holder: Any = msgspec.defstruct(kind, [(kind, dict[str, dict[str, Any]], {})])
        yield Layer(str(file), getattr(document.read(holder, file.parent), kind), document.place)


def _superseded(values: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys that belong to the old source of values, when a new one is given."""
    if "sql" in given:
        return ("needs",) if "sql" in values else ("needs", "check", *OF_REDUCTION)
    if "reduction" in given and given["reduction"] != values.get("reduction"):
        return ("sql", *OF_REDUCTION)
    return ()


def _place_of(purpose: Purpose, name: str, sources: Mapping[str, Layer], key: str) -> str:
    path = ".".join(filter(None, (purpose, name, key)))
    layer = sources.get(key.partition(".")[0]) or next(iter(sources.values()), None)
    return layer.place(path) if layer else path


def _rule(
    purpose: Purpose, name: str, values: dict[str, Any], sources: Mapping[str, Layer]
) -> Rule | None:
    """A rule from its keys; None if it overrides a rule of a table that has not landed."""
    place = functools.partial(_place_of, purpose, name, sources)
    check = values.pop("check", None)
    if not (check or {"sql", "reduction"} & values.keys()):
        if purpose is Purpose.VALIDATION and is_of_layouts(name):
            return None
        raise CpmonError(
            f"there is no rule {name}, and it has no {purpose.sources} to be a new one",
            code="rule-incomplete",
            place=place(""),
            expected=f"the id of a shipped rule, or sql = SELECT {', '.join(purpose.columns)}",
            found=", ".join(values) or "no key",
            remedy=f"`{purpose.command} --list` names the rules",
        )
    keys = msgspec.structs.asdict(read_values(RuleKeys, values, place))
    keys["sql"] = UserSql(keys["sql"].unchecked.rstrip(";"))
    if purpose is Purpose.VALIDATION:
        keys |= {key: keys[key] or default for key, default in OF_SITE.items()}
        if "needs" not in values:
            keys["needs"] = Names(sampled_tables(keys["sql"].unchecked))
    rule = Rule(id=name, purpose=purpose, sources=sources, check=check, **keys)
    rule.check_parts()
    return rule
