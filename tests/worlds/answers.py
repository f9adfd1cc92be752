"""Holds what is said of longer times than an interval to the truth, in the words of `held`.

Lines of reports by 15 minutes and by the hour, with their means and totals; series of charts;
comparisons of two runs; what `explain` says of an interval; exceptions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import duckdb
import polars as pl

from cpmon.config import Settings
from cpmon.core.errors import NothingToReportError
from cpmon.core.grace_period import GRACE
from cpmon.reduce.compare.run_comparison import compare_runs
from cpmon.reduce.explain.explanation import Explanation, Line, explain
from cpmon.reduce.explain.series import read_rows, subjects
from cpmon.reduce.metrics.report_set import reports
from cpmon.reduce.page.chart import CHARTS, Chart, column_of, read_points
from cpmon.reduce.reports.cells import UTC_ZONE
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_sql import Span
from cpmon.reduce.rules.exceptions import exceptions
from cpmon.reduce.rules.rule import Purpose, Rule, find_rule, load_rules
from cpmon.store.connection import point
from cpmon.store.sql.scope import ALL, Scope
from tests.worlds.held import (
    OWN,
    Figure,
    Outcome,
    Truth,
    Wrong,
    compare,
    expected,
    figures,
    halves,
    tolerance,
)
from tests.worlds.world import World

Connection = duckdb.DuckDBPyConnection
QUARTER, HOUR = timedelta(minutes=15), timedelta(hours=1)


def in_lines(truth: Truth, length: timedelta) -> Truth:
    """The truth with `line`: when the line of a length ends that an interval counts to."""
    text = f"{length // timedelta(minutes=1)}m"
    inside = pl.col("interval_end") - GRACE - timedelta(microseconds=1)
    line = inside.dt.truncate(text) + length
    return {kind: rows.with_columns(line=line) for kind, rows in truth.items()}


def ending_in(truth: Truth, since: datetime, until: datetime) -> Truth:
    """The truth of the intervals that end in a span."""
    end = pl.col("interval_end")
    within = (end > since + GRACE) & (end <= until + GRACE)
    return {kind: rows.filter(within) for kind, rows in truth.items()}


def lines_by(
    length: timedelta, con: Connection, world: World, truth: Truth, outcome: Outcome
) -> None:
    """Hold a report by lines of a length, its mean and total, by turns of reports."""
    names = [*figures()]
    name = names[world.seed // len(WAYS) % len(names)]
    if not {figure.truth for figure in figures()[name]} <= truth.keys():
        return
    try:
        found = report(con, name, system=world.name, by=length)
    except NothingToReportError:
        return
    lines = pl.from_arrow(found.table)
    assert isinstance(lines, pl.DataFrame)
    noted = [note for note in found.notes if note.startswith(("Blank", "The clock"))]
    noted += [note for note in found.notes if "left out" in note]
    doubts = pl.lit(noted[0] if noted else None)
    lines = lines.with_columns(doubts)
    shown = replace(found.report, name=f"{name} by {length}")
    lined = in_lines(truth, length)
    for figure in figures()[name]:
        true = expected(lined, figure, ["line"])
        if true is not None:
            true = true.rename({"line": "interval_end"})
            compare(world, shown, figure, lines.with_columns(doubts=doubts), true, outcome)
    means = ("ratio", "level", "level_ratio")
    for values, kinds in ((found.mean, means), (found.total, ("total",))):
        for figure in (f for f in figures()[name] if f.column in values and f.kind in kinds):
            line = pl.DataFrame({figure.column: [values[figure.column]]}).with_columns(
                doubts=doubts
            )
            true = expected(truth, figure._replace(keys=""), [])
            if true is not None:
                compare(world, shown, figure._replace(keys=""), line, true, outcome)


def series_of_charts(con: Connection, world: World, truth: Truth, outcome: Outcome) -> None:
    """Hold the points of a chart, by intervals or by 15 minutes, by turns of charts."""
    able = [chart for chart in CHARTS if any(map(_figure_of, *_columns_of(chart)))]
    turn = world.seed // len(WAYS)
    chart = able[turn % len(able)]
    by = (None, QUARTER)[turn // len(able) % 2]
    point(con, Scope(world.name))
    found = read_points(con, chart, Span(world.name), by, UTC_ZONE)
    points = pl.from_arrow(found.table)
    assert isinstance(points, pl.DataFrame)
    lined, time = (truth, "interval_end") if by is None else (in_lines(truth, by), "line")
    for series in chart.series:
        figure, shown = _figure_of(series.report, series.column), reports()[series.report]
        if figure is None or figure.truth not in truth:
            continue
        column, keys = column_of(shown, series.column), figure.keys.split()
        if not chart.top:
            figure = _of_all(figure)
        true = expected(lined, figure, [time])
        assert true is not None
        true = true.rename({time: "interval_end"})
        value = (pl.col("value") / column.scale).alias(figure.column)
        drawn = points.with_columns(value, doubts=pl.lit(found.notes[0] if found.notes else None))
        drawn = drawn.filter(pl.col("value").is_not_null())
        if chart.top:
            key = keys[0]
            name = pl.col("series").str.split(" ").list.first()
            drawn = drawn.with_columns(_as_key(key, name).alias(key))
            true = true.filter(pl.col(key).is_in(drawn.get_column(key).implode()))
        else:
            drawn = drawn.filter(pl.col("series") == series.label)
        named = replace(shown, name=f"chart {chart.name} by {by}")
        compare(world, named, figure, drawn, true, outcome)


def _columns_of(chart: Chart) -> tuple[list[str], list[str]]:
    return [each.report for each in chart.series], [each.column for each in chart.series]


def _figure_of(name: str, column: str) -> Figure | None:
    """What of the truth a column of a report is."""
    return next((each for each in figures().get(name, ()) if each.column == column), None)


def _of_all(figure: Figure) -> Figure:
    """A figure over all objects that it is of."""
    rests_on = figure.rests_on
    if figure.keys and figure.truth in OWN:
        rests_on = f"{rests_on} {figure.truth}"
    return figure._replace(keys="", rests_on=rests_on)


def runs_compared(
    con: Connection, worlds: Sequence[World], truths: Mapping[str, Truth], outcome: Outcome
) -> None:
    """Hold the comparison of the halves of all worlds with the first half of the first."""
    point(con, ALL)
    runs = {run.run_id: (world, run) for world in worlds for run in halves(world)}
    base, *others = runs
    found = compare_runs(con, others, base)
    noted = {run for run in runs if any(note.startswith(f"{run}: ") for note in found.notes)}
    for line in found.lines:
        figure = next(filter(None, (_figure_of(n, line.metric.name) for n in SYSTEM)), None)
        if figure is None:
            continue
        column = column_of(reports()[figure.report], figure.column)
        trues, right = list[float](), True
        for run_id, printed in zip((base, line.run_id), line.printed, strict=True):
            world, run = runs[run_id]
            true = expected(ending_in(truths[world.name], run.since, run.until), figure, [])
            row = true.row(0, named=True) if true is not None and len(true) else {}
            exponent = 0 if printed.value is None else printed.value.as_tuple().exponent
            form = replace(column, form=replace(column.form, digits=max(-int(exponent), 0)))
            value = None if printed.value is None else float(printed.value) / column.scale
            said = Wrong(world, "compare", run_id, figure.column, value, row.get("true"))
            before = len(outcome.wrong)
            outcome.add(said, form, whole=bool(row.get("whole")), doubted=run_id in noted)
            right = right and len(outcome.wrong) == before and said.true is not None
            trues.append(said.true or 0.0)
        if right and line.difference.value is not None and not noted & {base, line.run_id}:
            gap = float(line.difference.value) / column.scale
            if abs(gap - (trues[1] - trues[0])) > 2 * max(tolerance(form, t) for t in trues):
                where = (world, "compare", f"{line.run_id} less {base}", figure.column)
                outcome.wrong.append(Wrong(*where, gap, trues[1] - trues[0]))


SYSTEM = ("SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME", "PAGING_BY_TIME")
"""Reports whose figures are those of runs, by the same names."""


def series_of_explain(con: Connection, world: World, truth: Truth, outcome: Outcome) -> None:
    """Hold the values that `explain` judges, by turns of subjects."""
    of_view = _of_view()
    able = [subject for subject in subjects() if subject.name in of_view]
    subject = able[world.seed // len(WAYS) % len(able)]
    point(con, Scope(world.name))
    rows = pl.from_arrow(read_rows(con, subject, Scope(world.name)))
    assert isinstance(rows, pl.DataFrame)
    rows = rows.join(truth["system"].select("interval_end"), on="interval_end")
    for metric in subject.metrics:
        figure = _figure_of(of_view[subject.name], metric.name)
        if figure is None or figure.truth not in truth:
            continue
        said = rows.with_columns(pl.col(metric.name) / metric.scale)
        for key in figure.keys.split()[:1]:
            first = pl.col("_object").str.split(" ").list.first()
            said = said.with_columns(_as_key(key, first).alias(key))
        true = expected(truth, figure, ["interval_end"])
        assert true is not None
        shown = replace(reports()[of_view[subject.name]], name="series of explain")
        compare(world, shown, figure, said.drop_nulls(metric.name), true, outcome)


def _as_key(key: str, name: pl.Expr) -> pl.Expr:
    """The value of a key as the truth has it, from the name of an object."""
    base = {"device": 16, "cpu": 10}.get(key)
    return name if base is None else name.str.to_integer(base=base)


def _of_view() -> Mapping[str, str]:
    """Reduction -> the report whose figures are known in truth."""
    return {reports()[name].reduction: name for name in figures()}


def explained(
    con: Connection, worlds: Sequence[World], truths: Mapping[str, Truth], outcome: Outcome
) -> None:
    """Hold what `explain` says of an interval of the first world, which takes long."""
    world, truth = worlds[0], truths[worlds[0].name]
    ends = sorted(truth["system"].filter("in_dump").get_column("interval_end"))
    for moment in ends[2 + world.seed // len(worlds) % 3 :][:1]:
        found = explain(con, system=world.name, moment=moment)
        if found.baseline is not None:
            for line in (line for line in found.lines if line.metric is not None):
                _hold_explained(world, truth, line, found, outcome)


def _hold_explained(
    world: World, truth: Truth, line: Line, found: Explanation, outcome: Outcome
) -> None:
    figure, object_ = _explained_figure(line), line.object.split(" ")[1:2]
    if figure is None or figure.truth not in truth or found.baseline is None:
        return
    true = expected(truth, figure, ["interval_end"])
    assert true is not None
    for key in figure.keys.split()[:1]:
        true = true.filter(pl.col(key) == _as_key(key, pl.lit(object_[0])))
    end, scope = pl.col("interval_end"), found.baseline.scope
    if line.presence:
        _hold_presence(world, truth, figure, line, found, outcome)
        return
    seen = true.filter(end > found.span.since, end <= found.span.until)
    base = true.filter(end > scope.since, end <= scope.until)
    column, usual = column_of(reports()[figure.report], figure.column), base["true"]
    for word, printed, rows, value in (
        ("value", line.value, seen, seen["true"].mean()),
        ("usual", line.usual, base, usual.median()),
        ("low", line.low, base, usual.min()),
        ("high", line.high, base, usual.max()),
    ):
        said = None if printed is None else printed / column.scale
        where = f"{found.span.until} {line.object}"
        wrong = Wrong(world, f"explain {word}", where, figure.column, said, value)
        outcome.add(wrong, column, whole=rows["whole"].all(), doubted=False)


def _hold_presence(
    world: World, truth: Truth, figure: Figure, line: Line, found: Explanation, outcome: Outcome
) -> None:
    """Hold that an object is new, or gone: it did not exist in the baseline, or at the end."""
    assert found.baseline is not None
    name, *volume = line.object.split(" ")[1:3]
    key = figure.keys.split()[0]
    own = pl.col(key) == _as_key(key, pl.lit(name))
    if key == "device":  # another volume at a device is another object
        own &= pl.col("volser").is_in(volume)
    scope, end = found.baseline.scope, pl.col("interval_end")
    inside = (end > scope.since) & (end <= scope.until)
    if line.presence == "gone":
        inside = end == found.span.until
    existed = truth[figure.truth].filter(own, inside, pl.col("at_end")).height > 0
    wrong = Wrong(
        world, f"explain {line.presence}", line.object, figure.column, float(existed), 0.0
    )
    column = column_of(reports()[figure.report], figure.column)
    outcome.add(wrong, column, whole=True, doubted=False)


def _explained_figure(line: Line) -> Figure | None:
    noun = "" if line.kind == "metric" else line.object.partition(" ")[0]
    for subject in subjects():
        if subject.noun == noun and line.metric in subject.metrics:
            return _figure_of(_of_view().get(subject.name, ""), line.name)
    return None


JUDGED = (
    ("PROCESSORS_BY_TIME", "total_util", "{cpu}"),
    ("USER_RESOURCE_UTIL", "cpu_util", "{userid}"),
    ("USER_RESOURCE_UTIL", "tv_ratio", "{userid}"),
    ("DASD_BY_ACTIVITY", "ssch_rate", "{device:04X}"),
    ("SYSTEM_SUMMARY_BY_TIME", "total_util", "all"),
    ("SYSTEM_SUMMARY_BY_TIME", "users_logged_on", "all"),
)
"""Figures that rules of exceptions are about, and how they name the objects."""


def exceptions_of(
    con: Connection, worlds: Sequence[World], truths: Mapping[str, Truth], outcome: Outcome
) -> None:
    """Hold exceptions of all worlds: each is beyond its limit in truth, and none is left out."""
    point(con, ALL)
    rules = [_rule(n, *judged, truths) for n, judged in enumerate(JUDGED)]
    episodes = exceptions(con, rules).table.to_pylist()
    for rule, (name, column, object_) in zip(rules, JUDGED, strict=True):
        figure = _figure_of(name, column)
        assert figure
        for world in worlds:
            own = [e for e in episodes if (e["rule"], e["system"]) == (rule.id, world.name)]
            true = expected(truths[world.name], figure, ["interval_end"])
            assert true is not None
            for row in true.iter_rows(named=True):
                of_object = [e for e in own if e["object"] == object_.format(**row)]
                _hold_exception(world, rule, figure, row, of_object, outcome)


def _rule(
    number: int, name: str, column_name: str, object_: str, truths: Mapping[str, Truth]
) -> Rule:
    """A rule about a figure: its limit is what half of the truth is above."""
    figure, column = _figure_of(name, column_name), column_of(reports()[name], column_name)
    assert figure
    tables = [expected(truth, figure, ["interval_end"]) for truth in truths.values()]
    usual = pl.concat([table.select("true") for table in tables if table is not None]).median()
    values = {
        "title": "above",
        "severity": "info",
        "reduction": reports()[name].reduction,
        "metric": column_name,
        "scale": column.scale,
        "comparison": "above",
        "limit": round(usual.item() * column.scale, 2),
        "object": object_,
    }
    settings = Settings(exceptions={f"above-{number}": values})
    rules = load_rules(Purpose.EXCEPTIONS, settings)
    return find_rule(rules, f"above-{number}")


def _hold_exception(
    world: World,
    rule: Rule,
    figure: Figure,
    row: Mapping[str, Any],
    episodes: Iterable[Mapping[str, Any]],
    outcome: Outcome,
) -> None:
    """Hold the exceptions of an object to the truth of one interval."""
    end, true, column = (
        row["interval_end"],
        row["true"],
        column_of(reports()[figure.report], figure.column),
    )
    limit = float(rule.limit or 0) / column.scale
    most = tolerance(column, true or 0.0) + 0.06 / column.scale
    named = " ".join(str(row[key]) for key in ("interval_end", *figure.keys.split()))
    where = (world, "exceptions", f"{named} above {limit}", figure.column)
    inside = [e for e in episodes if e["first_interval"] <= end <= e["last_interval"]]
    for each in inside:
        if each["worst_interval"] == end:
            said = Wrong(*where, each["value"] / column.scale, true)
            outcome.add(said, column, whole=row["whole"], doubted=False)
        elif true is None or true < limit - most:
            outcome.wrong.append(Wrong(*where, limit, true))
    if not inside and true is not None and true > limit + most:
        outcome.add(Wrong(*where, None, true), column, whole=row["whole"], doubted=False)


Way = Callable[[Connection, World, Truth, Outcome], None]
WAYS: tuple[Way, ...] = (
    functools.partial(lines_by, HOUR),
    functools.partial(lines_by, QUARTER),
    series_of_charts,
    series_of_explain,
)
"""What else a world is asked."""
