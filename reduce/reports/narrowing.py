"""Filters of a report: objects, a condition on lines, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from ...core.errors import CpmonError, unknown
from ...core.sql import CheckedSql, UserSql
from ...core.sql import name as quoted
from ...core.text import is_pattern
from ...store.connection import Connection
from ...store.measured.classes import OTHER, ClassRule, class_rules, class_sql, like_pattern
from ...store.sandbox.guard import condition_tree
from ..metrics.metric import ReportColumn
from ..metrics.report_set import Lines, Report, reports
from .cells import cell_text

NOUNS = {
    "cpu": "processor",
    "user": "user",
    "device": "device",
    "partition": "partition",
    "class": "class",
}
"""Options that select objects, with a noun for messages."""
LINES = "report_lines"
"""The relation that a condition filters."""
WITH_PATTERNS = ("user", "class")
"""Options that take patterns; a partition may be called *PHYSICAL*."""


def named_objects(
    cpu: int | None,
    user: str | None,
    user_class: str | None,
    device: int | tuple[int, int] | None,
    partition: str | None,
) -> dict[str, Any]:
    """The given objects by option, as `objects` of a report; CP's names are in capitals."""
    names = {"user": user, "partition": partition, "class": user_class}
    capitals = {option: name and name.upper() for option, name in names.items()}
    given = {"cpu": cpu, "device": device, **capitals}
    return {option: value for option, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects that an option selects: a single one, a pattern, a range or a user class.

    Attributes:
        value: a value; a text with wildcards is a pattern, a pair is an inclusive range.
        rules: of the user classes, if the value is the class of the users in the column.
    """

    option: str
    column: str
    value: Any
    rules: tuple[ClassRule, ...] | None = None

    @property
    def is_one(self) -> bool:
        """Whether it selects at most one object."""
        return not (self._is_class or self._is_pattern or isinstance(self.value, tuple))

    @property
    def _is_class(self) -> bool:
        return self.rules is not None

    @property
    def _is_pattern(self) -> bool:
        return self.option in WITH_PATTERNS and is_pattern(self.value)

    def where(self) -> tuple[str, list[Any]]:
        """The SQL condition, and the values of its parameters."""
        column = quoted(self.column)
        if self.rules is not None:
            of_user, values = class_sql(self.rules, column)
            return f"{of_user} = ?", [*values, self.value]
        if isinstance(self.value, tuple):
            return f"{column} BETWEEN ? AND ?", [*self.value]
        if self._is_pattern:
            return f"{column} LIKE ? ESCAPE '^'", [like_pattern(self.value)]
        return f"{column} = ?", [self.value]

    def text(self, columns: Mapping[str, ReportColumn]) -> str:
        """Text for the heading of the report; device numbers are hexadecimal."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        printed = columns.get(self.column)
        shown = [cell_text(printed, v) if printed and not self._is_class else v for v in values]
        return f"{'class' if self._is_class else self.column} {'-'.join(map(str, shown))}"


def objects_of(
    con: duckdb.DuckDBPyConnection, definition: Report, given: Mapping[str, Any]
) -> tuple[Objects, ...]:
    """The objects that options select in a report, from option -> value.

    Raises:
        CpmonError: the report has no column of such objects, or there is no such user class.
    """
    chosen = []
    for option, value in given.items():
        is_class = option == "class" and option not in definition.follows
        column = definition.follows.get("user" if is_class else option)
        if column is None:
            able = [r.name for r in reports().values() if option in r.follows]
            raise CpmonError(
                f"{definition.name} has no line per {NOUNS[option]}",
                code="report-filter-unsupported",
                remedy=f"leave the {NOUNS[option]} out, or ask for one of {', '.join(able)}",
            )
        rules = None
        if is_class:
            # They hold for any user id, also of users whose samples were pruned, unlike
            # `meta.user_class`.
            rules = class_rules(con.store) if isinstance(con, Connection) else ()
            names = {*(rule.name for rule in rules), OTHER}
            if value not in names:
                raise unknown("user class", value, names)
        chosen.append(Objects(option, column, value, rules))
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of lines: a column of the report and a direction."""

    column: str
    is_descending: bool = True

    @classmethod
    def parse(cls, text: str, definition: Report) -> Sort:
        """Parse an order: `cpu_util`, `userid:desc`.

        By default numbers are sorted descending, names and times ascending.

        Raises:
            CpmonError: the report has no such column, or the direction is unknown.
        """
        name, _, direction = text.partition(":")
        column = known_column(name, definition)
        if direction not in ("", "asc", "desc"):
            raise CpmonError(
                "--sort has a direction that means nothing",
                expected=f"{name}, {name}:asc or {name}:desc",
                found=text,
            )
        is_key = column in (*definition.keys, "interval_end")
        return cls(column, direction == "desc" if direction else not is_key)

    @property
    def sql(self) -> str:
        """The expression for ORDER BY."""
        return f"{quoted(self.column)} {'DESC' if self.is_descending else 'ASC'} NULLS LAST"


def known_column(name: str, definition: Report, place: str | None = None) -> str:
    """Find a column of a report; names are case-insensitive.

    Raises:
        CpmonError: no such column.
    """
    names = [column.name for column in definition.columns]
    if name.lower() not in names:
        raise unknown(f"column of {definition.name}", name, names, place=place)
    return name.lower()


def condition_sql(
    con: duckdb.DuckDBPyConnection, condition: UserSql, definition: Report
) -> CheckedSql:
    """The query of lines that meet a condition (`cpu_util > 50`) on printed values.

    Raises:
        CpmonError: it is not an expression over the columns of the report only.
    """
    sql, named = condition_tree(con, condition, LINES)
    for name in named:
        known_column(name, definition, f"--where {condition.unchecked}")
    return sql


def is_of_objects(definition: Report) -> bool:
    """Whether one interval may have lines of several objects."""
    return definition.lines is Lines.OBJECT and bool(definition.keys)
