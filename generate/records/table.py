"""Records as tables: `dNN_*.toml` has an expression for each field of a record.

An expression is Python over the names of `names.py`, those that the record defines in `let`, and
what the caller gives. A field that the layout calls a counter is given its growth in the interval,
any other its level. Fields of entries, `group.field`, are (rows, entries). Fields that the release
does not have are left out.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.resources import files
from types import CodeType
from typing import Any, Literal

from msgspec import field
from msgspec.structs import asdict, replace

from ...config import Document, Table
from ...core.errors import LayoutError
from ...core.names import unknown
from ...schemas import Field, Group, Kind, Layout, Role, layout, layouts, release_key
from ...schemas.unplaced import unplaced
from ..activity.sample import Sample
from ..numeric import Bool
from .names import ACTIVITY, FUNCTIONS, OF_MODEL, OF_SAMPLE
from .site import modelled, own_records, standing_for, unmodelled

Values = Mapping[str, Any]
"""Values by field: one, (rows,) or (rows, entries); a text is a `str` or an array of them."""

Counts = Mapping[str, int]
"""Entries or bytes by group or field."""

SITE = "the site's layouts"
"""Stands for a file, of records that no file has."""
LATER = 1 << 16
"""A version of CP behind all others."""

Names = frozenset[str]
Function = Callable[[Mapping[str, Any]], Values]


class RecordTable(Table, frozen=True, kw_only=True):
    """A table of a file: a record, or in `shared` what several of them have.

    The name of a record's table is that of its layout; types that share a layout add `-WORD`.

    Attributes:
        use: shared tables, which this one completes.
        since: the first release that has the record.
        rows: records in a sample; 0 where the system has none.
        present: (rows,) which rows a sample has.
        restarted: (rows,) whose counters begin anew in a sample's interval.
        ages: intervals during which counters have grown before the first sample after an IPL.
        wrapping: 4-byte counter of which some records pass 2**32 in every dump.
        variants: a name and its values, each of which makes a type of its own.
        entries: number of entries of each group that the records have.
        sizes: bytes of each entry or text that has no length of its own.
        let: names for parts of the other expressions, computed wherever one of these is.
        values: expression of each field.
    """

    use: tuple[str, ...] = ()
    since: str = ""
    rows: str = "1"
    present: str = ""
    restarted: str = ""
    ages: str = "age"
    wrapping: str = ""
    variants: dict[str, str] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    let: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression and the names in it."""

    code: CodeType
    names: Names

    @classmethod
    @functools.cache
    def compiled(cls, text: str, place: str) -> Expression:
        """An expression from its text.

        Raises:
            LayoutError: it is none.
        """
        try:
            tree = ast.parse(text, place, "eval")
        except SyntaxError as error:
            raise LayoutError(f"{place} is no expression", found=text) from error
        names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        return cls(compile(tree, place, "eval"), names)

    def value(self, scope: Mapping[str, Any]) -> Any:
        """The value with the names of a scope."""
        return eval(self.code, _GLOBALS, scope)


class Scope(dict[str, Any]):
    """The names of one record in one sample, each computed at its first use."""

    def __init__(self, let: Mapping[str, Expression], sample: Sample, **given: Any) -> None:
        super().__init__(sample.names, model=sample.model, sample=sample, **given)
        self._let = let

    def __missing__(self, name: str) -> Any:
        if name in self._let:
            value = self._let[name].value(self)
        elif name in _FIGURES:
            # The same for all records of a sample.
            sample: Sample = self["sample"]
            names = {**ACTIVITY, "model": sample.model, "sample": sample}
            value = sample.names[name] = _FIGURES[name].value(names)
        else:
            raise KeyError(name)
        self[name] = value
        return value


_GLOBALS = dict(FUNCTIONS)
_FIGURES = {
    name: Expression.compiled(text, f"names.toml: {name}")
    for name, text in {**OF_MODEL, **OF_SAMPLE}.items()
}


class Record:
    """A type of record.

    Attributes:
        layout: what its bytes mean.
        is_own: whether only a site's layouts have it.
        ages, wrapping: see `RecordTable`.
        unmodelled: fields of a site's layout that hold something, whatever it is.
        fixed, sampled: the values of a scope that stay during the run, and the others.
        timed: whether its values depend on the TOD units since each row's previous sample.

    Raises:
        LayoutError: no such field, or an expression with a name that means nothing.
    """

    def __init__(self, name: str, table: RecordTable, file: str) -> None:
        self.layout, self.is_own = layout(name.partition("-")[0]), file == SITE
        values = modelled(self.layout, table.values)
        self.unmodelled = unmodelled(self.layout) - values.keys()
        self.wrapping = table.wrapping if table.wrapping in values else ""
        self._since = release_key(table.since) if table.since else ()
        self._until = release_key(self.layout.until) if self.layout.until else (LATER,)
        self._place, self._given = f"{file}: {name}", {*table.variants, *GIVEN}
        self._let = self._expressions(table.let)
        own = {key: getattr(table, key) for key in ("rows", "ages", "present", "restarted")}
        self._options = self._expressions({key: text for key, text in own.items() if text})
        self.ages = self._options["ages"]
        self._variants = self._expressions(table.variants)
        self._entries = self._expressions(modelled(self.layout, table.entries))
        self._sizes = self._expressions(modelled(self.layout, table.sizes))
        expressions = self._expressions(values)
        rows = dict(named_rows(self.layout))
        fields = {key: row.is_cumulative for key, row in rows.items() if isinstance(row, Field)}
        fields |= {row.name: row.role == Role.COUNTER for row in unplaced(self.layout)}
        for key in values:
            if key not in fields:
                raise unknown(f"field of {name}", key, fields, place=self._place)
        used = {key: self._names(each) for key, each in expressions.items()}
        lasting = {*table.variants, *OF_MODEL, *FUNCTIONS, *table.let, "model"}
        fixed = [key for key, names in used.items() if names <= lasting and not fields[key]]
        sampled = {key: text for key, text in values.items() if key not in fixed}
        self.fixed = self._function(table.let, {key: values[key] for key in fixed})
        self.sampled = self._function(table.let, sampled)
        self.timed = any("elapsed" in names for names in used.values())

    def scope(self, sample: Sample, **given: Any) -> Scope:
        """The names of its expressions in a sample."""
        return Scope(self._let, sample, **given)

    def variants(self, sample: Sample) -> Iterator[dict[str, Any]]:
        """What is given to the expressions of each type that the record makes."""
        if not self._variants:
            yield {}
        for name, expression in self._variants.items():
            yield from ({name: each} for each in expression.value(self.scope(sample)))

    def rows(self, scope: Scope) -> int:
        """Records in a sample, absent ones included."""
        if not self._since <= release_key(scope["run"].cp_level) <= self._until:
            return 0
        return int(self._options["rows"].value(scope))

    def mask(self, option: Literal["present", "restarted"], scope: Scope) -> Bool | None:
        """(rows,) which rows a sample has, or whose counters begin anew in its interval.

        None where the table does not tell: all rows are present, and none is restarted.
        """
        expression = self._options.get(option)
        return None if expression is None else expression.value(scope)

    def entries(self, scope: Scope) -> Counts:
        """Number of entries of each group."""
        return {group: int(each.value(scope)) for group, each in self._entries.items()}

    def sizes(self, scope: Scope) -> Counts:
        """Bytes of entries and texts."""
        return {name: int(each.value(scope)) for name, each in self._sizes.items()}

    def values(self, sample: Sample, **given: Any) -> Values:
        """All values, of records that are not sampled."""
        scope = self.scope(sample, **given)
        return {**self.fixed(scope), **self.sampled(scope)}

    def _expressions(self, texts: Mapping[str, str]) -> dict[str, Expression]:
        """The expressions under some keys, their names checked."""
        expressions = {}
        for key, text in texts.items():
            place = f"{self._place}.{key}"
            expressions[key] = each = Expression.compiled(text, place)
            for name in each.names - self._given - {*getattr(self, "_let", texts)}:
                if name not in _FIGURES and name not in FUNCTIONS:
                    raise unknown("name", name, _FIGURES, place=place)
        return expressions

    def _function(self, let: Mapping[str, str], texts: Mapping[str, str]) -> Function:
        """One function for the values of several fields: it takes less time than one for each.

        Args:
            let: the text of each name of the record.
        """
        pairs = ", ".join(f"{key!r}: ({text})" for key, text in texts.items())
        names = self._names(Expression.compiled(f"{{{pairs}}}", self._place))
        below = {name: each.names & let.keys() for name, each in self._let.items()}
        order = [name for name in TopologicalSorter(below).static_order() if name in names]
        lines = [
            f"{name} = scope[{name!r}]" for name in sorted(names - let.keys() - FUNCTIONS.keys())
        ]
        lines += [f"{name} = {let[name]}" for name in order]
        body = "\n    ".join([*lines, f"return {{{pairs}}}"])
        defined: dict[str, Function] = {}
        exec(compile(f"def values(scope):\n    {body}", self._place, "exec"), _GLOBALS, defined)
        return defined["values"]

    def _names(self, expression: Expression) -> Names:
        """The names in an expression, those in the parts that it names included."""
        below = (self._names(self._let[name]) for name in expression.names & self._let.keys())
        return expression.names.union(*below)


GIVEN = ("model", "sample", "elapsed", "chosen", "rows", "ends")
"""Names that callers give a value: TOD units since the previous sample; places of what an event is
about, of users' rows, and the transactions that ended."""


def records() -> Mapping[str, Record]:
    """The records of all tables by name, in the order in which CP writes them: by their numbers.

    Those that only a site's own layouts have are among them.
    """
    return _records(layouts())


@functools.lru_cache(maxsize=2)
def _records(_layouts: tuple[Layout, ...]) -> Mapping[str, Record]:
    every = (file for file in files(__package__).iterdir() if re.match(r"d\d\d_", file.name))
    return read_records({file.name: file.read_text(encoding="utf-8") for file in every})


def own_names(kind: Kind) -> list[str]:
    """Records of a kind that only a site's own layouts have."""
    tables = records().items()
    return [name for name, record in tables if record.is_own and record.layout.kind is kind]


def read_records(texts: Mapping[str, str]) -> Mapping[str, Record]:
    """The same, from the text of each file.

    Raises:
        CpmonError: a table is wrong.
    """
    shared, tables = dict[str, RecordTable](), dict[str, tuple[RecordTable, str]]()
    for file, text in sorted(texts.items()):
        document = Document(text, file, "the records")
        own = dict(document.values)
        above = own.pop("shared", {})
        shared |= document.read_part(above, "shared", dict[str, RecordTable])
        read = document.read_part(own, "", dict[str, RecordTable])
        tables |= {name: (_with_keys(name, table), file) for name, table in read.items()}
    for record in own_records({name.partition("-")[0] for name in tables}):
        tables[record.name] = RecordTable(use=standing_for(record)), SITE
    every = (
        (name, Record(name, _completed(table, shared, file), file))
        for name, (table, file) in tables.items()
    )
    return dict(sorted(every, key=lambda row: (row[1].layout.domain, row[1].layout.record)))


def _with_keys(name: str, table: RecordTable) -> RecordTable:
    """A table of sample records with the keys that a site's layout has found."""
    record = layout(name.partition("-")[0])
    standing = standing_for(record) if record.kind is Kind.SAMPLE and unmodelled(record) else ()
    return replace(table, use=(*table.use, *standing))


def _completed(table: RecordTable, shared: Mapping[str, RecordTable], file: str) -> RecordTable:
    """A table with what those that it uses have beside it."""
    own, default = asdict(table), asdict(RecordTable())
    for name in table.use:
        if name not in shared:
            raise unknown("shared table", name, shared, place=file)
        for key, value in asdict(_completed(shared[name], shared, file)).items():
            if isinstance(value, dict):
                own[key] = {**value, **own[key]}
            elif own[key] == default[key]:
                own[key] = value
    return RecordTable(**own)


def named_rows(table: Layout, prefix: str = "") -> Iterator[tuple[str, Field | Group]]:
    """Every field, label and group of a layout, by name."""
    for column in table.columns:
        yield prefix + column.name, column
    for group in table.groups:
        yield prefix + group.name, group
        for label in group.labels:
            yield prefix + label.name, label
        yield from named_rows(group.entry, f"{prefix}{group.name}.")
