"""Records as tables: `dNN_*.toml` has an expression for each field of a record.

An expression is Python over the names here (constants, functions, figures of model and sample),
names in `let` of the record, and names that the caller gives. The value of a counter is its delta
in the interval, of any other field its level. Fields of entries, `group.field`, have values of
(rows, entries). Fields that the release does not have are skipped.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from importlib.resources import files
from types import CodeType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import asdict, replace

from ...config import Document, Table
from ...core.errors import LayoutError, unknown
from ...schemas import Field, Group, Kind, Layout, Role, Type, layout, layouts, release_key
from ...schemas.registry import build_all, shipped, site_folder
from ...schemas.unplaced import unplaced
from ..activity import dispatching, usage, virtual_devices
from ..model.measurement import SCM_PER_S, TOD_PER_S, TOD_PER_US
from ..model.system import Sample, entry_of
from ..numeric import F64, Bool, floor_int, partition
from ..scenario.scenario import UserGroup

Nature = tuple[Any, ...]


@functools.lru_cache(maxsize=512)
def unmodelled(record: Layout) -> frozenset[str]:
    """Fields of a site's layout that the shipped one lacks, or that it writes in another way.

    Fields over the bytes of others, locators of entries, and fields that tell which records have
    entries are skipped.
    """
    if site_folder() is None:
        return frozenset()
    before = dict(_natures(_shipped()[record.name])) if record.name in _shipped() else {}
    natures = _natures(record)
    return frozenset(name for name, nature in natures if nature and before.get(name) != nature)


def _modelled(record: Layout, names: Mapping[str, str]) -> dict[str, str]:
    """Expressions of a record's fields or groups, without those that a site's layout lacks.

    Names that no layout has are kept, so that they are reported as mistakes.
    """
    if site_folder() is None or record.name not in _shipped():
        return dict(names)
    own, before = dict(_natures(record)), dict(_natures(_shipped()[record.name]))
    gone = before.keys() - (own.keys() - unmodelled(record))
    return {name: text for name, text in names.items() if name not in gone}


@functools.cache
def _shipped() -> dict[str, Layout]:
    return {each.name: each for each in build_all(shipped(), None)}


def _natures(table: Layout, prefix: str = "", counts: Nature = ()) -> Iterator[tuple[str, Nature]]:
    """Each field with its wire format; () if it has no value of its own."""
    operands = {at for group in table.groups for at in (group.start, group.stride, group.count)}
    operands |= {group.when.field for group in table.groups if group.when}
    for field in table.columns:
        is_value = not (field.of or field.is_open or field.name in operands)
        nature = (field.type, field.length, field.is_cumulative, *counts)
        yield prefix + field.name, nature if is_value else ()
    for group in table.groups:
        yield prefix + group.name, ()
        for label in group.labels:
            yield prefix + label.name, ()
        if not group.when:
            each = (*counts, group.count if group.end else 0)
            yield from _natures(group.entry, f"{prefix}{group.name}.", each)


def _standing_for(record: Layout) -> tuple[str, ...]:
    """Shared tables with the rows of a record, by its key fields.

    An imported page does not mark keys, so that names of fields decide.
    """
    own = {field.name: field.type for field in record.columns if field.name in unmodelled(record)}
    if (own.get("vmduser"), own.get("vmdcpuad")) == (Type.CHAR, Type.UNSIGNED):
        return ("session",)
    return ("processor",) if own.get("pfxcpuad") is Type.UNSIGNED else ()


_NAMES = tomllib.loads((files(__package__) / "names.toml").read_text(encoding="utf-8"))
_MASKS: dict[str, int] = _NAMES["masks"]


def _domain_mask(domains: Iterable[str]) -> int:
    """Mask of some domains and of the monitor domain."""
    return int(np.bitwise_or.reduce([_MASKS[domain] for domain in ("monitor", *domains)]))


def _high_frequency_mask(domains: Iterable[str]) -> int:
    """Mask of those domains that are sampled at the high-frequency rate."""
    frequent = {"user", "processor", "io"}.intersection(domains)
    return _domain_mask(frequent) & ~_MASKS["monitor"]


def _level_text(level: str) -> str:
    """Version, release and modification, two digits each, and a service level (inferred)."""
    return "".join(f"{int(part):02d}" for part in level.split(".")) + "00"


def _packed(digits: str, width: int) -> np.void:
    """Hexadecimal digits, two a byte, padded with zeros on the left, without other characters."""
    valid = "".join(c for c in digits if c in "0123456789abcdefABCDEF")
    return np.void(bytes.fromhex(valid[-2 * width :].rjust(2 * width, "0")))


def _linux_product(number: int, level: str) -> np.void:
    """Product id of a Linux block, 16 bytes: LINUXKR, NL, the number, version, release, level."""
    return np.void("LINUXKRNL".encode("cp037") + bytes([number]) + f"2601{level}".encode("cp037"))


def _daemon_product(function: int, record: int, level: int) -> np.void:
    """Product id of a record of mon_fsstatd (1) or mon_procd (2), 16 bytes, in buffer `level`."""
    numbers = (function.to_bytes(2), record.to_bytes(1), bytes(4), level.to_bytes(2))
    return np.void(b"LNXAPPL" + b"".join(numbers))


def _busy_percent(group: UserGroup) -> float:
    """Percent of a guest's processors that its processes use."""
    used = sum(each.cpu_percent for each in group.processes)
    return min(used / group.virtual_processors, 100.0)


_OF_NUMPY = (
    *("arange", "bincount", "clip", "eye", "flatnonzero", "floor", "int64", "maximum", "minimum"),
    *("pad", "rint", "uint64", "void", "where"),
)

_OF_CPMON: tuple[Callable[..., Any], ...] = (
    *(floor_int, partition, entry_of, dispatching.blocks_by_size, dispatching.times_empty),
    *(usage.processor_jiffies, usage.run_queue, _busy_percent, _packed, _level_text),
    *(_domain_mask, _high_frequency_mask, _linux_product, _daemon_product),
)

FUNCTIONS: Mapping[str, Any] = {
    **{function.__name__: function for function in (float, int, len, max, min, range, round)},
    **{name: getattr(np, name) for name in _OF_NUMPY},
    **{function.__name__.removeprefix("_"): function for function in _OF_CPMON},
    "LOCK_NAMES": dispatching.LOCK_NAMES,
    **{name: getattr(usage, name) for name in ("UNI", "MULTI", "QUICK")},
    "SCM_PER_S": SCM_PER_S,
    "TOD_PER_S": TOD_PER_S,
    "TOD_PER_US": TOD_PER_US,
    **{
        name: np.array(value) if isinstance(value, list) else value
        for name, value in _NAMES["constants"].items()
    },
}
"""Functions and constants."""

ACTIVITY = {"dispatching": dispatching, "usage": usage, "virtual_devices": virtual_devices}
"""Names of modules in expressions of figures."""

OF_MODEL: Mapping[str, str] = _NAMES["model"]
"""Figures that are constant during a run: expressions over `model`."""


Values = Mapping[str, Any]
"""Values by field: one, (rows,) or (rows, entries); a text is a `str` or an array of them."""

Counts = Mapping[str, int]
"""Entries or bytes by group or field."""

_SITE = "the site's layouts"
"""Place in messages of records that no file has."""

_Function = Callable[[Mapping[str, Any]], Values]


class RecordTable(Table, frozen=True, kw_only=True):
    """A table of a file: of a record, or of keys that several records share (`shared`).

    The name of a record's table is that of its layout; types that share a layout add `-WORD`.

    Attributes:
        use: shared tables that this one extends.
        since: the first release that has the record.
        rows: records in a sample; 0 if the system has none.
        present: (rows,) whether a sample has the row.
        counting: (rows,) whether its counters go on; by default those of rows that are present.
        restarted: (rows,) whether its counters restart in a sample's interval.
        lasting: (rows,) the part of the interval's work that comes after that.
        ages: intervals in which counters increased before the first sample after an IPL.
        wrapping: 4-byte counter that passes 2**32 in some records of every dump.
        variants: a name and its values, each of which makes a type of its own.
        entries: number of entries of each group of the records.
        sizes: bytes of each entry or text without a length of its own.
        let: names for parts of the other expressions, computed when one of these is.
        values: expression of each field.
    """

    use: tuple[str, ...] = ()
    since: str = ""
    rows: str = "1"
    present: str = ""
    counting: str = ""
    restarted: str = ""
    lasting: str = ""
    ages: str = "age"
    wrapping: str = ""
    variants: dict[str, str] = msgspec.field(default_factory=dict)
    entries: dict[str, str] = msgspec.field(default_factory=dict)
    sizes: dict[str, str] = msgspec.field(default_factory=dict)
    let: dict[str, str] = msgspec.field(default_factory=dict)
    values: dict[str, str] = msgspec.field(default_factory=dict)


class Expression(NamedTuple):
    """A compiled expression and the names in it."""

    code: CodeType
    names: frozenset[str]

    @classmethod
    @functools.cache
    def compiled(cls, text: str, place: str) -> Expression:
        """Compile an expression.

        Raises:
            LayoutError: its syntax is wrong.
        """
        try:
            tree = ast.parse(text, place, "eval")
        except SyntaxError as error:
            raise LayoutError(f"{place} is no expression", found=text) from error
        names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        return cls(compile(tree, place, "eval"), names)

    def value(self, scope: Mapping[str, Any]) -> Any:
        """Evaluate with the names of a scope."""
        return eval(self.code, _GLOBALS, scope)


class RecordScope(dict[str, Any]):
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
    for name, text in {**OF_MODEL, **_NAMES["sample"]}.items()
}


class Record:
    """A type of record.

    Attributes:
        is_own: whether only a site's layouts have it.
        unmodelled: fields of a site's layout that get filler values.
        fixed, sampled: functions from a scope to values that are constant during the run, and to
            the others.
        timed: whether its values depend on the TOD units since each row's previous sample.

    Raises:
        LayoutError: no such field, or an unknown name in an expression.
    """

    def __init__(self, name: str, table: RecordTable, file: str) -> None:
        self.layout, self.is_own = layout(name.partition("-")[0]), file == _SITE
        values = _modelled(self.layout, table.values)
        self.unmodelled = unmodelled(self.layout) - values.keys()
        self.wrapping = table.wrapping if table.wrapping in values else ""
        self._since = release_key(table.since) if table.since else ()
        self._until = release_key(self.layout.until) if self.layout.until else (sys.maxsize,)
        self._place, self._given = f"{file}: {name}", {*table.variants, *_GIVEN}
        self._let = self._expressions(table.let)
        own = {
            key: getattr(table, key)
            for key in ("rows", "ages", "present", "counting", "restarted", "lasting")
        }
        self._options = self._expressions({key: text for key, text in own.items() if text})
        self.ages = self._options["ages"]
        self._variants = self._expressions(table.variants)
        self._counts = {
            option: self._expressions(_modelled(self.layout, texts))
            for option, texts in (("entries", table.entries), ("sizes", table.sizes))
        }
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

    def scope(self, sample: Sample, **given: Any) -> RecordScope:
        """The names of its expressions in a sample."""
        return RecordScope(self._let, sample, **given)

    def variants(self, sample: Sample) -> Iterator[dict[str, Any]]:
        """The names given to the expressions of each type of the record."""
        if not self._variants:
            yield {}
        for name, expression in self._variants.items():
            yield from ({name: each} for each in expression.value(self.scope(sample)))

    def rows(self, scope: RecordScope) -> int:
        """Records in a sample, absent ones included."""
        if not self._since <= release_key(scope["run"].cp_level) <= self._until:
            return 0
        return int(self._options["rows"].value(scope))

    def mask(
        self, option: Literal["present", "counting", "restarted"], scope: RecordScope
    ) -> Bool | None:
        """(rows,) rows of a sample that are present, count, or whose counters restart before it.

        None without such an expression: all rows are present, those count, and none is restarted.
        """
        expression = self._options.get(option)
        return None if expression is None else expression.value(scope)

    def lasting(self, scope: RecordScope) -> F64:
        """(rows,) the part of the interval's work that comes after a restart."""
        value: F64 = self._options["lasting"].value(scope)
        return value

    def counts(self, option: Literal["entries", "sizes"], scope: RecordScope) -> Counts:
        """Number of entries of each group, or bytes of entries and texts."""
        return {name: int(each.value(scope)) for name, each in self._counts[option].items()}

    def values(self, sample: Sample, **given: Any) -> Values:
        """All values, for records that are not sampled."""
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

    def _function(self, let: Mapping[str, str], texts: Mapping[str, str]) -> _Function:
        """Compiles one function for the values of several fields: faster than one for each."""
        pairs = ", ".join(f"{key!r}: ({text})" for key, text in texts.items())
        names = self._names(Expression.compiled(f"{{{pairs}}}", self._place))
        below = {name: each.names & let.keys() for name, each in self._let.items()}
        order = [name for name in TopologicalSorter(below).static_order() if name in names]
        lines = [
            f"{name} = scope[{name!r}]" for name in sorted(names - let.keys() - FUNCTIONS.keys())
        ]
        lines += [f"{name} = {let[name]}" for name in order]
        body = "\n    ".join([*lines, f"return {{{pairs}}}"])
        defined: dict[str, _Function] = {}
        exec(compile(f"def values(scope):\n    {body}", self._place, "exec"), _GLOBALS, defined)
        return defined["values"]

    def _names(self, expression: Expression) -> frozenset[str]:
        """The names in an expression and in the parts of `let` that it uses."""
        below = (self._names(self._let[name]) for name in expression.names & self._let.keys())
        return expression.names.union(*below)


_GIVEN = ("model", "sample", "elapsed", "chosen", "rows", "ends", "moment", "added_mib")
"""Names that callers give: TOD units since the previous sample; indices of an event's objects and
of users' rows; the transactions that ended; when an event happened,
and the storage that it adds."""


_WRITTEN = ("mtrecm", "mtrscm", "mtrend", "mtreof", "mtrsos", "mtrsus", "apledt")
"""Records that are written without a table."""


def records() -> Mapping[str, Record]:
    """The records of all tables by name, in the order in which CP writes them: by their numbers.

    They include records that only a site's own layouts have.
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
        for name, table in read.items():
            record = layout(name.partition("-")[0])
            # A table of sample records has the keys of a site's layout.
            keys = _standing_for(record) if record.kind is Kind.SAMPLE else ()
            tables[name] = replace(table, use=(*table.use, *keys)), file
    written = {*_WRITTEN, *(name.partition("-")[0] for name in tables)}
    for record in layouts():
        if record.name not in written and unmodelled(record):
            tables[record.name] = RecordTable(use=_standing_for(record)), _SITE
    every = (
        (name, Record(name, _completed(table, shared, file), file))
        for name, (table, file) in tables.items()
    )
    return dict(sorted(every, key=lambda row: (row[1].layout.domain, row[1].layout.record)))


def _completed(table: RecordTable, shared: Mapping[str, RecordTable], file: str) -> RecordTable:
    """A table merged with the shared tables that it uses."""
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
