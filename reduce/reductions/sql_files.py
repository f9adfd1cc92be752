"""Reads the reductions from SQL: `sql/` and the site, and the views that metrics make of it.

A file holds one view: a comment block, `CREATE OR REPLACE VIEW name AS`, and a SELECT in the
portable subset, whose columns are documented by the comments above them. A column that is selected
unchanged from another reduction inherits its documentation. The relations that a reduction reads
determine the records behind a result, and which of their layouts are only inferred.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files

from ...config.definitions import definitions
from ...core.errors import CpmonError, unknown
from ...core.sql import UserSql
from ...store.results.lineage import BY_TIME
from ...store.sandbox.guard import checked_view
from ...store.sql.landed_views import is_landed
from ..metrics.report_set import own_metrics
from ..metrics.rollups import rollup_of
from ..metrics.views import (
    DOUBTS,
    ParsedView,
    SelectItem,
    common_table,
    select_items,
    sources,
    with_metrics,
)
from .reduction import ReducedColumn, Reduction
from .system_settings import settings_view

_VIEW = re.compile(
    r"\A(?P<doc>(?:--[^\n]*\n)+)"
    r"CREATE OR REPLACE VIEW (?P<name>\w+) AS\n"
    r"(?P<select>.*?);?\s*\Z",
    re.DOTALL,
)

COMMON = {
    "system": "System.",
    "interval_end": "End of the interval, UTC.",
    "seconds": "Elapsed seconds T. NULL at a first sample and behind a gap.",
    "run_id": "Run.",
    "doubts": (
        "What is not known, or is a lower bound, and why: records that are missing or began anew,"
        " counters that fell, metrics outside of their possible range. NULL: nothing."
    ),
}
"""Documentation of columns that many reductions have."""


def read_reductions() -> tuple[Reduction, ...]:
    """Reads and checks all of them, dependencies first.

    Raises:
        CpmonError: a reduction or metric of the site is invalid: file, expected, found.
    """
    folder = files(__package__) / "sql"
    shipped = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    parsed = [parse(file.name, file.read_text(encoding="utf-8")) for file in shipped]
    settings = settings_view()
    own = [*_own_views({view.name for view in (*parsed, settings)})]
    _check_own_metrics([*parsed, *own, settings])
    return ordered([*with_metrics([*parsed, *own]), settings])


def _own_views(shipped: Collection[str]) -> Iterator[ParsedView]:
    """Parse the reductions of the site; each must be a query that only reads relations of a store.

    Args:
        shipped: names that are taken.
    """
    views = [(path, parse(path, text)) for path, text in definitions().views]
    taken = {*shipped, *(view.name for _, view in views)}
    for path, view in views:
        if view.name in shipped or view.name.startswith("_"):
            raise CpmonError(
                "a reduction of the site has a name that it cannot have",
                code="definition-name-taken",
                place=path,
                expected="a name that no shipped reduction has, and that does not begin with _",
                found=view.name,
                remedy="give the view and its file another name",
            )
        columns = {item.name for item in view.items}
        if columns >= BY_TIME and DOUBTS not in columns:
            raise CpmonError(
                "a reduction of the site does not say what is not known of a row",
                place=path,
                expected=f"a column {DOUBTS}: that of interval.* for one row, all_doubts({DOUBTS})"
                " over several",
                found=", ".join(sorted(columns)),
            )
        try:
            select, reads = checked_view(UserSql(view.select), taken)
            for read in reads:
                if "." in read and not is_landed(read):
                    raise CpmonError("there is no such relation", found=read)
            yield replace(view, select=select, reads=reads, commented=view.select)
        except CpmonError as error:
            raise CpmonError(
                "a reduction of the site is no query of the store's relations",
                place=path,
                expected="one SELECT from monitor.*, interval.*, meta.* and reductions",
                found=f"{error.problem}; {error.found}",
            ) from None


def _check_own_metrics(views: Iterable[ParsedView]) -> None:
    """Refuse metrics of the site that no view would compute.

    Raises:
        CpmonError: one is of a view that does not exist, or has the name of a column, which would
            be shown instead.
    """
    columns = {view.name: {item.name for item in view.items} for view in views}
    for metric in own_metrics():
        for view in metric.views:
            if view not in columns:
                raise unknown("reduction", view, columns, place=metric.place)
            if metric.is_computed and metric.name in columns[view]:
                raise CpmonError(
                    f"a metric of the site has the name of a column of {view}",
                    place=metric.place,
                    expected="a name that the SQL of the reduction does not select",
                    found=metric.name,
                )


def parse(file: str, text: str) -> ParsedView:
    """Parse the text of a file.

    Raises:
        CpmonError: the file does not have the structure that the module docstring describes.
    """
    match = _VIEW.match(text)
    if match is None:
        raise CpmonError(
            "a reduction is not one documented view",
            place=file,
            expected="comment lines, CREATE OR REPLACE VIEW name AS, SELECT",
        )
    name = match["name"]
    if f"{name}.sql" != file.rpartition("/")[2]:
        raise CpmonError(
            "a reduction's file is not called as its view",
            place=file,
            expected=f"{name}.sql",
        )
    return ParsedView.from_select(name, comment(match["doc"]), match["select"].strip(), file)


def comment(block: str) -> str:
    """Joins comment lines to running text; an empty comment line starts a new paragraph."""
    lines = [line.strip().removeprefix("--").strip() for line in block.strip().splitlines()]
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _documented(view: ParsedView, below: Mapping[str, Reduction]) -> Reduction:
    """Add the documentation of all columns to a view.

    Args:
        below: the reductions that it reads, by name.

    Raises:
        CpmonError: a column has no comment and inherits none.
    """
    columns = []
    for item in view.items:
        said = comment(item.comment) or _inherited(item, view.commented or view.select, below)
        doc = said or COMMON.get(item.name)
        if not doc or not item.name.isidentifier():
            raise CpmonError(
                "a column of a reduction has no comment",
                place=view.file or view.name,
                expected="a comment with unit, range and meaning of NULL above every column, "
                "or a column that another reduction documents",
                found=item.name,
            )
        columns.append(ReducedColumn(item.name, doc))
    rollup = rollup_of(view.name)
    sums = rollup.definition if rollup else ""
    return Reduction(view.name, view.doc, tuple(columns), view.sql, view.select, view.reads, sums)


def _inherited(item: SelectItem, select: str, below: Mapping[str, Reduction]) -> str | None:
    """The documentation of the source column, if an item selects a column unchanged."""
    relations = sources(select)
    of_one = next(iter(relations.values())) if len(relations) == 1 else ""
    relation = relations.get(item.relation, "") if item.relation else of_one
    if relation in below:
        columns = below[relation].columns
        return next((column.doc for column in columns if column.name == item.column), None)
    own = common_table(select, relation) if item.column else ""
    same = next((i for i in select_items(own) if i.name == item.column), None) if own else None
    return _inherited(same, own, below) if same else None


def ordered(views: Iterable[ParsedView]) -> tuple[Reduction, ...]:
    """Sort reductions so that dependencies come first, otherwise by name.

    Raises:
        CpmonError: a reduction reads a view that no file defines, reductions form a cycle, or a
            column is not documented.
    """
    by_name = {view.name: view for view in sorted(views, key=lambda view: view.name)}
    graph = {view.name: [r for r in view.reads if "." not in r] for view in by_name.values()}
    for name, reads in graph.items():
        for read in reads:
            if read not in by_name:
                raise unknown("reduction", read, by_name, place=f"{name}.sql")
    try:
        order = tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        ring = " reads ".join(error.args[1])
        raise CpmonError("reductions read each other in a ring", found=ring) from None
    documented: dict[str, Reduction] = {}
    for name in order:
        documented[name] = _documented(by_name[name], documented)
    return tuple(documented.values())
