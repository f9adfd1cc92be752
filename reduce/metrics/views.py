"""Generates views from metrics: for each reduction with metrics the public view over its sums.

A file of `sql/` selects keys, levels and sums. If the reduction has computed metrics, the file
becomes a private view. The public view over it has, in this order, the keys up to `seconds`, the
metrics in the order of their rows, and the other columns. The terms of a metric outside its
possible range are NULL in the private view, so that means, roll-ups and ranks skip them. A summary
has no sums for a reader to add up: its metrics are computed over the rows of another view.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ...core.errors import CpmonError, unknown
from ...core.sql import UserSql, text
from ...store.sandbox.guard import checked_expression
from .metric import FIGURES, Metric
from .report_set import metrics_of

_MARK = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"|[(),]|\b(?:SELECT(?:\s+DISTINCT)?|FROM)\b", re.IGNORECASE
)
"""Tokens that determine the outline of a query, outside of comments and strings."""

_PLAIN = re.compile(r"(?:(\w+)\.)?([^\W\d]\w*)(?:\s+AS\s+\w+)?\s*\Z", re.IGNORECASE)
WIDTH = 80
"""Line width of generated SQL."""

_PIECE = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
_QUALIFIED = re.compile(r"\b(?:FROM|JOIN)\s+([A-Za-z_]\w*(?:\.\w+)?)", re.IGNORECASE)
_WITH = re.compile(r"\b(\w+) AS \(", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+(?:\.\w+)?)(?:\s+AS\s+(\w+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SelectItem:
    """A column of a SELECT, and the comment lines above it.

    `relation` and `column` are the source of a column that is selected unchanged, else empty;
    without a qualifier `relation` is empty, too.
    """

    name: str
    comment: str
    relation: str
    column: str


@dataclass(frozen=True, slots=True)
class ParsedView:
    """A parsed view; some columns may inherit their documentation.

    `file`: the file of the view, or of the view that it is generated from. `commented`: the query
    as a site wrote it, for the comments in it, where `select` is what DuckDB made of it.
    """

    name: str
    doc: str
    select: str
    items: tuple[SelectItem, ...]
    reads: tuple[str, ...]
    file: str = ""
    commented: str = ""

    @classmethod
    def from_select(cls, name: str, doc: str, select: str, file: str = "") -> ParsedView:
        """Parse the query of a view."""
        code = without_comments(select)
        own = {name.lower() for name in _WITH.findall(code)}
        relations = dict.fromkeys(name.lower() for name in _QUALIFIED.findall(code))
        reads = tuple(relation for relation in relations if relation not in own)
        return cls(name, doc, select, tuple(select_items(select)), reads, file)

    @property
    def sql(self) -> str:
        """The statement that creates the view."""
        return f"CREATE OR REPLACE VIEW {self.name} AS\n{self.select};"

    def over(self, select: str) -> ParsedView:
        """The same view with another query."""
        return self.from_select(self.name, self.doc, select, self.file)


def select_items(select: str) -> list[SelectItem]:
    """The columns of a query, in order; of a UNION those of its first SELECT."""
    begin, commas, end = _outline(select)
    starts = (begin, *(comma + 1 for comma in commas))
    items = []
    for start, stop in zip(starts, (*commas, end), strict=True):
        part = select[start:stop]
        comments = re.match(r"\s*((?:--[^\n]*\n\s*)*)", part)
        lines = comments[1].strip() if comments else ""
        code = part[comments.end() if comments else 0 :]
        name = re.search(r"(\w+)\"?\s*\Z", without_comments(code))
        plain = _PLAIN.match(code)
        relation, column = plain.groups() if plain else ("", "")
        items.append(SelectItem(name[1] if name else "", lines, relation or "", column))
    return items


@functools.lru_cache(maxsize=256)
def sources(select: str) -> dict[str, str]:
    """Alias or name -> relation, for all that the FROM of the outermost SELECT reads."""
    _, _, end = _outline(select)
    return {alias or relation: relation for relation, alias in _SOURCE.findall(select[end:])}


def common_table(select: str, name: str) -> str:
    """The query of a common table expression; empty if there is none of that name."""
    begin = re.search(rf"\b{re.escape(name)} AS \(", select)
    if begin is None:
        return ""
    depth = 1
    for mark in _MARK.finditer(select, begin.end()):
        depth += {"(": 1, ")": -1}.get(mark.group(), 0)
        if not depth:
            return select[begin.end() : mark.start()]
    return ""


def folded(code: str, indent: int) -> str:
    """Wraps an expression to lines of at most `WIDTH` columns; the first line has no indent."""
    lines = [""]
    for piece in _PIECE.findall(code):
        if lines[-1] and indent + len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append("")
        lines[-1] += f" {piece}" if lines[-1] else piece
    return f"\n{' ' * indent}".join(lines)


def without_comments(sql: str) -> str:
    """The SQL without its comments."""
    return re.sub(r"--[^\n]*", "", sql)


@functools.lru_cache(maxsize=256)
def _outline(select: str) -> tuple[int, tuple[int, ...], int]:
    """Position of the first column of the outermost SELECT, of the commas, and of the end."""
    depth, begin, commas = 0, -1, []
    for mark in _MARK.finditer(select):
        text = mark.group().upper()
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth or text.startswith(("-", "'", '"')):
            continue
        if begin < 0 and text.startswith("SELECT"):
            begin = mark.end()
        elif begin >= 0 and text == ",":
            commas.append(mark.start())
        elif begin >= 0 and text == "FROM":
            return begin, tuple(commas), mark.start()
    return max(begin, 0), tuple(commas), len(select)


LAST_KEY = "seconds"
"""The last of the leading key columns of a view."""
_ROWS = "_run_interval"
"""The view over whose rows the metrics of run_summary are computed."""
DOUBTS = "doubts"
"""The column that names unknown values of a row and the reasons."""


def with_metrics(files: Iterable[ParsedView]) -> list[ParsedView]:
    """The views of some files, and the views generated from their metrics.

    Raises:
        CpmonError: a metric names a column that its view does not have.
    """
    by_name = {view.name: view for view in files}
    views: list[ParsedView] = []
    for view in by_name.values():
        metrics = metrics_of(view.name)
        columns = [item.name for item in view.items]
        if not any(m.is_computed and m.name not in columns for m in metrics.values()):
            views.append(view)
        elif view.name == "run_summary":
            views += _summed(view, metrics, [item.name for item in by_name[_ROWS].items])
        else:
            views += _by_row(view, metrics)
    return views


def _by_row(view: ParsedView, metrics: Mapping[str, Metric]) -> Iterator[ParsedView]:
    """The private views of the sums and the public view over them, row by row."""
    sums = replace(view, name=f"_{view.name}", items=_documented(view, metrics))
    columns = [item.name for item in view.items]
    keys = columns[: columns.index(LAST_KEY) + 1]
    parts = [*keys]
    for metric in metrics.values():
        if metric.name in columns:
            parts += [] if metric.name in keys else [metric.name]
            continue
        if not metric.expression:
            _check(metric, columns)
        parts.append(_column(metric, _value(metric)))
    shown = {*keys, *metrics}
    parts += [name for name in columns if name not in shown]
    yield from _possible(sums, metrics)
    yield view.over(f"{_select(parts)}\nFROM {sums.name}")


def _possible(sums: ParsedView, metrics: Mapping[str, Metric]) -> Iterator[ParsedView]:
    """The view of sums, with the terms of impossible metrics set to NULL.

    The column `doubts`, if there is one, names these metrics. A part is also NULL where its whole
    is: otherwise the two sums would cover different rows.
    """
    columns = [item.name for item in sums.items]
    values = {m.name: _value(m) for m in metrics.values() if m.is_computed}
    outside = {
        metric: metric.outside_sql(values) for metric in metrics.values() if metric.kind in FIGURES
    }
    outside = {metric: sql for metric, sql in outside.items() if sql}
    if not outside:
        yield sums
        return
    raw = replace(sums, name=f"{sums.name}_sums")
    yield raw
    by_column: dict[str, list[str]] = {}
    for metric, sql in outside.items():
        wrong = by_column.setdefault(metric.numerator or metric.name, [])
        wrong += [sql, *(f"{values[name]} IS NULL" for name in (metric.whole,) if name in values)]
    parts = []
    for name in columns:
        if name == DOUBTS:
            texts = ", ".join(
                f"CASE WHEN {sql} THEN {text(f'{metric.title} is not possible')} END"
                for metric, sql in outside.items()
            )
            some = " OR ".join(outside.values())
            shown = f"CASE WHEN {some} THEN concat_ws(', ', doubts, {texts}) ELSE doubts END"
            parts.append(_folded(f"{shown} AS doubts"))
        elif name in by_column:
            shown = f"CASE WHEN NOT ({' OR '.join(by_column[name])}) THEN {name} END AS {name}"
            parts.append(_folded(shown))
        else:
            parts.append(name)
    yield replace(
        sums,
        select=f"{_select(parts)}\nFROM {raw.name}",
        items=tuple(SelectItem(name, "", "", name) for name in columns),
        reads=(raw.name,),
        commented="",
    )


def _summed(
    view: ParsedView, metrics: Mapping[str, Metric], below: list[str]
) -> Iterator[ParsedView]:
    """The private views of a summary and of metrics over columns `below`, and the public one."""
    own = replace(view, name=f"_{view.name}", items=_documented(view, metrics))
    columns = [item.name for item in view.items]
    parts = [f"f.{name}" for name in columns[: columns.index(LAST_KEY) + 1]]
    aggregates = ["run_id"]
    for metric in metrics.values():
        if metric.name in columns:
            parts += [] if f"f.{metric.name}" in parts else [f"f.{metric.name}"]
        elif metric.expression:
            parts.append(_column(metric, _value(metric)))
        elif metric.kind in FIGURES:
            _check(metric, below)
            value = metric.aggregate_sql()
            if metric.whole in metrics and metric.whole not in columns:
                most = metrics[metric.whole].aggregate_sql()
                value = f"CASE WHEN NOT is_outside({value}, NULL, {most}) THEN {value} END"
            aggregates.append(_column(metric, value))
            parts.append(f"m.{metric.name}")
    yield own
    yield ParsedView.from_select(
        "_run_metrics",
        f"The metrics of {view.name} that follow from the rows of {_ROWS} alone.",
        f"{_select(aggregates)}\nFROM {_ROWS}\nWHERE is_steady\nGROUP BY run_id",
    )
    join = "LEFT JOIN _run_metrics AS m ON m.run_id = f.run_id"
    yield view.over(f"{_select(parts)}\nFROM {own.name} AS f\n{join}")


def _documented(view: ParsedView, metrics: Mapping[str, Metric]) -> tuple[SelectItem, ...]:
    """The columns; metrics are documented by their meaning."""
    for item in view.items:
        if item.name in metrics and metrics[item.name].expression:
            raise CpmonError(
                "a metric has an expression, but the SQL of its view selects it",
                place=metrics[item.name].place,
                found=f"{item.name} in {view.name}.sql",
            )
    return tuple(
        replace(item, comment=_comment(metrics[item.name].meaning))
        if item.name in metrics and metrics[item.name].meaning
        else item
        for item in view.items
    )


def _check(metric: Metric, columns: list[str]) -> None:
    for name in (metric.numerator or metric.name, metric.denominator):
        if name and name not in columns:
            what = f"column for the metric {metric.name}"
            raise unknown(what, name, columns, place=metric.place)


def _value(metric: Metric) -> str:
    """Its expression over the columns of one row, as SQL.

    Raises:
        CpmonError: that of a site is not an expression over the columns of a row.
    """
    expression = metric.expression
    if not isinstance(expression, UserSql):
        return expression or metric.row_sql()
    try:
        return f"({checked_expression(expression)})"
    except CpmonError as error:
        raise CpmonError(
            "the expression of a metric is not one over the columns of a row",
            code="metric-expression-wrong",
            place=metric.place,
            expected="an expression over the columns of the view, as busy / nullif(seconds, 0)",
            found=error.problem,
            remedy="write what reads other rows or files as a reduction, and the metric over it",
        ) from None


def _column(metric: Metric, expression: str) -> str:
    return f"{_comment(metric.meaning)}\n       {_folded(f'{expression} AS {metric.name}')}"


def _folded(expression: str) -> str:
    """Wraps a column of a SELECT, leaving room for the comma."""
    return folded(f"{expression},", 9)[:-1]


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH - len("       -- "), break_on_hyphens=False)
    return "\n       ".join(f"-- {line}" for line in lines)


def _select(parts: list[str]) -> str:
    return "SELECT " + ",\n       ".join(parts)
