"""The written rules: SQL files of `rules/`, one SELECT each, with a header that says the rest.

    -- What must hold, in one line
    -- What it rests on, and what a break of it says.
    -- severity: critical
    -- needs: sytprp
    -- remedy: what to do, up to the end of the header

The SELECT yields a line for everything that is looked at: system, interval_end, object, value,
least and most. A line breaks the rule where the value is less than `least` or more than `most`;
a bound that is NULL is none, and a line whose value is NULL has not been looked at.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable

import duckdb

from ...core.errors import CpmonError
from ...schemas.layout import Kind
from ...schemas.registry import record_of, tables
from ...store.sandbox.guard import guarded
from ..reductions.reductions import comment
from ..rules.rule import landed_tables
from .rule import Rule, Scope, Severity

COLUMNS = ("system", "interval_end", "object", "value", "least", "most")
_FILE = re.compile(
    r"\A-- (?P<title>[^\n]+)\n"
    r"(?P<meaning>(?:--[^\n]*\n)+?)"
    r"-- severity: (?P<severity>\w+)\n"
    r"(?:-- needs: (?P<needs>[\w ]+)\n)?"
    r"-- remedy: (?P<remedy>[^\n]+\n(?:--[^\n]*\n)*)"
    r"(?P<select>.*?);?\s*\Z",
    re.DOTALL,
)
BAD = "value < least OR value > most"


@dataclass(frozen=True, slots=True)
class WrittenCheck:
    """A SELECT of what is looked at, as the module's docstring has it.

    Attributes:
        shipped: it is one of cpmon's own, and not written by a site.
    """

    select: str
    shipped: bool = True

    def guarded(self, connection: duckdb.DuckDBPyConnection) -> WrittenCheck:
        """The check with the SQL that runs for that of a site; a shipped one is as it stands.

        Raises:
            CpmonError: the SQL is no single query that only reads.
        """
        if self.shipped:
            return self
        return replace(self, select=guarded(connection, self.select, explain=False))

    def rows(self, scope: Scope) -> str:
        """SELECT of the lines that break the rule, by time."""
        figures = ", ".join(f"CAST({n} AS DOUBLE) AS {n}" for n in COLUMNS[3:])
        return (
            f"SELECT {', '.join(COLUMNS[:3])}, {figures}\nFROM (\n{self.select}\n)\n"
            f"WHERE {scope.condition()}\n  AND ({BAD})\n"
            "ORDER BY system, interval_end, object"
        )

    def counted(self, scope: Scope) -> str:
        """SELECT of how many lines were looked at, and how many of them break the rule."""
        return (
            f"SELECT count(value), count(*) FILTER (WHERE {BAD}) FROM (\n{self.select}\n)\n"
            f"WHERE {scope.condition()}"
        )


@functools.cache
def written_rules() -> tuple[Rule, ...]:
    """The shipped ones, by name."""
    shipped = [f for f in (files(__package__) / "rules").iterdir() if f.name.endswith(".sql")]
    return tuple(sorted(map(_parsed, shipped), key=lambda rule: rule.id))


def _parsed(file: Traversable) -> Rule:
    """A rule from its file.

    Raises:
        CpmonError: the file has not the shape that the module's docstring describes.
    """
    match = _FILE.match(file.read_text(encoding="utf-8"))
    if match is None or match["severity"] not in set(Severity):
        raise CpmonError(
            "a rule is not a documented SELECT",
            place=file.name,
            expected="comment lines: title, meaning, severity, needs, remedy; then a SELECT",
        )
    select = match["select"].strip()
    needs = match["needs"].split() if match["needs"] else landed_in(select)
    return Rule(
        file.name.removesuffix(".sql").replace("_", "-"),
        match["title"].strip(),
        Severity(match["severity"]),
        comment(match["meaning"]),
        comment(match["remedy"]),
        tuple(needs),
        WrittenCheck(select),
        file.name,
    )


def landed_in(select: str) -> list[str]:
    """The tables of samples that a SELECT reads."""
    layouts = tables()
    return [t for t in landed_tables(select) if record_of(layouts[t]).kind is Kind.SAMPLE]
